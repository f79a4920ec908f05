"""Traces of matrices of known sign, and inequalities between scalars."""

from __future__ import annotations

from sympy import Trace

from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected, as_scalar, multiply, shape_of, total, transposed

_SIGNS = ("nonnegative", "positive")


def _trace_sign(line: Inference) -> None:
    """The trace is a sum of at least one eigenvalue."""
    line.count(1)
    premise = line.premises[0]
    wanted = {"definite": "positive", "semidefinite": "nonnegative"}.get(premise.relation)
    if wanted is None:
        raise Rejected("the premise must be X ⪰ 0 or X ≻ 0")
    line.require(wanted)
    line.same(line.conclusion["scalar"], Trace(premise["matrix"]), "not the trace")


def _gram_definite(line: Inference) -> None:
    line.require("definite")
    line.count(1)
    factor = line.premise(0, "invertible")["matrix"]
    line.same(line.conclusion["matrix"], multiply(transposed(factor), factor), "not the Gram matrix")


def _inverse_definite(line: Inference) -> None:
    line.require("definite")
    line.count(1)
    matrix = line.premise(0, "definite")["matrix"]
    line.same(line.conclusion["matrix"], matrix.inverse(), "not the inverse")


def _cauchy_schwarz(line: Inference) -> None:
    line.require("nonnegative")
    line.count(0)
    first, second = line.arguments["first"], line.arguments["second"]
    if shape_of(first) != shape_of(second):
        raise Rejected("both matrices must have the same shape")

    def inner(left: object, right: object) -> object:
        return as_scalar(multiply(transposed(left), right))

    gap = inner(first, first) * inner(second, second) - inner(first, second) ** 2  # type: ignore[operator]
    line.same(line.conclusion["scalar"], gap, "not |X|² |Y|² − tr(XᵀY)²")


def _scalars(line: Inference) -> list[object]:
    if not line.premises or any(premise.relation not in _SIGNS for premise in line.premises):
        raise Rejected("the premises must be signs of scalars")
    return [premise["scalar"] for premise in line.premises]


def _sum(line: Inference) -> None:
    terms = _scalars(line)
    strict = any(premise.relation == "positive" for premise in line.premises)
    if line.conclusion.relation not in (("nonnegative", "positive") if strict else ("nonnegative",)):
        raise Rejected("the sum does not have the sign that is concluded")
    line.same(line.conclusion["scalar"], total(terms), "not the sum")


def _product(line: Inference) -> None:
    factors = _scalars(line)
    strict = all(premise.relation == "positive" for premise in line.premises)
    if line.conclusion.relation not in (("nonnegative", "positive") if strict else ("nonnegative",)):
        raise Rejected("the product does not have the sign that is concluded")
    line.same(line.conclusion["scalar"], multiply(*factors), "not the product")


RULES = (
    Rule("trace-sign", "X ⪰ 0 gives tr X ≥ 0, and X ≻ 0 gives tr X > 0.", _trace_sign),
    Rule("gram-definite", "XᵀX ≻ 0 if X is invertible.", _gram_definite),
    Rule("inverse-definite", "X ≻ 0 gives X⁻¹ ≻ 0.", _inverse_definite),
    Rule("cauchy-schwarz", "tr(XᵀY)² ≤ tr(XᵀX) tr(YᵀY).", _cauchy_schwarz, ("first", "second")),
    Rule("scalar-sum", "A sum of scalars that are not negative.", _sum),
    Rule("scalar-product", "A product of scalars that are not negative.", _product),
)
