"""Bounds of scalars from norms, and of exponentials from bounds of exponents."""

from __future__ import annotations

from sympy import Trace, exp

from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected, as_scalar, multiply, shape_of, total, transposed


def _product_of_vectors(line: Inference) -> None:
    """``|u| ≤ a`` and ``|v| ≤ b`` give ab − ⟨u, v⟩ ≥ 0 and ab + ⟨u, v⟩ ≥ 0."""
    line.require("nonnegative")
    line.count(2)
    first, second = line.premise(0, "norm"), line.premise(1, "norm")
    if any(shape_of(premise["matrix"])[1] != 1 for premise in (first, second)):
        raise Rejected("the premises must be about vectors")
    product = Trace(multiply(transposed(first["matrix"]), second["matrix"]))
    sides = [total([first["bound"] * second["bound"], sign * product]) for sign in (-1, 1)]
    if not any(line.terms.same(line.conclusion["scalar"], side) for side in sides):
        raise Rejected("the conclusion is neither ab − ⟨u, v⟩ nor ab + ⟨u, v⟩")


def _exponential(line: Inference) -> None:
    line.require("nonnegative")
    line.count(1)
    low, high = line.arguments["low"], line.arguments["high"]
    line.same(
        line.premise(0, "nonnegative")["scalar"], total([high, -low]), "the premise is not high − low ≥ 0"
    )
    line.same(line.conclusion["scalar"], total([exp(high), -exp(low)]), "not e^high − e^low")


def _tangent(line: Inference) -> None:
    line.require("nonnegative")
    line.count(0)
    exponent = as_scalar(line.arguments["exponent"])
    line.same(line.conclusion["scalar"], total([exp(exponent), -exponent, -1]), "not e^z − z − 1")


RULES = (
    Rule("dot-bound", "|u| ≤ a and |v| ≤ b give ab ± ⟨u, v⟩ ≥ 0.", _product_of_vectors),
    Rule("exponential", "a ≤ b gives eᵃ ≤ eᵇ.", _exponential, ("low", "high")),
    Rule("exponential-tangent", "eᶻ ≥ 1 + z.", _tangent, ("exponent",)),
)
