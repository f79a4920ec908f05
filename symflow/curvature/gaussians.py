r"""Second variations at Gaussian laws: numbers for the closed forms, and coordinates of Gaussian tangents.

Coordinates of a tangent are the derivative of the mean, then the entries of the derivative of the covariance
on and above the diagonal, row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sympy import Add, Expr, Mul

from symflow.algebra.determinant import LogDet
from symflow.algebra.exact.rational import fractions, inertia, rational_matrix, rational_root
from symflow.curvature.along import SecondVariation
from symflow.curvature.cloud import Rows, read_square
from symflow.curvature.exact import is_exact, nested
from symflow.curvature.form import to_sympy
from symflow.derive.second_variation.gaussian import (
    ALPHA,
    DRIFT,
    LINEAR,
    SIGMA,
    Averaged,
    TiltedPair,
)
from symflow.energies.exact import exact_value
from symflow.errors import InputError

__all__ = ["GaussianLaw", "GaussianVariation", "read_gaussian", "value_of"]

Values = dict[Any, Any]


@dataclass(frozen=True)
class GaussianLaw:
    """Mean (d × 1) and covariance as fractions, and whether they were given exactly."""

    mean: Rows
    cov: Rows
    exact: bool

    @property
    def size(self) -> int:
        """d."""
        return len(self.cov)


def read_gaussian(at: Any) -> GaussianLaw:
    """Return the law of an object with ``mean`` and ``cov``; floats are read as the fractions they are.

    Raises
    ------
    InputError
        If a shape is wrong, or the covariance is not symmetric and positive definite.
    """
    entries = [*nested(at.mean, "mean")[0], *nested(at.cov, "cov")[0]]
    mean = exact_value(at.mean, "mean")
    mean = mean if isinstance(mean, list) else [mean]
    size = len(mean)
    cov = read_square(at.cov, "cov", size)
    for i in range(size):
        for j in range(i):
            if cov[i][j] != cov[j][i]:
                raise InputError(f"cov is not symmetric at [{i}, {j}]; give a symmetric matrix")
    if inertia(rational_matrix(cov)).positive < size:
        raise InputError(
            "cov is not positive definite; where it is singular the tangents of Gaussian laws have no "
            "covariance coordinates (a Dirac is a token: give its position)"
        )
    return GaussianLaw([[entry] for entry in mean], cov, all(is_exact(entry) for entry in entries))


@dataclass(frozen=True)
class Evaluator:
    """Numbers put into averages over a Gaussian law."""

    values: Values
    sizes: Mapping[Any, int]

    def average(self, parts: Averaged, drift: Rows, linear: Rows) -> Any:
        """Return the sum over the tilted laws of mass times average, exactly."""
        total: Any = Fraction(0)
        constant = fractions(
            rational_matrix(drift) - rational_matrix(linear) * rational_matrix(self.values[ALPHA])
        )
        for summand in parts:
            mass, moments = self._tilted(summand.law)
            values = {**self.values, **moments, DRIFT: constant, LINEAR: linear}
            total = total + mass * self._exactly(summand.average, values)
        return total

    def refuse_outside(self, parts: Averaged) -> None:
        """Refuse a law at which an average is infinite."""
        for summand in parts:
            for curvature in summand.law.curvatures:
                self.refuse_curvature(curvature)

    def refuse_curvature(self, curvature: Any) -> None:
        """Refuse a covariance with λ_max(Σ^{1/2}CΣ^{1/2}) ≥ 1."""
        if curvature.is_ZeroMatrix:
            return
        tilt = rational_matrix(self._exactly(curvature, self.values))
        product = rational_matrix(self.values[SIGMA]) * tilt
        size = product.nrows()
        excess = product - rational_matrix([[int(i == j) for j in range(size)] for i in range(size)])
        # the eigenvalues of ΣC are real, as those of Σ^{1/2}CΣ^{1/2}
        if inertia(excess).negative < size:
            raise InputError(
                "cov is outside the domain of energy and metric: they are finite where every eigenvalue of "
                f"cov·C is less than 1 with C = {curvature} (Σ ≺ I for exp(±⟨x, y⟩))"
            )

    def _tilted(self, law: TiltedPair) -> tuple[Any, Values]:
        moments = {symbol: self._exactly(part, self.values) for symbol, part in law.parts().items()}
        return value_of(law.log_mass, lambda part: self._exactly(part, self.values)), moments

    def _exactly(self, expression: Any, values: Values) -> Any:
        from symflow.algebra.exact.evaluation import evaluate_exact

        return evaluate_exact(expression, values, self.sizes)


def value_of(logarithm: Expr, evaluate: Callable[[Any], Any]) -> Any:
    """Return the exponential of a sum of rational numbers and multiples of ½ log det, exactly."""
    from sympy import Determinant

    from symflow.algebra.exact.exponentials import ExpSum

    exponent, square = Fraction(0), Fraction(1)
    for term in Add.make_args(logarithm):
        factors = Mul.make_args(term)
        dets = [f for f in factors if isinstance(f, LogDet)]
        if not dets:
            exponent += evaluate(term)
            continue
        twice = 2 * Mul(*(f for f in factors if f is not dets[0]))
        square *= evaluate(Determinant(dets[0].arg)) ** int(twice)
    return ExpSum({exponent: square_root(square)})


def square_root(square: Fraction) -> Any:
    """Return the root of a positive fraction: a fraction, or an element of a quadratic field."""
    from symflow.algebra.exact.fields import NumberField
    from symflow.algebra.exact.numbers import AlgebraicNumber
    from symflow.algebra.exact.rational import fmpq, fraction

    root = rational_root(fmpq(square))
    if root is not None:
        return fraction(root)
    whole = square.numerator * square.denominator  # √(p/q) = √(pq)/q
    return NumberField(AlgebraicNumber((-whole, 0, 1), 1)).generator / square.denominator


Tangent = tuple[Rows, Rows]  #: a (d × 1) and L (d × d) of the velocity a + L(x − α)


class GaussianVariation(SecondVariation):
    """A second variation on Gaussian laws, evaluated in one direction at a time."""

    _law: GaussianLaw
    _form: Callable[[Tangent], Any]
    _metric: Callable[[Tangent], Any]
    _velocity: Callable[[list[Fraction], Rows], Tangent]
    _basis: list[list[Fraction]]
    _energy: Callable[[Rows, Rows], Any]

    def __init__(
        self,
        law: GaussianLaw,
        form: Callable[[Tangent], Any],
        metric: Callable[[Tangent], Any],
        velocity: Callable[[list[Fraction], Rows], Tangent],
        energy: Callable[[Rows, Rows], Any],
        basis: list[list[Fraction]] | None = None,
    ) -> None:
        size = law.size + law.size * (law.size + 1) // 2
        given = {"shape": (size,), "points": None, "frame": _frame(basis, law.exact)}
        units = [[Fraction(int(i == k)) for i in range(size)] for k in range(size)]
        given |= {"_law": law, "_form": form, "_metric": metric, "_velocity": velocity, "_energy": energy}
        for name, value in {**given, "_basis": basis or units}.items():
            object.__setattr__(self, name, value)

    @property
    def exact(self) -> bool:
        """Whether mean and covariance were given exactly."""
        return self._law.exact

    @property
    def size(self) -> int:
        """The number of coordinates of a tangent."""
        return self.shape[0]

    @cached_property
    def entries(self) -> Any:
        """The matrix of the form."""
        return self._polarised(self._form)

    @cached_property
    def gram(self) -> Any:
        """The matrix of the metric."""
        return self._polarised(self._metric)

    def form(self, v: Any) -> Any:
        """Return the second derivative of the energy along the geodesic.

        Parameters
        ----------
        v : pair of (d,) and (d, d), or (d, d), or (d + d(d+1)/2,)
            Derivatives of mean and covariance; of the covariance alone; or coordinates.

        Raises
        ------
        InputError
            If the shape differs, the derivative of the covariance is not symmetric, or v belongs to no
            geodesic that is known in closed form.
        """
        return self._number(self._form, v)

    def metric(self, v: Any) -> Any:
        """Return the squared length of v; parameters and errors as for :meth:`form`."""
        return self._number(self._metric, v)

    def tangent(self, v: Any) -> Tangent:
        """Return a and L of the velocity a + L(x − α) that belongs to a tangent."""
        return self._velocity(*_taken_apart(self._coordinates(v)[0], self._law.size))

    def energy_at(self, mean: Rows, cov: Rows) -> Any:
        """Return the energy of another Gaussian law, exactly."""
        return self._energy(mean, cov)

    def _number(self, function: Callable[[Tangent], Any], v: Any) -> Any:
        coordinates, exact = self._coordinates(v)
        value = function(self._velocity(*_taken_apart(coordinates, self._law.size)))
        return to_sympy(value) if exact and self.exact else float(value)

    def _coordinates(self, v: Any) -> tuple[list[Fraction], bool]:
        size = self._law.size
        if not _is_pair(v, size):
            entries, shape = nested(v, "v")
            if shape == self.shape:
                return exact_value(v, "v"), all(is_exact(entry) for entry in entries)
            if shape != (size, size) and not (shape == () and size == 1):
                raise InputError(
                    f"v has shape {shape}; give a pair of shapes ({size},) and ({size}, {size}), the second "
                    f"alone, or {self.size} coordinates"
                )
        mean, cov = v if _is_pair(v, size) else ([Fraction(0)] * size, v)
        entries = [*nested(mean, "v[0]")[0], *nested(cov, "v[1]")[0]]
        change = read_square(cov, "v", size)
        if any(change[i][j] != change[j][i] for i in range(size) for j in range(i)):
            raise InputError("the derivative of a covariance in v is not symmetric; give a symmetric matrix")
        return [*exact_value(mean, "v[0]"), *upper_entries(change)], all(is_exact(e) for e in entries)

    def _polarised(self, function: Callable[[Tangent], Any]) -> Any:
        """Return the matrix in coordinates that vanishes on what is orthogonal to the basis."""
        basis, size = self._basis, self._law.size

        def value(coordinates: list[Fraction]) -> Any:
            return function(self._velocity(*_taken_apart(coordinates, size)))

        own = [value(b) for b in basis]
        count = range(len(basis))
        inner = [[own[i] for _ in count] for i in count]
        for i in count:
            for j in range(i):
                both = value([a + b for a, b in zip(basis[i], basis[j], strict=True)])
                inner[i][j] = inner[j][i] = (both - own[i] - own[j]) / 2
        if len(basis) == 1:  # coordinates of a multiple of the one direction
            square = sum(b * b for b in basis[0])
            inner = [[a * b / square**2 * inner[0][0] for b in basis[0]] for a in basis[0]]
        if self.exact:
            return tuple(tuple(row) for row in inner)
        return np.array([[float(entry) for entry in row] for row in inner])


def _frame(basis: list[list[Fraction]] | None, exact: bool) -> Any:
    if basis is None:
        return None
    columns = tuple(zip(*basis, strict=True))
    return columns if exact else np.array(columns, dtype=float)


def _is_pair(v: Any, size: int) -> bool:
    """Whether v is a derivative of the mean and one of the covariance."""
    if not isinstance(v, tuple | list) or len(v) != 2:
        return False
    return [nested(part, "v")[1] for part in v] == [(size,), (size, size)]


def upper_entries(change: Rows) -> list[Fraction]:
    """Return the entries on and above the diagonal, row by row."""
    return [change[i][j] for i in range(len(change)) for j in range(i, len(change))]


def _taken_apart(coordinates: list[Fraction], size: int) -> tuple[list[Fraction], Rows]:
    """Return the derivatives of mean and covariance."""
    upper = iter(coordinates[size:])
    change = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i, size):
            change[i][j] = change[j][i] = next(upper)
    return list(coordinates[:size]), change


def linear_part(cov: Rows, change: Rows) -> Rows:
    """Return the symmetric S with SΣ + ΣS = Σ', for Σ ≻ 0."""
    size = len(cov)
    places = [(i, j) for i in range(size) for j in range(size)]
    system = [[Fraction(0)] * len(places) for _ in places]
    for row, (i, j) in enumerate(places):
        for k in range(size):
            system[row][places.index((i, k))] += cov[k][j]
            system[row][places.index((k, j))] += cov[i][k]
    right = rational_matrix([[change[i][j]] for i, j in places])
    solved = fractions(rational_matrix(system).solve(right))
    return [[solved[places.index((i, j))][0] for j in range(size)] for i in range(size)]
