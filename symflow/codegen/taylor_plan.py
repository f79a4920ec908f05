"""Recurrences of Taylor coefficients as instructions for the runtime, at any size.

Coefficients lie in stacks, order after order; a factor of a Cauchy sum also lies in a second one, transposed
or in reverse, such that the whole sum is one product of two blocks,

    A_0 B_k + ... + A_k B_0 = (A_0' / ... / A_k')' (B_k / ... / B_0),

which the runtime hands to its tiles.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symflow.codegen.program import (
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Operand,
    RequirePositive,
    Solve,
    SymmetrisedSum,
)
from symflow.codegen.taylor import Recursion
from symflow.codegen.taylor_numpy import NumpySeries
from symflow.codegen.values import FloatArray

#: The instructions of ``symflow_ext.taylor``, by number.
PRODUCT, CAUCHY, COPY, ADD, ZEROS, DIAGONAL, LU, LU_SOLVE, CHOLESKY, NEXT = range(10)


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
    a: int = 0
    a_step: int = 0
    b: int = 0
    b_step: int = 0
    out: int = 0
    out_step: int = 0
    alpha: float = 1.0
    beta: float = 0.0

    def fields(self) -> tuple[Any, ...]:
        """Return the fields as a tuple."""
        return tuple(vars(self).values())


@dataclass(frozen=True)
class _Stack:
    """Where the coefficients of op(array) lie: from ``start``, each ``step`` behind the one before."""

    start: int
    step: int


@dataclass
class Plan:
    """The instructions of one recursion with numbers for every size and parameter.

    Parameters
    ----------
    source : Recursion
    dims : sequence of int
        Sizes in call order.
    values : mapping
        Parameters by name.
    order : int
    """

    source: Recursion
    dims: Sequence[int]
    values: Mapping[str, FloatArray]
    order: int
    instructions: list[Instruction] = field(default_factory=list)
    pivots: int = 0

    def __post_init__(self) -> None:
        self._numbers = NumpySeries(self.source, self.dims, self.values, self.order)
        self._length = 0
        self._constants: list[tuple[int, FloatArray]] = []
        self._stacks: dict[tuple[Array, bool, bool], _Stack] = {}
        self._lines: dict[Array, list[Instruction]] = {}
        self._factors: dict[Array, tuple[int, int]] = {}
        program = self.source.program
        known = self._numbers.constants()
        for array in self.source.arrays:
            if self.source.is_constant(array) and array in known:
                self._constants.append((self._reserve(known[array].size), known[array]))
                self._stacks[array, False, False] = _Stack(self._constants[-1][0], 0)
        for state in program.inputs:
            self._lines[state] = []
        for op in self.source.ops:
            if op in self.source.rules or isinstance(op, (Factorise, RequirePositive)):
                self._lines[op.out] = []
                _plan(op, self)
        self._assemble()

    def memory(self) -> FloatArray:
        """Return the block on which the instructions work, constants in place."""
        block = np.zeros(self._length)
        for start, value in self._constants:
            block[start : start + value.size] = value.ravel()
        return block

    def states(self) -> list[tuple[int, int]]:
        """Return offset and length of the first coefficient of every state."""
        inputs = self.source.program.inputs
        return [(self.stack(Operand(a)).start, self._numbers.extent(a)) for a in inputs]

    @property
    def size(self) -> int:
        """Length of the flattened state."""
        return self._numbers.size

    def shape(self, x: Operand) -> tuple[int, int]:
        """Return rows and columns as read."""
        rows, cols = self._numbers.shape(x.array)
        return (cols, rows) if x.transposed else (rows, cols)

    def number(self, value: Any) -> float:
        """Return the value of a coefficient."""
        return self._numbers.number(value)

    def add(self, out: Array, line: Instruction) -> None:
        """Append an instruction of the operation that writes ``out``."""
        self._lines[out].append(line)

    def stack(self, x: Operand, reverse: bool = False) -> _Stack:
        """Return where op(array) lies, order by order or in reverse; a column is its own transpose."""
        flat = 1 in self._numbers.shape(x.array)
        key = (x.array, x.transposed and not flat, reverse and not self.source.is_constant(x.array))
        if key not in self._stacks:
            extent = self._numbers.extent(x.array)
            start = self._reserve(extent * (1 if self.source.is_constant(x.array) else self.order + 1))
            forward = _Stack(start, extent)
            self._stacks[key] = _Stack(start + self.order * extent, -extent) if key[2] else forward
        return self._stacks[key]

    def scratch(self, array: Array) -> int:
        """Return the offset of a block as large as a coefficient."""
        return self._reserve(self._numbers.extent(array))

    def factors(self, op: Factorise) -> tuple[int, int]:
        """Return the offsets of LU factors and of their pivots."""
        if op.out not in self._factors:
            self._factors[op.out] = (self.scratch(op.out), self.pivots)
            self.pivots += self._numbers.shape(op.out)[0]
        return self._factors[op.out]

    def factors_of(self, array: Array) -> tuple[int, int]:
        """Return the same by the name of the result."""
        return self._factors[array]

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
            if op in self.source.rules:
                self.instructions += self._copies(op.out)
        start = 0
        for state, slope in zip(program.inputs, program.outputs, strict=True):
            extent, source, target = (
                self._numbers.extent(state),
                self.stack(Operand(slope)),
                self.stack(Operand(state)),
            )
            line = Instruction(NEXT, m=extent, first=start, a=source.start, a_step=source.step)
            line = replace(line, out=target.start + target.step, out_step=target.step)
            self.instructions.append(line)
            self.instructions += self._copies(state, ahead=1)
            start += extent

    def _copies(self, array: Array, once: bool = False, ahead: int = 0) -> list[Instruction]:
        """Return the copies of coefficient ``k + ahead`` of an array into its other stacks."""
        m, n = self._numbers.shape(array)
        source = self.stack(Operand(array))
        found = []
        for (owner, transposed, reverse), target in self._stacks.items():
            if owner == array and (transposed or reverse):
                place: dict[str, Any] = {
                    "a": source.start + ahead * source.step,
                    "out": target.start + ahead * target.step,
                }
                steps: dict[str, Any] = {"a_step": source.step, "out_step": target.step}
                found.append(Instruction(COPY, once, transposed, m=m, n=n, **place, **steps))
        return found


def plan_product(p: Plan, out: Array, a: Operand, b: Operand, alpha: float, beta: float) -> Instruction:
    """Return the instruction that adds ``alpha (ab)_[k]`` to ``beta`` times what is there."""
    (m, inner), n, target = p.shape(a), p.shape(b)[1], p.stack(Operand(out))
    line = Instruction(PRODUCT, m=m, n=n, inner=inner, out=target.start, out_step=target.step)
    line = replace(line, alpha=alpha, beta=beta)
    if p.source.is_constant(a.array) or p.source.is_constant(b.array):
        left, right = p.stack(Operand(a.array)), p.stack(Operand(b.array))
        line = replace(line, a=left.start, a_step=left.step, b=right.start, b_step=right.step)
        return replace(line, trans_a=a.transposed, trans_b=b.transposed)
    left, right = p.stack(a.T), p.stack(b, reverse=True)
    return replace(line, code=CAUCHY, a=left.start, b=right.start, b_step=right.step)


@functools.singledispatch
def _plan(op: Any, p: Plan) -> None:
    raise TypeError(f"no instructions for {type(op).__name__}")


def _add_term(p: Plan, out: Array, x: Operand, alpha: float, code: int = ADD) -> None:
    """Append ``out += alpha op(x)``; a constant counts at order zero only."""
    source, target = p.stack(Operand(x.array)), p.stack(Operand(out))
    m, n = p.shape(Operand(x.array))
    line = Instruction(code, p.source.is_constant(x.array), x.transposed and 1 not in (m, n), m=m, n=n)
    place: dict[str, Any] = {
        "a": source.start,
        "a_step": source.step,
        "out": target.start,
        "out_step": target.step,
    }
    p.add(out, replace(line, alpha=alpha, **place))


@_plan.register
def _(op: Gemm, p: Plan) -> None:
    if op.c is not None:
        _clear(p, op.out)
        _add_term(p, op.out, Operand(op.c), 1.0)
    p.add(op.out, plan_product(p, op.out, op.a, op.b, p.number(op.alpha), float(op.c is not None)))


def _clear(p: Plan, out: Array) -> None:
    (m, n), target = p.shape(Operand(out)), p.stack(Operand(out))
    p.add(out, Instruction(ZEROS, m=m * n, out=target.start, out_step=target.step))


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
    matrix = Operand(p.source.matrix_of[op.factors], op.transposed)
    (n, m), target = p.shape(Operand(op.out)), p.stack(Operand(op.out))
    _clear(p, op.out)
    _add_term(p, op.out, op.b, 1.0)
    if not p.source.is_constant(matrix.array):
        left, right = p.stack(matrix.T), p.stack(Operand(op.out), reverse=True)
        place: dict[str, Any] = {
            "a": left.start + left.step,
            "b": right.start - right.step,
            "b_step": right.step,
        }
        line = Instruction(
            CAUCHY, m=n, n=m, inner=n, first=1, out=target.start, out_step=target.step, **place
        )
        p.add(op.out, replace(line, alpha=-1.0, beta=1.0))
    line = Instruction(LU_SOLVE, trans_a=op.transposed, m=n, n=m, first=pivots, a=factors)
    p.add(op.out, replace(line, out=target.start, out_step=target.step))


@_plan.register
def _(op: RequirePositive, p: Plan) -> None:
    out, (n, _), source = p.scratch(op.out), p.shape(Operand(op.a)), p.stack(Operand(op.a))
    p.add(op.out, Instruction(COPY, True, m=n, n=n, a=source.start, out=out))
    p.add(op.out, Instruction(CHOLESKY, True, m=n, out=out))
