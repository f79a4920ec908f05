"""Rewrites: push-through, bracketing, common subexpressions, memory."""

from __future__ import annotations

from typing import Any

import pytest

from symflow.codegen.emit import Emitter
from symflow.codegen.layout import layout
from symflow.codegen.lower import lower
from symflow.codegen.program import ONE, Array, Gemm, Loop, Program
from symflow.codegen.rewrite import push_through, typical
from symflow.codegen.words import Sum, add, expand, identity, invert, multiply, scale, symbol
from symflow.flow import Flow

WEIGHTS = typical(["d", "k"], "r")
A, B = symbol("A", "d", "d"), symbol("B", "d", "d")
F, K, X = symbol("F", "d", "r"), symbol("K", "k", "d"), symbol("x", "d", 1)
ARRAYS = tuple(Array(*shape) for shape in [("A", "d", "d"), ("B", "d", "d"), ("F", "d", "r"), ("x", "d", 1)])


def gemms(*sums: Sum) -> list[Gemm]:
    emitter = Emitter(ARRAYS, WEIGHTS)
    for s in sums:
        emitter.value(s)
    return [op for op in emitter.ops if isinstance(op, Gemm)]


def test_push_through_shrinks_the_inverse() -> None:
    gram = multiply(F, F.T, A)
    inverse = invert(add(identity("d"), gram))
    pushed = push_through(multiply(inverse, F), WEIGHTS)
    ((_, word),) = pushed.terms
    assert [(x.rows, x.inverse is not None) for x in word] == [("d", False), ("r", True)]
    woodbury = push_through(inverse, WEIGHTS)
    assert len(woodbury.terms) == 2
    assert all(x.rows != "d" or x.inverse is None for _, w in woodbury.terms for x in w)


def test_an_inverse_that_cannot_shrink_stays() -> None:
    inverse = invert(add(identity("d"), multiply(A, B)))
    assert push_through(inverse, WEIGHTS) == inverse


def test_a_matrix_and_its_transpose_share_an_inverse() -> None:
    s = add(identity("d"), multiply(A, B))
    ((_, one),), ((_, other),) = invert(s).terms, invert(s.T).terms
    assert one[0].inverse == other[0].inverse
    assert one[0].transposed != other[0].transposed


def test_vectors_first() -> None:
    assert [op.out.cols for op in gemms(multiply(A, B, A, X))] == [1, 1, 1]


def test_equal_and_transposed_words_are_computed_once() -> None:
    product = multiply(A, B)
    assert len(gemms(product, product)) == 1
    assert len(gemms(product, product.T)) == 1


def test_common_fronts_and_ends_are_factored() -> None:
    """AB + AF Fᵀ = A(B + FFᵀ) and BA + FFᵀA: two products each, not three."""
    front = add(multiply(A, B), multiply(A, F, F.T))
    assert len(gemms(front)) == 2
    assert len(gemms(front.T)) == 2


def test_equal_words_merge_and_cancel() -> None:
    product = multiply(A, B)
    assert add(product, product) == scale(ONE * 2, product)
    assert add(product, scale(-ONE, product)).terms == ()


def test_expand_is_independent_of_the_order_of_terms(make: Any) -> None:
    s, a = make.sigma, make.one
    assert expand(s * s + s).key == expand(s + s * s).key == expand((s + a) * s).key


@pytest.mark.parametrize("entry", ["moments", "factor", "tangent"])
def test_no_live_value_is_overwritten(flow: Flow, entry: str) -> None:
    """Replay the memory of a program, loops twice: every read finds the value that was meant."""
    programs = lower(flow)
    program: Program = programs[entry if entry in programs else "domain"]
    memory = layout(program)
    holds: dict[object, Array] = {}
    for op in _replayed(program.ops):
        for read in op.reads():
            if read in memory.place or read in memory.output:
                assert holds[_home(memory, read)] == read, op
        holds[_home(memory, op.out)] = op.out
    for out in program.outputs:
        if out.lead is None:
            assert holds[_home(memory, out)] == out


def _replayed(ops: Any) -> Any:
    for op in ops:
        if isinstance(op, Loop):
            yield from _replayed(op.body)
            yield from _replayed(op.body)
        else:
            yield op


def _home(memory: Any, array: Array) -> object:
    return memory.output[array] if array in memory.output else memory.place[array]


def test_scratch_is_reused(make: Any) -> None:
    program = lower(make.flows["l2"]())["tangent"]
    assert len(layout(program).blocks) < len(program.ops) - len(program.outputs)
