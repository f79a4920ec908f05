r"""Which equations every such structure needs, read off Diracs and laws of two atoms.

Where p = L y k(x, y) and s = R₁ y k(x, y) + R₂ y k(y, x), a Dirac law gives L = BS up to a positive number,
S = R₁ + R₂, and two atoms of masses θ, 1 − θ add (1 − θ)(k(y, x) − k(x, y))R₂y to Sw, where w is what p
averages. For independent x, y that is a multiple of Sw for every θ only if it is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import MatrixSymbol, Trace, Transpose, exp

from symflow.algebra.words import identical
from symflow.derive.gradient_flow.matching import Averages, Joined, Place, sort_terms


@dataclass(frozen=True)
class Necessity:
    """Two words of the slope that only an equation between parameters makes one.

    Attributes
    ----------
    front : MatrixExpr
        L.
    own, exchanged : MatrixExpr
        R₁ and R₂.
    matrix : MatrixSymbol
        That has to be symmetric.
    """

    front: Any
    own: Any
    exchanged: Any
    matrix: MatrixSymbol


def necessity(found: Averages, joined: Joined) -> Necessity | None:
    """Return why the equation that joins both sides is needed; None where that is not shown here."""
    coupled = found.functional is not None
    if coupled or found.space != "euclidean" or found.potential != 0 or len(joined.equations) != 1:
        return None
    ((letter, image),) = joined.equations
    left, right = (sort_terms(text, found, ()) for text in (found.velocity, found.slope))
    if not isinstance(image, Transpose) or len(left) != 1 or len(right) != 2:
        return None
    ((place, front),) = left.items()
    others = [key for key in right if key != place]
    if len(others) != 1 or not _is_exchanged(place, others[0], found, letter):
        return None
    if any(last != found.y for _, last in (place, others[0])):
        return None
    return Necessity(front, right[place], right[others[0]], letter)


def _is_exchanged(place: Place, other: Place, found: Averages, letter: Any) -> bool:
    """Whether the scalars are k(x, y) and k(y, x), equal for all tokens only if the letter is symmetric."""
    kernel = place[0]
    back = kernel.xreplace({found.x: found.y, found.y: found.x})
    if not isinstance(kernel, exp) or not identical(back, other[0]):
        return False
    number = kernel.args[0].as_independent(found.x, found.y, as_Add=False)[0]
    gap = Trace(found.y.T * (letter - letter.T) * found.x)
    difference = kernel.args[0] - back.args[0]
    return any(identical(difference, sign * number * gap) for sign in (1, -1))
