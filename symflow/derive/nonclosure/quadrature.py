"""The velocity by quadrature of its definition, in decimal arithmetic of high precision."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise
from math import comb
from typing import Any

import mpmath
from mpmath.calculus.quadrature import GaussLegendre
from sympy import Expr, Rational

from symflow.derive.nonclosure.evaluation import evaluate
from symflow.derive.nonclosure.reduction import Integral, X, Y

_DIGITS = 50
_REACH = 16  # panels of one standard deviation on either side of the mean
_DEGREE = 4  # 24 Gauss–Legendre nodes on each panel


class Velocity:
    """Γ at the last of the positions, integrated with 50 digits.

    Parameters
    ----------
    integrals : sequence of Integral
        Without free parameters.
    laws : sequence of Law
        One at each position.
    weights : sequence of Rational
        Of the positions.
    """

    def __init__(
        self, integrals: Sequence[Integral], laws: Sequence[Any], weights: Sequence[Rational]
    ) -> None:
        self._integrals, self._laws, self._weights = integrals, laws, weights
        self._context = mpmath.MPContext()
        self._context.dps = _DIGITS
        self._functions = MpmathFunctions(self._context)
        self.tolerance = self._context.mpf("1e-11")
        self._nodes = [node for pair in zip(laws, weights, strict=True) for node in self._rule(*pair)]
        self._values = [
            [self._evaluate(integral.value, {Y: y}) for y, _ in self._nodes] for integral in integrals
        ]

    def __call__(self, x: Any) -> Any:
        """Return Γ(x)."""
        total = self._context.mpf(0)
        for integral, values in zip(self._integrals, self._values, strict=True):
            weights = [self._evaluate(integral.kernel, {X: x, Y: y}) * share for y, share in self._nodes]
            top = self._context.fdot(weights, values)
            bottom = self._context.fsum(weights) if integral.normalised else 1
            total += self._evaluate(integral.prefactor, {}) * top / bottom
        return total

    def difference(self, point: Rational, order: int, step: Rational | None) -> Any:
        """Return the derivative of Γ of an order by central differences, or the second difference."""
        x = self._evaluate(point, {})
        h = self._context.mpf("1e-8") if step is None else self._evaluate(step, {})
        values = [
            (-1) ** j * comb(order, j) * self(x + (self._context.mpf(order) / 2 - j) * h)
            for j in range(order + 1)
        ]
        return self._context.fsum(values) / (h**order if step is None else 1)

    def number(self, value: Any) -> tuple[Any, Any]:
        """Return an exact or enclosed number as (midpoint, radius)."""
        if isinstance(value, Expr):
            return self._evaluate(value, {}), self._context.mpf(0)
        return self._evaluate(Rational(value.midpoint), {}), self._evaluate(Rational(value.radius), {})

    def _rule(self, law: Any, weight: Rational) -> list[tuple[Any, Any]]:
        """Return nodes and weights of the Gauss–Legendre rule for a Gaussian; the same for every query.

        So an error of the rule is differentiated like the velocity itself and not divided by small steps.
        """
        mean, variance, share = (self._evaluate(number, {}) for number in (law.mean, law.variance, weight))
        sigma = self._context.sqrt(variance)
        front = share / (sigma * self._context.sqrt(2 * self._context.pi))
        ends = sorted({*(mean + sigma * k for k in range(-_REACH, _REACH + 1)), self._context.mpf(0)})
        legendre = GaussLegendre(self._context).calc_nodes(_DEGREE, self._context.prec)
        found = []
        for left, right in pairwise(ends):  # zero is an end: a corner is most often there
            for node, size in legendre:
                y = (left + right + (right - left) * node) / 2
                density = self._context.exp(-((y - mean) ** 2) / (2 * variance))
                found.append((y, front * density * size * (right - left) / 2))
        return found

    def _evaluate(self, expr: Any, values: Any) -> Any:
        return evaluate(expr, values, self._functions)


class MpmathFunctions:
    """The functions of the grammar in an mpmath context."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def rational(self, number: Rational) -> Any:
        """Return a rational number."""
        return self._context.mpf(int(number.p)) / int(number.q)

    def call(self, name: str, *arguments: Any) -> Any:
        """Return the value of a function by its name in SymPy."""
        if name in ("Max", "Min"):
            return functools.reduce(max if name == "Max" else min, arguments)
        if name == "Abs":
            return abs(arguments[0])
        if name == "power":
            return self._context.power(*arguments)
        if name == "constant":
            return {"pi": self._context.pi, "E": self._context.e}[arguments[0]] + 0
        return getattr(self._context, name)(*arguments)
