"""Hessians of the interaction energy for different Riemannian metrics."""

from __future__ import annotations

from symflow.certify.propositions.landscape import PAIR, WEIGHT
from symflow.certify.propositions.long_time import LongTime

_VECTORS = dict.fromkeys(("p", "q", "a", "b", "u", "w", "r"), ("d",))

PROPOSITIONS = (
    LongTime(
        "GLPR23/hessian-metric-independence",
        "any number of tokens on the sphere, beta > 0, every Riemannian metric on the product of spheres",
        {**_VECTORS, "beta": ()},
        {
            "relation": "metric-independence",
            "pair": PAIR,
            "derivative": f"{WEIGHT}*dot(r, y)",
            "weight": WEIGHT,
            "force": f"beta*{WEIGHT}*(dot(r, y)*(dot(p, p) + dot(q, q))/2 "
            "- (dot(p, y) + dot(x, q))*dot(r, p))",
        },
        {},
        {"beta": "positive"},
    ),
)
