"""Strict saddles as certificates: a direction from the exact Hessian, or nothing but a radius."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions.saddle import SADDLE

Rows = Sequence[Sequence[Any]]


def strict_saddle(
    texts: tuple[str, str],
    parameters: Mapping[str, Any],
    points: Rows,
    sense: str,
    *,
    direction: Rows | None = None,
    radius: Fraction | None = None,
    refuted: bool = False,
) -> Certificate:
    """Return the certificate that tokens are a strict saddle, or with ``refuted`` that they are none.

    Parameters
    ----------
    texts : (str, str)
        W(x, y) and U(x).
    parameters : mapping of str to Fraction or nested lists of Fraction
    points : rows of Fraction or of elements of one number field
    sense : {"maximise", "minimise"}
    direction : rows, optional
        Tangent vectors with a second derivative of the wanted sign, for exact tokens.
    radius : Fraction, optional
        For tokens that are known approximately.
    refuted : bool
    """
    statement = {
        "pair": texts[0],
        "potential": texts[1],
        "parameters": {name: _text(value) for name, value in parameters.items()},
        "sense": sense,
        "field": _field(points),
        "points": _text(points),
        "radius": None if radius is None else str(radius),
    }
    return Certificate(
        claim=SADDLE.claim,
        status="refuted" if refuted else "proved",
        kind="saddle",
        statement=statement,
        scope=SADDLE.scope(statement),
        assumes=(),
        proof={"direction": None if direction is None else _text(direction)},
        versions=software(),
    )


def _text(value: Any) -> Any:
    return [_text(part) for part in value] if isinstance(value, list | tuple) else str(value)


def _field(points: Rows) -> dict[str, Any] | None:
    from symflow.algebra.exact.fields import common_field

    field = common_field([entry for row in points for entry in row])
    if field is None:
        return None
    return {"polynomial": list(field.root.polynomial), "index": field.root.index}
