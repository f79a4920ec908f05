r"""Covariances as exact functions of time.

A curve is a rational function of a clock s, the clock a function of t that solves :math:`\dot s = r(s)`:
both are exact, so that a curve is proved to solve the closed equations by evaluating both sides at more
rational points than their degree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sympy import Expr, ImmutableMatrix, Rational, Symbol, lambdify

from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fractions,
    identity,
    rational_matrix,
)
from symflow.errors import InputError

Array = NDArray[np.float64]
TIME = Symbol("t", real=True)


@dataclass(frozen=True, eq=False)
class RationalCurve:
    r"""A symmetric matrix :math:`P(s)/q(s)` of rational functions.

    Attributes
    ----------
    coefficients : tuple of flint.fmpq_mat
        Of P, from the constant term up.
    denominator : tuple of flint.fmpq
        Of q, from the constant term up; q(0) ≠ 0.
    """

    coefficients: tuple[RationalMatrix, ...]
    denominator: tuple[Any, ...]

    @classmethod
    def resolvent(cls, generator: RationalMatrix, start: RationalMatrix) -> RationalCurve:
        r"""Return :math:`(I - sX)^{-1}\Sigma_0`.

        With :math:`q(s) = \det(I - sX) = \sum_j q_js^j` the numerator is :math:`\sum_ks^kN_k\Sigma_0`,
        :math:`N_k = q_kI + N_{k-1}X` (Faddeev–LeVerrier).
        """
        d = generator.nrows()
        reversed_characteristic = list(reversed(generator.charpoly().coeffs()))
        numerators, current = [], identity(d)
        for k in range(d):
            if k:
                current = current * generator + identity(d) * reversed_characteristic[k]
            numerators.append(current * start)
        return cls(tuple(numerators), tuple(reversed_characteristic))

    @classmethod
    def line(cls, start: RationalMatrix, direction: RationalMatrix) -> RationalCurve:
        """Return ``Σ₀ + sS``."""
        return cls((start, direction), (fmpq(1),))

    @property
    def degree(self) -> int:
        """A bound for the degrees of numerator and denominator."""
        return max(len(self.coefficients), len(self.denominator)) - 1

    def at(self, s: Any) -> RationalMatrix:
        """Return the value at a rational s that is no pole."""
        denominator = _evaluate(self.denominator, s)
        return self._numerator(s) * (1 / denominator) if denominator else self._in_lowest_terms(s)

    def _in_lowest_terms(self, s: Any) -> RationalMatrix:
        """Return the value where the common denominator vanishes, perhaps together with the numerators."""
        reduced = self.entries()
        if any(q(s) == 0 for _, q in reduced):
            raise InputError(f"the curve has a pole at {s}")
        d = self.coefficients[0].nrows()
        return rational_matrix([[p(s) / q(s) for p, q in reduced[i * d : (i + 1) * d]] for i in range(d)])

    def has_pole(self, s: Any) -> bool:
        """Whether the denominator vanishes at s."""
        return bool(_evaluate(self.denominator, s) == 0)

    def velocity(self, s: Any) -> RationalMatrix:
        r"""Return :math:`(P'q - Pq')/q^2` at a rational s."""
        q = _evaluate(self.denominator, s)
        slope = sum((k * c * s ** (k - 1) for k, c in enumerate(self.denominator) if k), fmpq(0))
        rise = self.coefficients[0] * fmpq(0)
        for k, matrix in enumerate(self.coefficients):
            if k:
                rise = rise + matrix * (k * s ** (k - 1))
        return rise * (1 / q) - self._numerator(s) * (slope / (q * q))

    def _numerator(self, s: Any) -> RationalMatrix:
        value = self.coefficients[-1]
        for matrix in reversed(self.coefficients[:-1]):
            value = value * s + matrix
        return value

    def entries(self) -> list[tuple[Any, Any]]:
        """Return numerator and denominator (``flint.fmpq_poly``) of every entry in lowest terms, by rows."""
        from flint import fmpq_poly

        d = self.coefficients[0].nrows()
        q = fmpq_poly(list(self.denominator))
        reduced = []
        for i in range(d):
            for j in range(d):
                p = fmpq_poly([matrix[i, j] for matrix in self.coefficients])
                common = p.gcd(q)
                reduced.append((p // common, q // common))
        return reduced

    def to_sympy(self, s: Expr) -> Any:
        """Return the matrix with entries in lowest terms in s."""
        d = self.coefficients[0].nrows()
        return ImmutableMatrix(
            d, d, [_sympy_polynomial(p, s) / _sympy_polynomial(q, s) for p, q in self.entries()]
        )

    def limit(self) -> RationalMatrix | None:
        """Return the limit for s → ∞, None where an entry grows."""
        d = self.coefficients[0].nrows()
        limits = []
        for p, q in self.entries():
            if p.degree() > q.degree():
                return None
            same = p.degree() == q.degree()
            limits.append(p.leading_coefficient() / q.leading_coefficient() if same else fmpq(0))
        return rational_matrix([limits[i * d : (i + 1) * d] for i in range(d)])


@dataclass(frozen=True, eq=False)
class Clock:
    r"""s(t) with :math:`\dot s = r(s)`, s(0) = 0.

    Attributes
    ----------
    expression : Expr
        s as a function of the symbol t.
    rate : tuple of flint.fmpq
        Coefficients of r, from the constant term up.
    """

    expression: Expr
    rate: tuple[Any, ...]

    def speed(self, s: Any) -> Any:
        """Return r(s)."""
        return _evaluate(self.rate, s)


def plain_clock() -> Clock:
    """Return s = t."""
    return Clock(TIME, (fmpq(1),))


class WithoutCaches:
    """A dataclass that pickles its fields only: compiled functions are made anew where they are needed."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}


