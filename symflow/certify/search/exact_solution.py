r"""Search for solutions in closed form of a covariance equation with small rational data.

Three families are tried, each by solving equations and not by guessing curves:

* radial: :math:`R(\Sigma_0) = \lambda\Sigma_0` for an equation that is quadratic in Σ gives
  :math:`\Sigma(t) = \Sigma_0/(1 - \lambda t)`; for given V, Σ₀ this is linear in A;
* on a line: :math:`R(\Sigma_0 + uD) = p(u)D` with :math:`D = R(\Sigma_0)` gives :math:`\Sigma_0 + u(t)D`,
  :math:`u' = p(u)`;
* with one pole: :math:`M_0 + M_1w + M_2w^2`, :math:`w = 1/(1 - ct)`, from three derivatives at t = 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Matrix, MatrixSymbol, Poly, Rational, Symbol

from symflow.algebra.sampling import evaluate
from symflow.algebra.variation import gateaux
from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions import proposition

Rows = list[list[Fraction]]
Values = Mapping[str, Rows]


@dataclass(frozen=True)
class CovarianceEquation:
    """``Σ' = rhs`` as derived from a model, with its parameters by name.

    Attributes
    ----------
    covariance : MatrixSymbol
    rhs : MatrixExpr
    """

    covariance: Any
    rhs: Any

    def speed(self, values: Values, sigma: Rows) -> Rows:
        """Return the right-hand side at numbers."""
        found: Rows = evaluate(self.rhs, {**values, self.covariance.name: sigma})
        return found

    @cached_property
    def _derivatives(self) -> tuple[Any, Any, tuple[Any, Any]]:
        directions = tuple(MatrixSymbol(f"H{i}'", *self.covariance.shape) for i in (1, 2))
        first = gateaux(self.rhs, {self.covariance: directions[0]})
        return first, gateaux(first, {self.covariance: directions[1]}), directions

    def jet(self, values: Values, sigma: Rows) -> tuple[Rows, Rows, Rows]:
        """Return Σ', Σ'', Σ''' at the start."""
        first, second, (one, other) = self._derivatives
        at = {**values, self.covariance.name: sigma}
        velocity = self.speed(values, sigma)
        acceleration = evaluate(first, {**at, one.name: velocity})
        bend = evaluate(second, {**at, one.name: velocity, other.name: velocity})
        return velocity, acceleration, _add(bend, evaluate(first, {**at, one.name: acceleration}))


@dataclass(frozen=True)
class Solution:
    """Values of the parameters and a curve Σ(u), u' = rhs, as the text of a proof object."""

    parameters: Values
    rows: list[list[str]]
    clock: Mapping[str, str | None]

    def proof(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return the proof object of kind ``exact-solution``."""
        texts = {name: [[str(x) for x in row] for row in rows] for name, rows in self.parameters.items()}
        return {"sizes": dict(sizes), "parameters": texts, "clock": self.clock, "solution": self.rows}


def refutation(
    claim: str, solution: Solution, sizes: Mapping[str, int], lemmas: tuple[str, ...]
) -> Certificate:
    """Return the certificate that ``solution`` contradicts ``claim``; it is not replayed here."""
    stated = proposition(claim).record()  # type: ignore[attr-defined]
    return Certificate(
        claim=claim,
        status="refuted",
        kind="exact-solution",
        statement=stated,
        scope=proposition(claim).scope(stated),
        assumes=lemmas,
        proof=solution.proof(sizes),
        versions=software(),
    )


# --- small rational data ------------------------------------------------------------------------------------


def diagonals(largest: int, smallest: int = 0) -> Iterator[Rows]:
    """Yield the diagonal 2×2 matrices with whole entries, small ones first."""
    pairs = itertools.product(range(smallest, largest + 1), repeat=2)
    for a, b in sorted(pairs, key=lambda pair: (sum(map(abs, pair)), pair)):
        yield _rows([[a, 0], [0, b]])


def squares(largest: int) -> Iterator[Rows]:
    """Yield all 2×2 matrices with whole entries of size at most ``largest``, small ones first."""
    entries = itertools.product(range(-largest, largest + 1), repeat=4)
    for a, b, c, e in sorted(entries, key=lambda four: (sum(map(abs, four)), four)):
        yield _rows([[a, b], [c, e]])


def row_vectors(largest: int) -> Iterator[Rows]:
    """Yield the 1×2 matrices that are not zero."""
    pairs = itertools.product(range(-largest, largest + 1), repeat=2)
    for a, b in sorted(pairs, key=lambda pair: (sum(map(abs, pair)), (-pair[0], -pair[1]))):
        if a or b:
            yield _rows([[a, b]])


def covariances(largest: int, parts: int = 1) -> Iterator[Rows]:
    """Yield definite symmetric 2×2 matrices with entries in multiples of 1/parts, equal variances first."""
    steps = range(-largest * parts, largest * parts + 1)
    triples = ((a, b, c) for a in steps for c in steps for b in steps if a > 0 and a * c > b * b)
    for a, b, c in sorted(triples, key=_plainness):
        yield _rows([[Fraction(a, parts), Fraction(b, parts)], [Fraction(b, parts), Fraction(c, parts)]])


def _plainness(triple: tuple[int, int, int]) -> tuple[bool, int, int, int]:
    a, b, c = triple
    return a != c, a + abs(b) + c, -b, a


def _rows(entries: list[list[Any]]) -> Rows:
    return [[Fraction(x) for x in row] for row in entries]


def _add(one: Rows, other: Rows, factor: Fraction = Fraction(1)) -> Rows:
    return [[x + factor * y for x, y in zip(r, s, strict=True)] for r, s in zip(one, other, strict=True)]


def _scaled(rows: Rows, factor: Fraction) -> Rows:
    return [[factor * x for x in row] for row in rows]


def _flat(rows: Rows) -> list[Fraction]:
    return [x for row in rows for x in row]


def _is_zero(rows: Rows) -> bool:
    return not any(_flat(rows))


# --- radial solutions ---------------------------------------------------------------------------------------


def radial_parameters(
    equation: CovarianceEquation, values: Values, name: str, sigma: Rows, rate: Fraction, largest: int
) -> Iterator[Values]:
    """Yield values of the parameter ``name``, in which the equation is linear, with R(Σ₀) = rate·Σ₀.

    The solutions form an affine space, whose points with small whole coordinates are looked through; those
    with whole entries are listed.
    """
    size = len(sigma)
    places = list(itertools.product(range(size), repeat=2))
    units = [[[Fraction((i, j) == place) for j in range(size)] for i in range(size)] for place in places]
    columns = [_flat(equation.speed({**values, name: unit}, sigma)) for unit in units]
    system, right = _sympy(columns).T, _sympy([[rate * x] for x in _flat(sigma)])
    solved, free = system.gauss_jordan_solve(right)
    for steps in sorted(itertools.product(range(-largest, largest + 1), repeat=len(free)), key=_length):
        point = [Fraction(int(x.p), int(x.q)) for x in solved.subs(dict(zip(free, steps, strict=True)))]
        if all(entry.denominator == 1 for entry in point):
            yield {**values, name: [point[size * i : size * (i + 1)] for i in range(size)]}


def _length(steps: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return sum(map(abs, steps)), steps


def _sympy(rows: list[list[Fraction]]) -> Matrix:
    return Matrix([[Rational(x.numerator, x.denominator) for x in row] for row in rows])


def radial_solution(
    equation: CovarianceEquation, values: Values, sigma: Rows, rate: Fraction
) -> Solution | None:
    """Return Σ₀/(1 − rate·t) if it solves the equation."""
    zero = _scaled(sigma, Fraction(0))
    return _one_pole(equation, values, (zero, sigma, zero), rate)


# --- solutions with one pole --------------------------------------------------------------------------------


def pole_solution(equation: CovarianceEquation, values: Values, sigma: Rows) -> Solution | None:
    """Return M₀ + M₁w + M₂w², w = 1/(1 − ct), c > 0, if the derivatives at the start lead to a solution."""
    if _is_zero(equation.speed(values, sigma)):
        return None
    jet = equation.jet(values, sigma)
    for rate in _rates(*jet):
        velocity, acceleration, _ = jet
        second = _scaled(_add(acceleration, velocity, -2 * rate), 1 / (2 * rate**2))
        first = _add(_scaled(velocity, 1 / rate), second, Fraction(-2))
        zeroth = _add(_add(sigma, first, Fraction(-1)), second, Fraction(-1))
        found = _one_pole(equation, values, (zeroth, first, second), rate)
        if found is not None:
            return found
    return None


def _rates(velocity: Rows, acceleration: Rows, bend: Rows) -> list[Fraction]:
    """Return every c > 0 with 6c²Σ' − 6cΣ'' + Σ''' = 0 in all entries."""
    c = Symbol("c")
    entries = list(zip(*map(_flat, (velocity, acceleration, bend)), strict=True))
    quadratics = [6 * _number(a) * c**2 - 6 * _number(b) * c + _number(e) for a, b, e in entries]
    (head, *_) = [poly for poly in quadratics if poly != 0]
    roots = Poly(head, c).ground_roots()
    return [
        Fraction(int(root.p), int(root.q))
        for root in sorted(roots)
        if root > 0 and all(poly.subs(c, root) == 0 for poly in map(Rational(1).__mul__, quadratics))
    ]


def _number(value: Fraction) -> Rational:
    return Rational(value.numerator, value.denominator)


def _one_pole(
    equation: CovarianceEquation, values: Values, parts: tuple[Rows, Rows, Rows], rate: Fraction
) -> Solution | None:
    """Return the curve with these coefficients if the equation holds at as many points as settle it."""
    for w in map(Fraction, range(1, 9)):
        sigma = _add(_add(parts[0], parts[1], w), parts[2], w**2)
        slope = _scaled(_add(parts[1], parts[2], 2 * w), rate * w**2)
        if equation.speed(values, sigma) != slope:
            return None
    divisor = f"(1 - {rate}*t)"
    entries = zip(*map(_flat, parts), strict=True)
    texts = [_text(zip(entry, ("", f"/{divisor}", f"/{divisor}**2"), strict=True)) for entry in entries]
    size = len(parts[0])
    rows = [texts[size * i : size * (i + 1)] for i in range(size)]
    return Solution(values, rows, {"name": "t", "rhs": "1", "start": "0", "end": str(1 / rate)})


# --- solutions on a line ------------------------------------------------------------------------------------


def line_solution(equation: CovarianceEquation, values: Values, sigma: Rows) -> Solution | None:
    """Return Σ₀ + uD with u' = p(u) of degree at most two, up to the first zero of p, if that is rational."""
    direction = equation.speed(values, sigma)
    if _is_zero(direction):
        return None
    speeds = [_ratio(equation.speed(values, _add(sigma, direction, u)), direction) for u in _POINTS]
    if None in speeds:
        return None
    u = Symbol("u")
    speed = _interpolated(speeds[:3], u)
    if any(speed.eval(_number(at)) != _number(value) for at, value in zip(_POINTS, speeds, strict=True)):
        return None
    ahead = [root for root in speed.real_roots() if root > 0] if speed.degree() > 0 else []
    if not ahead or not ahead[0].is_Rational:
        return None
    size = len(sigma)
    pairs = zip(_flat(sigma), _flat(direction), strict=True)
    texts = [_text(zip(pair, ("", "*u"), strict=True)) for pair in pairs]
    rows = [texts[size * i : size * (i + 1)] for i in range(size)]
    clock = {"name": "u", "rhs": str(speed.as_expr()), "start": "0", "end": str(ahead[0])}
    return Solution(values, rows, clock)


_POINTS = tuple(map(Fraction, (0, 1, -1, 2, -2)))


def _ratio(rows: Rows, direction: Rows) -> Any:
    """Return p with rows = p·direction, or None."""
    pairs = list(zip(_flat(rows), _flat(direction), strict=True))
    factor = next(x / y for x, y in pairs if y)
    return factor if all(x == factor * y for x, y in pairs) else None


def _interpolated(values: list[Any], u: Any) -> Poly:
    """Return the polynomial of degree two with the given values at 0, 1, −1."""
    at_zero, at_one, below = map(_number, values)
    even, odd = (at_one + below) / 2 - at_zero, (at_one - below) / 2
    return Poly(at_zero + odd * u + even * u**2, u)


def _text(terms: Any) -> str:
    """Return a sum of coefficients times factors without the terms that vanish."""
    kept = [(coefficient, factor) for coefficient, factor in terms if coefficient]
    written = [
        factor[1:] if factor.startswith("*") and coefficient == 1 else f"{coefficient}{factor}"
        for coefficient, factor in kept
    ]
    if len(written) == 1:
        return written[0]
    return " + ".join(f"({part})" if part.startswith("-") else part for part in written) or "0"
