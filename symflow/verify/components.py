r"""The closure at d = 1 and 2 by explicit components, without any matrix calculus.

Kernels are expanded into polynomials in the components of y. Where weights are normalised, the Gaussian's
exponent is added and the square is completed by Cramer's rule; polynomial weights are averaged by Stein's
identity; for doubly stochastic weights the components of the coupling's precision are compared. The velocity
field is differentiated component by component. Floats enter as the rationals they are.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_are
from sympy import Float, Matrix, Poly, Rational, Symbol, diff, eye, symbols, zeros

from symflow.errors import InputError
from symflow.models.statement import Statement
from symflow.verify.evaluate import DIGITS, Evaluator, Values
from symflow.verify.measures import log_kernel
from symflow.verify.places import Law, Place, Term, integrals

#: Digits of what is not rational, and how often a Newton iteration may double them.
_DIGITS, _STEPS = DIGITS + 15, 12


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
    statement: Statement, values: Values, sizes: Mapping[str, int], place: Place
) -> tuple[Any, Any]:
    r"""Return α' and Σ' at one place with d ≤ 2, from the components of the definition.

    .. math:: \alpha' = \Gamma(\alpha), \qquad \Sigma' = L\Sigma + \Sigma L^\top + 2\varepsilon I, \quad
              L_{ij} = \partial\Gamma_i/\partial x_j

    Parameters
    ----------
    statement : Statement
        The definition of the model.
    values : mapping of str to ndarray
        The parameters.
    sizes : mapping of str to int
        Every dimension; ``sizes["d"]`` is 1 or 2.
    place : Place
        The laws that a token sees; where weights are normalised the covariance is positive definite.

    Returns
    -------
    tuple of sympy.Matrix
        α' (d × 1) and Σ' (d × d): rational entries, but for doubly stochastic weights.

    Raises
    ------
    InputError
        If the normaliser diverges at this point, or the velocity is not affine in x.
    """
    d = sizes["d"]
    x, y = symbols(f"x1:{d + 1}"), symbols(f"y1:{d + 1}")
    velocity = _velocity(statement, values, sizes, place, x, y)
    gradient = Matrix(d, d, lambda i, j: diff(velocity[i], x[j]))
    if gradient.free_symbols:
        raise InputError(f"{statement.name}: the velocity field is not affine in x")
    drift = gradient * _exact(place.own.cov)
    noise = Components({name: _exact(v) for name, v in values.items()}, sizes)(statement.diffusion)
    centre = dict(zip(x, _exact(place.own.mean), strict=True))
    return velocity.subs(centre), drift + drift.T + 2 * noise * eye(d)


def _velocity(
    statement: Statement, values: Values, sizes: Mapping[str, int], place: Place, x: Any, y: Any
) -> Any:
    """Return Γ(x) as a column of polynomials in the components of x."""
    tokens = {statement.x.name: Matrix(x), statement.y.name: Matrix(y)}
    outside = Components({name: _exact(v) for name, v in values.items()} | tokens, sizes)
    total = outside(statement.background)
    for term in integrals(statement, values, sizes):
        expand = Components({name: _exact(v) for name, v in term.values.items()} | tokens, sizes)
        head = term.head
        image = expand(head.value)
        if head.normalise == "none":
            weighted = [[law.weight, _moments_of(expand(head.kernel) * image, y, law)] for law in place.laws]
            part = reduce(operator.add, (_exact(weight) * moment for weight, moment in weighted))
        else:
            centre = _centre(statement, term, expand(log_kernel(head)), place, x, y)
            part = image.subs(dict(zip(y, centre, strict=True)), simultaneous=True)
        total = total + expand(head.prefactor) * part
    return total.applyfunc(lambda e: e.expand())


def _centre(statement: Statement, term: Term, score: Any, place: Place, x: Any, y: Any) -> tuple[Any, ...]:
    """Return the mean of a key given the query x: the value is affine in the key."""
    if len(place.laws) != 1:
        raise InputError(f"{statement.name}: its weights are normalised over several positions")
    mean, cov = _exact(place.own.mean), _exact(place.own.cov)
    polynomial = _polynomial(score, y)
    if term.head.normalise == "softmax":
        return _complete_the_square(polynomial + _gaussian_exponent(mean, cov, y), y, statement.name)
    mixed = Matrix(len(y), len(x), lambda i, j: diff(polynomial, y[i], x[j]))
    gain = _coupled(mixed, cov) * mixed
    return tuple(mean + gain * (Matrix(x) - mean))


def _coupled(mixed: Any, cov: Any) -> Any:
    r"""Return the covariance S of y given x of the coupling of the law with itself.

    The density of (x, y) is that of the score times a function of x and a function of y. So the components
    of its precision that mix x and y are those of the score, :math:`S^{-1}H = B` with y given x of mean
    α + H(x − α), and y has the covariance :math:`S + H\Sigma H^\top = \Sigma`. These are polynomial
    equations in the components of S with one positive definite solution; Newton's iteration takes it to all
    digits.
    """
    d = cov.rows
    places = [(i, j) for i in range(d) for j in range(i, d)]
    unknowns = [Symbol(f"s{i}{j}") for i, j in places]
    spread = _symmetric(d, unknowns)
    equations = spread + spread * mixed * cov * mixed.T * spread - cov
    start = _riccati(*(np.array(m.tolist(), dtype=np.float64) for m in (mixed * cov * mixed.T, cov)))
    solved = _newton([equations[place] for place in places], unknowns, [start[place] for place in places])
    found = _symmetric(d, solved)
    if not (found[0, 0] > 0 and found.det() > 0):
        raise InputError("the covariance of the coupling is not positive definite at this point")
    return found


def _symmetric(d: int, entries: list[Any]) -> Any:
    """Return the symmetric matrix whose upper triangle is listed row by row."""
    upper = iter(entries)
    table = {(i, j): next(upper) for i in range(d) for j in range(i, d)}
    return Matrix(d, d, lambda i, j: table[min(i, j), max(i, j)])


def _newton(equations: list[Any], unknowns: list[Any], start: list[float]) -> list[Any]:
    """Return the root near ``start`` to :data:`_DIGITS` digits."""
    system = Matrix(equations)
    slopes = system.jacobian(unknowns)
    root = Matrix([Float(value, _DIGITS) for value in start])
    for _ in range(_STEPS):
        at = dict(zip(unknowns, root, strict=True))
        step = slopes.subs(at).evalf(_DIGITS).LUsolve(-system.subs(at).evalf(_DIGITS))
        root += step
        if max(map(abs, step)) <= Float(10, _DIGITS) ** (5 - _DIGITS) * max(map(abs, root)):
            return list(root)
    raise InputError("the equations of the coupling were not solved to many digits at this point")


def _riccati(quadratic: Any, cov: Any) -> Any:
    """Return S ≻ 0 with S + SMS = Σ in float64."""
    weights, axes = np.linalg.eigh(quadratic)
    root = axes * np.sqrt(np.maximum(weights, 0.0))
    return solve_continuous_are(-np.eye(len(cov)) / 2, root, cov, np.eye(len(cov)))


def _moments_of(integrand: Any, y: Any, law: Law) -> Any:
    """Return the mean of a column of polynomials in y by Stein's identity, component by component."""
    mean, cov = _exact(law.mean), _exact(law.cov)
    known: dict[tuple[int, ...], Any] = {(0,) * len(y): Rational(1)}

    def moment(powers: tuple[int, ...]) -> Any:
        if powers not in known:
            i = next(k for k, power in enumerate(powers) if power)
            lower = _lowered(powers, i)
            pairs = (power * cov[i, j] * moment(_lowered(lower, j)) for j, power in enumerate(lower) if power)
            known[powers] = mean[i] * moment(lower) + sum(pairs, start=Rational(0))
        return known[powers]

    def average(entry: Any) -> Any:
        terms = Poly(entry, *y).terms()
        return sum((coefficient * moment(powers) for powers, coefficient in terms), start=Rational(0))

    return integrand.applyfunc(average)


def _lowered(powers: tuple[int, ...], index: int) -> tuple[int, ...]:
    return tuple(power - (k == index) for k, power in enumerate(powers))


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
