"""Derivatives along motions of two tokens, and sums over orthonormal bases."""

from __future__ import annotations

from sympy import Trace

from symflow.algebra.variation import gateaux
from symflow.certify.rules.rule import Inference, Rule
from symflow.certify.terms import Rejected, as_scalar, is_symbol, multiply, shape_of, transposed


def _along_motion(line: Inference) -> None:
    """All symbols but the two tokens are held fixed, so abbreviations have to be written out."""
    line.require("pair-derivative")
    line.count(0)
    done = line.conclusion
    for term in done.terms.values():
        hidden = sorted({symbol.name for symbol in term.free_symbols} & line.terms.abbreviations)
        if hidden:
            raise Rejected(f"write {hidden[0]!r} out, so that it can be differentiated")
    query, key = line.symbol(line.variables.query), line.symbol(line.variables.key)
    for token, motion in ((query, done["motion"]), (key, done["partner_motion"])):
        if shape_of(motion) != shape_of(token):
            raise Rejected(f"{motion} is no velocity of {token}")
    change = gateaux(done["functional"], {query: done["motion"], key: done["partner_motion"]})
    line.same(done["derivative"], change, "not the derivative along the motion")


def _over_basis(line: Inference) -> None:
    """``Σ_a ⟨e_a, M e_a⟩ = tr M`` for every matrix M that does not depend on the vector."""
    line.require("basis-sum")
    line.count(0)
    vector, form = line.conclusion["over"], line.arguments["form"]
    if not is_symbol(vector) or shape_of(vector)[1] != 1:
        raise Rejected("a sum over a basis is over a vector that is a symbol")
    if shape_of(form) != (shape_of(vector)[0],) * 2:
        raise Rejected(f"{form} is no quadratic form in {vector}")
    line.terms.require_free(form, [vector.name], "the matrix of the form")
    summand = as_scalar(multiply(transposed(vector), form, vector))
    line.same(line.conclusion["summand"], summand, "the summand is not the quadratic form")
    line.same(line.conclusion["total"], Trace(form), "not the trace")


RULES = (
    Rule("along-motion", "The derivative of a function of two tokens as both move.", _along_motion),
    Rule("over-basis", "Σ ⟨e, M e⟩ = tr M over every orthonormal basis.", _over_basis, ("form",)),
)
