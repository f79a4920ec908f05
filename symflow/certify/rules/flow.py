"""Derivatives along a flow and in time."""

from __future__ import annotations

from typing import Any

from sympy import Inverse, MatPow, preorder_traversal

from symflow.algebra.variation import gateaux
from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected


def _require_open(line: Inference, *terms: Any) -> None:
    """Refuse abbreviations: they may hide the variable in which is differentiated."""
    for term in terms:
        hidden = sorted({symbol.name for symbol in term.free_symbols} & line.terms.abbreviations)
        if hidden:
            raise Rejected(f"write {hidden[0]!r} out, so that it can be differentiated")


def _along_flow(line: Inference) -> None:
    line.require("flow-derivative")
    line.count(0)
    names, done = line.variables, line.conclusion
    _require_open(line, *done.terms.values())
    line.terms.require_free(done["functional"], [names.mean, *names.outside_state], "the functional")
    line.terms.require_free(done["cov_rhs"], names.outside_state, "cov_rhs")
    change = gateaux(done["functional"], {line.symbol(names.covariance): done["cov_rhs"]})
    line.same(done["derivative"], change, "not the derivative along the flow")


def _in_time(line: Inference) -> None:
    line.require("time-derivative")
    line.count(0)
    if not line.variables.time:
        raise Rejected("the claim has no time variable")
    _require_open(line, line.conclusion["curve"])
    names = line.variables
    states = [names.mean, names.covariance, names.factor, *names.universal]
    line.terms.require_free(line.conclusion["curve"], states, "the curve")
    change = gateaux(line.conclusion["curve"], {line.symbol(line.variables.time): 1})
    line.same(line.conclusion["derivative_matrix"], change, "not the derivative in time")


def _solves(line: Inference) -> None:
    """``X' = D`` and ``D = R(X)`` for the polynomial R of the equation."""
    line.require("solution-curve")
    line.count(2)
    done, slope, equation = line.conclusion, line.premise(0, "time-derivative"), line.premise(1, "equal")
    names = line.variables
    _require_open(line, done["curve"], done["cov_rhs"])
    line.terms.require_free(done["cov_rhs"], [names.mean, *names.outside_state], "cov_rhs")
    if any(isinstance(node, (Inverse, MatPow)) for node in preorder_traversal(done["cov_rhs"])):
        raise Rejected("an equation with inverses may not be defined along the curve")
    line.same(done["curve"], slope["curve"], "premise 1 is about another curve")
    line.same(equation["left"], slope["derivative_matrix"], "premise 2 is not about the derivative")
    image = done["cov_rhs"].xreplace({line.symbol(names.covariance): done["curve"]})
    line.same(equation["right"], image, "premise 2 is not the equation at the curve")


RULES = (
    Rule("along-flow", "The derivative of a function of the covariance along its equation.", _along_flow),
    Rule("in-time", "The derivative of a curve in time.", _in_time),
    Rule("solves", "A curve whose derivative is the right-hand side at the curve is a solution.", _solves),
)
