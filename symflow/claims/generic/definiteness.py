"""Definiteness of a quadratic form: a matrix of exact numbers, or of expressions on a box of parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from sympy import Basic, Symbol

from symflow.algebra.exact.evaluation import evaluate_exact
from symflow.algebra.exact.exponentials import ExpFraction, ExpSum
from symflow.algebra.exact.fields import FieldElement, NumberField, common_field, from_sympy
from symflow.algebra.exact.inertia import is_symmetric
from symflow.algebra.exact.real import ExactReal, rational_of
from symflow.algebra.exact.texts import read_exact
from symflow.algebra.grammar import parse, to_text
from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions.definiteness import FORMS, PROPERTIES, Definiteness
from symflow.certify.search.definiteness import decide_form
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.errors import CertificateError, InputError, Undecided

_CLAIM = "definiteness"
_ROOT_BITS = 64
_TEXT_KEYS = ("matrix", "kind", "box", "form")


def _decide(
    matrix: Any,
    kind: str = "positive-semidefinite",
    box: Mapping[Any, Sequence[Any]] | None = None,
    form: str = "hessian",
    *,
    deadline: Deadline,
) -> Verdict:
    """Decide a property of the quadratic form of a matrix.

    Parameters
    ----------
    matrix : nested sequence, array or SymPy matrix
        n × n. Entries are integers, fractions, floats (the fractions that they are), exact numbers of
        ``algebra.exact``, SymPy numbers, or texts and SymPy expressions in the parameters of the box.
    kind : str
        ``"positive-definite"``, ``"positive-semidefinite"``, their negatives, or ``"indefinite"``.
    box : mapping, optional
        From parameter or its name to the two ends of its interval.
    form : str
        ``"hessian"``: the matrix has to be symmetric. ``"symmetric-part"``: vᵀAv of any square matrix.
    """
    if kind not in PROPERTIES:
        raise InputError(f"kind = {kind!r}: use one of {', '.join(PROPERTIES)}")
    if form not in FORMS:
        raise InputError(f"form = {form!r}: use one of {', '.join(FORMS)}")
    rows = _rows(matrix)
    sides = _sides(box)
    texts, field = _texts(rows, sides) if sides else _numbers(rows)
    if form == "hessian":
        texts = _symmetric(texts, field, sides)
    statement = {"matrix": texts, "property": kind, "form": form, "field": _record(field), "box": sides}
    try:
        stated = Definiteness().read(statement)
    except CertificateError as error:
        raise InputError(str(error)) from error
    found = decide_form(stated, lambda: _is_over(deadline))
    if found.status == "undecided":
        return undecided(_CLAIM, found.reason, _CLAIM)
    scope = Definiteness().scope(statement)
    certificate = Certificate(_CLAIM, found.status, _CLAIM, statement, scope, (), found.proof, software())
    return replayed(certificate, Deadline())  # what was found in time is checked, however long that takes


def _is_over(deadline: Deadline) -> bool:
    try:
        deadline.check()
    except Undecided:
        return True
    return False


# ---------------------------------------------------------------------------------------------------- reading


def _rows(matrix: Any) -> list[list[Any]]:
    rows = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    if (
        not isinstance(rows, list | tuple)
        or not rows
        or not all(isinstance(row, list | tuple) for row in rows)
    ):
        raise InputError(f"matrix must be a list of rows, an array or a SymPy matrix, got {matrix!r}")
    for i, row in enumerate(rows):
        if len(row) != len(rows):
            raise InputError(
                f"matrix has {len(rows)} rows, but row {i} has {len(row)} entries; it must be square"
            )
    return [list(row) for row in rows]


def _sides(box: Any) -> dict[str, list[str]] | None:
    """Return the intervals of a box as texts; None without one."""
    if not box:
        return None
    if not isinstance(box, Mapping):
        raise InputError("box must be a mapping from the names of parameters to pairs of ends")
    sides = {}
    for key, ends in box.items():
        name = str(getattr(key, "name", key))
        if not isinstance(ends, list | tuple) or len(ends) != 2:
            raise InputError(f"box[{name!r}] must have two ends, got {ends!r}")
        low, high = (_rational(end, f"box[{name!r}]") for end in ends)
        if low > high:
            raise InputError(f"box[{name!r}] = [{low}, {high}] is empty: give the lower end first")
        sides[name] = [str(low), str(high)]
    return sides


def _rational(value: Any, name: str) -> Fraction:
    try:
        exact = Fraction(value) if isinstance(value, str) else rational_of(value)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise InputError(f"{name}: {value!r} is not a finite rational number") from error
    if exact is None:
        raise InputError(f"{name}: {value!r} is not a rational number")
    return exact


def _texts(rows: list[list[Any]], sides: Mapping[str, Any]) -> tuple[list[list[str]], None]:
    """Return entries in parameters as texts of the small grammar."""
    symbols = {name: Symbol(name, real=True) for name in sides}
    return [
        [_text(entry, symbols, f"matrix[{i}][{j}]") for j, entry in enumerate(r)] for i, r in enumerate(rows)
    ], None


def _text(entry: Any, symbols: Mapping[str, Any], name: str) -> str:
    if isinstance(entry, str):
        parse(entry, symbols)  # refuses what is not in the grammar, and unknown names
        return entry
    if isinstance(entry, Basic) and entry.free_symbols:
        return str(to_text(entry))
    if isinstance(entry, ExactReal):
        raise InputError(f"{name}: write {entry} as text; entries on a box are texts or SymPy expressions")
    return str(_rational(entry, name))


def _numbers(rows: list[list[Any]]) -> tuple[list[list[str]], NumberField | None]:
    """Return entries that are numbers as texts, and the field that they lie in."""
    exact = [[_number(entry, f"matrix[{i}][{j}]") for j, entry in enumerate(r)] for i, r in enumerate(rows)]
    roots = [entry for row in exact for entry in row if isinstance(entry, Basic)]
    images = dict(zip(roots, from_sympy(roots), strict=True))
    found = [
        [images.get(entry, entry) if isinstance(entry, Basic) else entry for entry in row] for row in exact
    ]
    field = common_field([part for row in found for entry in row for part in _parts(entry)])
    return [[str(entry) for entry in row] for row in found], field


def _number(entry: Any, name: str) -> Any:
    """Return an entry as an exact number; an irrational SymPy number without exponentials stays one."""
    if isinstance(entry, ExactReal):
        return entry
    if isinstance(entry, str):
        return read_exact(entry)
    if isinstance(entry, Basic) and entry.free_symbols:
        raise InputError(
            f"{name} contains {min(map(str, entry.free_symbols))}; give box = {{name: (low, high)}}"
        )
    if isinstance(entry, Basic) and not getattr(entry, "is_Rational", False) and not entry.is_Float:
        from sympy import E, exp

        return evaluate_exact(entry, {}) if entry.has(exp, E) else entry
    return _rational(entry, name)


def _parts(entry: Any) -> list[Any]:
    """Return the numbers of a field that an exact number is made of."""
    if isinstance(entry, ExpFraction):
        return _parts(entry.numerator) + _parts(entry.denominator)
    if isinstance(entry, ExpSum):
        return [part for term in entry.terms.items() for part in term]
    return [entry] if isinstance(entry, FieldElement) else []


def _record(field: NumberField | None) -> dict[str, list[str]] | None:
    """Return a field as the coefficients of its polynomial and an interval around its root."""
    if field is None:
        return None
    ball = field.root.ball(_ROOT_BITS)
    return {
        "polynomial": [str(c) for c in field.root.polynomial],
        "interval": [str(ball.lower), str(ball.upper)],
    }


def _symmetric(
    texts: list[list[str]], field: NumberField | None, sides: Mapping[str, Any] | None
) -> list[list[str]]:
    """Return the matrix with equal texts on both sides of the diagonal; refuses one that is not symmetric."""
    symbols = {name: Symbol(name, real=True) for name in sides or {}}
    size = range(len(texts))
    for i in size:
        for j in range(i):
            one, other = texts[i][j], texts[j][i]
            if one != other and not _equal(one, other, field, symbols):
                raise InputError(
                    f"matrix[{i}][{j}] = {one} differs from matrix[{j}][{i}] = {other}: a Hessian is "
                    "symmetric, so this matrix is none. For the sign of v^T A v, which is that of the "
                    "symmetric part (A + A^T)/2, give form = 'symmetric-part'"
                )
    return [[texts[max(i, j)][min(i, j)] for j in size] for i in size]


def _equal(one: str, other: str, field: NumberField | None, symbols: Mapping[str, Any]) -> bool:
    if not symbols:
        values = [read_exact(text, field) for text in (one, other)]
        return is_symmetric([[0, values[0]], [values[1], 0]])
    return bool((parse(one, symbols) - parse(other, symbols)).expand() == 0)


def _from_text(text: str) -> tuple[Any, ...]:
    """Return the arguments that JSON text, or a file of it, stands for."""
    path = Path(text)
    if not text.lstrip().startswith(("[", "{")):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{_CLAIM}: {str(path)!r} is no file; give a matrix as JSON, e.g. '[[2, 1], [1, \"1/2\"]]', "
                "or a file of it"
            ) from error
    try:
        data = json.loads(text, parse_float=Fraction)
    except ValueError as error:
        raise InputError(f"{_CLAIM}: the matrix is not JSON: {error}") from error
    if isinstance(data, list):
        return (data,)
    if not isinstance(data, dict) or "matrix" not in data or set(data) - set(_TEXT_KEYS):
        raise InputError(f"{_CLAIM}: give a matrix, or an object with the keys {', '.join(_TEXT_KEYS)}")
    defaults = {"kind": "positive-semidefinite", "box": None, "form": "hessian"}
    return tuple(({**defaults, **data})[key] for key in _TEXT_KEYS)


CLAIMS = (
    Claim(
        id=_CLAIM,
        title="Definiteness of a quadratic form",
        quoted="This matrix is positive semidefinite.",
        holds=r"Decided for the given matrix $A$: the sign of $v^\top A v$ for all $v \neq 0$, for numbers "
        r"in $\mathbb{Q}$, a real number field or sums of exponentials, or for every parameter in a box. The "
        "verdict names the form that was tested, and bounds its smallest eigenvalue.",
        hypotheses="A Hessian is symmetric; of another matrix only the symmetric part is tested, and only if "
        "asked for. Floats are read as the fractions that they are.",
        method=_CLAIM,
        documented="proved",
        reference="",
        decide=_decide,
        arguments=("matrix", "kind?", "box?", "form?"),
        options=("kind", "box", "form"),
        from_text=_from_text,
    ),
)
