r"""Theorems about the interaction energy of tokens on the sphere, in every dimension and for every n.

The energy is :math:`E_\beta = \frac{1}{2\beta n^2}\sum_{i,j} e^{\beta\langle x_i, x_j\rangle}`, and that of a
law the same with integrals. The statement is the record of
:class:`~symflow.certify.propositions.long_time.LongTime`; x and y are two tokens.
"""

from __future__ import annotations

from collections.abc import Mapping

from symflow.certify.propositions.long_time import LongTime, Record
from symflow.certify.propositions.proposition import Conjunction

PAIR = "exp(beta*dot(x, y))/beta"
WEIGHT = "exp(beta*dot(x, y))"
CHANGE = "y - dot(x, y)*x"
SHARE = "(d - 1)*dot(x, y) - beta*(1 - dot(x, y)**2)"

_SQUARES: Mapping[str, Record] = {
    "token": {"relation": "equal", "left": "dot(x, x)", "right": "1"},
    "other token": {"relation": "equal", "left": "dot(y, y)", "right": "1"},
    "length": {"relation": "norm", "matrix": "x", "bound": "1"},
    "other length": {"relation": "norm", "matrix": "y", "bound": "1"},
}
_VECTORS = dict.fromkeys(("p", "q"), ("d",))

_ROTATION = LongTime(
    "inequality",
    "any number of tokens on the sphere at a critical point of E_β, beta > 0, whose Hessian is ⪯ 0; every "
    "set of tokens",
    {**_VECTORS, "beta": ()},
    {"relation": "block-rotation", "pair": PAIR, "excess": f"{WEIGHT}*({SHARE})"},
    _SQUARES,
    {"beta": "positive"},
)

_ROOT = {
    "root": {"relation": "equal", "left": "r**2", "right": "e**2 + 4*beta**2"},
    "sizes": {"relation": "equal", "left": "e", "right": "d - 1"},
}
_NUMBERS: dict[str, tuple[str, ...]] = dict.fromkeys(("beta", "e", "r", "h"), ())

_FACTORS = LongTime(
    "sign change",
    "d ≥ 2, beta > 0, r = sqrt((d - 1)² + 4 beta²) and any cosine h: the share is a product of two lines, "
    "one of which vanishes at (r - (d - 1))/(2 beta)",
    _NUMBERS,
    {
        "relation": "equal",
        "left": "(d - 1)*h - beta*(1 - h**2)",
        "right": "(h - (r - e)/(2*beta))*(beta*h + (r + e)/2)",
    },
    _ROOT,
    {"beta": "positive", "e": "positive", "r": "positive"},
)

_SLOPE = LongTime(
    "other factor",
    "d ≥ 2, beta > 0, r = sqrt((d - 1)² + 4 beta²) and any cosine h, g = h + 1: the other factor of the "
    "share is positive",
    {**_NUMBERS, "g": ()},
    {"relation": "positive", "scalar": "beta*h + (r + e)/2"},
    {**_ROOT, "cosine": {"relation": "equal", "left": "h", "right": "g - 1"}},
    {"beta": "positive", "e": "positive", "r": "positive", "g": "nonnegative"},
)


def _zero(claim: str, words: str, scalar: str) -> LongTime:
    return LongTime(
        claim,
        f"d ≥ 2, beta > 0, r = sqrt((d - 1)² + 4 beta²): {words}",
        _NUMBERS,
        {"relation": "positive", "scalar": scalar},
        _ROOT,
        dict.fromkeys(("beta", "e", "r"), "positive"),
    )


_OTHERS = {**_VECTORS, "u": ("d",), "w": ("d",), "beta": (), "m": ()}
_SMALL = "exp(beta) + exp(-beta) - m*(exp(beta) - exp(-beta))"

_SADDLES = LongTime(
    "small beta",
    "m + 1 ≥ 2 tokens on the sphere, d ≥ 2, beta > 0 with m*tanh(beta) < 1; eigenvalues with respect to the "
    "sum of squares",
    _OTHERS,
    {"relation": "saddle-bound", "pair": PAIR, "others": "m", "bound": f"({_SMALL})/(2*(m + 1)**2)"},
    {
        **_SQUARES,
        "dimension": {"relation": "positive", "scalar": "d - 1"},
        "range": {"relation": "positive", "scalar": _SMALL},
    },
    {"beta": "positive", "m": "positive"},
)

_RADIUS = LongTime(
    "radius",
    "m + 1 tokens, 0 < beta < 1/(m + 1): then m*tanh(beta) < 1",
    {"beta": (), "m": ()},
    {"relation": "positive", "scalar": _SMALL},
    {"radius": {"relation": "positive", "scalar": "1 - (m + 1)*beta"}},
    {"beta": "positive", "m": "positive"},
)

_SPACE = LongTime(
    "space",
    "m + 1 ≥ 2 tokens on the sphere, d = e + 2 ≥ 3, every beta > 0; eigenvalues with respect to the sum of "
    "squares",
    {**_OTHERS, "e": ()},
    {
        "relation": "saddle-bound",
        "pair": PAIR,
        "others": "m",
        "bound": "2*exp(-beta)*(e*(m + 1) + 1)/((e + 1)*(m + 1)**3)",
    },
    {
        **_SQUARES,
        "sizes": {"relation": "equal", "left": "d", "right": "e + 2"},
        "space": {"relation": "nonnegative", "scalar": "e - 1"},
    },
    dict.fromkeys(("beta", "m", "e"), "positive"),
)

PROPOSITIONS = (
    Conjunction(
        "GLPR23/block-rotation",
        {
            "inequality": _ROTATION,
            "sign change": _FACTORS,
            "other factor": _SLOPE,
            "above zero": _zero("above zero", "the zero (r - e)/(2*beta) is positive", "r - e"),
            "below one": _zero("below one", "the zero (r - e)/(2*beta) is less than one", "2*beta + e - r"),
        },
    ),
    Conjunction("GLPR23/small-beta-saddles", {"small beta": _SADDLES, "radius": _RADIUS, "space": _SPACE}),
    LongTime(
        "GLPR23/consensus-maximum",
        "every probability law on the sphere, beta > 0",
        {"beta": (), "c": ()},
        {"relation": "dirac-maximum", "pair": PAIR, "gap": "exp(-beta)/2"},
        _SQUARES,
        {"beta": "positive"},
    ),
)
