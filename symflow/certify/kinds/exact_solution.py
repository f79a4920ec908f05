"""Exact solution: a counterexample to a statement about the long time, in rational arithmetic.

The proof object is

    {"sizes": {"d": 2}, "parameters": {"V": [["1", "0"], ["0", "2"]], …},
     "clock": {"name": "u", "rhs": "1 - u**2", "start": "0", "end": "1"},
     "solution": [["1", "u"], ["u", "1"]]}

with rational numbers ``p`` or ``p/q`` as entries of parameters, and rational functions of the clock as
entries of the solution. The clock is a scalar function of time with u' = rhs, a polynomial that is positive
on [start, end); ``end`` is null for infinity. Time itself is the clock with rhs 1. The replay checks in the
field of rational functions that the curve solves the covariance equation, that parameters and start satisfy
what the statement assumes, and whether the clock reaches its end in finite time, which decides the
conclusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import QQ, Poly
from sympy.polys.matrices import DomainMatrix

from symflow.certify.certificate import Certificate
from symflow.certify.names import check_names
from symflow.certify.propositions import proposition
from symflow.certify.propositions.conjecture import ASSUMPTIONS, Conjecture
from symflow.certify.rational import (
    Evaluator,
    derivative,
    entries,
    function_of,
    is_semidefinite,
    is_symmetric,
    matrix_of,
    numerator_and_denominator,
    polynomial,
    rational,
    roots_in,
    value_at,
)
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import CertificateError, InputError

MAX_SIZE = 4
_KEYS = frozenset(("sizes", "parameters", "clock", "solution"))
_CLOCK_KEYS = frozenset(("name", "rhs", "start", "end"))


class ExactSolution(ProofKind):
    """A solution in closed form that does what a statement denies."""

    name = "exact-solution"

    def replay(self, certificate: Certificate) -> Replay:
        """Check the curve, what is assumed of it, and how it ends."""
        lines: list[ReplayedLine] = []
        try:
            conjecture = _refuted(certificate)
            curve = _read(conjecture, certificate.proof)
            for what, check in _CHECKS.items():
                lines.append(ReplayedLine(f"C{len(lines) + 1}", what, check(conjecture, curve), True))
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        lemmas = ("cauchy-lipschitz",) if curve.is_time else ("autonomous-scalar", "cauchy-lipschitz")
        return Replay(
            True, tuple(lines), assumes=lemmas, witness=_witness(conjecture, curve, certificate.proof)
        )


def _refuted(certificate: Certificate) -> Conjecture:
    if certificate.status != "refuted":
        raise CertificateError(f"a counterexample cannot show that a claim is {certificate.status}")
    claim = proposition(certificate.claim)
    if not isinstance(claim, Conjecture):
        raise CertificateError(f"{certificate.claim} is not a statement that a solution can contradict")
    scope = claim.scope(certificate.statement)
    if certificate.scope != scope:
        raise CertificateError(f"the scope is '{scope}', but the certificate states '{certificate.scope}'")
    return claim


@dataclass(frozen=True)
class _Curve:
    """The proof object, read: values of the parameters, Σ as a function of the clock, and the clock."""

    sizes: Mapping[str, int]
    parameters: Mapping[str, DomainMatrix]
    solution: DomainMatrix
    rhs: Any
    start: Any
    end: Any

    @property
    def speed(self) -> Poly:
        """Right-hand side of the clock."""
        return polynomial(self.rhs)

    @property
    def samples(self) -> tuple[Any, ...]:
        """Some points of [start, end)."""
        length = QQ(1) if self.end is None else self.end - self.start
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
        return bool(self.speed.eval(QQ.to_sympy(self.end)) != 0)

    def roots(self, poly: Poly) -> int:
        """Return how many roots lie in [start, end)."""
        found = roots_in(poly, self.start, self.end)
        at_end = self.end is not None and poly.eval(QQ.to_sympy(self.end)) == 0
        return found - int(at_end)


def _read(conjecture: Conjecture, proof: Any) -> _Curve:
    if set(proof) != _KEYS:
        raise Rejected(f"an exact solution has the keys {', '.join(sorted(_KEYS))}")
    sizes = _read_sizes(conjecture, proof["sizes"])
    parameters = proof["parameters"]
    if not isinstance(parameters, Mapping) or set(parameters) != set(conjecture.symbols):
        raise Rejected(f"'parameters' must give {', '.join(conjecture.symbols)}")
    values = {
        name: matrix_of(parameters[name], (sizes[shape[0]], sizes[shape[1]]), rational, name)
        for name, shape in conjecture.symbols.items()
    }
    clock = proof["clock"]
    if not isinstance(clock, Mapping) or set(clock) != _CLOCK_KEYS or not isinstance(clock["name"], str):
        raise Rejected(f"'clock' has the keys {', '.join(sorted(_CLOCK_KEYS))}")
    name = clock["name"]
    check_names([name, conjecture.covariance, *conjecture.symbols, *sizes])
    if name == "t" and (clock["rhs"], clock["start"]) != ("1", "0"):  # a witness writes the curve as Σ(t)
        raise Rejected("only time itself, with right-hand side 1 and start 0, is called t")
    square = (sizes["d"], sizes["d"])
    solution = matrix_of(proof["solution"], square, lambda text: function_of(text, name), "the solution")
    end = None if clock["end"] is None else rational(clock["end"])
    return _Curve(sizes, values, solution, function_of(clock["rhs"], name), rational(clock["start"]), end)


def _read_sizes(conjecture: Conjecture, sizes: Any) -> dict[str, int]:
    if not isinstance(sizes, Mapping) or set(sizes) != set(conjecture.sizes):
        raise Rejected(f"'sizes' must give {', '.join(conjecture.sizes)}")
    for name, size in sizes.items():
        if type(size) is not int or not 1 <= size <= MAX_SIZE:
            raise Rejected(f"the size {name} must be a whole number from 1 to {MAX_SIZE}")
    return dict(sizes)


def _check_clock(_conjecture: Conjecture, curve: _Curve) -> str:
    start = QQ.to_sympy(curve.start)
    if curve.end is not None and not curve.start < curve.end:
        raise Rejected("the clock ends before it starts")
    if not curve.speed.eval(start) > 0 or curve.roots(curve.speed):
        raise Rejected("the speed of the clock is not positive from start to end")
    return "roots of the polynomial are counted exactly"


def _check_start(conjecture: Conjecture, curve: _Curve) -> str:
    start = value_at(curve.solution, curve.start)
    value = Evaluator({**curve.parameters, conjecture.covariance: start}, curve.sizes)
    if not is_semidefinite(start):
        raise Rejected("the start is not a covariance")
    for kind, text in conjecture.assumptions:
        if not _holds(kind, value(text)):
            raise Rejected(f"the assumption {ASSUMPTIONS[kind].format(text)} does not hold")
    return "signs of the coefficients of characteristic polynomials"


def _holds(kind: str, matrix: DomainMatrix) -> bool:
    if kind == "definite":
        return is_semidefinite(matrix, strictly=True)
    return is_semidefinite(-matrix) != kind.startswith("not ")


def _check_equation(conjecture: Conjecture, curve: _Curve) -> str:
    if not is_symmetric(curve.solution):
        raise Rejected("the solution is not symmetric")
    slope = derivative(curve.solution) * curve.rhs
    for point in curve.samples:  # refuses a curve that is wrong before the slow arithmetic of functions
        values = {**curve.parameters, conjecture.covariance: value_at(curve.solution, point)}
        if value_at(slope, point) != Evaluator(values, curve.sizes)(conjecture.cov_rhs):
            raise Rejected("the curve does not solve the covariance equation")
    value = Evaluator({**curve.parameters, conjecture.covariance: curve.solution}, curve.sizes)
    if slope != value(conjecture.cov_rhs):
        raise Rejected("the curve does not solve the covariance equation")
    poles = [entry.denom for entry in entries(curve.solution)]
    for element in (*poles, *(part for divisor in value.divisors for part in (divisor.numer, divisor.denom))):
        if curve.roots(Poly(element.as_expr(), curve.speed.gen, domain=QQ)):
            raise Rejected("the curve or the equation has a pole before the end of the clock")
    return "an identity of rational functions without poles before the end of the clock"


def _check_end(conjecture: Conjecture, curve: _Curve) -> str:
    if conjecture.conclusion == "blow-up":
        if curve.ends:
            raise Rejected("the clock ends in finite time, so that the solution may not exist for all times")
        return "the clock never reaches its end: the solution exists for all times"
    if not curve.ends:
        raise Rejected("the clock never ends, so that the solution exists for all times")
    if not any(_escapes(entry, curve.end) for entry in entries(curve.solution)):
        raise Rejected("no entry becomes infinite at the end of the clock")
    return "the clock reaches its end in finite time, where an entry becomes infinite"


def _escapes(entry: Any, end: Any) -> bool:
    """Whether a fraction in lowest terms tends to infinity at ``end``."""
    top, bottom = numerator_and_denominator(entry)
    if end is None:
        return bool(top.degree() > bottom.degree())
    return bool(bottom.eval(QQ.to_sympy(end)) == 0)


_CHECKS = {
    "the clock runs forward": _check_clock,
    "the start and the parameters satisfy what is assumed": _check_start,
    "the curve solves the covariance equation": _check_equation,
    "the conclusion fails": _check_end,
}


def _witness(conjecture: Conjecture, curve: _Curve, proof: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters, start, solution and end as text."""
    clock = proof["clock"]
    name = conjecture.covariance
    start = [[str(entry) for entry in row] for row in value_at(curve.solution, curve.start).to_list()]
    found = {**{key: _rows(rows) for key, rows in proof["parameters"].items()}, f"{name}(0)": _rows(start)}
    found[f"{name}(t)"] = _rows(proof["solution"])
    if not curve.is_time or curve.speed.LC() != 1 or curve.start != 0:
        found[f"{clock['name']}'"] = f"{clock['rhs']}, {clock['name']}(0) = {clock['start']}"
    if curve.ends and curve.is_time and curve.end is not None:
        found["blow-up time"] = str(QQ.to_sympy(curve.end - curve.start) / curve.speed.LC())
    elif not curve.ends:
        found["existence"] = "all t >= 0"
    return found


def _rows(rows: Any) -> str:
    return "[" + ", ".join("[" + ", ".join(row) + "]" for row in rows) + "]"
