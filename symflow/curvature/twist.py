r"""The matrices of the twisted metric: A, V and |M| for M = AV⁻¹, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import exp

from symflow.algebra.exact.rational import fractions, inertia, rational_matrix
from symflow.algebra.quadratic import quadratic_form
from symflow.curvature.cloud import read_square
from symflow.errors import InputError, NotQuadratic
from symflow.models.energies.statement import EnergyStatement

Rows = list[list[Fraction]]
#: Relative to the largest entry: how far floats may leave a matrix that should be symmetric.
_ROUNDING = 1e-10


@dataclass(frozen=True)
class Twist:
    r"""Matrices of the metric :math:`\int\langle v, |M|v\rangle\,G_\mu\,d\mu`.

    Attributes
    ----------
    A : rows of Fraction
        Of the density :math:`G_\mu(x) = \int e^{\langle Ax, y\rangle}\,d\mu(y)`; symmetric.
    size, inverse : rows of Fraction
        :math:`|M|` for :math:`M = AV^{-1}`, and its inverse.
    sign : int
        1 where M is positive definite, −1 where it is negative definite.
    """

    A: Rows
    size: Rows
    inverse: Rows
    sign: int


def read_twist(statement: EnergyStatement, values: Mapping[str, Any], V: Any, A: Any, size: int) -> Twist:
    """Return the matrices of the twisted metric.

    Parameters
    ----------
    statement : EnergyStatement
        Of the energy: where its pair is the exponential of a bilinear score, A may be left out.
    values : mapping
        Exact values of its parameters.
    V, A : array_like, (d, d)
    size : int
        d.

    Raises
    ------
    InputError
        If V is missing or singular, A is not symmetric or singular, or AV⁻¹ is not symmetric and definite.
    """
    if V is None:
        raise InputError("the twisted metric needs V; give V=, a (d, d) matrix")
    value_matrix = rational_matrix(read_square(V, "V", size))
    if A is None:
        scores = _score_matrix(statement, values)
        scores = _symmetrised(scores, "A = KᵀQ of the energy")
    else:
        scores = _symmetrised(read_square(A, "A", size), "A")
    matrix = rational_matrix(scores)
    for name, one in (("V", value_matrix), ("A", matrix)):
        if one.det() == 0:
            raise InputError(f"{name} is singular; the twisted metric needs A and V invertible")
    M = _symmetrised(fractions(matrix * value_matrix.inv()), "A V⁻¹")
    found = inertia(rational_matrix(M))
    if found.positive and found.negative:
        raise InputError(
            f"A V⁻¹ is indefinite, with {found.positive} positive and {found.negative} negative eigenvalues; "
            "the twisted metric needs it positive or negative definite"
        )
    sign = 1 if found.positive else -1
    absolute = [[sign * entry for entry in row] for row in M]
    return Twist(scores, absolute, fractions(rational_matrix(absolute).inv()), sign)


def _symmetrised(rows: Rows, name: str) -> Rows:
    """Return a matrix that is symmetric up to the rounding of floats as its symmetric part."""
    scale = max(abs(entry) for row in rows for entry in row)
    size = range(len(rows))
    for i in size:
        for j in range(i):
            if abs(rows[i][j] - rows[j][i]) > _ROUNDING * scale:
                raise InputError(
                    f"{name} is not symmetric: its entries [{i}, {j}] and [{j}, {i}] are "
                    f"{_short(rows[i][j])} and {_short(rows[j][i])}; the metric needs A and A V⁻¹ symmetric"
                )
    return [[(rows[i][j] + rows[j][i]) / 2 for j in size] for i in size]


def _short(number: Fraction) -> str:
    return str(number) if number.denominator < 1000 else f"{float(number):.12g}"


def _score_matrix(statement: EnergyStatement, values: Mapping[str, Any]) -> Rows:
    """Return A of a pair e^{⟨Ax, y⟩}."""
    from symflow.algebra.exact.evaluation import evaluate_exact

    pair = statement.pair
    refused = InputError(
        f"{statement.name} is not the exponential of a bilinear score, from which A would follow; give A="
    )
    if not isinstance(pair, exp):
        raise refused
    try:
        form = quadratic_form(pair.args[0], statement.x, statement.y)
    except NotQuadratic as error:
        raise refused from error
    if not (form.C.is_ZeroMatrix and form.c.is_ZeroMatrix and form.rest == 0):
        raise refused
    rows: Rows = evaluate_exact(form.B, values)
    return rows
