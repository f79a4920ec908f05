r"""Zeros of systems of equations in boxes of balls, by the operator of Krawczyk.

With an approximate inverse C of the derivative at the midpoint m of a box X,

.. math:: K(X) = m - Cf(m) + (I - CF'(X))(X - m).

Every zero in X lies in K(X). Where K(X) lies in the interior of X, there is exactly one zero in X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["unique", "none", "open"]
Map = Callable[[list[Any]], Sequence[Any]]  #: values of the equations at balls
Derivative = Callable[[list[Any]], Sequence[Sequence[Any]]]  #: rows of their derivatives at balls
_BITS = 128


@dataclass(frozen=True)
class Krawczyk:
    """What one step says about the zeros in a box.

    Attributes
    ----------
    outcome : str
        ``"unique"``: exactly one zero, in ``box``. ``"none"``: no zero. ``"open"``: all zeros lie in ``box``.
    box : tuple of flint.arb
        K(X) ∩ X; for ``"none"`` the box that was given.
    """

    outcome: Outcome
    box: tuple[Any, ...]


def krawczyk(function: Map, derivative: Derivative, box: Sequence[Any], bits: int = _BITS) -> Krawczyk:
    """Return whether a box holds no zero, exactly one, or how far it can be narrowed.

    Parameters
    ----------
    function, derivative : callable
        From a list of ``flint.arb`` to values and rows of derivatives that contain those at all its points.
    box : sequence of flint.arb
    bits : int
        Precision.

    Examples
    --------
    >>> from flint import arb
    >>> circle = lambda x: [x[0] ** 2 + x[1] ** 2 - 2, x[0] - x[1]]
    >>> slope = lambda x: [[2 * x[0], 2 * x[1]], [arb(1), arb(-1)]]
    >>> found = krawczyk(circle, slope, [arb(1, 0.1), arb(1, 0.1)])
    >>> found.outcome, krawczyk(circle, slope, [arb(3, 0.5), arb(1, 0.1)]).outcome
    ('unique', 'none')
    """
    from flint import ctx

    with ctx.workprec(bits):
        box = list(box)
        if any(not value.contains(0) for value in function(box)):
            return Krawczyk("none", tuple(box))
        image = _operator(function, derivative, box)
        if image is None:
            return Krawczyk("open", tuple(box))
        if any(not new.overlaps(old) for new, old in zip(image, box, strict=True)):
            return Krawczyk("none", tuple(box))
        inside = all(old.contains_interior(new) for new, old in zip(image, box, strict=True))
        met = tuple(new.intersection(old) for new, old in zip(image, box, strict=True))
        return Krawczyk("unique" if inside else "open", met)


def zero_near(
    function: Map, derivative: Derivative, point: Sequence[Any], bits: int = _BITS
) -> tuple[Any, ...] | None:
    """Return a box around an approximate zero that holds exactly one, None where none is found.

    The box starts with a radius of a few corrections by Newton's method and is inflated until the operator of
    Krawczyk maps it into its interior.

    Examples
    --------
    >>> from flint import arb
    >>> (box,) = zero_near(lambda x: [x[0] ** 2 - 2], lambda x: [[2 * x[0]]], [arb(1.414)])
    >>> (box**2).contains(2), float(box.rad()) < 1e-30
    (True, True)
    """
    from flint import arb, ctx

    with ctx.workprec(bits):
        centre = _polished(function, derivative, [value.mid() for value in point], bits)
        if centre is None:
            return None
        radius = arb(2) ** (10 - bits) * (1 + max((abs(c) for c in centre), default=arb(0)))
        while radius < 1:
            box = [c + arb(0, 1) * radius for c in centre]
            found = krawczyk(function, derivative, box, bits)
            if found.outcome == "unique":
                return found.box
            radius = radius * 1024
        return None


def _polished(function: Map, derivative: Derivative, point: list[Any], bits: int) -> list[Any] | None:
    """Return a point after steps of Newton's method; None where a derivative is singular."""
    for _ in range(bits.bit_length() + 4):
        step = _solved(derivative(point), function(point))
        if step is None:
            return None
        point = [(p - s).mid() for p, s in zip(point, step, strict=True)]
    return point


def _operator(function: Map, derivative: Derivative, box: list[Any]) -> list[Any] | None:
    from flint import arb, arb_mat

    middle = [side.mid() for side in box]
    inverse = _inverse(derivative(middle))
    if inverse is None:
        return None
    size = len(box)
    unit = arb_mat([[arb(int(i == j)) for j in range(size)] for i in range(size)])
    spread = arb_mat([[side - m] for side, m in zip(box, middle, strict=True)])
    values = arb_mat([[value] for value in function(middle)])
    slopes = arb_mat([list(row) for row in derivative(box)])
    image = arb_mat([[m] for m in middle]) - inverse * values + (unit - inverse * slopes) * spread
    found = image.entries()
    return found if all(value.is_finite() for value in found) else None


def _inverse(rows: Sequence[Sequence[Any]]) -> Any:
    """Return an approximate inverse as a matrix of midpoints, None where there is none."""
    from flint import arb_mat

    matrix = arb_mat([[entry.mid() for entry in row] for row in rows])
    try:
        inverse = matrix.inv()
    except ZeroDivisionError:
        return None
    return arb_mat([[entry.mid() for entry in row] for row in inverse.tolist()])


def _solved(rows: Sequence[Sequence[Any]], right: Sequence[Any]) -> list[Any] | None:
    from flint import arb_mat

    inverse = _inverse(rows)
    return None if inverse is None else (inverse * arb_mat([[value] for value in right])).entries()
