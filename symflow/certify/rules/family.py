"""Sums over the heads of a family."""

from __future__ import annotations

from symflow.algebra.families import FamilySum
from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import FamilyOfHeads, Rejected, is_matrix, is_symbol, multiply


def _family_sum(line: Inference) -> None:
    """The premise holds for every value of the members, hence for those of every head."""
    line.require("equal")
    line.count(1)
    premise, family = line.premise(0, "equal"), _family(line)
    members = [line.symbol(name) for name in sorted(family.members)]
    for side in ("left", "right"):
        term = premise[side]
        if not is_matrix(term) or term.has(FamilySum):
            raise Rejected(f"{term} must be a matrix without a sum over heads")
        for symbol in term.free_symbols:
            if symbol.name not in family.members:
                line.terms.require_free(symbol, family.members, f"the abbreviation {symbol.name!r}")
        whole = FamilySum(term, members, line.symbol(family.count))
        line.same(line.conclusion[side], whole, f"the {side} side is not the sum over the heads")


def _family_factor(line: Inference) -> None:
    """``Σ_h X_h·v = (Σ_h X_h)·v`` for v that is the same for every head."""
    line.require("equal")
    line.count(0)
    family, body, after = _family(line), line.arguments["body"], line.arguments["after"]
    for term in (body, after):
        if not is_matrix(term) or term.has(FamilySum):
            raise Rejected(f"{term} must be a matrix without a sum over heads")
    line.terms.require_free(after, family.members, "what stands behind the sum")
    members, count = [line.symbol(name) for name in sorted(family.members)], line.symbol(family.count)
    inside = FamilySum(multiply(body, after), members, count)
    line.same(line.conclusion["left"], inside, "the left side is not the sum over the heads")
    outside = multiply(FamilySum(body, members, count), after)
    line.same(line.conclusion["right"], outside, "the right side is not the sum times the factor")


def _family(line: Inference) -> FamilyOfHeads:
    member = line.arguments["member"]
    found = [f for f in line.terms.families if is_symbol(member) and member.name in f.members]
    if len(found) != 1:
        raise Rejected(f"{member} is no member of a family of the claim")
    return found[0]


RULES = (
    Rule("family-sum", "An equality for every head may be summed over the heads.", _family_sum, ("member",)),
    Rule(
        "family-factor",
        "A factor that is the same for every head stands behind the sum.",
        _family_factor,
        ("member", "body", "after"),
    ),
)
