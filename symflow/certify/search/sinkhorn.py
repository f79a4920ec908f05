"""Proofs about Sinkhorn attention: mean and covariance decouple; the Bures–Wasserstein flow."""

from __future__ import annotations

from typing import Any

from sympy import Identity, Integer, Inverse, Rational, Trace, ZeroMatrix

from symflow.algebra.affine import affine_parts
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.symbols import matrix, vector
from symflow.certify.certificate import Certificate
from symflow.certify.search.long_time import Moments, Proof

ONE = Integer(1)
_HALF = Rational(1, 2)


def prove_decoupling(
    claim: str, system: Moments, score: Any, value: Any, tokens: tuple[Any, Any]
) -> Certificate:
    """Prove what translation does to the coupling; the score is quadratic and the value affine in the key."""
    proof, (query, key) = Proof(system), tokens
    step = vector("h", system.size)
    form = quadratic_form(score, query, key)
    moved = score.xreplace({query: query + step, key: key + step})
    # (y + h)ᵀB(x + h) = yᵀBx + hᵀB(x + h) + yᵀBh; the other terms hold the query, or the key, alone
    rest = form.rest.xreplace({query: query + step}) - form.rest
    query_part = Trace(step.T * form.B * (query + step)) + rest
    key_part = Trace(key.T * form.B * step)
    if not form.C.is_ZeroMatrix:
        key_part += Trace(key.T * form.C * step) + _HALF * Trace(step.T * form.C * step)
    if not form.c.is_ZeroMatrix:
        key_part += Trace(form.c.T * step)
    shift = proof.chain.equal("normal-form", moved, score + query_part + key_part)
    slope, offset = affine_parts(value, key)
    affine = proof.chain.equal("normal-form", value, slope * key + offset)
    proof.chain.lemma(
        "doubly-stochastic-scaling",
        "decoupled",
        {"score": score, "value": value, "mean_rhs": system.mean_rhs, "slope": slope},
        (shift, affine),
        step=step,
        query_part=query_part,
        key_part=key_part,
        offset=offset,
    )
    return proof.certificate(claim)


def prove_bures_flow(claim: str, system: Moments) -> Certificate:
    """Prove MC + CM = −2(ΣG + GΣ) for the gradient G of the entropic cost."""
    proof, size = Proof(system), system.size
    chain, sigma = proof.chain, system.covariance
    M, C, S, H = (matrix(name, size, size) for name in "MCSH")
    residual = sigma - C * Inverse(sigma) * C
    chain.add("definite-invertible", "invertible", {"matrix": sigma}, ("covariance sign",))
    definite = chain.add("rewrite", "definite", {"matrix": residual}, ("residual sign", "residual"))
    chain.add("definite-invertible", "invertible", {"matrix": S}, ("residual sign",))
    chain.add("definite-invertible", "invertible", {"matrix": residual}, (definite,))
    left, right = Inverse(sigma), Inverse(S)
    gradient = -Rational(1, 4) * (right - left + left * C * right * C * left)
    stationarity = left * C * right - M
    fields = {"coupling": C, "scores": M, "gradient": gradient, "stationarity": stationarity}
    cost = chain.add("cost-gradient", "cost-gradient", fields, ("residual",), direction=H)
    zero = ZeroMatrix(size, size)
    stationary = chain.equal("combination", stationarity, zero, ("optimality",), before=[left], after=[right])
    mirrored = chain.equal("transpose", right * C * left - M, zero, (stationary,))
    # ΣS⁻¹ − I = CΣ⁻¹CS⁻¹
    gap = chain.equal(
        "combination",
        sigma * right - Identity(size),
        C * left * C * right,
        ("residual",),
        before=[-1 * ONE],
        after=[right],
    )
    gap_mirrored = chain.equal("transpose", right * sigma - Identity(size), right * C * left * C, (gap,))
    descent = -2 * (sigma * gradient + gradient * sigma)
    flow = chain.equal(
        "combination",
        M * C + C * M,
        descent,
        (gap, gap_mirrored, stationary, mirrored, stationary, mirrored),
        before=[-_HALF, -_HALF, -_HALF * C, -_HALF * C, -_HALF, -_HALF],
        after=[ONE, ONE, ONE, ONE, C, C],
    )
    ends = {"coupling": C, "scores": M, "gradient": gradient, "cov_rhs": M * C + C * M}
    premises = (cost, stationary, "covariance sign", definite, flow)
    chain.lemma("entropic-gaussian", "bures-flow", ends, premises)
    return proof.certificate(claim)
