"""Exact solution: a counterexample to a statement about the long time, in rational arithmetic.

The proof object is

    {"sizes": {"d": 2}, "parameters": {"V": [["1", "0"], ["0", "2"]], …},
     "clock": {"name": "u", "rhs": "1 - u**2", "start": "0", "end": "1"},
     "solution": [["1", "u"], ["u", "1"]]}

with rational numbers ``p`` or ``p/q`` as entries of parameters, and rational functions of the clock as
entries of the solution (:mod:`symflow.certify.curves`). The replay checks in the field of rational functions
that the curve solves the covariance equation, that parameters and start satisfy what the statement assumes,
and whether the clock reaches its end in finite time, which decides the conclusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy.polys.matrices import DomainMatrix

from symflow.certify.certificate import Certificate
from symflow.certify.curves import Curve, curve_witness, read_curve, rows_text
from symflow.certify.names import check_names
from symflow.certify.propositions import proposition, require_scope
from symflow.certify.propositions.conjecture import ASSUMPTIONS, Conjecture
from symflow.certify.rational import Evaluator, is_semidefinite, matrix_of, rational, value_at
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import CertificateError, InputError

MAX_SIZE = 4
_KEYS = frozenset(("sizes", "parameters", "clock", "solution"))


class ExactSolution(ProofKind):
    """A solution in closed form that does what a statement denies."""

    name = "exact-solution"

    def replay(self, certificate: Certificate) -> Replay:
        """Check the curve, what is assumed of it, and how it ends."""
        lines: list[ReplayedLine] = []
        try:
            conjecture = _refuted(certificate)
            found = _read(conjecture, certificate.proof)
            for what, check in _CHECKS.items():
                lines.append(ReplayedLine(f"C{len(lines) + 1}", what, check(conjecture, found), True))
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        curve = found.curve
        return Replay(
            True, tuple(lines), assumes=curve.lemmas, witness=_witness(conjecture, curve, certificate.proof)
        )


def _refuted(certificate: Certificate) -> Conjecture:
    if certificate.status != "refuted":
        raise CertificateError(f"a counterexample cannot show that a claim is {certificate.status}")
    claim = proposition(certificate.claim)
    if not isinstance(claim, Conjecture):
        raise CertificateError(f"{certificate.claim} is not a statement that a solution can contradict")
    require_scope(certificate, claim.scope(certificate.statement))
    return claim


@dataclass(frozen=True)
class _Found:
    """The proof object, read: values of the parameters and Σ as a function of the clock."""

    sizes: Mapping[str, int]
    parameters: Mapping[str, DomainMatrix]
    curve: Curve


def _read(conjecture: Conjecture, proof: Any) -> _Found:
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
    curve = read_curve(proof["clock"], proof["solution"], sizes["d"])
    check_names([proof["clock"]["name"], conjecture.covariance, *conjecture.symbols, *sizes])
    return _Found(sizes, values, curve)


def _read_sizes(conjecture: Conjecture, sizes: Any) -> dict[str, int]:
    if not isinstance(sizes, Mapping) or set(sizes) != set(conjecture.sizes):
        raise Rejected(f"'sizes' must give {', '.join(conjecture.sizes)}")
    for name, size in sizes.items():
        if type(size) is not int or not 1 <= size <= MAX_SIZE:
            raise Rejected(f"the size {name} must be a whole number from 1 to {MAX_SIZE}")
    return dict(sizes)


def _check_clock(_conjecture: Conjecture, found: _Found) -> str:
    found.curve.check_clock()
    return "roots of the polynomial are counted exactly"


def _check_start(conjecture: Conjecture, found: _Found) -> str:
    start = value_at(found.curve.solution, found.curve.start)
    value = Evaluator({**found.parameters, conjecture.covariance: start}, found.sizes)
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


def _check_equation(conjecture: Conjecture, found: _Found) -> str:
    found.curve.check_equation(conjecture.cov_rhs, found.parameters, found.sizes, conjecture.covariance)
    return "an identity of rational functions without poles before the end of the clock"


def _check_end(conjecture: Conjecture, found: _Found) -> str:
    curve = found.curve
    if conjecture.conclusion == "blow-up":
        if curve.ends:
            raise Rejected("the clock ends in finite time, so that the solution may not exist for all times")
        return "the clock never reaches its end: the solution exists for all times"
    if not curve.ends:
        raise Rejected("the clock never ends, so that the solution exists for all times")
    if not curve.escapes():
        raise Rejected("no entry becomes infinite at the end of the clock")
    return "the clock reaches its end in finite time, where an entry becomes infinite"


_CHECKS = {
    "the clock runs forward": _check_clock,
    "the start and the parameters satisfy what is assumed": _check_start,
    "the curve solves the covariance equation": _check_equation,
    "the conclusion fails": _check_end,
}


def _witness(conjecture: Conjecture, curve: Curve, proof: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters, start, solution and end as text."""
    own = {key: rows_text(rows) for key, rows in proof["parameters"].items()}
    return {**own, **curve_witness(conjecture.covariance, curve, proof["clock"], proof["solution"])}
