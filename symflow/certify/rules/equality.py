"""Equality: normal form of matrix words, definitions, instances, linear combinations."""

from __future__ import annotations

from typing import Any

from sympy import Integer, ZeroMatrix

from symflow.certify.judgement import Judgement
from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import (
    Rejected,
    is_matrix,
    is_symbol,
    multiply,
    shape_of,
    substitute,
    total,
)


def rewriting(premises: tuple[Judgement, ...]) -> list[tuple[Any, Any]]:
    """Read equalities ``symbol = expression`` from left to right, newest first."""
    pairs = []
    for premise in reversed(premises):
        if premise.relation != "equal" or not is_symbol(premise["left"]):
            raise Rejected(f"'{premise}' cannot be used from left to right: its left side is not a symbol")
        pairs.append((premise["left"], premise["right"]))
    return pairs


def _normal_form(line: Inference) -> None:
    line.require("equal")
    pairs = rewriting(line.premises)
    left, right = (substitute(line.conclusion[side], pairs) for side in ("left", "right"))
    line.same(left, right, "the two sides differ")


def _definition(line: Inference) -> None:
    """The kind introduces the symbol before it reads the line, so only the form is left to check."""
    line.require("equal")
    line.count(0)
    left = line.conclusion["left"]
    if not is_symbol(left) or line.terms.definitions.get(left.name) != line.conclusion["right"]:
        raise Rejected("a definition has a new symbol on its left side")


def _instance(line: Inference) -> None:
    line.require("equal")
    line.count(1)
    premise, key = line.premise(0, "equal"), line.arguments["variable"]
    if not is_symbol(key) or key.name not in line.variables.universal:
        raise Rejected(f"only {', '.join(line.variables.universal)} may be replaced")
    value = line.arguments["value"]
    if shape_of(value) != shape_of(key):
        raise Rejected(f"{value} does not have the shape of {key}")
    for side in ("left", "right"):
        for name in line.terms.depends_on(premise[side]) & line.terms.abbreviations:
            line.terms.require_free(line.terms.symbols[name], [key.name], f"the abbreviation {name!r}")
        line.same(line.conclusion[side], substitute(premise[side], [(key, value)]), f"{side} side")


def _combination(line: Inference) -> None:
    """``l − r = Σ Pᵢ(lᵢ − rᵢ)Qᵢ`` with given multipliers; further premises ``symbol = …`` are rewritten."""
    line.require("equal")
    left_factors, right_factors = line.arguments["before"], line.arguments["after"]
    count = len(left_factors)
    combined, definitions = line.premises[:count], line.premises[count:]
    if len(right_factors) != count or len(combined) != count or count == 0:
        raise Rejected("give one left and one right multiplier for each premise that is combined")
    pairs = rewriting(definitions)
    parts = [line.conclusion["left"], multiply(-1, line.conclusion["right"])]
    for premise, left, right in zip(combined, left_factors, right_factors, strict=True):
        if premise.relation != "equal":
            raise Rejected(f"'{premise}' is not an equality")
        parts.append(multiply(-1, left, premise["left"], right))
        parts.append(multiply(left, premise["right"], right))
    difference = substitute(total(parts), pairs)
    zero = ZeroMatrix(*difference.shape) if is_matrix(difference) else Integer(0)
    line.same(difference, zero, "the combination does not give the conclusion")


RULES = (
    Rule("normal-form", "Both sides have the same normal form, given the equalities cited.", _normal_form),
    Rule("definition", "A new symbol stands for the right side.", _definition),
    Rule("instance", "The equality holds for every value of the variable.", _instance, ("variable", "value")),
    Rule(
        "combination",
        "A linear combination of the equalities cited.",
        _combination,
        lists=("before", "after"),
    ),
)
