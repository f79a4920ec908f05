"""Memory of a program: which results share a block of scratch, and which are written in place."""

from __future__ import annotations

from dataclasses import dataclass, field

from symflow.codegen.program import Array, Combine, Factorise, Gemm, Op, Program, RequirePositive, Size, Solve

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
        Results that live in the place of an output, by the output's name.
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


def layout(program: Program) -> Layout:
    """Assign memory: in-place operations share a block, blocks are reused once their value is dead."""
    last_use = _last_use(program)
    root = _in_place_roots(program, last_use)
    outputs = {root[out]: out for out in program.outputs}
    groups: dict[Array, _Group] = {}
    in_output: dict[Array, Array] = {}
    for index, op in enumerate(program.ops):
        out = op.out
        if root[out] in outputs:
            in_output[out] = outputs[root[out]]
            continue
        group = groups.setdefault(root[out], _Group(index, index, (out.rows, out.cols)))
        group.last = max(group.last, last_use.get(out, index))
        group.members.append(out)
    blocks, place = _share(list(groups.values()))
    return Layout(blocks, place, in_output)


def _last_use(program: Program) -> dict[Array, int]:
    last = {a: index for index, op in enumerate(program.ops) for a in op.reads()}
    return last | dict.fromkeys(program.outputs, len(program.ops))


def _in_place_roots(program: Program, last_use: dict[Array, int]) -> dict[Array, Array]:
    """Map each result to the one whose place it shares: the last of its chain of in-place operations."""
    results = {op.out for op in program.ops}
    root: dict[Array, Array] = {op.out: op.out for op in program.ops}
    for index in reversed(range(len(program.ops))):
        op = program.ops[index]
        source = _overwritable(op)
        if source in results and source is not None and last_use[source] == index and root[source] == source:
            root[source] = root[op.out]
    return root


def _overwritable(op: Op) -> Array | None:
    """Return the array that an operation may overwrite with its result."""
    if isinstance(op, Gemm):
        return op.c if op.c is not None and op.c not in (op.a.array, op.b.array) else None
    if isinstance(op, (Factorise, RequirePositive)):
        return op.a
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
