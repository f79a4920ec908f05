"""The derivative of the entropic cost of transport of a Gaussian law to itself."""

from __future__ import annotations

from sympy import Rational, Trace

from symflow.algebra.variation import LogDet, gateaux
from symflow.certify.rules.equality import rewriting
from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected, is_symbol, multiply, substitute, total

_QUARTER, _HALF = Rational(1, 4), Rational(1, 2)


def _cost_gradient(line: Inference) -> None:
    """The derivatives are compared in every symmetric direction; premises ``symbol = …`` are rewritten."""
    line.require("cost-gradient")
    done, direction = line.conclusion, line.arguments["direction"]
    covariance, coupling, scores = line.symbol(line.variables.covariance), done["coupling"], done["scores"]
    symmetric = line.terms.symmetric
    for symbol in (coupling, scores, direction):
        if not is_symbol(symbol) or symbol not in symmetric or symbol == covariance:
            raise Rejected("coupling, scores and direction must be symmetric symbols")
    if len({coupling, scores, direction}) < 3:
        raise Rejected("coupling, scores and direction must be three symbols")
    pairs = rewriting(line.premises)
    gradient, stationarity = (substitute(done[field], pairs) for field in ("gradient", "stationarity"))
    for term in (gradient, stationarity):
        line.terms.require_free(term, [direction.name, *line.terms.definitions], "a derivative")
    residual = total([covariance, multiply(-1, coupling, covariance.inverse(), coupling)])
    cost = (
        -_HALF * Trace(multiply(scores, coupling))
        - _QUARTER * LogDet(residual)
        + _QUARTER * LogDet(covariance)
    )
    in_covariance = gateaux(cost, {covariance: direction})
    line.same(Trace(multiply(gradient, direction)), in_covariance, "not the gradient in Σ")
    in_coupling = gateaux(cost, {coupling: direction})
    line.same(_HALF * Trace(multiply(stationarity, direction)), in_coupling, "not the gradient in C")


RULES = (
    Rule(
        "cost-gradient",
        "The derivative of the entropic cost, in every direction.",
        _cost_gradient,
        ("direction",),
    ),
)
