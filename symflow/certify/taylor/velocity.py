"""The derivatives of a velocity at a point, exactly and enclosed, and that differentiating is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import factorial
from typing import Any

from symflow.algebra.text.syntax import Call, Name, Node, Transposed, read
from symflow.certify.propositions.velocity import StatedHead, StatedVelocity
from symflow.certify.taylor import exact
from symflow.certify.taylor.enclosed import EnclosedSeries, integrated
from symflow.certify.taylor.majorant import Bound, Majorants, is_integrable
from symflow.certify.taylor.tree import Arithmetic, evaluate
from symflow.certify.terms import Rejected

MAX_VALUE = 2000  #: characters of a value


@dataclass(frozen=True)
class Setting:
    """A stated velocity with numbers for everything."""

    stated: StatedVelocity
    parameters: Mapping[str, Fraction]
    laws: tuple[tuple[Fraction, Fraction], ...]
    weights: tuple[Fraction, ...]
    point: Fraction

    def values(self, arithmetic: Arithmetic, query: Any, key: Any) -> dict[str, Any]:
        """Return what the names of the statement stand for."""
        numbers = {name: arithmetic.number(value) for name, value in self.parameters.items()}
        return {**numbers, self.stated.query: query, self.stated.key: key}


def check_domination(setting: Setting, order: int, step: Fraction | None) -> None:
    """Check that every integral converges near the law and the point, with all derivatives up to the order.

    Raises
    ------
    Rejected
        If no integrable bound is found.
    """
    for at in _points(setting, step):
        for head in setting.stated.heads:
            for part in _bounds(at, head, 0 if step is not None else order):
                for bound in part:
                    if not all(is_integrable(bound, variance) for _, variance in setting.laws):
                        raise Rejected("an integral is not known to be finite near the law and the point")


def _points(setting: Setting, step: Fraction | None) -> list[Setting]:
    shifts = (0,) if step is None else (step, 0, -step)
    return [
        Setting(setting.stated, setting.parameters, setting.laws, setting.weights, setting.point + shift)
        for shift in shifts
    ]


def _bounds(setting: Setting, head: StatedHead, order: int) -> tuple[list[Bound], list[Bound]]:
    """Return bounds of the series of value times kernel, and of the kernel."""
    arithmetic = Majorants(order)
    values = setting.values(arithmetic, arithmetic.query(setting.point), arithmetic.key())
    kernel, value = (evaluate(read(text), values, arithmetic) for text in (head.kernel, head.value))
    return arithmetic.multiply(value, kernel), kernel


class ExactVelocity:
    """Γ as an exact series at one point."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def derivative(self, order: int) -> exact.Coefficient:
        """Return the derivative of an order."""
        arithmetic = exact.ExactSeries(order)
        values = self._setting.values(arithmetic, arithmetic.query(self._setting.point), arithmetic.key())
        total = evaluate(read(self._setting.stated.output), values, arithmetic)
        for head in self._setting.stated.heads:
            total = arithmetic.add(total, self._head(head, values, arithmetic))
        return exact.scaled(total[order], Fraction(factorial(order)))

    def _head(
        self, head: StatedHead, values: Mapping[str, Any], arithmetic: exact.ExactSeries
    ) -> exact.Series:
        kernel, value, prefactor = (
            evaluate(read(text), values, arithmetic) for text in (head.kernel, head.value, head.prefactor)
        )
        found = self._average(arithmetic.multiply(value, kernel))
        if head.normalised:
            found = arithmetic.multiply(found, arithmetic.invert(self._average(kernel)))
        return arithmetic.multiply(prefactor, found)

    def _average(self, series: exact.Series) -> exact.Series:
        pairs = list(zip(self._setting.weights, self._setting.laws, strict=True))
        return [
            exact.total(exact.scaled(exact.integrated(part, *law), weight) for weight, law in pairs)
            for part in series
        ]


