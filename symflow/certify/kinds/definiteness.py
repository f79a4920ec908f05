"""Signs of quadratic forms: by a factorisation, by pivots and a kernel, by directions, or on a box by parts.

The proof object has the key ``method`` and, by method,

- ``factor``: texts ``L`` and ``D`` with A = ±L diag(D) Lᵀ, rational, D positive;
- ``pivots``: the order in which the matrix is eliminated in balls of ``bits`` bits, and a ``kernel``;
- ``directions``: vectors with the exact values of the form, whose signs refute or show the property
  (these three with ``margin``, a lower and an upper bound of the smallest eigenvalue of A, of −A where the
  property is a negative one);
- ``boxes``: a lower bound ``margin``, rational vectors ``kernel`` that are mapped to zero for all parameters,
  and the ``cuts`` of the box: ``1`` for a box that is cut and ``0`` for one on which elimination in balls
  shows the property (on a complement of the kernel), each box before its lower and its upper half;
- ``coefficients``: nothing more; the signs of the coefficients of the characteristic polynomial, which are
  rational functions of one parameter, are decided by Sturm's theorem;
- ``point``: a point of the box, a vector and the value of the form there, exact or in a ball.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.boxes import Box, halves
from symflow.algebra.exact.elimination import eliminate, follow
from symflow.algebra.exact.inertia import quadratic_value, without_denominators
from symflow.algebra.exact.kernels import rank_of
from symflow.algebra.exact.rational import Inertia, rational_matrix
from symflow.algebra.exact.real import enclose, sign
from symflow.algebra.exact.texts import read_matrix
from symflow.algebra.text.syntax import names_in, read
from symflow.certify.certificate import Certificate
from symflow.certify.propositions import proposition, require_scope
from symflow.certify.propositions.definiteness import (
    ALLOWED,
    Definiteness,
    StatedForm,
    complement,
    holds,
)
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected
from symflow.errors import InputError, Undecided

MAX_BITS = 4096
_MARGIN_BITS = 192
MAX_BOXES = 200_000
_SHOWN, _CHARACTERS = 8, 800  #: rows and characters of a matrix that is printed
_TITLES = {
    "L": r"A = \pm L\,\mathrm{diag}(D)\,L^\top,\qquad L =",
    "D": "D =",
    "kernel": r"Av = 0 \text{ for the rows } v^\top \text{ of}",
}


class DefinitenessProof(ProofKind):
    """A factorisation, an elimination, directions, or a covering of a box."""

    name = "definiteness"

    def replay(self, certificate: Certificate) -> Replay:
        """Read the matrix from the statement, and compute its signs again."""
        try:
            meaning = proposition(certificate.claim)
            if not isinstance(meaning, Definiteness):
                raise Rejected(f"signs of a quadratic form say nothing about {certificate.claim}")
            stated = meaning.read(certificate.statement)
            require_scope(certificate, meaning.scope(certificate.statement))
            line, witness = _check(stated, certificate.status == "proved", certificate.proof)
        except (InputError, Undecided, Rejected) as error:
            return Replay(False, (), str(error))
        return Replay(True, (line,), witness=witness)

    def to_latex(self, certificate: Certificate, outcome: Replay) -> list[str]:
        """Return the matrix, where it is small, its factors or directions, and what was counted."""
        from symflow.certify.readable import lines_latex

        proof, written = certificate.proof, certificate.statement["matrix"]
        lines = [rf"\[ A = {found} \]"] if (found := _matrix_latex(written)) else []
        for name in (name for name in _TITLES if proof.get(name)):
            if found := _matrix_latex([proof[name]] if name == "D" else proof[name]):
                lines.append(rf"\[ {_TITLES[name]} {found} \]")
        for item in proof.get("directions", ()):
            if found := _matrix_latex([item["vector"], [item["value"]]]):
                found, value = _matrix_latex([item["vector"]]), _matrix_latex([[item["value"]]], "")
                lines.append(rf"\[ v^\top = {found}, \qquad v^\top A v = {value} \]")
        return lines + lines_latex(outcome.lines)


def _matrix_latex(rows: Sequence[Sequence[str]], bracket: str = "pmatrix") -> str:
    """Return rows of texts as a matrix, or its only entry; empty where they are too long to be read."""
    from sympy import Symbol

    from symflow.algebra.grammar import parse
    from symflow.algebra.latex import latex

    if len(rows) > _SHOWN or sum(len(text) for row in rows for text in row) > _CHARACTERS:
        return ""
    nodes = {text: names_in(read(text)) for row in rows for text in row}
    parts = [
        [latex(parse(text, {name: Symbol(name, real=True) for name in nodes[text]})) for text in row]
        for row in rows
    ]
    inner = r" \\ ".join(" & ".join(row) for row in parts)
    return rf"\begin{{{bracket}}} {inner} \end{{{bracket}}}" if bracket else inner


def _check(stated: StatedForm, proved: bool, proof: Mapping[str, Any]) -> tuple[ReplayedLine, Any]:
    method = proof.get("method")
    if not isinstance(method, str) or method not in _METHODS or (method in _ON_BOXES) != bool(stated.box):
        raise Rejected(f"{method!r} is no method for this statement")
    keys, check = _METHODS[method]
    if set(proof) != {"method", *keys}:
        raise Rejected(f"a proof by {method} has the keys {', '.join(sorted({'method', *keys}))}")
    said, witness = check(stated, proved, proof)
    if "margin" in keys and not stated.box:
        witness = {**(witness or {}), **_margin(stated, proof["margin"])}
    return ReplayedLine(method, said, "exact numbers and balls", True), witness


# ---------------------------------------------------------------------------------------- a matrix of numbers


def _by_factor(stated: StatedForm, proved: bool, proof: Mapping[str, Any]) -> tuple[str, Any]:
    """Accept A = ±L diag(D) Lᵀ with D > 0: the rank of L is that of A, and all signs are one."""
    left = _rationals(proof["L"])
    weights = _rationals([proof["D"]])[0] if proof["D"] else []
    if len(left) != stated.size or any(len(row) != len(weights) for row in left):
        raise Rejected("L must have a row per row of the matrix and a column per entry of D")
    if not all(weight > 0 for weight in weights):
        raise Rejected("D must be positive")
    rows = stated.exact()
    for i, row in enumerate(left):
        for j in range(i + 1):
            total = sum((w * a * b for w, a, b in zip(weights, row, left[j], strict=True)), Fraction(0))
            if rows[i][j] != stated.side * total:
                raise Rejected(f"the entry [{i}][{j}] of L D Lᵀ is {stated.side * total}, not {rows[i][j]}")
    rank = int(rational_matrix(left).rank()) if weights else 0
    zero = stated.size - rank
    found = Inertia(rank, 0, zero) if stated.side > 0 else Inertia(0, rank, zero)
    _require(stated, proved, found)
    return f"A = {'-' if stated.side < 0 else ''}L D L^T with D > 0 and rank {rank}", None


def _by_pivots(stated: StatedForm, proved: bool, proof: Mapping[str, Any]) -> tuple[str, Any]:
    """Accept pivots whose balls have a sign and a kernel that fills the rest: Sylvester's law of inertia."""
    bits, order = proof["bits"], _blocks(proof["pivots"], stated.size)
    if type(bits) is not int or not 53 <= bits <= MAX_BITS:
        raise Rejected(f"'bits' must be a whole number from 53 to {MAX_BITS}")
    rows = without_denominators(stated.exact())
    zero = _kernel_dimension(stated, rows, proof["kernel"])
    pivots = follow([[enclose(c, bits) for c in row] for row in rows], order, bits)
    if pivots is None:
        raise Rejected("a pivot is not told from zero")
    rank = sum(pivot.size for pivot in pivots)
    if rank + zero != stated.size:
        raise Rejected(f"{rank} pivots and a kernel of dimension {zero} do not make up {stated.size} rows")
    positive = sum(pivot.positive for pivot in pivots)
    found = Inertia(positive, rank - positive, zero)
    _require(stated, proved, found)
    return f"{found.positive} positive, {found.negative} negative, {found.zero} zero eigenvalues", None


