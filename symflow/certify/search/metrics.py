"""The proof that Hessians at critical points are those of every metric."""

from __future__ import annotations

from typing import Any

from sympy import Rational, Symbol, Trace, ZeroMatrix, exp

from symflow.algebra.symbols import dimension, vector
from symflow.algebra.variation import gateaux
from symflow.algebra.words import normal_form
from symflow.certify.certificate import Certificate
from symflow.certify.search.chain import ChainWriter
from symflow.certify.search.long_time import stated_certificate


def _dot(left: Any, right: Any) -> Any:
    return Trace(left.T * right)


def prove_metric_independence(claim: str) -> Certificate:
    """Differentiate pair and weight along velocities, accelerations and a test vector."""
    chain, d = ChainWriter(), dimension("d")
    x, y, p, q, a, b, u, w, r = (vector(name, d) for name in "xypqabuwr")
    beta = Symbol("beta", positive=True)
    weight = exp(beta * _dot(x, y))
    pair, still = weight / beta, ZeroMatrix(d, 1)

    def moved(functional: Any, motion: Any, partner: Any) -> tuple[str, Any]:
        along = {x: motion} if partner.is_ZeroMatrix else {x: motion, y: partner}
        change = normal_form(gateaux(functional, along)).to_sympy()
        ends = {"functional": functional, "motion": motion, "partner_motion": partner, "derivative": change}
        return chain.add("along-motion", "pair-derivative", ends), change

    first, velocity = moved(pair, p, q)
    second, straight = moved(velocity, p, q)
    bent, one = moved(pair, a, b)
    other_bent, other = moved(pair, u, w)
    apart, difference = moved(pair, a - u, b - w)
    balance = chain.equal("normal-form", (straight + one) - (straight + other), difference)
    metrics = chain.lemma(
        "hessian-of-two-metrics",
        "hessian-difference",
        {"pair": pair, "difference": difference},
        (first, second, bent, other_bent, apart, balance),
        velocity=p,
        partner=q,
        bend=a,
        partner_bend=b,
        other_bend=u,
        other_partner_bend=w,
    )
    positive = chain.add("scalar-sign", "positive", {"scalar": weight})
    changing, rate = moved(weight, p, q)
    sideways, tilt = moved(weight, r, still)
    force = normal_form(Rational(1, 2) * tilt * (_dot(p, p) + _dot(q, q)) - rate * _dot(r, p)).to_sympy()
    weighted = chain.lemma(
        "weighted-geodesics",
        "weighted-geodesics",
        {"weight": weight, "force": force},
        (positive, changing, sideways),
        velocity=p,
        partner=q,
        test=r,
    )
    steep, slope = moved(pair, r, still)
    ends = {"pair": pair, "derivative": slope, "weight": weight, "force": force}
    chain.lemma("critical-metrics", "metric-independence", ends, (metrics, weighted, steep), test=r)
    return stated_certificate(claim, chain)
