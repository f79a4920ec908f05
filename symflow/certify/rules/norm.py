"""Spectral norms."""

from __future__ import annotations

from sympy import Identity

from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected, is_matrix, multiply, shape_of, total, transposed


def _from_sign(line: Inference) -> None:
    """``c ≥ 0`` and ``c²I − XᵀX ⪰ 0`` give ``|X| ≤ c``."""
    line.require("norm")
    line.count(2)
    matrix, bound = line.conclusion["matrix"], line.conclusion["bound"]
    line.same(line.premise(1, "nonnegative")["scalar"], bound, "the second premise is not the bound")
    gap = total([multiply(bound**2, Identity(shape_of(matrix)[1])), multiply(-1, transposed(matrix), matrix)])
    line.same(line.premise(0, "semidefinite")["matrix"], gap, "the first premise is not c²I − XᵀX")


def _product(line: Inference) -> None:
    line.require("norm")
    line.count(2)
    first, second = line.premise(0, "norm"), line.premise(1, "norm")
    line.same(line.conclusion["matrix"], multiply(first["matrix"], second["matrix"]), "not the product")
    line.same(line.conclusion["bound"], first["bound"] * second["bound"], "not the product of the bounds")


def _sum(line: Inference) -> None:
    line.require("norm")
    if not line.premises:
        raise Rejected("give the norms of the summands as premises")
    parts = [line.premise(index, "norm") for index in range(len(line.premises))]
    line.same(line.conclusion["matrix"], total(part["matrix"] for part in parts), "not the sum")
    line.same(line.conclusion["bound"], total(part["bound"] for part in parts), "not the sum of the bounds")


def _transpose(line: Inference) -> None:
    line.require("norm")
    line.count(1)
    premise = line.premise(0, "norm")
    line.same(line.conclusion["matrix"], transposed(premise["matrix"]), "not the transpose")
    line.same(line.conclusion["bound"], premise["bound"], "another bound")


def _quotient(line: Inference) -> None:
    line.require("norm")
    line.count(3)
    premise, divisor = line.premise(0, "norm"), line.arguments["divisor"]
    if is_matrix(divisor):
        raise Rejected("the divisor must be a scalar")
    least = line.premise(1, "positive")["scalar"]
    gap = line.premise(2, "nonnegative")["scalar"]
    line.same(gap, divisor - least, "premise 3 does not say that the divisor is at least that")
    line.same(line.conclusion["matrix"], multiply(1 / divisor, premise["matrix"]), "not the quotient")
    line.same(line.conclusion["bound"], premise["bound"] / least, "not the quotient of the bounds")


RULES = (
    Rule("norm-from-sign", "c²I − XᵀX ⪰ 0 and c ≥ 0 give |X| ≤ c.", _from_sign),
    Rule("norm-product", "|XY| ≤ |X| |Y|.", _product),
    Rule("norm-sum", "|X + Y| ≤ |X| + |Y|.", _sum),
    Rule("norm-quotient", "|X| ≤ b and s ≥ c > 0 give |X/s| ≤ b/c.", _quotient, ("divisor",)),
    Rule("norm-transpose", "|Xᵀ| = |X|.", _transpose),
)
