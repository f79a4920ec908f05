"""Loops over heads and positions written out: a program at given counts as a single chain of operations.

Where a loop adds to an array each summand gets a name of its own, so that every array is written once and the
coefficients of all of them are there when a later one asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sympy import Expr, Symbol

from symflow.codegen.program import (
    ZERO,
    Array,
    Combine,
    Gemm,
    Loop,
    Op,
    Program,
    RequirePositive,
    Simple,
    Size,
    Term,
    loops,
    renamed,
)


@dataclass(frozen=True)
class Place:
    """One of the matrices, or of the entries, of a parameter."""

    whole: str
    index: int


def counts(program: Program) -> frozenset[str]:
    """Return the names of the sizes over which a program loops."""
    return frozenset(loop.count for loop in loops(program.ops) if isinstance(loop.count, str))


def without_loops(program: Program, sizes: Mapping[str, int]) -> tuple[Program, dict[str, Place]]:
    """Return a program without loops and, for every parameter it has, of which one it is a part.

    Parameters
    ----------
    program : Program
    sizes : mapping
        A number for each of :func:`counts`.
    """
    writer = _Writer(sizes)
    ops = tuple(writer.written(program.ops, {}))
    outputs = tuple(writer.last(a) for a in writer.parts(program.outputs))
    entrywise = {array.name for loop in loops(program.ops) for _, array in loop.scalars}
    parameters = tuple(part for p in program.parameters for part in writer.parameters(p, p.name in entrywise))
    single = {*program.scalars, *entrywise}
    straight = replace(
        program,
        inputs=tuple(writer.parts(program.inputs)),
        outputs=outputs,
        parameters=parameters,
        scalars=tuple(p.name for p in parameters if writer.places[p.name].whole in single),
        ops=tuple(_needed(ops, outputs)),
    )
    return straight, writer.places


@dataclass
class _Writer:
    """What the arrays are called at this point of the chain."""

    sizes: Mapping[str, int]
    now: dict[Array, Array] = field(default_factory=dict)
    slices: set[Array] = field(default_factory=set)
    versions: dict[Array, int] = field(default_factory=dict)
    zeros: set[Array] = field(default_factory=set)
    places: dict[str, Place] = field(default_factory=dict)

    def number(self, size: Size) -> int:
        """Return a size as a number."""
        return size if isinstance(size, int) else self.sizes[size]

    def part(self, array: Array, index: int) -> Array:
        """Return one matrix of an array with a leading axis."""
        return Array(f"{array.name}[{index}]", array.rows, array.cols)

    def parts(self, arrays: Iterable[Array]) -> Iterator[Array]:
        """Yield the arrays, those with a leading axis matrix by matrix."""
        for array in arrays:
            if array.lead is None:
                yield array
            else:
                yield from (self.part(array, i) for i in range(self.number(array.lead)))

    def parameters(self, array: Array, entrywise: bool) -> Iterator[Array]:
        """Yield a parameter in parts, or entry by entry, and note where these lie."""
        whole = replace(array, rows=1, lead=array.rows) if entrywise else array
        for i, part in enumerate(self.parts([whole])):
            self.places[part.name] = Place(array.name, i)
            yield part

    def last(self, array: Array) -> Array:
        """Return the current name of an array."""
        return self.now.get(array, array)

    def written(self, ops: Iterable[Op], scalars: Mapping[str, Symbol]) -> Iterator[Simple]:
        """Yield the operations one after the other."""
        for op in ops:
            if isinstance(op, Loop):
                self.slices |= {item.part for item in op.slices}
                for i in range(self.number(op.count)):
                    self.now |= {item.part: self.part(item.whole, i) for item in op.slices}
                    named = {name: Symbol(f"{array.name}[{i}]") for name, array in op.scalars}
                    yield from self.written(op.body, {**scalars, **named})
            else:
                yield self._simple(op, scalars)

    def _simple(self, op: Simple, scalars: Mapping[str, Symbol]) -> Simple:
        read = _without_zeros(_with_scalars(renamed(op, self.now), scalars), self.zeros)
        result: Simple = replace(read, out=self._name(op.out))
        if isinstance(result, Combine) and not result.terms and result.diagonal == ZERO:
            self.zeros.add(result.out)
        return result

    def _name(self, out: Array) -> Array:
        """Return the name under which a result is written: a new one each time, but for parts of outputs."""
        if out not in self.slices:
            count = self.versions.get(out, 0)
            self.versions[out] = count + 1
            self.now[out] = replace(out, name=f"{out.name}({count})") if count else out
        return self.now[out]


def _with_scalars(value: Any, scalars: Mapping[str, Symbol]) -> Any:
    """Return an operation whose coefficients name the entries of vectors."""
    if isinstance(value, Expr):
        return value.xreplace({s: scalars[s.name] for s in value.free_symbols if s.name in scalars})
    if isinstance(value, tuple):
        return tuple(_with_scalars(item, scalars) for item in value)
    if isinstance(value, (Gemm, Combine, Term)) and scalars:
        return replace(
            value, **{f.name: _with_scalars(getattr(value, f.name), scalars) for f in fields(value)}
        )
    return value


def _without_zeros(op: Any, zeros: set[Array]) -> Any:
    """Return an operation that adds no zeros."""
    if isinstance(op, Gemm) and op.c in zeros:
        return replace(op, c=None)
    if isinstance(op, Combine):
        return replace(op, terms=tuple(t for t in op.terms if t.operand.array not in zeros))
    return op


def _needed(ops: Iterable[Simple], outputs: Iterable[Array]) -> list[Simple]:
    """Return the operations that the outputs or the domain depend on."""
    wanted, found = set(outputs), []
    for op in reversed(list(ops)):
        if op.out in wanted or isinstance(op, RequirePositive):
            wanted.update(op.reads())
            found.append(op)
    return found[::-1]