@dataclass(frozen=True, eq=False)
class ClosedForm(WithoutCaches):
    r"""Mean and covariance as functions of time.

    ``closed_form(t)`` returns (mean, cov) as arrays; the mean is None where only the covariance has a closed
    form. ``Sigma(t)`` and ``alpha(t)`` return SymPy matrices, in the symbol t by default.

    Attributes
    ----------
    curve : RationalCurve
    clock : Clock
    ends : float or None
        The blow-up time: times from there on are refused.
    mean : Mean or None
    latex : str
        The formulas.
    """

    curve: RationalCurve
    clock: Clock
    ends: float | None
    mean: Mean | None
    latex: str

    def Sigma(self, t: Any = TIME) -> Any:
        """Return Σ(t) as a SymPy matrix."""
        return self._symbolic.subs(TIME, t)

    def alpha(self, t: Any = TIME) -> Any:
        """Return α(t) as a SymPy matrix expression, None where there is no closed form."""
        return None if self.mean is None else self.mean.expression(t)

    @cached_property
    def _symbolic(self) -> Any:
        return self.curve.to_sympy(self.clock.expression)

    @cached_property
    def _time(self) -> Callable[[float], float]:
        function: Callable[[float], float] = lambdify(TIME, self.clock.expression, "mpmath")
        return function

    def __call__(self, t: float) -> tuple[Array | None, Array]:
        """Return (mean, cov) at a time ≥ 0 before the blow-up."""
        time = float(t)
        if not 0.0 <= time < (np.inf if self.ends is None else self.ends):
            until = "" if self.ends is None else f" and below the blow-up time {self.ends:.6g}"
            raise InputError(f"t = {time!r} must be at least 0{until}")
        s = fmpq(Fraction(float(self._time(time))))
        cov = np.array(fractions(self.curve.at(s)), dtype=float)
        with np.errstate(over="ignore", invalid="ignore"):  # refused by name below
            mean = None if self.mean is None else self.mean.number(time)
        return finite(time, mean, 0.5 * (cov + cov.T))

    def to_latex(self) -> str:
        """Return the formulas in LaTeX."""
        return self.latex


@dataclass(frozen=True, eq=False)
class Mean:
    """A closed form of the mean: ``expression(t)`` in SymPy, ``number(t)`` as an array, and its formula."""

    expression: Callable[[Any], Any]
    number: Callable[[float], Array]
    latex: str


def finite(t: float, mean: Array | None, cov: Array) -> tuple[Array | None, Array]:
    """Return (mean, cov); refuses a time at which one of them is beyond the largest double."""
    if not np.isfinite(cov).all() or not (mean is None or np.isfinite(mean).all()):
        raise InputError(f"t = {t!r}: the law is beyond the largest double there; give an earlier time")
    return mean, cov


def sample_points(count: int) -> Iterator[Any]:
    """Yield distinct rational numbers near zero."""
    for index in range(count):
        yield fmpq(Fraction(index + 1, 7 * (count + 1)))


def _evaluate(coefficients: tuple[Any, ...], s: Any) -> Any:
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * s + coefficient
    return value


def _sympy_polynomial(polynomial: Any, s: Expr) -> Expr:
    coefficients = [Rational(int(c.p), int(c.q)) for c in polynomial.coeffs()]
    return sum((c * s**k for k, c in enumerate(coefficients)), Rational(0))
