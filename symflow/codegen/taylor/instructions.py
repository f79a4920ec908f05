"""Recurrences of Taylor coefficients as instructions for the runtime, at any size.

Coefficients lie in stacks, order after order; a factor of a Cauchy sum also lies in a second one, transposed
or in reverse, such that the whole sum is one product of two blocks,

    A_0 B_k + ... + A_k B_0 = (A_0' / ... / A_k')' (B_k / ... / B_0),

which the runtime hands to its tiles.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symflow.codegen.cython_printer import ROOT_WORK
from symflow.codegen.program import (
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Operand,
    RequirePositive,
    Root,
    Scaled,
    Solve,
    SymmetrisedSum,
    TraceOf,
)
from symflow.codegen.taylor.numpy_source import NumpySeries, Sized
from symflow.codegen.taylor.recursion import Recursion
from symflow.codegen.values import FloatArray

#: The instructions of ``symflow_ext.taylor``, by number.
PRODUCT, CAUCHY, COPY, ADD, ZEROS, DIAGONAL, LU, LU_SOLVE, CHOLESKY, NEXT, TRACE, ROOT = range(12)


@dataclass(frozen=True)
class Instruction:
    """One line of a plan, its fields in the order in which the runtime reads them."""

    code: int
    once: bool = False
    trans_a: bool = False
    trans_b: bool = False
    m: int = 0
    n: int = 0
    inner: int = 0
    first: int = 0
    last: int = 0
    a: int = 0
    a_step: int = 0
    b: int = 0
    b_step: int = 0
    out: int = 0
    out_step: int = 0
    alpha: float = 1.0
    beta: float = 0.0


@dataclass(frozen=True, eq=False)
class Layout:
    """A finished plan: what the runtime needs besides the numbers of the parameters.

    Attributes
    ----------
    integers, reals : ndarray
        The fields of the instructions, one row each.
    length : int
        Of the block of memory on which they work.
    states : tuple of (int, int)
        Offset and length of the first coefficient of every state.
    size, pivots, order : int
        Of the flattened state; of all factorisations together; of the series.
    constants : tuple of (int, Array, bool)
        What depends on parameters alone: offset, which one, whether transposed.
    """

    integers: np.ndarray[Any, np.dtype[np.int64]]
    reals: FloatArray
    length: int
    states: tuple[tuple[int, int], ...]
    size: int
    pivots: int
    order: int
    constants: tuple[tuple[int, Array, bool], ...]

    def series(self, numbers: NumpySeries) -> Any:
        """Return the recursion with the parameters in ``numbers``, for the runtime."""
        from symflow_ext.taylor import Series

        known = numbers.constants()
        constants = [
            (start, np.ascontiguousarray(known[array].T if turned else known[array]).ravel())
            for start, array, turned in self.constants
        ]
        return Series(
            self.integers, self.reals, self.length, constants, self.states, self.size, self.pivots, self.order
        )


@dataclass(frozen=True)
class _Stack:
    """Where the coefficients of op(array) lie: from ``start``, each ``step`` behind the one before."""

    start: int
    step: int


@dataclass
class Plan:
    """The instructions of one recursion with numbers for every size and scalar parameter.

    Parameters
    ----------
    numbers : Sized
    """

    numbers: Sized
    instructions: list[Instruction] = field(default_factory=list)
    pivots: int = 0

    def __post_init__(self) -> None:
        self.source, self.order = self.numbers.source, self.numbers.order
        self._length = 0
        self._constants: list[tuple[int, Array, bool]] = []
        self._stacks: dict[tuple[Array, bool, bool], _Stack] = {}
        self._lines: dict[Array, list[Instruction]] = {}
        self._factors: dict[Array, tuple[int, int]] = {}
        self._sums = _sums_in_place(self.source)
        program = self.source.program
        for state in program.inputs:
            self._lines[state] = []
        for op in self.source.ops:
            if not self.source.is_constant(op.out) or isinstance(op, (Factorise, RequirePositive)):
                self._lines[op.out] = []
                _plan(op, self)
        self._assemble()

    def layout(self) -> Layout:
        """Return the finished plan."""
        rows = [tuple(vars(line).values()) for line in self.instructions]
        return Layout(
            integers=np.array([row[:-2] for row in rows], dtype=np.int64),
            reals=np.array([row[-2:] for row in rows], dtype=np.float64),
            length=self._length,
            states=tuple(self.states()),
            size=self.numbers.size,
            pivots=self.pivots,
            order=self.order,
            constants=tuple(self._constants),
        )

    def states(self) -> list[tuple[int, int]]:
        """Return offset and length of the first coefficient of every state."""
        inputs = self.source.program.inputs
        return [(self.stack(Operand(a)).start, self.numbers.extent(a)) for a in inputs]

    def shape(self, x: Operand) -> tuple[int, int]:
        """Return rows and columns as read."""
        rows, cols = self.numbers.shape(x.array)
        return (cols, rows) if x.transposed else (rows, cols)

    def number(self, value: Any) -> float:
        """Return the value of a coefficient."""
        return self.numbers.number(value)

    def add(self, out: Array, line: Instruction) -> None:
        """Append an instruction of the operation that writes ``out``."""
        self._lines[out].append(line)

    def stack(self, x: Operand, reverse: bool = False) -> _Stack:
        """Return where op(array) lies, order by order or in reverse; a column is its own transpose.

        An array of which earlier coefficients are not read has room for one.
        """
        array = self._sums.get(x.array, x.array)
        constant, extent = self.source.is_constant(array), self.numbers.extent(array)
        turned = x.transposed and 1 not in self.numbers.shape(array)
        key = (array, turned, reverse and not constant)
        if key not in self._stacks:
            kept = array in self.source.remembered
            start = self._reserve(extent * (self.order + 1 if kept else 1))
            forward = _Stack(start, extent if kept else 0)
            self._stacks[key] = _Stack(start + self.order * extent, -extent) if key[2] else forward
            if constant:
                self._constants.append((start, array, turned))
        return self._stacks[key]

    def is_sum_in_place(self, array: Array) -> bool:
        """Tell whether what is added to an array stands there already where something else is added to it."""
        return array in self._sums

    def scratch(self, array: Array) -> int:
        """Return the offset of a block as large as a coefficient."""
        return self._reserve(self.numbers.extent(array))

    def factors(self, op: Factorise) -> tuple[int, int]:
        """Return the offsets of LU factors and of their pivots."""
        if op.out not in self._factors:
            self._factors[op.out] = (self.scratch(op.out), self.pivots)
            self.pivots += self.numbers.shape(op.out)[0]
        return self._factors[op.out]

    def factors_of(self, array: Array) -> tuple[int, int]:
        """Return the same by the name of the result."""
        return self._factors[array]

    def work(self, count: int) -> int:
        """Return the offset of as many numbers of scratch."""
        return self._reserve(count)

    def _reserve(self, count: int) -> int:
        start = self._length
        self._length += count
        return start

    def _assemble(self) -> None:
        """Put the lines in order, each result followed by the copies that were asked for."""
        program = self.source.program
        for array in program.inputs:
            self.instructions += self._copies(array, once=True)
        for op in self.source.ops:
            self.instructions += self._lines.get(op.out, [])
            if not self.source.is_constant(op.out):
                self.instructions += self._copies(op.out)
        start = 0
        for state, slope in zip(program.inputs, program.outputs, strict=True):
            extent, source = self.numbers.extent(state), _place("a", self.stack(Operand(slope)))
            target = _place("out", self.stack(Operand(state)), ahead=1)
            self.instructions.append(Instruction(NEXT, m=extent, first=start, **source, **target))
            self.instructions += self._copies(state, ahead=1)
            start += extent

    def _copies(self, array: Array, once: bool = False, ahead: int = 0) -> list[Instruction]:
        """Return the copies of coefficient ``k + ahead`` of an array into its other stacks."""
        found: list[Instruction] = []
        for transposed, reverse in ((False, True), (True, False), (True, True)):
            target = self._stacks.get((array, transposed, reverse))
            if target is not None:
                (m, n), source = self.numbers.shape(array), self.stack(Operand(array))
                place = {**_place("a", source, ahead), **_place("out", target, ahead)}
                found.append(Instruction(COPY, once, transposed, m=m, n=n, **place))
        return found


def _sums_in_place(source: Recursion) -> dict[Array, Array]:
    """Return the summands that nothing else reads, each with the sum, which is formed in their place."""
    readers: dict[Array, int] = {}
    for array in (*source.program.outputs, *(a for op in source.ops for a in op.reads())):
        readers[array] = readers.get(array, 0) + 1
    found: dict[Array, Array] = {}
    for op in reversed(source.rules):
        c = op.c if isinstance(op, Gemm) else None
        if c is not None and readers[c] == 1 and c not in source.program.inputs and not source.is_constant(c):
            found[c] = found.get(op.out, op.out)
    return found


def _place(name: str, stack: _Stack, ahead: int = 0) -> dict[str, Any]:
    """Return the fields of an instruction that say where an operand lies."""
    return {name: stack.start + ahead * stack.step, f"{name}_step": stack.step}


def _product(p: Plan, out: Array, a: Operand, b: Operand, alpha: float, beta: float) -> Instruction:
    """Return the instruction that adds ``alpha (ab)_[k]`` to ``beta`` times what is there."""
    (m, inner), n = p.shape(a), p.shape(b)[1]
    line = Instruction(PRODUCT, m=m, n=n, inner=inner, alpha=alpha, beta=beta)
    line = replace(line, **_place("out", p.stack(Operand(out))))
    if p.source.is_constant(a.array) or p.source.is_constant(b.array):
        line = replace(line, trans_a=a.transposed, trans_b=b.transposed)
        a, b = Operand(a.array), Operand(b.array)
        return replace(line, **_place("a", p.stack(a)), **_place("b", p.stack(b)))
    return _cauchy(p, line, a.T, b)


def _cauchy(p: Plan, line: Instruction, a: Operand, b: Operand) -> Instruction:
    """Return an instruction on all coefficients of a, stacked, and those of b in reverse.

    ``first`` coefficients of a and the newest ``last`` ones of it are left out.
    """
    left, right = p.stack(a), p.stack(b, reverse=True)
    start = right.start - line.first * right.step
    line = replace(line, code=CAUCHY, a=left.start + line.first * left.step)
    return replace(line, b=start, b_step=right.step)


@functools.singledispatch
def _plan(op: Any, p: Plan) -> None:
    raise TypeError(f"no instructions for {type(op).__name__}")


def _add_term(p: Plan, out: Array, x: Operand, alpha: float, code: int = ADD) -> None:
    """Append ``out += alpha op(x)``; a constant counts at order zero only."""
    m, n = p.shape(Operand(x.array))
    line = Instruction(code, p.source.is_constant(x.array), x.transposed and 1 not in (m, n), m=m, n=n)
    line = replace(line, alpha=alpha, **_place("a", p.stack(Operand(x.array))))
    p.add(out, replace(line, **_place("out", p.stack(Operand(out)))))


@_plan.register
def _(op: Gemm, p: Plan) -> None:
    if op.c is not None and not p.is_sum_in_place(op.c):
        _clear(p, op.out)
        _add_term(p, op.out, Operand(op.c), 1.0)
    p.add(op.out, _product(p, op.out, op.a, op.b, p.number(op.alpha), float(op.c is not None)))


def _clear(p: Plan, out: Array) -> None:
    m, n = p.shape(Operand(out))
    p.add(out, Instruction(ZEROS, m=m * n, **_place("out", p.stack(Operand(out)))))


@_plan.register
def _(op: Combine, p: Plan) -> None:
    _clear(p, op.out)
    for term in op.terms:
        _add_term(p, op.out, term.operand, p.number(term.coefficient))
    if op.diagonal != ZERO:
        rows, target = p.shape(Operand(op.out))[0], p.stack(Operand(op.out))
        p.add(op.out, Instruction(DIAGONAL, True, m=rows, out=target.start, alpha=p.number(op.diagonal)))


@_plan.register
def _(op: SymmetrisedSum, p: Plan) -> None:
    _add_term(p, op.out, Operand(op.a), 1.0, COPY)
    _add_term(p, op.out, Operand(op.a).T, 1.0)


@_plan.register
def _(op: Factorise, p: Plan) -> None:
    out, pivots = p.factors(op)
    n, source = p.shape(Operand(op.a))[0], p.stack(Operand(op.a))
    p.add(op.out, Instruction(COPY, True, m=n, n=n, a=source.start, out=out))
    p.add(op.out, Instruction(LU, True, m=n, first=pivots, out=out))


@_plan.register
def _(op: Solve, p: Plan) -> None:
    factors, pivots = p.factors_of(op.factors)
    matrix, out = Operand(p.source.matrix_of[op.factors], op.transposed), Operand(op.out)
    (n, m), target = p.shape(out), _place("out", p.stack(out))
    _clear(p, op.out)
    _add_term(p, op.out, op.b, 1.0)
    if not p.source.is_constant(matrix.array):
        line = Instruction(CAUCHY, m=n, n=m, inner=n, first=1, alpha=-1.0, beta=1.0, **target)
        p.add(op.out, _cauchy(p, line, matrix.T, out))
    p.add(op.out, Instruction(LU_SOLVE, trans_a=op.transposed, m=n, n=m, first=pivots, a=factors, **target))


@_plan.register
def _(op: RequirePositive, p: Plan) -> None:
    out, (n, _), source = p.scratch(op.out), p.shape(Operand(op.a)), p.stack(Operand(op.a))
    p.add(op.out, Instruction(COPY, True, m=n, n=n, a=source.start, out=out))
    p.add(op.out, Instruction(CHOLESKY, True, m=n, out=out))


@_plan.register
def _(op: Root, p: Plan) -> None:
    out, n = Operand(op.out), p.shape(Operand(op.out))[0]
    target = _place("out", p.stack(out))
    _clear(p, op.out)
    _add_term(p, op.out, Operand(op.a), 1.0)
    line = Instruction(CAUCHY, m=n, n=n, inner=n, first=1, last=1, alpha=-1.0, beta=1.0, **target)
    p.add(op.out, _cauchy(p, line, out.T, out))
    work = p.work(ROOT_WORK * n * n + n)
    p.add(op.out, Instruction(ROOT, m=n, a=p.stack(out).start, b=work, **target))


@_plan.register
def _(op: TraceOf, p: Plan) -> None:
    target = _place("out", p.stack(Operand(op.out)))
    if op.b is None:
        n, source = p.shape(op.a)[0], _place("a", p.stack(Operand(op.a.array)))
        p.add(op.out, Instruction(TRACE, m=n, **source, **target))
        return
    line = Instruction(PRODUCT, m=1, n=1, inner=p.shape(op.a)[0] * p.shape(op.a)[1], **target)
    p.add(op.out, _entrywise(p, line, op.a.T, op.b))


@_plan.register
def _(op: Scaled, p: Plan) -> None:
    m, n = p.shape(op.a)
    line = Instruction(PRODUCT, m=1, n=m * n, inner=1, **_place("out", p.stack(Operand(op.out))))
    p.add(op.out, _entrywise(p, line, Operand(op.factor), op.a))


def _entrywise(p: Plan, line: Instruction, a: Operand, b: Operand) -> Instruction:
    """Return a product of matrices that are read as rows of numbers."""
    if p.source.is_constant(a.array) or p.source.is_constant(b.array):
        return replace(line, **_place("a", p.stack(a)), **_place("b", p.stack(b)))
    return _cauchy(p, line, a, b)