def _kernel_dimension(stated: StatedForm, rows: Sequence[Sequence[Any]], texts: Any) -> int:
    vectors = _numbers(texts, stated)
    for vector in vectors:
        if len(vector) != stated.size or any(_dot(row, vector) for row in rows):
            raise Rejected("a vector of 'kernel' is not mapped to zero")
    if not vectors:
        return 0
    cleared = [row for vector in vectors for row in without_denominators([vector])]
    rank = rank_of(cleared)
    if rank != len(vectors):
        raise Rejected("the vectors of 'kernel' are linearly dependent")
    return rank


def _by_directions(stated: StatedForm, proved: bool, proof: Mapping[str, Any]) -> tuple[str, Any]:
    """Accept vectors with values of a sign that the property excludes, or of both signs: indefiniteness."""
    given = proof["directions"]
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= 2:
        raise Rejected("'directions' must be a list of one or two")
    rows, signs, shown = stated.exact(), set(), []
    for item in given:
        if not isinstance(item, Mapping) or set(item) != {"vector", "value"}:
            raise Rejected("a direction has the keys value, vector")
        ((value,),), (vector,) = _numbers([[item["value"]]], stated), _numbers([item["vector"]], stated)
        if len(vector) != stated.size or not any(vector):
            raise Rejected("a direction must be a vector of the size of the matrix that is not zero")
        if quadratic_value(rows, vector) != value:
            raise Rejected(f"the value of the form at {item['vector']} is not {item['value']}")
        signs.add(sign(value))
        shown.append(f"v = ({', '.join(item['vector'])}), v^T A v = {item['value']}")
    if stated.claimed == "indefinite":
        decided = proved and signs == {1, -1}
    else:
        decided = not proved and not signs <= ALLOWED[stated.claimed]
    if not decided:
        raise Rejected("the signs of the values do not decide the claim")
    return "; ".join(shown), {"direction": "; ".join(shown)}


