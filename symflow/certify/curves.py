"""Rational curves of covariances with a clock: read from a certificate, checked against an equation.

Entries are rational functions of the clock, a scalar function of time with u' = rhs, a polynomial that is
positive on [start, end). Time itself is the clock with rhs 1. The end is infinity, a rational number, or the
only root of a polynomial between two rational numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import QQ, Poly
from sympy.polys.matrices import DomainMatrix

from symflow.certify.rational import (
    Evaluator,
    at_infinity,
    derivative,
    entries,
    function_of,
    is_symmetric,
    matrix_of,
    numerator_and_denominator,
    polynomial,
    rational,
    roots_in,
    value_at,
)
from symflow.certify.terms import Rejected

_CLOCK_KEYS = frozenset(("name", "rhs", "start", "end"))
_END_KEYS = frozenset(("root of", "between"))


@dataclass(frozen=True)
class End:
    """The only root of a polynomial without multiple roots in [low, high]; a rational one is both ends."""

    poly: Poly
    low: Any
    high: Any

    @classmethod
    def at(cls, value: Any, gen: Any) -> End:
        """Return a rational end."""
        return cls(Poly(gen - QQ.to_sympy(value), gen, domain=QQ), value, value)

    @classmethod
    def root(cls, poly: Poly, low: Any, high: Any) -> End:
        """Return the root of ``poly`` between two rational numbers; refuses what singles out no root."""
        simple = poly.sqf_part()
        ends = [simple.eval(QQ.to_sympy(point)) for point in (low, high)]
        if not low < high or 0 in ends or roots_in(simple, low, high) != 1:
            raise Rejected("'between' must have exactly one root of the polynomial inside")
        return cls(simple, low, high)

    @property
    def is_rational(self) -> bool:
        """Whether the end is given as a number."""
        return bool(self.low == self.high)

    def is_root(self, poly: Poly) -> bool:
        """Whether ``poly`` vanishes at the end."""
        common = self.poly.gcd(poly)
        return common.degree() > 0 and roots_in(common, self.low, self.high) > 0

    def roots_before(self, poly: Poly, start: Any) -> int:
        """Return how many different roots of ``poly`` lie in [start, end)."""
        at_end = int(self.is_root(poly))
        if self.is_rational:
            return roots_in(poly, start, self.high) - at_end
        tight = self
        while roots_in(poly, tight.low, tight.high) > at_end or poly.eval(QQ.to_sympy(tight.low)) == 0:
            tight = tight.halved()
        if not start < tight.low:
            raise Rejected("the clock ends before it starts")
        return roots_in(poly, start, tight.low)

    def halved(self) -> End:
        """Return the end in one half of its bracket."""
        middle = (self.low + self.high) / 2
        value = self.poly.eval(QQ.to_sympy(middle))
        if value == 0:
            return End(self.poly, middle, middle)
        left = value * self.poly.eval(QQ.to_sympy(self.low)) < 0
        return End(self.poly, self.low, middle) if left else End(self.poly, middle, self.high)


@dataclass(frozen=True)
class Curve:
    """Σ as a function of the clock, and the clock; ``end`` None stands for infinity."""

    solution: DomainMatrix
    rhs: Any
    start: Any
    end: End | None

    @property
    def speed(self) -> Poly:
        """Right-hand side of the clock."""
        return polynomial(self.rhs)

    @property
    def samples(self) -> tuple[Any, ...]:
        """Some points of [start, end)."""
        length = QQ(1) if self.end is None else self.end.low - self.start
        return tuple(self.start + length * QQ(part, 7) for part in (0, 2, 3, 5))

    @property
    def is_time(self) -> bool:
        """Whether the clock runs at constant speed."""
        return bool(self.speed.degree() == 0)

    @property
    def ends(self) -> bool:
        """Whether the clock reaches its end in finite time; its speed is positive before."""
        if self.end is None:
            return bool(self.speed.degree() >= 2)
        return not self.end.is_root(self.speed)

    def roots(self, poly: Poly) -> int:
        """Return how many different roots of ``poly`` lie in [start, end)."""
        return (
            roots_in(poly, self.start, None) if self.end is None else self.end.roots_before(poly, self.start)
        )

    @property
    def lemmas(self) -> tuple[str, ...]:
        """Names of the lemmas that a conclusion about the maximal solution rests on."""
        return ("cauchy-lipschitz",) if self.is_time else ("autonomous-scalar", "cauchy-lipschitz")

    def check_clock(self) -> None:
        """Refuse a clock that does not run forward from start to end."""
        if self.end is not None and not self.start < self.end.high:
            raise Rejected("the clock ends before it starts")
        if not self.speed.eval(QQ.to_sympy(self.start)) > 0 or self.roots(self.speed):
            raise Rejected("the speed of the clock is not positive from start to end")

    def check_equation(
        self, cov_rhs: str, values: Mapping[str, Any], sizes: Mapping[str, int], name: str
    ) -> None:
        """Refuse the curve unless it solves ``Σ' = cov_rhs``; ``name`` is that of Σ in the text."""
        if not is_symmetric(self.solution):
            raise Rejected("the solution is not symmetric")
        slope = derivative(self.solution) * self.rhs
        for point in self.samples:  # refuses a curve that is wrong before the slow arithmetic of functions
            there = {**values, name: value_at(self.solution, point)}
            if value_at(slope, point) != Evaluator(there, sizes)(cov_rhs):
                raise Rejected("the curve does not solve the covariance equation")
        value = Evaluator({**values, name: self.solution}, sizes)
        if slope != value(cov_rhs):
            raise Rejected("the curve does not solve the covariance equation")
        poles = [entry.denom for entry in entries(self.solution)]
        divided = [part for divisor in value.divisors for part in (divisor.numer, divisor.denom)]
        for element in (*poles, *divided):
            if self.roots(Poly(element.as_expr(), self.speed.gen, domain=QQ)):
                raise Rejected("the curve or the equation has a pole before the end of the clock")

    def limit(self) -> DomainMatrix:
        """Return the limit at a rational end or at infinity, where no entry escapes."""
        if self.end is not None:
            return value_at(self.solution, self.end.low)
        return at_infinity(self.solution)

    def escapes(self) -> bool:
        """Whether an entry tends to infinity at the end of the clock."""
        return any(self._escapes(entry) for entry in entries(self.solution))

    def _escapes(self, entry: Any) -> bool:
        """Whether a fraction in lowest terms tends to infinity at the end."""
        top, bottom = numerator_and_denominator(entry)
        if self.end is None:
            return bool(top.degree() > bottom.degree())
        return self.end.is_root(bottom)


