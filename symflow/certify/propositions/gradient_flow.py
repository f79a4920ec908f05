r"""Gradient-flow structures and dissipation identities of energies of pairs, at every size.

The statement is the record of :class:`~symflow.certify.propositions.long_time.LongTime`; x is the token that
moves and y one that it sees.
"""

from __future__ import annotations

from collections.abc import Mapping

from symflow.certify.propositions.long_time import LongTime, Record
from symflow.certify.propositions.proposition import Conjunction

_SPHERE = "eye(d) - x*x.T"
_CONSTANTS = (
    "n tokens: the gradient of E in x_i times n is g_i x_i', and the metric the mean of g_i |v_i|², g_i = "
)


def _interaction(claim: str, relation: str, normalised: bool, negative: bool = False) -> LongTime:
    """The interaction energy on the sphere for Q = K = V = I; negative inverse temperatures are −b."""
    scale, sign = ("-b", "-") if negative else ("beta", "")
    letter = "b" if negative else "beta"
    weight = f"exp({scale}*dot(x, y))"
    name = "beta = -b < 0" if negative else "beta > 0"
    weights = "normalised weights" if normalised else "weights without normaliser"
    own = "Z_i/n with the sum Z_i" if normalised else "1"
    return LongTime(
        claim,
        f"laws on the sphere, attention with Q = K = V = I and {weights}, {name} for beta/temperature; E = "
        f"1/(2 beta) times the mean of exp(beta dot(x, y)) over pairs; {_CONSTANTS}{own}",
        {letter: (), **({"Z": ()} if normalised else {})},
        {
            "relation": relation,
            "pair": f"{sign}{weight}/{letter}",
            "weight": weight,
            "normaliser": "Z" if normalised else "1",
            "value": "y",
            "projection": _SPHERE,
            "metric": "eye(d)",
            "direction": "1",
        },
        _mean("Z", weight) if normalised else {},
        {letter: "positive", **({"Z": "positive"} if normalised else {})},
    )


def _mean(normaliser: str, weight: str) -> dict[str, Record]:
    return {"normaliser": {"relation": "token-mean", "normaliser": normaliser, "weight": weight}}


def _twisted(claim: str, metric: str, direction: str) -> LongTime:
    weight = "exp(dot(y, A*x))"
    kind = "ascent, A*inv(V) ≻ 0" if direction == "1" else "descent, A*inv(V) ≺ 0"
    return LongTime(
        claim,
        f"{kind}: laws of compact support on ℝᵈ, softmax attention with A = (beta/temperature) K.T*Q "
        "symmetric, V invertible, and A*inv(V) symmetric definite, so that A is invertible",
        {"V": ("d", "d"), "A": ("d", "d"), "G": ()},
        {
            "relation": "gradient-flow",
            "pair": weight,
            "weight": weight,
            "normaliser": "G",
            "value": "V*y",
            "projection": "eye(d)",
            "metric": metric,
            "direction": direction,
        },
        {
            "value": {"relation": "invertible", "matrix": "V"},
            "definite": {"relation": "definite", "matrix": metric},
            "symmetric": {"relation": "equal", "left": metric, "right": f"({metric}).T"},
            **_mean("G", weight),
        },
        {"G": "positive"},
        symmetric=("A",),
    )


_PARTS: Mapping[str, tuple[bool, bool]] = {
    "softmax": (True, False),
    "unnormalised": (False, False),
    "softmax, negative beta": (True, True),
    "unnormalised, negative beta": (False, True),
}

PROPOSITIONS = (
    Conjunction(
        "CACP25/twisted-gradient-flow",
        {
            "ascent": _twisted("ascent", "A*inv(V)", "1"),
            "descent": _twisted("descent", "-A*inv(V)", "-1"),
        },
    ),
    _interaction("GLPR23/usa-gradient-flow", "gradient-flow", normalised=False),
    _interaction("GLPR23/sa-gradient-flow", "gradient-flow", normalised=True),
    Conjunction(
        "GLPR23/energy-dissipation",
        {part: _interaction(part, "energy-growth", *kind) for part, kind in _PARTS.items()},
    ),
)
