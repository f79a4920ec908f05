"""The proof that a sink bounds how masked softmax attention depends on the law."""

from __future__ import annotations

from sympy import Identity, MatMul, Symbol

from symflow.algebra.symbols import dimension, vector
from symflow.certify.certificate import Certificate
from symflow.certify.search.chain import ChainWriter
from symflow.certify.search.long_time import stated_certificate


def prove_sink(claim: str) -> Certificate:
    """Write Z₁ ≥ mc, then Γ₁ − Γ₂ = ((N₁ − N₂) + (Z₂ − Z₁)Γ₂)/Z₁ and its norm."""
    chain, d = ChainWriter(), dimension("d")
    N1, N2 = vector("N1", d), vector("N2", d)
    Z1, Z2, Z0, m, c = (Symbol(name, positive=True) for name in ("Z1", "Z2", "Z0", "m", "c"))
    R, n, e, g = (Symbol(name, nonnegative=True) for name in "Rneg")
    share = chain.add("scalar-product", "nonnegative", {"scalar": m * (Z0 - c)}, ("sign of m", "kernel"))
    total = chain.add("scalar-sum", "nonnegative", {"scalar": m * (Z0 - c) + R}, (share, "sign of R"))
    least = chain.add("rewrite", "nonnegative", {"scalar": Z1 - m * c}, (total, "split"))
    positive = chain.add("scalar-product", "positive", {"scalar": m * c}, ("sign of m", "sign of c"))
    velocity = N2 / Z2
    moved = MatMul(Z2 - Z1, Identity(d), velocity)
    mass = chain.add("norm-product", "norm", {"matrix": moved, "bound": e * g}, ("masses", "velocity"))
    change = N1 - N2 + moved
    both = chain.add("norm-sum", "norm", {"matrix": change, "bound": n + e * g}, ("values", mass))
    ends = {"matrix": N1 / Z1 - velocity, "bound": (n + e * g) / (m * c)}
    chain.add("norm-quotient", "norm", ends, (both, positive, least), divisor=Z1)
    return stated_certificate(claim, chain)
