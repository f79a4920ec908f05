"""The same judgement about an equal expression."""

from __future__ import annotations

from symflow.certify.rules.equality import rewriting
from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected, substitute, transposed

#: relations that speak about the values of their expressions, and not about a flow
_POINTWISE = frozenset(
    (
        "equal",
        "nonnegative",
        "positive",
        "semidefinite",
        "negative-semidefinite",
        "definite",
        "invertible",
        "norm",
    )
)


def _rewrite(line: Inference) -> None:
    """Further premises ``symbol = …`` are read from left to right in both judgements."""
    if not line.premises:
        raise Rejected("give the judgement and the equalities as premises")
    premise, done = line.premises[0], line.conclusion
    if premise.relation not in _POINTWISE:
        raise Rejected(f"{premise.relation!r} is about a flow, not about the values of an expression")
    line.require(premise.relation)
    pairs = rewriting(line.premises[1:])
    for field in done.terms:
        left, right = (substitute(judgement[field], pairs) for judgement in (done, premise))
        line.same(left, right, f"another {field}")


def _replace(line: Inference) -> None:
    """``X = Y`` turns a judgement about X into one about Y."""
    line.count(2)
    premise, equality, done = line.premises[0], line.premise(1, "equal"), line.conclusion
    if premise.relation not in _POINTWISE:
        raise Rejected(f"{premise.relation!r} is about a flow, not about the values of an expression")
    line.require(premise.relation)
    for field in done.terms:
        same = line.terms.same(done[field], premise[field])
        if not same:
            line.same(premise[field], equality["left"], f"{field} of the premise is not the left side")
            line.same(done[field], equality["right"], f"{field} of the conclusion is not the right side")


def _transpose(line: Inference) -> None:
    line.require("equal")
    line.count(1)
    premise = line.premise(0, "equal")
    for side in ("left", "right"):
        line.same(line.conclusion[side], transposed(premise[side]), f"{side} side is not the transpose")


RULES = (
    Rule("rewrite", "Equals may be put for equals.", _rewrite),
    Rule("replace", "X = Y turns a judgement about X into one about Y.", _replace),
    Rule("transpose", "X = Y gives Xᵀ = Yᵀ.", _transpose),
)
