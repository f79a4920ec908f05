r"""All critical points of an energy of n tokens on the circle.

The statement is a record with the keys of :data:`_KEYS`: the text of W(x, y), a number for each of its other
names, n, whether the list is complete, and the list: gaps between neighbouring tokens in turns, rounded to
five digits, and in how many directions the energy increases and decreases at second order, modulo rotation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.certify.propositions.proposition import Proposition, require_keys
from symflow.errors import CertificateError

_KEYS = frozenset(("pair", "parameters", "tokens", "complete", "points"))
_POINT = frozenset(("gaps", "decreasing", "increasing"))
_GAP = re.compile(r"[01]\.[0-9]{5}")
_VALUE = re.compile(r"-?[0-9]{1,40}(/[1-9][0-9]{0,39})?")
MAX_TOKENS = 8
MAX_POINTS = 200
MAX_TEXT = 500


@dataclass(frozen=True)
class StatedPoint:
    """One critical point: gaps in turns, and signs of the second derivative."""

    gaps: tuple[Fraction, ...]
    decreasing: int
    increasing: int


@dataclass(frozen=True)
class StatedPoints:
    """The statement, read and checked."""

    pair: str
    parameters: Mapping[str, Fraction]
    tokens: int
    complete: bool
    points: tuple[StatedPoint, ...]


@dataclass(frozen=True)
class CriticalPoints(Proposition):
    """All critical points on the circle are known, and consensus is the only stable one."""

    claim: str

    def read(self, statement: Any) -> StatedPoints:
        """Return the statement after checking keys, types and sizes.

        Raises
        ------
        CertificateError
            Naming the key and what it must be.
        """
        require_keys(statement, _KEYS)
        tokens, complete = statement["tokens"], statement["complete"]
        if type(tokens) is not int or not 2 <= tokens <= MAX_TOKENS:
            raise CertificateError(f"statement: 'tokens' must be a whole number from 2 to {MAX_TOKENS}")
        if type(complete) is not bool:
            raise CertificateError("statement: 'complete' must be true or false")
        if not isinstance(statement["pair"], str) or len(statement["pair"]) > MAX_TEXT:
            raise CertificateError(f"statement: 'pair' must be a text of at most {MAX_TEXT} characters")
        return StatedPoints(
            statement["pair"],
            _parameters(statement["parameters"]),
            tokens,
            complete,
            _points(statement["points"], tokens),
        )

    def scope(self, statement: Any) -> str:
        """Return the energy, the number of tokens and the list."""
        stated = self.read(statement)
        values = "".join(f", {name} = {value}" for name, value in stated.parameters.items())
        where = f"{stated.tokens} tokens on the circle, energy ½∬W with W = {stated.pair}{values}"
        listed = "; ".join(_listed(point) for point in stated.points)
        rest = (
            "these are all critical points, and each is isolated modulo rotations"
            if stated.complete
            else "there are these critical points"
        )
        return (
            f"{where}; up to rotations, reflections and permutations {rest} (gaps in turns: directions in "
            f"which the energy increases/decreases at second order): {listed}"
        )


def _parameters(given: Any) -> dict[str, Fraction]:
    if not isinstance(given, Mapping) or len(given) > 20:
        raise CertificateError("statement: 'parameters' must be an object of at most 20 numbers")
    if not all(isinstance(value, str) and _VALUE.fullmatch(value) for value in given.values()):
        raise CertificateError("statement: a parameter must be a text p or p/q")
    return {name: Fraction(value) for name, value in given.items()}


def _points(given: Any, tokens: int) -> tuple[StatedPoint, ...]:
    if not isinstance(given, (list, tuple)) or not 0 < len(given) <= MAX_POINTS:
        raise CertificateError(f"statement: 'points' must be a list of at most {MAX_POINTS} points")
    found = []
    for record in given:
        if not isinstance(record, Mapping) or set(record) != _POINT:
            raise CertificateError(f"statement: a point has the keys {', '.join(sorted(_POINT))}")
        gaps, counts = record["gaps"], [record[key] for key in ("decreasing", "increasing")]
        if not isinstance(gaps, (list, tuple)) or len(gaps) != tokens:
            raise CertificateError(f"statement: a point has {tokens} gaps")
        if not all(isinstance(gap, str) and _GAP.fullmatch(gap) for gap in gaps):
            raise CertificateError("statement: a gap is a text with five decimals")
        if not all(type(count) is int and 0 <= count < tokens for count in counts):
            raise CertificateError("statement: numbers of directions must be whole and below n")
        found.append(StatedPoint(tuple(Fraction(gap) for gap in gaps), *counts))
    return tuple(found)


def _listed(point: StatedPoint) -> str:
    gaps = ", ".join(f"{float(gap):.5f}".rstrip("0").rstrip(".") for gap in point.gaps)
    return f"({gaps}): {point.increasing}/{point.decreasing}"


CRITICAL_POINTS = CriticalPoints("critical-points")
PROPOSITIONS = (CRITICAL_POINTS,)
