r"""A program at fixed sizes as straight-line code over single entries.

Numbers that are known when the code is generated (zeros and ones of a parameter) simplify what follows;
a state that stays symmetric is kept as its lower triangle; what no output needs is dropped.

A factor with ``F' = FS`` (so it is where V is the identity) may be turned while it flows: for every skew W,

.. math:: F' = F(S + W) \implies (FF^\top)' = F(S + S^\top)F^\top,

and for W_ij = S_ji below the diagonal F stays lower triangular: there S + W has the entries S_ij + S_ji,
on the diagonal S_ii, above it zeros.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from sympy import Expr, Symbol

from symflow.codegen.fixed.entries import Assignment, Block, Entry, Matrix, needed, value
from symflow.codegen.program import (
    Array,
    Combine,
    Factorise,
    Gemm,
    Operand,
    Program,
    RequirePositive,
    Scaled,
    Size,
    Solve,
    SymmetrisedSum,
    TraceOf,
    Turned,
)
from symflow.codegen.scalars import scalar_text

#: How many multiplications a kernel may have before its text outgrows a compiler's patience.
MOST_ASSIGNMENTS = 6000

#: A number in the text of a coefficient: the compiler divides registers by registers only.
_LITERAL = re.compile(r"\d+\.\d*(?:e[-+]?\d+)?")

#: What is smaller than the least positive number is zero or negative, never NaN: an overflow is not singular.
_LEAST = 5e-324

Slot = tuple[int, int, int]  #: which state, row, column


class Unsupported(Exception):
    """A program that has no straight-line form here; the message names what it has."""


@dataclass(frozen=True)
class Straight:
    """One right-hand side as straight-line code.

    Attributes
    ----------
    slots : tuple of (int, int, int)
        Which entry (state, row, column) each number of the flat state is; a symmetric state has only those
        with ``row >= column``.
    parameters : tuple of (str, int, int)
        Which entry of which parameter each number is.
    coefficients : tuple of str
        Text of the numbers that are computed once per member from the parameters.
    body : tuple of Assignment
    slopes : tuple of str
        What is written to each number of the derivative.
    singular, outside : tuple of str
        Masks of members that are refused.
    shapes : tuple of (int, int)
        Of each state.
    kinds : tuple of str
        How each state is kept: ``"full"``, or by its lower triangle: ``"symmetric"``, ``"lower"``.
    """

    slots: tuple[Slot, ...]
    parameters: tuple[tuple[str, int, int], ...]
    coefficients: tuple[str, ...]
    body: tuple[Assignment, ...]
    slopes: tuple[str, ...]
    singular: tuple[str, ...]
    outside: tuple[str, ...]
    shapes: tuple[tuple[int, int], ...]
    kinds: tuple[str, ...]


def unroll(
    program: Program,
    sizes: Mapping[str, int],
    known: Mapping[str, Mapping[tuple[int, int], float]],
    triangles: bool = True,
) -> Straight:
    """Return a program as straight-line code.

    Parameters
    ----------
    program : Program
        With one or several states.
    sizes : mapping
        A number for every dimension.
    known : mapping
        Entries of parameters by name, then by row and column, whose number is part of the code.
    triangles : bool, default True
        Keep a state that may by its triangle.

    Raises
    ------
    Unsupported
        If an operation, or the size of the result, has no straight-line form.
    """
    refuse_unknown(program)
    kinds = tuple(_triangle(program, a, sizes) if triangles else "full" for a in program.inputs)
    writer = _Writer(program, sizes, known, kinds)
    if not writer.keeps_kinds():
        writer = _Writer(program, sizes, known, tuple("full" for _ in program.inputs))
    return writer.straight()


def _triangle(program: Program, state: Array, sizes: Mapping[str, int]) -> str:
    """Return the triangle that a state may keep to."""
    rows, cols = _size(state.rows, sizes), _size(state.cols, sizes)
    if program.name in ("factor", "turned"):
        return "lower" if rows >= cols > 1 else "full"
    return "symmetric" if rows == cols > 1 else "full"


def refuse_unknown(program: Program) -> None:
    """Refuse a program with an operation or a part that this module has not been taught."""
    for op in program.ops:
        if type(op) not in _apply.registry:
            raise Unsupported(f"operation {type(op).__name__}")
    for part in fields(program):
        if part.name not in _PARTS and getattr(program, part.name):
            raise Unsupported(f"part {part.name!r} of the program")
    for array in program.arrays:
        if array.lead is not None:
            raise Unsupported(f"the array {array.name} with a leading axis")


_PARTS = {"name", "model", "inputs", "outputs", "parameters", "scalars", "dimensions", "ops", "identity"}


def _size(size: Size, sizes: Mapping[str, int]) -> int:
    return size if isinstance(size, int) else sizes[size]


@dataclass
class _Factors:
    """L and U of a row permutation, told as exchanges (mask, upper row, lower row) in order."""

    rows: Matrix
    exchanges: list[tuple[str, int, int]] = field(default_factory=list)


class _Writer:
    """Applies the operations of one program."""

    def __init__(
        self,
        program: Program,
        sizes: Mapping[str, int],
        known: Mapping[str, Mapping[tuple[int, int], float]],
        kinds: tuple[str, ...],
    ) -> None:
        self.program, self.sizes, self.kinds = program, sizes, kinds
        self.block = Block()
        self.values: dict[Array, Matrix] = {}
        self.factors: dict[Array, _Factors] = {}
        self.singular: list[str] = []
        self.outside: list[str] = []
        self.coefficients: dict[str, str] = {}
        self.slots: list[Slot] = []
        self.parameters: list[tuple[str, int, int]] = []
        for number, array in enumerate(program.inputs):
            self.values[array] = self._state(number, array)
        for array in program.parameters:
            self.values[array] = self._parameter(array, known.get(array.name, {}))
        for op in program.ops:
            _apply(op, self)
            if len(self.block.assignments) > MOST_ASSIGNMENTS:
                raise Unsupported(f"more than {MOST_ASSIGNMENTS} assignments")

    def shape(self, array: Array | Operand) -> tuple[int, int]:
        """Return the shape in numbers."""
        return _size(array.rows, self.sizes), _size(array.cols, self.sizes)

    def _state(self, number: int, array: Array) -> Matrix:
        rows, cols = self.shape(array)
        names: Matrix = [[0.0] * cols for _ in range(rows)]
        for i in range(rows):
            for j in range(cols if self.kinds[number] == "full" else min(i + 1, cols)):
                names[i][j] = f"y[{len(self.slots)}]"
                self.slots.append((number, i, j))
                if self.kinds[number] == "symmetric":
                    names[j][i] = names[i][j]
        return names

    def _parameter(self, array: Array, known: Mapping[tuple[int, int], float]) -> Matrix:
        rows, cols = self.shape(array)
        names: Matrix = [[0.0] * cols for _ in range(rows)]
        for i in range(rows):
            for j in range(cols):
                if (i, j) in known:
                    names[i][j] = known[i, j]
                else:
                    names[i][j] = f"p[{len(self.parameters)}]"
                    self.parameters.append((array.name, i, j))
        return names

    def operand(self, operand: Operand) -> Matrix:
        """Return the entries as read."""
        rows = self.values[operand.array]
        return _transposed(rows) if operand.transposed else rows

    def coefficient(self, expression: Expr) -> Entry:
        """Return a coefficient: a number, or one that is computed once per member."""
        by_name = {s.name: s for s in expression.free_symbols if isinstance(s, Symbol)}
        scalars = {a.name: self.values[a][0][0] for a in self.program.parameters if a.name in by_name}
        numbers = {by_name[n]: _exact(v) for n, v in scalars.items() if not isinstance(v, str)}
        numbers |= {s: self.sizes[n] for n, s in by_name.items() if n in self.sizes}
        reduced = expression.xreplace(numbers)
        names = {n: v for n, v in scalars.items() if isinstance(v, str)}
        if reduced.is_number:
            return float(reduced)
        text = scalar_text(reduced, names, "root")
        if text in names.values():
            return text
        text = _LITERAL.sub(lambda found: f"splat({found[0]})", text)
        return self.coefficients.setdefault(text, f"c[{len(self.coefficients)}]")

    def keeps_kinds(self) -> bool:
        """Whether the derivative of every state is of the kind of the state."""
        return all(
            kind == "full"
            or (kind == "lower" and _is_lower(self.values[out]))
            or (kind == "symmetric" and self.values[out] == _transposed(self.values[out]))
            for kind, out in zip(self.kinds, self.program.outputs, strict=True)
        )

    def turns(self, op: Gemm) -> bool:
        """Whether ``op`` writes the derivative of a triangular factor as the factor times a matrix."""
        if op.c is not None or op.out not in self.program.outputs:
            return False
        number = self.program.outputs.index(op.out)
        state = self.values[self.program.inputs[number]]
        return self.kinds[number] == "lower" and self.operand(op.a) == state

    def straight(self) -> Straight:
        """Return the finished code."""
        slopes = [self.values[self.program.outputs[n]][i][j] for n, i, j in self.slots]
        wanted = [*(s for s in slopes if isinstance(s, str)), *self.singular, *self.outside]
        return Straight(
            slots=tuple(self.slots),
            parameters=tuple(self.parameters),
            coefficients=tuple(self.coefficients),
            body=tuple(needed(self.block.assignments, wanted)),
            slopes=tuple(value(s) for s in slopes),
            singular=tuple(self.singular),
            outside=tuple(self.outside),
            shapes=tuple(self.shape(a) for a in self.program.inputs),
            kinds=self.kinds,
        )


def _is_lower(rows: Matrix) -> bool:
    return all(x == 0.0 for i, row in enumerate(rows) for x in row[i + 1 :])


def _transposed(rows: Matrix) -> Matrix:
    return [list(row) for row in zip(*rows, strict=True)]


def _exact(number: float) -> Any:
    from sympy import Rational

    return Rational(number)


# ------------------------------------------------------------------------------------------- operations


@functools.singledispatch
def _apply(op: Any, w: _Writer) -> None:
    raise Unsupported(f"operation {type(op).__name__}")


@_apply.register
def _(op: Gemm, w: _Writer) -> None:
    a, b, alpha = w.operand(op.a), w.operand(op.b), w.coefficient(op.alpha)
    if w.turns(op):
        b = [[_turned(b, i, j, w.block) for j in range(len(b))] for i in range(len(b))]
    c = None if op.c is None else w.values[op.c]
    columns = list(zip(*b, strict=True))
    out: Matrix = []
    for i, row in enumerate(a):
        out.append([])
        for j, column in enumerate(columns):
            terms: list[tuple[Entry, ...]] = list(zip(row, column, strict=True))
            rest: list[tuple[Entry, ...]] = [] if c is None else [(c[i][j],)]
            if isinstance(alpha, str):
                terms = [(alpha, w.block.total(terms))]
            else:
                terms = [(alpha, *term) for term in terms]
            out[-1].append(w.block.total([*rest, *terms]))
    w.values[op.out] = out


def _turned(s: Matrix, i: int, j: int, block: Block) -> Entry:
    """Return an entry of S + W, W skew, which is zero above the diagonal."""
    if i == j:
        return s[i][j]
    return block.total([(s[i][j],), (s[j][i],)]) if i > j else 0.0


@_apply.register
def _(op: Combine, w: _Writer) -> None:
    rows, cols = w.shape(op.out)
    terms = [(w.coefficient(t.coefficient), w.operand(t.operand)) for t in op.terms]
    diagonal = w.coefficient(op.diagonal)
    w.values[op.out] = [
        [
            w.block.total([*((c, m[i][j]) for c, m in terms), *([(diagonal,)] if i == j else [])])
            for j in range(cols)
        ]
        for i in range(rows)
    ]


@_apply.register
def _(op: SymmetrisedSum, w: _Writer) -> None:
    a = w.values[op.a]
    n = len(a)
    out: Matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            out[i][j] = out[j][i] = w.block.total([(a[i][j],), (a[j][i],)])
    w.values[op.out] = out


@_apply.register
def _(op: Turned, w: _Writer) -> None:
    a = w.operand(op.a)
    w.values[op.out] = [[_turned(a, i, j, w.block) for j in range(len(a))] for i in range(len(a))]


@_apply.register
def _(op: TraceOf, w: _Writer) -> None:
    a = w.operand(op.a)
    if op.b is None:
        terms: list[tuple[Entry, ...]] = [(a[i][i],) for i in range(len(a))]
    else:
        b = w.operand(op.b)
        terms = [(a[i][j], b[j][i]) for i in range(len(a)) for j in range(len(b))]
    w.values[op.out] = [[w.block.total(terms)]]


@_apply.register
def _(op: Scaled, w: _Writer) -> None:
    factor = w.values[op.factor][0][0]
    w.values[op.out] = [[w.block.total([(factor, x)]) for x in row] for row in w.operand(op.a)]


@_apply.register
def _(op: Factorise, w: _Writer) -> None:
    """LU with partial pivoting: rows are exchanged lane by lane; the diagonal of U is kept as reciprocals."""
    a = [list(row) for row in w.values[op.a]]
    found = _Factors(a)
    for k in range(len(a)):
        for i in range(k + 1, len(a)):
            if a[i][k] == 0.0:
                continue
            mask = w.block.less(w.block.absolute(a[k][k]), w.block.absolute(a[i][k]))
            _exchange(a, mask, k, i, w.block)
            found.exchanges.append((mask, k, i))
        w.singular.append(w.block.less(w.block.absolute(a[k][k]), _LEAST))
        a[k][k] = w.block.quotient(1.0, a[k][k])
        for i in range(k + 1, len(a)):
            a[i][k] = w.block.total([(a[i][k], a[k][k])])
            for j in range(k + 1, len(a)):
                a[i][j] = w.block.total([(a[i][j],), (-1.0, a[i][k], a[k][j])])
    w.factors[op.out] = found


def _exchange(rows: Matrix, mask: str, k: int, i: int, block: Block) -> None:
    upper, lower = rows[k], rows[i]
    rows[k] = [block.chosen(mask, y, x) for x, y in zip(upper, lower, strict=True)]
    rows[i] = [block.chosen(mask, x, y) for x, y in zip(upper, lower, strict=True)]


@_apply.register
def _(op: Solve, w: _Writer) -> None:
    factors, b = w.factors[op.factors], [list(row) for row in w.operand(op.b)]
    w.values[op.out] = (_solve_transposed if op.transposed else _solve)(factors, b, w.block)


def _solve(f: _Factors, b: Matrix, block: Block) -> Matrix:
    n = len(b)
    for mask, k, i in f.exchanges:
        _exchange(b, mask, k, i, block)
    for i in range(n):
        for k in range(i):
            b[i] = _less(b[i], f.rows[i][k], b[k], block)
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            b[i] = _less(b[i], f.rows[i][k], b[k], block)
        b[i] = [block.total([(x, f.rows[i][i])]) for x in b[i]]
    return b


def _solve_transposed(f: _Factors, b: Matrix, block: Block) -> Matrix:
    n = len(b)
    for i in range(n):
        for k in range(i):
            b[i] = _less(b[i], f.rows[k][i], b[k], block)
        b[i] = [block.total([(x, f.rows[i][i])]) for x in b[i]]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            b[i] = _less(b[i], f.rows[k][i], b[k], block)
    for mask, k, i in reversed(f.exchanges):
        _exchange(b, mask, k, i, block)
    return b


def _less(row: list[Entry], factor: Entry, other: list[Entry], block: Block) -> list[Entry]:
    return [block.total([(x,), (-1.0, factor, y)]) for x, y in zip(row, other, strict=True)]


@_apply.register
def _(op: RequirePositive, w: _Writer) -> None:
    """Cholesky: a pivot that is not positive refuses the member."""
    a = w.values[op.a]
    n = len(a)
    low: Matrix = [[0.0] * n for _ in range(n)]
    for j in range(n):
        pivot = w.block.total([(a[j][j],), *((-1.0, low[j][k], low[j][k]) for k in range(j))])
        w.outside.append(w.block.less(pivot, _LEAST))
        low[j][j] = w.block.root(pivot)
        scale = w.block.quotient(1.0, low[j][j])
        for i in range(j + 1, n):
            rest = w.block.total([(a[i][j],), *((-1.0, low[i][k], low[j][k]) for k in range(j))])
            low[i][j] = w.block.total([(rest, scale)])
    w.values[op.out] = low