def _require(stated: StatedForm, proved: bool, found: Inertia) -> None:
    if holds(stated.claimed, found) != proved:
        raise Rejected(f"a matrix with {found} {'is not' if proved else 'is'} {stated.claimed}")


def _margin(stated: StatedForm, ends: Any) -> dict[str, str]:
    """Accept bounds of the smallest eigenvalue, shown by the inertia of shifted matrices in balls."""
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise Rejected("'margin' must be a lower and an upper bound")
    ((low, high),) = _rationals([ends])
    for bound, above in ((low, True), (high, False)):
        pivots = eliminate(stated.shifted((), bound, _MARGIN_BITS), _MARGIN_BITS)
        negative = any(pivot.positive < pivot.size for pivot in pivots)
        definite = not negative and sum(pivot.size for pivot in pivots) == stated.size
        if not (definite if above else negative):
            raise Rejected(
                f"{bound} is not shown to be {'below' if above else 'above'} the smallest eigenvalue"
            )
    return {_smallest(stated): f"in [{float(low):.9g}, {float(high):.9g}]"}


def _smallest(stated: StatedForm) -> str:
    return "smallest eigenvalue" + (" of -A" if stated.side < 0 else "")


# --------------------------------------------------------------------------------------------------- on a box


def _by_boxes(stated: StatedForm, proved: bool, proof: Mapping[str, Any]) -> tuple[str, Any]:
    """Accept cuts such that elimination in balls shows definiteness on every box that is left."""
    cuts, bits = proof["cuts"], proof["bits"]
    if not proved:
        raise Rejected("a covering by boxes proves, and does not refute")
    if type(bits) is not int or not 53 <= bits <= MAX_BITS:
        raise Rejected(f"'bits' must be a whole number from 53 to {MAX_BITS}")
    if not isinstance(cuts, str) or not set(cuts) <= {"0", "1"} or len(cuts) > MAX_BOXES:
        raise Rejected(f"'cuts' must be a text of at most {MAX_BOXES} digits 0 and 1")
    ((margin,),) = _rationals([[proof["margin"]]])
    if margin < 0:
        raise Rejected("the margin must not be negative")
    kernel = _rationals(proof["kernel"])
    if kernel and not stated.claimed.endswith("semidefinite"):
        raise Rejected("a form with a kernel is not definite")
    if any(len(vector) != stated.size for vector in kernel) or (kernel and margin):
        raise Rejected("vectors of 'kernel' have the size of the matrix, and then the margin is 0")
    if not all(stated.annihilates(vector) for vector in kernel):
        raise Rejected("a vector of 'kernel' is not mapped to zero for all parameters")
    kept = complement(kernel, stated.size)
    pending, leaves = [stated.box], 0
    for cut in cuts:
        if not pending:
            raise Rejected("'cuts' goes on after the box is covered")
        box = pending.pop()
        if cut == "1":
            pending += reversed(halves(box, stated.box))
            continue
        leaves += 1
        if not stated.is_definite(box, margin, bits, kept):
            raise Rejected(f"the sign is open on the box {_shown(box)}")
    if pending:
        raise Rejected("'cuts' ends before the box is covered")
    witness = {_smallest(stated): f"at least {float(margin):.9g}"} if margin else None
    modulo = f" modulo a kernel of dimension {len(kernel)}" if kernel else ""
    return f"definite{modulo} on every box of a covering by {leaves}", witness


def _by_coefficients(stated: StatedForm, proved: bool, proof: Mapping[str, Any]) -> tuple[str, Any]:
    """Accept where the elementary symmetric functions of the eigenvalues have the signs of the property."""
    from symflow.certify.symmetric_functions import signs_on_interval

    if not proved:
        raise Rejected("the coefficients of the characteristic polynomial prove, and do not refute")
    strict = not stated.claimed.endswith("semidefinite")
    if not signs_on_interval(stated, strictly=strict):
        raise Rejected("a coefficient of the characteristic polynomial has another sign")
    return "all elementary symmetric functions of the eigenvalues have the sign, by Sturm's theorem", None