def read_curve(clock: Any, solution: Any, size: int) -> Curve:
    """Read clock and solution of a proof object; refuses what is not of the form above."""
    if not isinstance(clock, Mapping) or set(clock) != _CLOCK_KEYS or not isinstance(clock["name"], str):
        raise Rejected(f"'clock' has the keys {', '.join(sorted(_CLOCK_KEYS))}")
    name = clock["name"]
    if name == "t" and (clock["rhs"], clock["start"]) != ("1", "0"):  # a witness writes the curve as Σ(t)
        raise Rejected("only time itself, with right-hand side 1 and start 0, is called t")
    rows = matrix_of(solution, (size, size), lambda text: function_of(text, name), "the solution")
    rhs, start = function_of(clock["rhs"], name), rational(clock["start"])
    return Curve(rows, rhs, start, _read_end(clock["end"], name, polynomial(rhs).gen))


def _read_end(end: Any, name: str, gen: Any) -> End | None:
    if end is None:
        return None
    if not isinstance(end, Mapping):
        return End.at(rational(end), gen)
    between = end.get("between")
    if set(end) != _END_KEYS or not isinstance(between, (list, tuple)) or len(between) != 2:
        raise Rejected("an irrational 'end' has the keys between (two numbers), root of")
    poly = polynomial(function_of(end["root of"], name))
    if poly.degree() < 1:
        raise Rejected("'root of' must be a polynomial of the clock")
    return End.root(poly, *(rational(text) for text in between))


def curve_witness(name: str, curve: Curve, clock: Mapping[str, Any], solution: Any) -> dict[str, str]:
    """Return start, solution, clock and end of a checked curve as text; ``name`` is that of Σ."""
    start = value_at(curve.solution, curve.start).to_list()
    found = {f"{name}(0)": rows_text([[str(entry) for entry in row] for row in start])}
    found[f"{name}(t)"] = rows_text(solution)
    if not curve.is_time or curve.speed.LC() != 1 or curve.start != 0:
        found[f"{clock['name']}'"] = f"{clock['rhs']}, {clock['name']}(0) = {clock['start']}"
    if not curve.ends:
        found["existence"] = "all t >= 0"
    elif curve.is_time and curve.end is not None:
        found["blow-up time"] = _time_text(curve, curve.end, clock["name"])
    return found


def _time_text(curve: Curve, end: End, name: str) -> str:
    """Return the time at which a clock of constant speed ends."""
    if end.is_rational:
        return str(QQ.to_sympy(end.low - curve.start) / curve.speed.LC())
    tight = end
    while tight.high - tight.low > abs(tight.high) * QQ(1, 10**12):
        tight = tight.halved()
    time = float(QQ.to_sympy((tight.low + tight.high) / 2 - curve.start) / curve.speed.LC())
    root = str(end.poly.as_expr()).replace(str(end.poly.gen), name)
    return f"about {time:.12g}, where {root} = 0"


def rows_text(rows: Any) -> str:
    """Return rows of text in brackets."""
    return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"
