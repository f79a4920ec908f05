"""What is known about long times as text and numbers that JSON can hold; exact numbers are text."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.numbers import AlgebraicNumber, Ball, BallMatrix
from symflow.longtime.result import LongTime


def to_record(result: LongTime) -> dict[str, Any]:
    """Return a result as nested dictionaries, ready for JSON.

    Numbers and matrices have the keys ``value`` (floats), ``exact`` (text, null for a ball), ``radius`` and
    ``latex``; what is not known, and a value beyond the doubles, is null.
    """
    criterion = result.criterion
    return {
        "criterion": None
        if criterion is None
        else {
            "name": criterion.name,
            "statement": criterion.statement,
            "reference": criterion.reference,
            "hypotheses": [vars(hypothesis) for hypothesis in criterion.hypotheses],
        },
        "global_in_time": result.global_in_time,
        "blow_up_time": _number(result.blow_up_time),
        "closed_form": None if result.closed_form is None else result.closed_form.to_latex(),
        "limit": _matrix(result.limit),
        "limit_rank": result.limit_rank,
        "direction": _matrix(result.direction),
        "steady_state": _matrix(result.steady_state),
        "bounds": [
            {
                "formula": bound.formula,
                "constants": {name: _number(value) for name, value in bound.constants.items()},
            }
            for bound in result.bounds
        ],
        "reason": result.reason or None,
    }


def _number(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, Ball):
        exact = str(value.midpoint) if value.radius == 0 else None
        return {
            "value": _finite(value),
            "exact": exact,
            "radius": _upper(value.radius),
            "latex": value.to_latex(),
        }
    latex = value.to_latex() if isinstance(value, AlgebraicNumber) else str(value)
    return {"value": _finite(value), "exact": str(value), "radius": 0.0, "latex": latex}


def _finite(value: Any) -> float | None:
    """Return the number as a float, None where it is beyond the largest double, which JSON cannot hold."""
    near = float(value)
    return near if math.isfinite(near) else None


def _upper(radius: Fraction) -> float:
    """Return a float that is not below the radius."""
    near = float(radius)
    return near if Fraction(near) >= radius else near * (1 + 2.0**-52)


def _matrix(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if isinstance(value, BallMatrix):
        radius = max(entry.radius for row in value.entries for entry in row)
        return {"value": value.tolist(), "exact": None, "radius": _upper(radius), "latex": value.to_latex()}
    from symflow.algebra.latex import latex

    rows = [[value[i, j] for j in range(value.cols)] for i in range(value.rows)]
    floats = [[float(entry) for entry in row] for row in rows]
    exact = [[str(entry) for entry in row] for row in rows]
    return {"value": floats, "exact": exact, "radius": 0.0, "latex": latex(value)}
