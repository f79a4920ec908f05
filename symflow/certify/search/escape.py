"""Writes the certificate that single tokens escape to infinity in finite time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Poly, Rational, S

from symflow.certify.certificate import Certificate, software
from symflow.certify.lemmas.velocity import COMPARISON
from symflow.certify.propositions import proposition
from symflow.certify.search.counterexample import velocity_record
from symflow.derive.nonclosure.reduction import X, Y, at_size_one, parameters
from symflow.errors import InputError
from symflow.models.statement import Statement


def write_escape(claim: str, statements: Mapping[str, Statement]) -> Certificate:
    """Return a certificate with one part for each statement; it is not replayed here.

    Raises
    ------
    InputError
        If the velocity of a token has no cubic lower bound that its series at zero shows.
    """
    stated = {name: velocity_record(statement) for name, statement in statements.items()}
    return Certificate(
        claim=claim,
        status="proved",
        kind="escape",
        statement=stated,
        scope=proposition(claim).scope(stated),
        assumes=(COMPARISON,),
        proof={name: _part(statement) for name, statement in statements.items()},
        versions=software(),
    )


def _part(statement: Statement) -> dict[str, Any]:
    values = dict.fromkeys(parameters(statement), S.One)
    velocity = sum(
        (part.prefactor * part.value * part.kernel).subs({**values, X: Y}) for part in at_size_one(statement)
    )
    cubic = Poly(velocity.series(Y, 0, 4).removeO(), Y).coeff_monomial(Y**3)
    if not (cubic.is_Rational and cubic > 0):
        raise InputError(f"{statement.name}: the velocity {velocity} of a token has no cubic lower bound")
    return {
        "parameters": {symbol.name: str(value) for symbol, value in values.items()},
        "cubic": str(Rational(cubic)),
    }
