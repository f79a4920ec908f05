"""What it means that a quadratic form has a sign: the matrix of the statement, at a point or on a box."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.balls import is_positive_definite
from symflow.algebra.exact.boxes import Box, balls_of
from symflow.algebra.exact.fields import GENERATOR, NumberField, field_of
from symflow.algebra.exact.inertia import symmetric_rows
from symflow.algebra.exact.rational import Inertia, rational_matrix
from symflow.algebra.exact.real import enclose
from symflow.algebra.exact.texts import ball_value, exact_value
from symflow.algebra.text.syntax import Node, names_in, read
from symflow.certify.identically import vanishes
from symflow.certify.propositions.proposition import Proposition
from symflow.errors import CertificateError, InputError

#: Which signs of vᵀAv a property allows for v ≠ 0.
ALLOWED: Mapping[str, frozenset[int]] = {
    "positive-definite": frozenset((1,)),
    "positive-semidefinite": frozenset((0, 1)),
    "negative-definite": frozenset((-1,)),
    "negative-semidefinite": frozenset((-1, 0)),
}
PROPERTIES = (*ALLOWED, "indefinite")
#: How the quadratic form comes from the matrix of the statement.
FORMS = {
    "hessian": "v^T A v, where the Hessian A",
    "symmetric-part": "v^T A v, which is that of the symmetric part (A + A^T)/2, where A",
}
MAX_SIZE = 64
_KEYS = frozenset(("matrix", "property", "form", "field", "box"))
_RATIONAL = re.compile(r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?")


@dataclass(frozen=True)
class StatedForm:
    """A quadratic form and the property claimed for it.

    Attributes
    ----------
    claimed : str
        One of :data:`PROPERTIES`.
    texts : list of list of str
        Entries of the matrix, as written.
    nodes : tuple of tuple of Node
        The same, read.
    form : str
        One of :data:`FORMS`.
    field : NumberField or None
        What ``theta`` generates.
    names : tuple of str
        Parameters, in the order of the sides of the box.
    box : Box
        Empty for a matrix of numbers.
    """

    claimed: str
    texts: list[list[str]]
    nodes: tuple[tuple[Node, ...], ...]
    form: str
    field: NumberField | None
    names: tuple[str, ...]
    box: Box

    @property
    def size(self) -> int:
        """Rows of the matrix."""
        return len(self.nodes)

    @property
    def side(self) -> int:
        """−1 where the property is one of −A, else 1."""
        return -1 if self.claimed.startswith("negative") else 1

    def exact(self, point: Sequence[Fraction] = ()) -> list[list[Any]]:
        """Return the matrix of the form at a point, as exact numbers.

        Raises
        ------
        InputError
            If an entry has no exact value there.
        """
        values: dict[str, Any] = dict(zip(self.names, point, strict=True))
        if self.field is not None:
            values[GENERATOR] = self.field.generator
        return self._symmetric([[exact_value(node, values) for node in row] for row in self.nodes])

    def balls(self, box: Box, bits: int) -> list[list[Any]]:
        """Return balls around the entries of the matrix of the form, for all parameters in a box."""
        if not box:
            return [[enclose(entry, bits) for entry in row] for row in self.exact()]
        values = dict(zip(self.names, balls_of(box, bits), strict=True))
        return self._symmetric([[ball_value(node, values) for node in row] for row in self.nodes])

    def shifted(
        self, box: Box, margin: Fraction, bits: int, kept: Sequence[int] | None = None
    ) -> list[list[Any]]:
        """Return balls around the entries of ±A − margin on a box, of the rows and columns ``kept`` only."""
        from flint import arb, ctx, fmpq

        chosen = range(self.size) if kept is None else kept
        with ctx.workprec(bits):
            shift = arb(fmpq(margin.numerator, margin.denominator))
            rows = self.balls(box, bits)
            return [[self.side * rows[i][j] - (shift if i == j else 0) for j in chosen] for i in chosen]

    def is_definite(self, box: Box, margin: Fraction, bits: int, kept: Sequence[int] | None = None) -> bool:
        """Whether elimination in balls shows that ±A, or a block of it, exceeds ``margin`` on a box."""
        from flint import ctx

        with ctx.workprec(bits):
            if kept is not None and not self._is_defined(box, bits):
                return False
            return is_positive_definite(self.shifted(box, margin, bits, kept))

    def _is_defined(self, box: Box, bits: int) -> bool:
        """Whether every entry has a value on all of a box, those that elimination does not read too."""
        return all(entry.is_finite() for row in self.balls(box, bits) for entry in row)

    def annihilates(self, vector: Sequence[Fraction]) -> bool:
        """Whether A v is zero for all parameters; False too where that is not shown.

        Raises
        ------
        Rejected
            If the entries are too large to decide it.
        """
        for i in range(self.size):
            row, column = list(self.nodes[i]), [other[i] for other in self.nodes]
            nodes = row if self.form == "hessian" else row + column
            if not vanishes(nodes, list(vector) * (len(nodes) // self.size)):
                return False
        return True

    def _symmetric(self, rows: list[list[Any]]) -> list[list[Any]]:
        if self.form == "hessian":
            return rows
        size = range(len(rows))
        return [[(rows[i][j] + rows[j][i]) / 2 for j in size] for i in size]


def complement(kernel: Sequence[Sequence[Fraction]], size: int) -> tuple[int, ...]:
    """Return rows whose unit vectors make up a basis with independent vectors of the kernel.

    A matrix that maps the vectors to zero is semidefinite exactly if its block of these rows is, since
    vᵀAv depends on the part of v in the span of these unit vectors only.

    Raises
    ------
    InputError
        If the vectors are linearly dependent.
    """
    if not kernel:
        return tuple(range(size))
    echelon, rank = rational_matrix(kernel).rref()
    if rank < len(kernel):
        raise InputError("the vectors of the kernel are linearly dependent")
    pivots = {next(j for j in range(size) if echelon[i, j] != 0) for i in range(rank)}
    return tuple(j for j in range(size) if j not in pivots)


def holds(claimed: str, inertia: Inertia) -> bool:
    """Whether a symmetric matrix of this inertia has the property."""
    if claimed == "indefinite":
        return inertia.positive > 0 and inertia.negative > 0
    met = {1: inertia.positive, 0: inertia.zero, -1: inertia.negative}
    return all(sign in ALLOWED[claimed] for sign, count in met.items() if count)


class Definiteness(Proposition):
    """A property of the quadratic form of a matrix."""

    claim = "definiteness"

    def scope(self, statement: Any) -> str:
        """Return which form is meant, and for which parameters."""
        stated = self.read(statement)
        said = f"the quadratic form {FORMS[stated.form]} is the stated matrix of size {stated.size}, "
        said += f"is {stated.claimed.replace('-', ' ')}"
        sides = [
            f"{name} in [{low}, {high}]" for name, (low, high) in zip(stated.names, stated.box, strict=True)
        ]
        return said + (f" for every {' and '.join(sides)}" if sides else "")

    def read(self, statement: Any) -> StatedForm:
        """Return the form that a statement writes.

        Raises
        ------
        CertificateError
            If the statement is malformed, or its matrix has no Hessian's symmetry where it should.
        """
        if not isinstance(statement, Mapping) or set(statement) != _KEYS:
            raise CertificateError(f"the statement has the keys {', '.join(sorted(_KEYS))}")
        if statement["property"] not in PROPERTIES or statement["form"] not in tuple(FORMS):
            raise CertificateError(
                f"the property is one of {', '.join(PROPERTIES)}, the form one of {', '.join(FORMS)}"
            )
        try:
            return self._read(statement)
        except InputError as error:
            raise CertificateError(str(error)) from error

    def _read(self, statement: Mapping[str, Any]) -> StatedForm:
        texts = _square(statement["matrix"])
        field, names, box = _field(statement["field"]), *_box(statement["box"])
        nodes = tuple(tuple(read(text) for text in row) for row in texts)
        known = {GENERATOR} if field else set(names)
        for row in nodes:
            for node in row:
                if unknown := names_in(node) - known:
                    raise InputError(f"the matrix contains {min(unknown)}, for which nothing is given")
        stated = StatedForm(statement["property"], texts, nodes, statement["form"], field, names, box)
        if box and field:
            raise InputError("a matrix over a number field has no parameters")
        if box and stated.claimed == "indefinite":
            raise InputError("on a box a form is positive or negative, definite or semidefinite")
        if stated.form == "hessian":
            _require_symmetry(stated, texts)
        return stated


def _require_symmetry(stated: StatedForm, texts: Sequence[Sequence[str]]) -> None:
    """Refuse a matrix that differs from its transpose: as text where it has parameters, else as numbers."""
    if not stated.box:
        symmetric_rows(stated.exact())
        return
    for i, row in enumerate(texts):
        for j in range(i):
            if row[j] != texts[j][i]:
                raise InputError(f"the entries [{i}][{j}] and [{j}][{i}] are written differently")


def _square(rows: Any) -> list[list[str]]:
    if not isinstance(rows, list | tuple) or not 1 <= len(rows) <= MAX_SIZE:
        raise InputError(f"the matrix must be a list of 1 to {MAX_SIZE} rows")
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != len(rows):
            raise InputError(f"every row of the matrix must be a list of {len(rows)} texts")
        if not all(isinstance(text, str) for text in row):
            raise InputError("the entries of the matrix must be texts")
    return [list(row) for row in rows]


def _field(record: Any) -> NumberField | None:
    if record is None:
        return None
    if not isinstance(record, Mapping) or set(record) != {"polynomial", "interval"}:
        raise InputError("the field has the keys interval, polynomial")
    coefficients, interval = record["polynomial"], record["interval"]
    if not isinstance(coefficients, list | tuple) or not isinstance(interval, list | tuple):
        raise InputError("polynomial and interval of the field must be lists")
    if len(interval) != 2 or not 2 <= len(coefficients) <= MAX_SIZE:
        raise InputError("the field needs coefficients of a polynomial, and two ends of an interval")
    return field_of([int(_rational(c)) for c in coefficients], *(_rational(end) for end in interval))


def _box(record: Any) -> tuple[tuple[str, ...], Box]:
    if record is None:
        return (), ()
    if not isinstance(record, Mapping) or not record:
        raise InputError("the box must give an interval for every parameter")
    sides = []
    for name, ends in record.items():
        if not isinstance(ends, list | tuple) or len(ends) != 2:
            raise InputError(f"the interval of {name} must have two ends")
        low, high = (_rational(end) for end in ends)
        if low > high:
            raise InputError(f"the interval of {name} is empty: give the lower end first")
        sides.append((low, high))
    return tuple(record), tuple(sides)


def _rational(text: Any) -> Fraction:
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise InputError(f"{text!r} is not a rational number written p or p/q")
    return Fraction(text)


PROPOSITIONS = (Definiteness(),)
