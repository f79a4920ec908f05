r"""Theorems about tokens on the sphere, in every dimension and for every number of tokens.

The statement is the record of :class:`~symflow.certify.propositions.long_time.LongTime`; x is the token that
moves and y one of those that it sees. What each y adds to x' is ``change`` times the weight, over n times the
normaliser.
"""

from __future__ import annotations

from collections.abc import Mapping

from symflow.certify.propositions.long_time import LongTime
from symflow.certify.propositions.proposition import Conjunction

CHANGE = "y - dot(x, y)*x"
SCORED = "exp(dot(y, A*x))"
COSINE = "exp(beta*c)"

_EQUAL = "equal"
_PAIR = {"w": ("d",), "A": ("d", "d"), "r": (), "s": (), "m": (), "a": ()}
_MEAN = {"relation": "token-mean", "normaliser": "Z"}


def _cone(claim: str, normalised: bool) -> LongTime:
    mean = {"normaliser": {**_MEAN, "weight": SCORED}} if normalised else {}
    weights = "normalised weights" if normalised else "weights without normaliser"
    return LongTime(
        claim,
        f"any number of tokens on the sphere, attention with V = I and {weights}; A = (beta/temperature) "
        "K.T*Q with |A| ≤ a; some w with |w| ≤ 1 has dot(w, x) ≥ m > 0 for every token at the start; r and s "
        "are dot(w, x) and dot(w, y)",
        {**_PAIR, **({"Z": ()} if normalised else {})},
        {
            "relation": "cone-collapse",
            "weight": SCORED,
            "normaliser": "Z" if normalised else "1",
            "change": CHANGE,
            "rate": "m*exp(-2*a)" if normalised else "m*exp(-a)",
        },
        {
            "height": {"relation": _EQUAL, "left": "r", "right": "dot(w, x)"},
            "other height": {"relation": _EQUAL, "left": "s", "right": "dot(w, y)"},
            "axis": {"relation": "norm", "matrix": "w", "bound": "1"},
            "token": {"relation": "norm", "matrix": "x", "bound": "1"},
            "other token": {"relation": "norm", "matrix": "y", "bound": "1"},
            "scores": {"relation": "norm", "matrix": "A", "bound": "a"},
            **mean,
        },
        {**dict.fromkeys(("r", "s", "m"), "positive"), "a": "nonnegative"}
        | ({"Z": "positive"} if normalised else {}),
    )


def _common(claim: str, normalised: bool) -> LongTime:
    mean = {"normaliser": {**_MEAN, "weight": COSINE}} if normalised else {}
    mass = "exp(beta) + q*exp(beta*g)" if normalised else "q + 1"
    return LongTime(
        claim,
        "q + 1 ≥ 2 tokens on the sphere, attention with Q = K = V = I and "
        f"{'normalised weights' if normalised else 'weights without normaliser'}, beta for beta/temperature; "
        "p is another token than x, and c, e, g are the cosines dot(x, y), dot(y, p), dot(x, p); "
        "h = 1 - g > 0",
        {
            "p": ("d",),
            **dict.fromkeys(("c", "e", "g", "h", "q", "beta"), ()),
            **({"Z": ()} if normalised else {}),
        },
        {
            "relation": "common-cosine",
            "weight": COSINE,
            "normaliser": "Z" if normalised else "1",
            "change": CHANGE,
            "rate": f"2*exp(beta*g)*(1 - g)*(q*g + 1)/({mass})",
        },
        {
            "seen": {"relation": _EQUAL, "left": "c", "right": "dot(x, y)"},
            "there": {"relation": _EQUAL, "left": "e", "right": "dot(y, p)"},
            "common": {"relation": _EQUAL, "left": "g", "right": "dot(x, p)"},
            "gap": {"relation": _EQUAL, "left": "h", "right": "1 - g"},
            **mean,
        },
        {"g": "nonnegative", "h": "positive", "q": "positive"} | ({"Z": "positive"} if normalised else {}),
    )


def _independent(claim: str) -> LongTime:
    return LongTime(
        claim,
        "n tokens, the rows of X, linearly independent; with the vector u of ones the direction "
        "X.T*inv(X*X.T)*u has the product one with each of them: they lie in an open hemisphere",
        {"X": ("n", "d"), "u": ("n",)},
        {"relation": _EQUAL, "left": "X*X.T*inv(X*X.T)*u", "right": "u"},
        {"independent": {"relation": "definite", "matrix": "X*X.T"}},
    )


_PARTS: Mapping[str, bool] = {"softmax": True, "unnormalised": False}

PROPOSITIONS = (
    Conjunction(
        "GLPR23/hemisphere-rate",
        {
            **{part: _cone(part, normalised) for part, normalised in _PARTS.items()},
            "independent": _independent("independent"),
        },
    ),
    Conjunction(
        "GLPR23/orthogonal-start",
        {part: _common(part, normalised) for part, normalised in _PARTS.items()},
    ),
)