def velocity_of_a_token(stated: StatedVelocity, parameters: Mapping[str, Fraction]) -> exact.Coefficient:
    """Return the velocity of a Dirac at y, as a function of y.

    Raises
    ------
    Rejected
        If a head is normalised, or the velocity is no sum of powers times exponentials of quadratics.
    """
    arithmetic = exact.ExactSeries(0)
    token = arithmetic.key()
    values = {name: arithmetic.number(value) for name, value in parameters.items()}
    values |= {stated.query: token, stated.key: token}
    total: exact.Series = evaluate(read(stated.output), values, arithmetic)
    for head in stated.heads:
        if head.normalised:
            raise Rejected("the weight of a single token is one where weights are normalised")
        texts = (head.prefactor, head.value, head.kernel)
        parts = [evaluate(read(text), values, arithmetic) for text in texts]
        total = arithmetic.add(total, reduce(arithmetic.multiply, parts))
    return total[0]


def exact_value(text: str) -> exact.Coefficient:
    """Return the number that a text of rationals, square roots and exponentials stands for.

    Raises
    ------
    Rejected
        If it stands for something else, or is too long.
    """
    if len(text) > MAX_VALUE:
        raise Rejected(f"a value of more than {MAX_VALUE} characters is too long")
    series: exact.Series = evaluate(_closed(read(text)), {}, exact.ExactSeries(0))
    return series[0]


def _closed(node: Node) -> Node:
    """Return a tree of numbers, square roots and exponentials; a name would read as a size."""
    pending: list[Any] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Name):
            raise Rejected(f"the value contains the name {part.name}")
        if isinstance(part, Transposed) or (isinstance(part, Call) and part.function not in ("exp", "sqrt")):
            raise Rejected("the value contains something else than numbers, square roots and exponentials")
        if isinstance(part, Node):
            pending += vars(part).values()
        elif isinstance(part, tuple):
            pending += part
    return node


def enclosed_difference(setting: Setting, order: int, step: Fraction | None) -> Any:
    """Return a ball that contains the derivative of an order, or the second difference."""
    if step is None:
        return _enclosed(setting, order)[order] * factorial(order)
    right, middle, left = (_enclosed(at, 0)[0] for at in _points(setting, step))
    return right - 2 * middle + left


def _enclosed(setting: Setting, order: int) -> list[Any]:
    """Return balls that contain the coefficients of the series of Γ."""
    arithmetic = EnclosedSeries(order)
    values = setting.values(arithmetic, arithmetic.query(setting.point), arithmetic.key(0))
    total = [evaluate(read(setting.stated.output), values, arithmetic)[n].real for n in range(order + 1)]
    for head in setting.stated.heads:
        prefactor = evaluate(read(head.prefactor), values, arithmetic)[0].real
        tops, bottoms = _averages(setting, head, order)
        found = tops if not head.normalised else _quotient(tops, bottoms)
        total = [a + prefactor * b for a, b in zip(total, found, strict=True)]
    return total


def _averages(setting: Setting, head: StatedHead, order: int) -> tuple[list[Any], list[Any]]:
    """Return balls for the coefficients of numerator and denominator."""
    trees = {name: read(text) for name, text in (("kernel", head.kernel), ("value", head.value))}

    def coefficient(n: int, with_value: bool) -> Any:
        def integrand(y: Any, analytic: bool) -> Any:
            arithmetic = EnclosedSeries(order, analytic)
            values = setting.values(arithmetic, arithmetic.query(setting.point), arithmetic.key(y))
            found = evaluate(trees["kernel"], values, arithmetic)
            return (found * evaluate(trees["value"], values, arithmetic) if with_value else found)[n]

        return integrand

    tops, bottoms = _bounds(setting, head, order)
    found = [
        [_mixed(setting, coefficient(n, with_value), bounds[n]) for n in range(order + 1)]
        for with_value, bounds in ((True, tops), (False, bottoms))
        if with_value or head.normalised
    ]
    return found[0], found[-1]


def _mixed(setting: Setting, integrand: Any, bound: Bound) -> Any:
    parts = (
        integrated(integrand, bound, *law) * weight.numerator / weight.denominator
        for weight, law in zip(setting.weights, setting.laws, strict=True)
    )
    return sum(parts)


def _quotient(tops: list[Any], bottoms: list[Any]) -> list[Any]:
    if bottoms[0].contains(0):
        raise Rejected("the normaliser may vanish")
    found: list[Any] = []
    for n, top in enumerate(tops):
        known = sum(found[i] * bottoms[n - i] for i in range(n))
        found.append((top - known) / bottoms[0])
    return found
