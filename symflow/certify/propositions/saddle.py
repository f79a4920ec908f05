r"""Tokens on spheres that are a strict saddle of an energy.

The statement is a record with the keys of :data:`_KEYS`: W and U as texts with rational values of their
parameters, whether the energy is to be maximised or minimised, and the tokens. Without ``radius`` these are
exact, in ℚ or in the field that ``field`` names, and the claim is that they are critical and that the second
derivative in some direction is positive, for an energy to be maximised, or negative, for one to be minimised:
no strict saddle is a local extremum of the wanted kind. With ``radius`` the tokens are rational and the claim
is that such a critical point exists with every token within that distance of the stated one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.fields import NumberField
from symflow.algebra.exact.numbers import AlgebraicNumber
from symflow.algebra.exact.texts import read_exact
from symflow.certify.curves import rows_text
from symflow.certify.names import check_names
from symflow.certify.propositions.proposition import Proposition, require_keys
from symflow.certify.sphere.energy import TokenEnergy
from symflow.errors import CertificateError, InputError

_KEYS = frozenset(("pair", "potential", "parameters", "sense", "field", "points", "radius"))
SENSES = {"maximise": 1, "minimise": -1}  #: sign of a second derivative that makes a saddle strict
MAX_TOKENS = 64
MAX_DIMENSION = 16
MAX_TEXT = 2000
_MAX_DEGREE = 48
_NUMBER = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")


@dataclass(frozen=True)
class StatedTokens:
    """The statement, read and checked."""

    energy: TokenEnergy
    sign: int
    points: tuple[tuple[Any, ...], ...]
    field: NumberField | None
    radius: Fraction | None


@dataclass(frozen=True)
class StrictSaddle(Proposition):
    """The tokens are a strict saddle."""

    claim: str

    def read(self, statement: Any) -> StatedTokens:
        """Return the statement after checking keys, types and sizes.

        Raises
        ------
        CertificateError
            Naming the key and what it must be.
        """
        require_keys(statement, _KEYS)
        if not isinstance(statement["sense"], str) or statement["sense"] not in SENSES:
            raise CertificateError(f"statement: 'sense' must be {' or '.join(SENSES)}")
        texts = [statement["pair"], statement["potential"]]
        if not all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts) or not any(texts):
            raise CertificateError("statement: 'pair' and 'potential' must be texts, one of them not empty")
        field, radius = _field(statement["field"]), _radius(statement["radius"])
        if field is not None and radius is not None:
            raise CertificateError("statement: tokens of a field are exact; leave the radius out")
        return StatedTokens(
            TokenEnergy(texts[0], texts[1], _parameters(statement["parameters"])),
            SENSES[statement["sense"]],
            _points(statement["points"], field),
            field,
            radius,
        )

    def scope(self, statement: Any) -> str:
        """Return the energy, the tokens and the reading of the claim."""
        stated = self.read(statement)
        parts = [f"½∬W, W = {statement['pair']}"] if statement["pair"] else []
        parts += [f"∫U, U = {statement['potential']}"] if statement["potential"] else []
        values = "".join(f", {name} = {shown(rows)}" for name, rows in stated.energy.parameters.items())
        n, d = len(stated.points), len(stated.points[0])
        kind = "ascent" if stated.sign > 0 else "descent"
        where = (
            "the tokens are"
            if stated.radius is None
            else f"within {float(stated.radius):.0e} of the tokens is"
        )
        return (
            f"{n} tokens on the unit sphere of dimension {d - 1}, energy {' + '.join(parts)}{values}, to be "
            f"{statement['sense']}d; read as: {where} a critical point with a direction of second-order "
            f"{kind}; tokens {_placed(stated.points)}"
        )


def shown(rows: Sequence[Sequence[Fraction]]) -> str:
    """Return the value of a parameter for readers."""
    if len(rows) == 1 and len(rows[0]) == 1:
        return str(rows[0][0])
    return rows_text([map(str, row) for row in rows])


def _placed(points: Sequence[Sequence[Any]]) -> str:
    listed = ("(" + ", ".join(f"{float(c):.4g}" for c in point) + ")" for point in points)
    return "; ".join(listed)


def _parameters(given: Any) -> dict[str, tuple[tuple[Fraction, ...], ...]]:
    if not isinstance(given, Mapping) or len(given) > 20:
        raise CertificateError("statement: 'parameters' must be an object of at most 20 entries")
    check_names(("x", "y", *given))
    return {name: _rows(value, f"parameter {name}") for name, value in given.items()}


def _rows(value: Any, what: str) -> tuple[tuple[Fraction, ...], ...]:
    rows = [[value]] if isinstance(value, str) else value
    if (
        not isinstance(rows, (list, tuple))
        or not 0 < len(rows) <= MAX_DIMENSION
        or not all(isinstance(row, (list, tuple)) and len(row) == len(rows[0]) > 0 for row in rows)
        or len(rows[0]) > MAX_DIMENSION
    ):
        raise CertificateError(f"statement: {what} must be a number, or rows of one length")
    if not all(isinstance(entry, str) and _NUMBER.fullmatch(entry) for row in rows for entry in row):
        raise CertificateError(f"statement: {what} must consist of texts p or p/q")
    return tuple(tuple(Fraction(entry) for entry in row) for row in rows)


def _field(given: Any) -> NumberField | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != {"polynomial", "index"}:
        raise CertificateError("statement: 'field' has the keys polynomial, index")
    polynomial, index = given["polynomial"], given["index"]
    if not isinstance(polynomial, (list, tuple)) or not 2 < len(polynomial) <= _MAX_DEGREE + 1:
        raise CertificateError(f"statement: the polynomial has a degree from 2 to {_MAX_DEGREE}")
    if not all(type(c) is int and c.bit_length() <= 512 for c in (*polynomial, index)) or polynomial[-1] <= 0:
        raise CertificateError(
            "statement: coefficients and index must be whole, the last coefficient positive"
        )
    return _checked_field(tuple(polynomial), index)


def _checked_field(polynomial: tuple[int, ...], index: int) -> NumberField:
    """Return the field after checking that the polynomial is irreducible and has that many real roots."""
    from flint import fmpz_poly

    content, factors = fmpz_poly(list(polynomial)).factor()
    if abs(int(content)) != 1 or len(factors) != 1 or factors[0][1] != 1:
        raise CertificateError("statement: the polynomial of the field must be irreducible, without content")
    found: Any = fmpz_poly(list(polynomial)).complex_roots()
    roots = sum(root.imag == 0 for root, _ in found)
    if not 0 <= index < roots:
        raise CertificateError(f"statement: the polynomial has {roots} real roots")
    return NumberField(AlgebraicNumber(polynomial, index))


def _radius(given: Any) -> Fraction | None:
    if given is None:
        return None
    if not isinstance(given, str) or not _NUMBER.fullmatch(given):
        raise CertificateError("statement: 'radius' must be a text p or p/q, or null")
    return Fraction(given)


def _points(given: Any, field: NumberField | None) -> tuple[tuple[Any, ...], ...]:
    if not isinstance(given, (list, tuple)) or not 0 < len(given) <= MAX_TOKENS:
        raise CertificateError(f"statement: 'points' must be a list of at most {MAX_TOKENS} tokens")
    if not all(isinstance(row, (list, tuple)) and 1 < len(row) == len(given[0]) for row in given):
        raise CertificateError(
            "statement: every token must have the same number of coordinates, at least two"
        )
    if len(given[0]) > MAX_DIMENSION:
        raise CertificateError(f"statement: a token has at most {MAX_DIMENSION} coordinates")
    return tuple(tuple(coordinate(text, field) for text in row) for row in given)


def coordinate(text: Any, field: NumberField | None) -> Any:
    """Return a fraction or an element of the field, as a text writes it.

    Raises
    ------
    CertificateError
        If it writes anything else.
    """
    from symflow.algebra.exact.fields import FieldElement

    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise CertificateError("a coordinate must be a text")
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    try:
        found = read_exact(text, field)
    except InputError as error:
        raise CertificateError(f"the coordinate {text!r} cannot be read: {error}") from error
    if not isinstance(found, Fraction | FieldElement):
        raise CertificateError(f"the coordinate {text!r} is not algebraic")
    return found


SADDLE = StrictSaddle("saddle")
PROPOSITIONS = (SADDLE,)
