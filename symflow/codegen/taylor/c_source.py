"""Recurrences of Taylor coefficients at fixed small sizes, printed as C: one rule per operation.

Sizes are constants of the text, so that every loop over a matrix is unrolled; the order stays an argument.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from symflow.codegen.cython_printer import ROOT_WORK, Printed, render
from symflow.codegen.program import (
    ONE,
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
    Term,
    TraceOf,
)
from symflow.codegen.taylor.recursion import Recursion
from symflow.codegen.taylor.vector_text import Rows, TaylorText


@functools.singledispatch
def emit(op: Any, f: TaylorText, index: str) -> None:
    raise TypeError(f"no C text for {type(op).__name__}")


@emit.register
def _(op: Gemm, f: TaylorText, index: str) -> None:
    f.add("{")
    rows = f.cauchy(op.out, op.a, op.b, index)
    if op.alpha != ONE:
        rows = [f"{f.coefficient(op.alpha)}*{row}" for row in rows]
    partner = f.columns.partner.get(op.out)
    if partner is not None:
        rows = f.plus_beside(rows, f.size(op.out.cols), op.c, partner.c, index)
    elif op.c is not None:
        rows = f.plus(rows, [Term(ONE, Operand(op.c))], op.out, index)
    f.finish(op.out, index, rows, whole=partner is not None)
    f.add("}")


@emit.register
def _(op: Combine, f: TaylorText, index: str) -> None:
    count, length = f.extent(f.primary(op.out))
    rows = f.plus([f"(v{f.lanes(length)}){{0.0}}"] * count, op.terms, op.out, index)
    f.add("{", *f.named(op.out, rows))
    if op.diagonal != ZERO:
        f.add("if (k == 0) {" if index != "0" else "{")
        f.add(*(f"r{i}[{i}] += {f.coefficient(op.diagonal)};" for i in range(count)), "}")
    f.store(op.out, index, [f"r{i}" for i in range(count)])
    f.add("}")


@emit.register
def _(op: SymmetrisedSum, f: TaylorText, index: str) -> None:
    extent = f.extent(f.primary(op.out))
    half = [f"h{i}" for i in range(extent[0])]
    rows = Rows(op.a, transposed=False)
    w = f.lanes(extent[1])
    f.add("{", *(f"const v{w} {h} = {f.row(rows, index, i)};" for i, h in enumerate(half)))
    turned = f.turned(half, extent)
    f.finish(op.out, index, [f"{h} + {t}" for h, t in zip(half, turned, strict=True)])
    f.add("}")


@emit.register
def _(op: Factorise, f: TaylorText, index: str) -> None:
    """Keep the inverse of the constant coefficient: each order multiplies by it."""
    n = f.size(op.out.rows)
    f.add("if (k == 0) {" if index != "0" else "{")
    f.add(f"double lu[{n * n}], unit[{n * n}]; ptrdiff_t pivots[{n}];")
    f.contiguous("lu", op.a)
    f.add(*(f"unit[{i}] = {float(i % (n + 1) == 0)};" for i in range(n * n)))
    f.add(*_checked(f"call->linalg->lu({n}, lu, pivots)"))
    f.add(f"call->linalg->lu_solve(0, {n}, {n}, lu, pivots, unit);")
    f.load(f.helpers[op.out], "unit")
    f.add("}")


@emit.register
def _(op: Solve, f: TaylorText, index: str) -> None:
    matrix, inverse, known = f.source.matrix_of[op.factors], f.helpers[op.factors], f.helpers[op.out]
    f.add("{")
    rows = f.cauchy(op.out, Operand(matrix, op.transposed), Operand(op.out), index, first=1)
    f.finish(known, "0", f.plus([f"-{row}" for row in rows], [Term(ONE, op.b)], op.out, index))
    f.add("}", "{")
    f.finish(op.out, index, f.cauchy(op.out, Operand(inverse, op.transposed), Operand(known), "0"))
    f.add("}")


@emit.register
def _(op: RequirePositive, f: TaylorText, index: str) -> None:
    n = f.size(op.out.rows)
    f.add("if (k == 0) {" if index != "0" else "{", f"double root[{n * n}];")
    f.contiguous("root", op.a)
    f.add(*_checked(f"call->linalg->cholesky({n}, root)"), "}")


@emit.register
def _(op: Root, f: TaylorText, index: str) -> None:
    n, root = f.size(op.out.rows), Operand(op.out)
    f.add("{", f"double root[{n * n}], work[{ROOT_WORK * n * n + n}];")
    f.add("if (k == 0) {" if index != "0" else "{")
    f.contiguous("root", op.a, index)
    f.add(*_checked(f"call->linalg->sqrtm(call->linalg, {n}, root, work)"))
    f.load(op.out, "root", index)
    f.add("}")
    if index != "0":
        f.add("else {", f"double moved[{n * n}];")
        rows = f.cauchy(op.out, root, root, index, first=1, last=1)
        rows = f.plus([f"-{row}" for row in rows], [Term(ONE, Operand(op.a))], op.out, index)
        f.finish(op.out, index, rows)
        f.contiguous("moved", op.out, index)
        f.contiguous("root", op.out)
        f.add(*_checked(f"call->linalg->sylvester(call->linalg, {n}, root, moved, work)"))
        f.load(op.out, "moved", index)
        f.add("}")
    f.add("}")


@emit.register
def _(op: TraceOf, f: TaylorText, index: str) -> None:
    n = f.shape(op.a)[0]
    f.add("{")
    if op.b is None:
        total = " + ".join(f.entry(op.a, index, i, i) for i in range(n))
    else:
        product = Array(f"{op.out.name}_product", op.a.rows, op.b.cols)
        total = " + ".join(f"{row}[{i}]" for i, row in enumerate(f.cauchy(product, op.a, op.b, index)))
    f.finish(op.out, index, [f.vector([total])])
    f.add("}")


@emit.register
def _(op: Scaled, f: TaylorText, index: str) -> None:
    f.add("{")
    f.finish(op.out, index, f.cauchy(op.out, Operand(op.factor), op.a, index))
    f.add("}")


def _checked(call: str) -> list[str]:
    """Return the lines that end the function where a call fails."""
    return ["{", f"const int status = {call};", "if (status != SYMFLOW_OK) return status;", "}"]


def taylor_source(source: Recursion, dims: Mapping[str, int], title: str, abi: str, versions: str) -> Printed:
    """Return a Cython module with the recursion at fixed sizes and a capsule that holds it.

    Parameters
    ----------
    source : Recursion
    dims : mapping of str to int
        Sizes by name.
    title : str
        First line of the module's docstring.
    abi, versions : str
        As for :func:`~symflow.codegen.cython_printer.cython_source`.
    """
    function = TaylorText(source, dims, "taylor")
    text = function.text(_body)
    once, each = function.work()
    values: dict[str, Any] = {
        "title": title,
        "versions": versions,
        "abi": abi,
        "widths": [2, 4, 8],
        "text": text,
        "function": "taylor",
        "entry": source.program.name,
        "order": len(dims),
        "once": once,
        "each": each,
    }
    return render("taylor.pyx.jinja", values)


def _body(f: TaylorText) -> None:
    """Print constants, the coefficients of order zero, and one pass per order."""
    program, source = f.source.program, f.source
    for array in program.matrices:
        f.load(array, f.parameter(array))
    for op in source.once:
        emit(op, f, "0")
    start = 0
    for array in program.inputs:
        f.load(array, f"(y + {start})")
        start += f.size(array.rows) * f.size(array.cols)
    f.add(f"__builtin_memcpy(out, y, {start * 8});", "for (k = 0; k < order; k++) {")
    f.add("const double scale = 1.0/(double)(k + 1);")
    joined = {op.out for op in f.columns.partner.values()}
    for op in source.rules:
        if op.out not in joined:
            emit(op, f, "k")
    _advance(f, start)
    f.add("}")


def _advance(f: TaylorText, n: int) -> None:
    """Write the next coefficient of the states: that of the slope over k + 1."""
    program, start = f.source.program, 0
    slopes = dict(zip(program.inputs, program.outputs, strict=True))
    for state, slope in slopes.items():
        kept, guest = f.primary(state), f.columns.guest.get(state)
        count, length = f.extent(kept)
        if state not in f.columns.host:  # else it is written together with the matrix beside it
            rows = [f.row(Rows(slope, kept.transposed), "k", i) for i in range(count)]
            if guest is not None and f.columns.host.get(slopes[guest]) != slope:
                rows = _beside(f, rows, slopes[guest], length)
            f.add("{", *f.named(state, [f"scale*{row}" for row in rows]))
            f.store(state, "k + 1", [f"r{i}" for i in range(count)], whole=guest is not None)
            f.add("}")
    for state in slopes:
        count, length = f.extent(f.primary(state))
        _output(f, state, start, n)
        start += count * length


def _beside(f: TaylorText, rows: list[str], column: Array, length: int) -> list[str]:
    """Return rows with the entries of a column behind those of the matrix."""
    return [
        f.vector([*(f"{row}[{j}]" for j in range(length)), f.entry(Operand(column), "k", i, 0)], 1)
        for i, row in enumerate(rows)
    ]


def _output(f: TaylorText, state: Array, start: int, n: int) -> None:
    """Copy the next coefficient of a state to where the caller wants it."""
    count, length = f.extent(f.primary(state))
    if state in f.columns.host:
        entries = [f.entry(Operand(state), "k + 1", i, 0) for i in range(length)]
        f.add(*(f"out[(k + 1)*{n} + {start + i}] = {entry};" for i, entry in enumerate(entries)))
        return
    place, w = f.pointer(f.primary(state), "k + 1"), f.lanes(length)
    f.add(
        *(
            f"__builtin_memcpy(out + (k + 1)*{n} + {start + i * length}, {place} + {i * w}, {8 * length});"
            for i in range(count)
        )
    )
