"""Proofs about tokens on the sphere."""

from __future__ import annotations

from typing import Any

from sympy import Integer, MatMul, Symbol, Trace, exp

from symflow.algebra.symbols import dimension, matrix, vector
from symflow.certify.certificate import Certificate
from symflow.certify.search.chain import ChainWriter
from symflow.certify.search.long_time import stated_certificate

_ONE = Integer(1)


def prove_cone_collapse(claim: str, part: str, *, normalised: bool) -> Certificate:
    """Write what a token adds to heights and to x/r, and bounds of the kernel; a lemma does the rest."""
    chain, d = ChainWriter(), dimension("d")
    x, y, w, A = vector("x", d), vector("y", d), vector("w", d), matrix("A", d, d)
    r, s, m = (Symbol(name, positive=True) for name in "rsm")
    a, Z = Symbol("a", nonnegative=True), Symbol("Z", positive=True)
    cosine, score = Trace(x.T * y), Trace(y.T * A * x)
    kernel, change = exp(score), y - cosine * x
    rest = (1 - cosine) * r
    below = chain.add("dot-bound", "nonnegative", {"scalar": 1 - cosine}, ("token", "other token"))
    kept = chain.add("scalar-product", "nonnegative", {"scalar": rest}, (below, "sign of r"))
    heights = ("other height", "height")
    climb = chain.equal(
        "combination",
        Trace(w.T * change),
        s - r + rest,
        heights,
        before=[Integer(-1), cosine],
        after=[_ONE, _ONE],
    )
    moved = chain.equal(
        "combination",
        change / r - MatMul(Trace(w.T * change) / r**2, x),
        y / r - MatMul(s / r**2, x),
        heights,
        before=[MatMul(1 / r**2, x), MatMul(-cosine / r**2, x)],
        after=[_ONE, _ONE],
    )
    image = chain.add("norm-product", "norm", {"matrix": A * x, "bound": a}, ("scores", "token"))
    premises = ["height", "other height", "axis", "token", "sign of m", climb, kept, moved]
    premises += _ordered(chain, image, -a, score, edge=-a)
    if normalised:
        premises += ["normaliser", *_ordered(chain, image, score, a, edge=a)]
    ends = {
        "weight": kernel,
        "normaliser": Z if normalised else _ONE,
        "change": change,
        "rate": m * exp(-2 * a if normalised else -a),
    }
    chain.lemma("cone-consensus", "cone-collapse", ends, tuple(premises), axis=w, height=r, other=s, margin=m)
    return stated_certificate(claim, chain, part)


def _ordered(chain: ChainWriter, image: str, low: Any, high: Any, edge: Any) -> tuple[str, str]:
    """Write that e^edge > 0 and e^low ≤ e^high, where |⟨y, Ax⟩| ≤ a."""
    gap = chain.add("dot-bound", "nonnegative", {"scalar": high - low}, ("other token", image))
    sign = chain.add("scalar-sign", "positive", {"scalar": exp(edge)})
    ends = {"scalar": exp(high) - exp(low)}
    return sign, chain.add("exponential", "nonnegative", ends, (gap,), low=low, high=high)


def prove_independent(claim: str, part: str) -> Certificate:
    """X Xᵀ ≻ 0 is invertible."""
    chain = ChainWriter()
    n, d = dimension("n"), dimension("d")
    X, u = matrix("X", n, d), vector("u", n)
    chain.add("definite-invertible", "invertible", {"matrix": X * X.T}, ("independent",))
    chain.equal("normal-form", MatMul(X, X.T, (X * X.T).inverse(), u), u)
    return stated_certificate(claim, chain, part)


def prove_common_cosine(claim: str, part: str, *, normalised: bool) -> Certificate:
    """Write what a token adds to a cosine and that the sum over the three kinds of tokens is positive."""
    chain, d = ChainWriter(), dimension("d")
    x, y, p = vector("x", d), vector("y", d), vector("p", d)
    c, e, beta = (Symbol(name, real=True) for name in ("c", "e", "beta"))
    g, h, q, Z = (
        Symbol("g", nonnegative=True),
        *(Symbol(name, positive=True) for name in "hqZ"),
    )
    change = y - Trace(x.T * y) * x
    step = chain.equal(
        "combination",
        Trace(change.T * p),
        e - c * g,
        ("there", "seen", "common"),
        before=[Integer(-1), g, Trace(x.T * y)],
        after=[_ONE, _ONE, _ONE],
    )
    mass = exp(beta) + q * exp(beta * g) if normalised else q + 1
    shown = {"scalar": 2 * exp(beta * g) * h * (q * g + 1) / mass}
    sign = chain.add("scalar-sign", "positive", shown, ("sign of g", "sign of h", "sign of q"))
    rate = 2 * exp(beta * g) * (1 - g) * (q * g + 1) / mass
    positive = chain.add("rewrite", "positive", {"scalar": rate}, (sign, "gap"))
    premises = ["seen", "there", "common", step, positive, "sign of q", *["normaliser"] * normalised]
    ends = {
        "weight": exp(beta * c),
        "normaliser": Z if normalised else _ONE,
        "change": change,
        "rate": rate,
    }
    chain.lemma(
        "equiangular-tokens",
        "common-cosine",
        ends,
        tuple(premises),
        partner=p,
        seen=c,
        there=e,
        common=g,
        others=q,
    )
    return stated_certificate(claim, chain, part)
