"""Writes the certificate of a witness that Gaussians are not preserved."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symflow.algebra.exact.numbers import Ball
from symflow.algebra.grammar import to_text
from symflow.certify.certificate import Certificate, software
from symflow.certify.lemmas.velocity import AFFINE_VELOCITY
from symflow.certify.propositions import propositions
from symflow.certify.propositions.velocity import DENIAL, NonPreservation
from symflow.certify.recheck import replay
from symflow.derive.nonclosure import Witness
from symflow.derive.nonclosure.balls import ball, rounded
from symflow.errors import InputError
from symflow.models.statement import Statement

_SLACK = Fraction(1, 10**15)  # another rounding stays within


def refute_preservation(
    statement: Statement, witness: Witness, claim: str = "gaussian-preservation"
) -> Certificate:
    """Return a certificate that Gaussians are not preserved.

    The value is stored exactly where the replay can compute it exactly, else as a ball.

    Parameters
    ----------
    statement : Statement
        The model.
    witness : Witness
        From :func:`symflow.derive.nonclosure.refute_closure` for that statement.
    claim : str
        ``"gaussian-preservation"``, which it refutes, or a claim that Gaussians are not preserved, which it
        proves.

    Raises
    ------
    InputError
        If the statement has no text in the grammar. The certificate need not replay.
    """
    text = _exact_text(witness.value)
    if text is not None:
        exact = _certificate(statement, witness, claim, text)
        if replay(exact).accepted:
            return exact
    return _certificate(statement, witness, claim, _ball(witness.value))


def _exact_text(value: Any) -> str | None:
    if isinstance(value, Ball):
        return None
    try:
        return to_text(value)
    except InputError:  # π has no text in the grammar
        return None


def velocity_record(statement: Statement) -> dict[str, Any]:
    """Return the velocity of a statement as stored in certificates."""
    weights = None if statement.positions is None else statement.positions.weights
    kept = [symbol for symbol in statement.parameters if symbol != weights]
    signs = {"positive": "is_positive", "nonnegative": "is_nonnegative"}
    return {
        "query": statement.x.name,
        "key": statement.y.name,
        "heads": [
            {
                "kernel": to_text(head.kernel),
                "value": to_text(head.value),
                "normalise": head.normalise,
                "prefactor": to_text(head.prefactor),
                "members": [] if head.family is None else [m.name for m in head.family.members],
            }
            for head in statement.heads
        ],
        "output": to_text(statement.background),
        "diffusion": to_text(statement.diffusion),
        "masked": weights is not None,
        "symbols": {symbol.name: _shape(symbol) for symbol in kept},
        "signs": {
            symbol.name: next(sign for sign, test in signs.items() if getattr(symbol, test))
            for symbol in kept
            if not symbol.is_Matrix and symbol.is_nonnegative
        },
    }


def _shape(symbol: Any) -> list[str]:
    return [str(size) for size in getattr(symbol, "shape", ()) if size != 1]


def _certificate(statement: Statement, witness: Witness, claim: str, value: Any) -> Certificate:
    known = propositions().get(claim)
    proposition = known if isinstance(known, NonPreservation) else DENIAL
    record = velocity_record(statement)
    return Certificate(
        claim=claim,
        status="proved" if proposition is known else "refuted",
        kind="counterexample",
        statement=record,
        scope=proposition.scope(record),
        assumes=(AFFINE_VELOCITY,),
        proof={
            "arithmetic": "exact" if isinstance(value, str) else "ball",
            "parameters": {name: str(value) for name, value in witness.parameters},
            "laws": [[str(law.mean), str(law.variance)] for law in witness.laws],
            "weights": [str(weight) for weight in witness.weights],
            "point": str(witness.point),
            "order": witness.order,
            "step": None if witness.step is None else str(witness.step),
            "value": value,
        },
        versions=software(),
    )


def _ball(value: Any) -> dict[str, str]:
    """Return an enclosure as text, widened so that another rounding stays within."""
    if not isinstance(value, Ball):
        value = rounded(ball(value))
    if 0 in value:
        raise InputError(f"{value} contains zero")
    return {"midpoint": str(value.midpoint), "radius": str(value.radius + _SLACK)}