def _by_point(stated: StatedForm, proved: bool, proof: Mapping[str, Any]) -> tuple[str, Any]:
    """Accept a point of the box at which a direction has a value that the property excludes."""
    if proved:
        raise Rejected("a point refutes, and does not prove")
    point, vector = _rationals([proof["point"]])[0], _rationals([proof["vector"]])[0]
    if len(point) != len(stated.box) or len(vector) != stated.size or not any(vector):
        raise Rejected("'point' and 'vector' must have the sizes of the box and of the matrix")
    if not all(low <= x <= high for x, (low, high) in zip(point, stated.box, strict=True)):
        raise Rejected("the point lies outside the box")
    found = _value_at(stated, point, vector, proof["value"])
    if found in ALLOWED[stated.claimed]:
        raise Rejected("the sign of the value does not refute the claim")
    at = ", ".join(f"{name} = {x}" for name, x in zip(stated.names, point, strict=True))
    value = f"= {proof['value']}" if proof["value"] else f"{'<' if found < 0 else '>'} 0"
    said = f"at {at}: v = ({', '.join(map(str, vector))}), v^T A v {value}"
    return said, {"direction": said}


def _value_at(stated: StatedForm, point: Sequence[Fraction], vector: Sequence[Fraction], value: Any) -> int:
    """Return the sign of the form at a point, checked against the stated value: exact, or "" for a ball."""
    if not isinstance(value, str):
        raise Rejected("'value' must be a text, empty where it is only enclosed in a ball")
    if value:
        found = quadratic_value(stated.exact(point), vector)
        if read_matrix([[value]]) != [[found]]:
            raise Rejected(f"the value of the form is {found}, not {value}")
        return sign(found)
    rows = stated.balls(tuple((x, x) for x in point), MAX_BITS)
    ball = quadratic_value(rows, [enclose(c, MAX_BITS) for c in vector])
    if not (ball > 0 or ball < 0):
        raise Rejected("the sign of the value is open")
    return 1 if ball > 0 else -1


# ---------------------------------------------------------------------------------------------------- reading


def _numbers(texts: Any, stated: StatedForm) -> list[list[Any]]:
    if not isinstance(texts, list | tuple) or not all(isinstance(row, list | tuple) for row in texts):
        raise Rejected("vectors must be lists of texts")
    if not all(isinstance(text, str) for row in texts for text in row):
        raise Rejected("numbers must be texts")
    return read_matrix(texts, stated.field)


def _rationals(texts: Any) -> list[list[Fraction]]:
    if not isinstance(texts, list | tuple) or not all(isinstance(row, list | tuple) for row in texts):
        raise Rejected("vectors must be lists of texts")
    if not all(isinstance(text, str) for row in texts for text in row):
        raise Rejected("numbers must be texts")
    found = read_matrix(texts)
    if not all(isinstance(entry, Fraction) for row in found for entry in row):
        raise Rejected("these numbers must be rational")
    return found


def _blocks(order: Any, size: int) -> list[tuple[int, ...]]:
    """Return the blocks of an elimination: different rows, one or two at a time."""
    if not isinstance(order, list | tuple) or not all(isinstance(block, list | tuple) for block in order):
        raise Rejected("'pivots' must be a list of blocks of rows")
    rows = [row for block in order for row in block]
    if any(type(row) is not int or not 0 <= row < size for row in rows) or len(set(rows)) < len(rows):
        raise Rejected("'pivots' must name different rows of the matrix")
    if not all(1 <= len(block) <= 2 for block in order):
        raise Rejected("a pivot has one or two rows")
    return [tuple(block) for block in order]


def _dot(row: Sequence[Any], vector: Sequence[Any]) -> Any:
    return sum((a * b for a, b in zip(row, vector, strict=True) if a and b), Fraction(0))


def _shown(box: Box) -> str:
    return " x ".join(f"[{low}, {high}]" for low, high in box)


_ON_BOXES = frozenset(("boxes", "coefficients", "point"))
_METHODS = {
    "factor": (("L", "D", "margin"), _by_factor),
    "pivots": (("pivots", "bits", "kernel", "margin"), _by_pivots),
    "directions": (("directions", "margin"), _by_directions),
    "boxes": (("cuts", "bits", "margin", "kernel"), _by_boxes),
    "coefficients": ((), _by_coefficients),
    "point": (("point", "vector", "value"), _by_point),
}
