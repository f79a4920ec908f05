r"""The closure at d = 1 and 2 by explicit components, without any matrix calculus.

The score is expanded into a polynomial in the components of y, the Gaussian's exponent is added, the square
is completed by Cramer's rule, and the velocity field is differentiated component by component.  Everything
is exact: floats enter as the rationals they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Matrix, Poly, Rational, diff, eye, symbols, zeros

from symflow.errors import InputError
from symflow.models.statement import Statement
from symflow.verify.evaluate import Evaluator, Values


class Components(Evaluator):
    """Expand a matrix expression into components, exactly."""

    def __init__(self, entries: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        super().__init__(sizes)
        self.entries = entries

    def symbol(self, expr: Any) -> Any:
        return self.entries[expr.name]

    def number(self, expr: Any) -> Any:
        return expr

    def matmul(self, a: Any, b: Any) -> Any:
        return a * b

    def transpose(self, matrix: Any) -> Any:
        return matrix.T

    def trace(self, matrix: Any) -> Any:
        return matrix.trace()

    def inverse(self, expr: Any) -> Any:
        matrix = self(expr)
        return matrix.adjugate() / matrix.det()

    def identity(self, n: int) -> Any:
        return eye(n)

    def zeros(self, rows: int, cols: int) -> Any:
        return zeros(rows, cols)

    def power(self, base: Any, exponent: Any) -> Any:
        return self(base) ** exponent


def closure_by_components(
    statement: Statement, values: Values, sizes: Mapping[str, int], alpha: Any, Sigma: Any
) -> tuple[Any, Any]:
    r"""Return exact α' and Σ' at one point with d ≤ 2, from the components of the definition.

    .. math:: \alpha' = \Gamma(\alpha), \qquad \Sigma' = L\Sigma + \Sigma L^\top, \quad
              L_{ij} = \partial\Gamma_i/\partial x_j

    Parameters
    ----------
    statement : Statement
        The definition of the model.
    values : mapping of str to ndarray
        The parameters.
    sizes : mapping of str to int
        Every dimension; ``sizes["d"]`` is 1 or 2.
    alpha : ndarray, (d,)
    Sigma : ndarray, (d, d)
        Positive definite: the exponent of the Gaussian needs its inverse.

    Returns
    -------
    tuple of sympy.Matrix
        α' (d × 1) and Σ' (d × d) with rational entries.

    Raises
    ------
    InputError
        If the normaliser diverges at this point, or the velocity is not affine in x.
    """
    d = sizes["d"]
    x, y = symbols(f"x1:{d + 1}"), symbols(f"y1:{d + 1}")
    velocity = _velocity(statement, values, sizes, _exact(alpha), _exact(Sigma), x, y)
    gradient = Matrix(d, d, lambda i, j: diff(velocity[i], x[j]))
    if gradient.free_symbols:
        raise InputError(f"{statement.name}: the velocity field is not affine in x")
    exact_cov = _exact(Sigma)
    drift = gradient * exact_cov
    return velocity.subs(dict(zip(x, _exact(alpha), strict=True))), drift + drift.T


def _velocity(
    statement: Statement, values: Values, sizes: Mapping[str, int], mean: Any, cov: Any, x: Any, y: Any
) -> Any:
    """Return Γ(x) as a column of polynomials in the components of x."""
    entries = {name: _exact(value) for name, value in values.items()}
    entries |= {statement.x.name: Matrix(x), statement.y.name: Matrix(y)}
    expand = Components(entries, sizes)
    score = _polynomial(expand(statement.score), y)
    centre = _complete_the_square(score + _gaussian_exponent(mean, cov, y), y, statement.name)
    average = expand(statement.value).subs(dict(zip(y, centre, strict=True)), simultaneous=True)
    return (average + expand(statement.background)).applyfunc(lambda e: e.expand())


def _gaussian_exponent(mean: Any, cov: Any, y: Any) -> Any:
    """Return −½(y−α)ᵀΣ⁻¹(y−α) in components."""
    shift = [v - m for v, m in zip(y, mean, strict=True)]
    if len(y) == 1:
        return -(shift[0] ** 2) / (2 * cov[0, 0])
    determinant = cov[0, 0] * cov[1, 1] - cov[0, 1] ** 2
    form = cov[1, 1] * shift[0] ** 2 - 2 * cov[0, 1] * shift[0] * shift[1] + cov[0, 0] * shift[1] ** 2
    return -form / (2 * determinant)


def _complete_the_square(exponent: Any, y: Any, name: str) -> tuple[Any, ...]:
    """Return the centre of exp(exponent), a Gaussian in y; refuse a diverging one."""
    poly = Poly(exponent, *y)
    if poly.total_degree() > 2:
        raise InputError(f"{name}: the score has degree {poly.total_degree()} in y; it must be quadratic")
    if len(y) == 1:
        quadratic, linear = poly.coeff_monomial(y[0] ** 2), poly.coeff_monomial(y[0])
        _require_negative(quadratic < 0, name)
        return (-linear / (2 * quadratic),)
    u, v = y
    a, b, c = 2 * poly.coeff_monomial(u**2), poly.coeff_monomial(u * v), 2 * poly.coeff_monomial(v**2)
    p, q = poly.coeff_monomial(u), poly.coeff_monomial(v)
    determinant = a * c - b * b
    _require_negative(bool(a < 0) and bool(determinant > 0), name)
    return (b * q - c * p) / determinant, (b * p - a * q) / determinant


def _require_negative(holds: Any, name: str) -> None:
    if not holds:
        raise InputError(f"{name}: the normaliser diverges at this point")


def _polynomial(score: Any, y: Any) -> Any:
    """Return the score without what does not depend on y: it cancels in the average."""
    expanded = score.expand()
    return sum((t for t in expanded.as_ordered_terms() if t.has(*y)), start=Rational(0))


def _exact(value: Any) -> Any:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        return Rational(*float(array).as_integer_ratio())
    columns = array if array.ndim == 2 else array.reshape(-1, 1)
    return Matrix([[Rational(*float(v).as_integer_ratio()) for v in row] for row in columns])
