"""Memory of a program: which results share a block of scratch, and which are written in place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from symflow.codegen.program import (
    Array,
    Combine,
    Factorise,
    Gemm,
    Loop,
    Op,
    Program,
    RequirePositive,
    Root,
    Simple,
    Size,
    Solve,
    Sylvester,
    loops,
)

Block = tuple[Size, Size]  #: rows and columns of a block of scratch


@dataclass(frozen=True)
class Layout:
    """Where each result lives.

    Attributes
    ----------
    blocks : tuple of Block
        Blocks of scratch.
    place : dict
        Number of the block of each result; results absent from it live in the output.
    output : dict
        Results that live in the place of an output, or of a slice of one.
    """

    blocks: tuple[Block, ...]
    place: dict[Array, int]
    output: dict[Array, Array]


@dataclass
class _Group:
    """Results that follow each other in one place."""

    first: int
    last: int
    shape: Block
    members: list[Array] = field(default_factory=list)


@dataclass(frozen=True)
class _Step:
    """One operation, or the end of a loop: what was made before the loop has to last until there."""

    op: Simple | None
    reads: tuple[Array, ...]


def layout(program: Program) -> Layout:
    """Assign memory: in-place operations share a block, blocks are reused once their value is dead."""
    steps = _timeline(program.ops)
    written = written_outputs(program)
    last_use = {a: index for index, step in enumerate(steps) for a in step.reads}
    last_use |= dict.fromkeys(written, len(steps))
    root = _in_place_roots(steps, last_use)
    outputs = {root[out]: out for out in written if out in root}
    groups: dict[Array, _Group] = {}
    in_output: dict[Array, Array] = {}
    for index, step in enumerate(steps):
        if step.op is None:
            continue
        out = step.op.out
        if root[out] in outputs:
            in_output[out] = outputs[root[out]]
            continue
        group = groups.setdefault(root[out], _Group(index, index, (out.rows, out.cols)))
        group.last = max(group.last, last_use.get(out, index))
        group.members.append(out)
    blocks, place = _share(list(groups.values()))
    return Layout(blocks, place, in_output)


def written_outputs(program: Program) -> tuple[Array, ...]:
    """Return the outputs that operations write to: whole matrices, and slices inside loops."""
    slices = (item for loop in loops(program.ops) for item in loop.slices)
    return (*program.outputs, *(item.part for item in slices if item.whole in program.outputs))


def _timeline(ops: Iterable[Op]) -> list[_Step]:
    steps: list[_Step] = []
    for op in ops:
        if not isinstance(op, Loop):
            steps.append(_Step(op, op.reads()))
            continue
        inner = _timeline(op.body)
        steps += [*inner, _Step(None, _from_outside(inner))]
    return steps


def _from_outside(steps: list[_Step]) -> tuple[Array, ...]:
    """Return what is read before the steps write it."""
    made: set[Array] = set()
    found: dict[Array, None] = {}
    for step in steps:
        found |= dict.fromkeys(a for a in step.reads if a not in made)
        if step.op is not None and step.op.out not in found:
            made.add(step.op.out)
    return tuple(found)


def _in_place_roots(steps: list[_Step], last_use: dict[Array, int]) -> dict[Array, Array]:
    """Map each result to the one whose place it shares: the last of its chain of in-place operations."""
    root: dict[Array, Array] = {step.op.out: step.op.out for step in steps if step.op is not None}
    for index in reversed(range(len(steps))):
        op = steps[index].op
        source = None if op is None else _overwritable(op)
        if op is None or source is None or source not in root or source == op.out:
            continue
        if last_use[source] == index and root[source] == source:
            root[source] = root[op.out]
    return root


def _overwritable(op: Simple) -> Array | None:
    """Return the array that an operation may overwrite with its result."""
    if isinstance(op, Gemm):
        return op.c if op.c is not None and op.c not in (op.a.array, op.b.array) else None
    if isinstance(op, (Factorise, RequirePositive, Root)):
        return op.a
    if isinstance(op, Sylvester):
        return op.e if op.e != op.root else None
    if isinstance(op, Solve):
        return None if op.b.transposed or op.b.array == op.factors else op.b.array
    if isinstance(op, Combine) and not any(term.operand.transposed for term in op.terms):
        return op.terms[0].operand.array if op.terms else None
    return None


def _share(groups: list[_Group]) -> tuple[tuple[Block, ...], dict[Array, int]]:
    """Give each group a block; a block is free again after the last use of its group."""
    blocks: list[Block] = []
    busy_until: list[int] = []
    place: dict[Array, int] = {}
    for group in sorted(groups, key=lambda g: g.first):
        same = (
            i
            for i, block in enumerate(blocks)
            if _same_size(block, group.shape) and busy_until[i] < group.first
        )
        number = next(same, len(blocks))
        if number == len(blocks):
            blocks.append(group.shape)
            busy_until.append(group.last)
        busy_until[number] = group.last
        place |= dict.fromkeys(group.members, number)
    return tuple(blocks), place


def _same_size(a: Block, b: Block) -> bool:
    return sorted(map(str, a)) == sorted(map(str, b))
