"""Exact numbers and balls that pickle, so that results can be sent between processes and kept.

python-flint gives its matrices, polynomials and balls no reducers; those registered here write integers.
The registry of reducers for foreign types is the standard library's, and importing this module fills it.
"""

from __future__ import annotations

import copyreg
from typing import Any

from flint import arb, arb_mat, fmpq_mat, fmpq_poly

Dyadic = tuple[int, int]  #: mantissa and exponent of two


def _rational_rows(matrix: Any) -> tuple[Any, ...]:
    return _rational_matrix, (matrix.nrows(), matrix.ncols(), matrix.entries())


def _rational_matrix(rows: int, cols: int, entries: list[Any]) -> Any:
    return fmpq_mat(rows, cols, entries)


def _coefficients(polynomial: Any) -> tuple[Any, ...]:
    return fmpq_poly, (polynomial.coeffs(),)


def _ball(number: Any) -> tuple[Any, ...]:
    return _ball_of, (_dyadic(number.mid()), _dyadic(number.rad()))


def _dyadic(number: Any) -> Dyadic:
    mantissa, exponent = number.man_exp()
    return int(mantissa), int(exponent)


def _ball_of(middle: Dyadic, radius: Dyadic) -> Any:
    """Return a ball that contains the pickled one; its radius is rounded upwards."""
    return arb(middle, radius)


def _ball_rows(matrix: Any) -> tuple[Any, ...]:
    return _ball_matrix, (matrix.nrows(), matrix.ncols(), matrix.entries())


def _ball_matrix(rows: int, cols: int, entries: list[Any]) -> Any:
    return arb_mat(rows, cols, entries)


copyreg.pickle(fmpq_mat, _rational_rows)
copyreg.pickle(fmpq_poly, _coefficients)
copyreg.pickle(arb, _ball)
copyreg.pickle(arb_mat, _ball_rows)
