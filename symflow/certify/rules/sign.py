"""Signs of scalars and of symmetric matrices."""

from __future__ import annotations

from typing import Any

from sympy import Identity, exp

from symflow.certify.rules.equality import rewriting
from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected, multiply, shape_of, substitute, total, transposed

_OPPOSITE = {"semidefinite": "negative-semidefinite", "negative-semidefinite": "semidefinite"}


def _scalar_sign(line: Inference) -> None:
    if line.conclusion.relation not in ("nonnegative", "positive"):
        raise Rejected("the rule concludes 'nonnegative' or 'positive'")
    known = {}
    for premise in line.premises:
        if premise.relation not in ("nonnegative", "positive") or not premise["scalar"].is_Symbol:
            raise Rejected(f"'{premise}' is not the sign of a symbol")
        known[premise["scalar"]] = premise.relation == "positive"
    strict = line.conclusion.relation == "positive"
    scalar = line.conclusion["scalar"]
    if not (_is_positive(scalar, known) if strict else _is_nonnegative(scalar, known)):
        raise Rejected(f"the sign of {scalar} does not follow from those of its symbols")


def _is_positive(expr: Any, known: dict[Any, bool]) -> bool:
    if expr.is_Rational:
        return bool(expr > 0)
    if isinstance(expr, exp):  # of a real argument
        return True
    if expr.is_Symbol:
        return known.get(expr, False)
    if expr.is_Mul:
        return all(_is_positive(factor, known) for factor in expr.args)
    if expr.is_Pow:
        return expr.exp.is_Rational and _is_positive(expr.base, known)
    if expr.is_Add:
        return all(_is_nonnegative(term, known) for term in expr.args) and any(
            _is_positive(term, known) for term in expr.args
        )
    return False


def _is_nonnegative(expr: Any, known: dict[Any, bool]) -> bool:
    if expr.is_Rational:
        return bool(expr >= 0)
    if isinstance(expr, exp):
        return True
    if expr.is_Symbol:
        return expr in known
    if expr.is_Mul or expr.is_Add:
        return all(_is_nonnegative(part, known) for part in expr.args)
    if expr.is_Pow and expr.exp.is_Rational:
        return _is_positive(expr.base, known) or (expr.exp > 0 and _is_nonnegative(expr.base, known))
    return False


def _gram(line: Inference) -> None:
    line.require("semidefinite")
    line.count(0)
    factor = line.arguments["factor"]
    line.same(
        line.conclusion["matrix"], multiply(transposed(factor), factor), "not the Gram matrix of the factor"
    )


def _identity(line: Inference) -> None:
    line.require("definite")
    line.count(0)
    matrix = line.conclusion["matrix"]
    rows, cols = shape_of(matrix)
    if rows != cols:
        raise Rejected("the identity is square")
    line.same(matrix, Identity(rows), "not the identity")


def _scale(line: Inference) -> None:
    line.count(2)
    matrix, scalar = line.premises[0], line.premise(1, "nonnegative")["scalar"]
    if matrix.relation not in _OPPOSITE:
        raise Rejected("the first premise must be the sign of a matrix")
    line.require(matrix.relation)
    line.same(line.conclusion["matrix"], multiply(scalar, matrix["matrix"]), "not the scaled matrix")


def _negative(line: Inference) -> None:
    line.count(1)
    premise = line.premises[0]
    if premise.relation not in _OPPOSITE:
        raise Rejected("the premise must be the sign of a matrix")
    line.require(_OPPOSITE[premise.relation])
    line.same(line.conclusion["matrix"], multiply(-1, premise["matrix"]), "not the negative")


def _sum(line: Inference) -> None:
    relation = line.conclusion.relation
    allowed = {"definite", "semidefinite"} if relation == "definite" else {relation}
    found = [premise.relation for premise in line.premises]
    if relation not in (*_OPPOSITE, "definite") or not found or not set(found) <= allowed:
        raise Rejected("the summands must have the sign that is concluded")
    if relation == "definite" and "definite" not in found:
        raise Rejected("a sum of semidefinite matrices need not be definite")
    line.same(line.conclusion["matrix"], total(p["matrix"] for p in line.premises), "not the sum")


def _congruence(line: Inference) -> None:
    line.count(1)
    premise, factor = line.premises[0], line.arguments["factor"]
    if premise.relation not in _OPPOSITE:
        raise Rejected("congruence keeps 'semidefinite' and 'negative-semidefinite'")
    line.require(premise.relation)
    image = multiply(transposed(factor), premise["matrix"], factor)
    line.same(line.conclusion["matrix"], image, "not the congruent matrix")


def _definite_is_semidefinite(line: Inference) -> None:
    line.require("semidefinite")
    line.count(1)
    line.same(line.conclusion["matrix"], line.premise(0, "definite")["matrix"], "another matrix")


def _definite_is_invertible(line: Inference) -> None:
    line.require("invertible")
    line.count(1)
    line.same(line.conclusion["matrix"], line.premise(0, "definite")["matrix"], "another matrix")


def _identity_is_invertible(line: Inference) -> None:
    line.require("invertible")
    line.count(0)
    matrix = line.conclusion["matrix"]
    line.same(matrix, Identity(shape_of(matrix)[0]), "not the identity")


def _exchange(line: Inference) -> None:
    """The eigenvalues of I − XY and I − YX other than 1 agree."""
    if line.conclusion.relation not in ("invertible", "principal-root"):
        raise Rejected("the rule concludes 'invertible' or 'principal-root'")
    first, second = line.arguments["first"], line.arguments["second"]
    premise = line.premise(0, line.conclusion.relation)["matrix"]
    one, other = multiply(first, second), multiply(second, first)
    if shape_of(one)[0] != shape_of(one)[1] or shape_of(other)[0] != shape_of(other)[1]:
        raise Rejected("both products must be square")
    line.same(
        premise, total([Identity(shape_of(other)[0]), multiply(-1, other)]), "the premise is not I − YX"
    )
    pairs = rewriting(line.premises[1:])
    claimed = substitute(line.conclusion["matrix"], pairs)
    line.same(
        claimed, substitute(total([Identity(shape_of(one)[0]), multiply(-1, one)]), pairs), "not I − XY"
    )


RULES = (
    Rule("scalar-sign", "Sums, products, powers and exponentials of scalars of known sign.", _scalar_sign),
    Rule("gram", "XᵀX ⪰ 0.", _gram, ("factor",)),
    Rule("identity", "I ≻ 0.", _identity),
    Rule("scale", "A non-negative multiple keeps the sign.", _scale),
    Rule("negative", "X ⪰ 0 if and only if −X ⪯ 0.", _negative),
    Rule("sum", "A sum keeps the sign; one strict summand makes it strict.", _sum),
    Rule("congruence", "X ⪰ 0 gives FᵀXF ⪰ 0, and the same for ⪯.", _congruence, ("factor",)),
    Rule("weaken", "X ≻ 0 gives X ⪰ 0.", _definite_is_semidefinite),
    Rule("definite-invertible", "X ≻ 0 is invertible.", _definite_is_invertible),
    Rule("identity-invertible", "I is invertible.", _identity_is_invertible),
    Rule(
        "exchange",
        "I − XY is invertible, or has a principal root, if I − YX is or has: the eigenvalues but 1 agree.",
        _exchange,
        ("first", "second"),
    ),
)
