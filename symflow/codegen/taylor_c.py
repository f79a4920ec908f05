"""Recurrences of Taylor coefficients at fixed small sizes, as C with vector types.

A coefficient is a matrix whose rows are vectors of one machine register; a column is kept as one row. Sizes
are constants of the text, so that every loop over a matrix is unrolled; the order stays an argument. In a
Cauchy sum the products with the newest coefficients come last, behind those which were known before: the
processor has the latter done while it waits for the former.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr

from symflow.codegen.cython_printer import Printed, render
from symflow.codegen.names import identifiers
from symflow.codegen.program import (
    ONE,
    ZERO,
    Array,
    Combine,
    Factorise,
    Gemm,
    Operand,
    RequirePositive,
    Solve,
    SymmetrisedSum,
    Term,
)
from symflow.codegen.scalars import scalar_text
from symflow.codegen.taylor import Recursion

_RESERVED = (
    *("t", "y", "out", "call", "k", "j", "p", "order", "work", "status", "memory", "scale", "pivots"),
    *(
        "double",
        "int",
        "const",
        "static",
        "return",
        "if",
        "for",
        "sqrt",
        "auto",
        "long",
        "short",
        "char",
        "do",
    ),
)

#: Products of at most this many vector multiplications have the newest terms split off.
_SPLIT = 32
#: Sums that run side by side: as many as hide the latency of an addition, fewer than there are registers.
_CHAINS = 12


@dataclass(frozen=True)
class _Rows:
    """The rows of op(array), in memory; ``transposed`` says whether op is the transpose."""

    array: Array
    transposed: bool


@dataclass(frozen=True)
class _Sums:
    """A Cauchy sum of products under way: ``chains`` partial sums per row of the result."""

    out: Array
    a: Operand
    b: Operand
    chains: int


@dataclass
class _Scope:
    """What is printed so far, and which copies its lines have asked for."""

    lines: list[str] = field(default_factory=list)
    needed: dict[_Rows, None] = field(default_factory=dict)


class TaylorFunction:
    """The text of one recursion at fixed sizes.

    Parameters
    ----------
    source : Recursion
    dims : mapping of str to int
        Sizes by name, at most ``LARGEST`` each.
    name : str
        Of the C function.
    """

    def __init__(self, source: Recursion, dims: Mapping[str, int], name: str) -> None:
        self.source, self.dims, self.name = source, dims, name
        program = source.program
        self.helpers = {
            op.out: Array(f"{op.out.name}_{kind}", op.out.rows, op.out.cols)
            for op in source.ops
            for type_, kind in ((Factorise, "inverse"), (Solve, "known"))
            if isinstance(op, type_)
        }
        arrays = [*source.arrays, *self.helpers.values()]
        self.names = identifiers([*(a.name for a in arrays), *program.dimensions], reserved=_RESERVED)
        self.scope = _Scope()
        self.coefficients: dict[Expr, str] = {}

    # --- shapes and memory --------------------------------------------------------------------------

    def size(self, n: Any) -> int:
        """Return a size as a number."""
        return n if isinstance(n, int) else self.dims[n]

    def shape(self, x: Operand) -> tuple[int, int]:
        """Return rows and columns as read."""
        return self.size(x.rows), self.size(x.cols)

    def primary(self, array: Array) -> _Rows:
        """Return how an array is kept: a column as one row."""
        return _Rows(array, self.size(array.cols) == 1 and self.size(array.rows) > 1)

    def extent(self, rows: _Rows) -> tuple[int, int]:
        """Return number and length of the rows."""
        return self.shape(Operand(rows.array, rows.transposed))

    def stride(self, rows: _Rows) -> int:
        """Return how many numbers one coefficient takes."""
        count, length = self.extent(rows)
        return count * width(length)

    def constant(self, array: Array) -> bool:
        """Tell whether there is a coefficient of order zero only."""
        return self.source.is_constant(array) or array in self.helpers.values()

    def base(self, rows: _Rows) -> str:
        """Return the name of the memory of some rows."""
        kept = self.primary(rows.array) == rows
        return self.names[rows.array.name] + ("" if kept else "_turned")

    def pointer(self, rows: _Rows, index: str) -> str:
        """Return the address of a coefficient."""
        self.need(rows)
        if self.constant(rows.array) or index == "0":
            return self.base(rows)
        return f"({self.base(rows)} + ({index})*{self.stride(rows)})"

    def need(self, rows: _Rows) -> None:
        """Ask for a copy beside the primary one."""
        if rows != self.primary(rows.array):
            self.scope.needed.setdefault(rows)

    def row(self, rows: _Rows, index: str, i: int) -> str:
        """Return the i-th row of a coefficient."""
        w = width(self.extent(rows)[1])
        return f"((const v{w} *){self.pointer(rows, index)})[{i}]"

    def entry(self, x: Operand, index: str, i: int, j: int) -> str:
        """Return entry (i, j) of a coefficient as read."""
        rows = self.primary(x.array)
        if rows.transposed != x.transposed:
            i, j = j, i
        return f"{self.pointer(rows, index)}[{i * width(self.extent(rows)[1]) + j}]"

    def coefficient(self, value: Expr) -> str:
        """Return the text of a coefficient; one that depends on parameters gets a name."""
        if value.is_number:
            return scalar_text(value, {})
        return self.coefficients.setdefault(value, f"coefficient_{len(self.coefficients)}")

    # --- lines --------------------------------------------------------------------------------------

    def add(self, *lines: str) -> None:
        """Print lines."""
        self.scope.lines += lines

    def store(self, array: Array, index: str, rows: list[str]) -> None:
        """Write the rows of a coefficient, and every other copy that is asked for."""
        kept = self.primary(array)
        self._write(kept, index, rows)
        other = _Rows(array, not kept.transposed)
        if other in self.scope.needed:
            self._write(other, index, self.turned(rows, self.extent(other)))

    def _write(self, rows: _Rows, index: str, values: list[str]) -> None:
        w = width(self.extent(rows)[1])
        target = self.base(rows) if self.constant(rows.array) else self.pointer(rows, index)
        self.add(*(f"((v{w} *){target})[{i}] = {value};" for i, value in enumerate(values)))

    def turned(self, rows: list[str], extent: tuple[int, int]) -> list[str]:
        """Return the rows of the transpose, made from registers: no load waits for a narrower store."""
        count, length = extent
        w = width(length)
        pad = ["0.0"] * (w - length)
        return [
            f"(v{w}){{{', '.join([*(f'{rows[j]}[{i}]' for j in range(length)), *pad])}}}"
            for i in range(count)
        ]

    def text(self) -> str:
        """Return the C function."""
        body = self._body()  # the first pass finds the copies that are needed
        self.scope.lines = []
        body = self._body()
        head = [
            f"static int {self.name}(double t, const double *y, double *out, const symflow_call *call)",
            "{",
            f"const ptrdiff_t order = call->dims[{len(self.dims)}];",
            "ptrdiff_t k, j;",
            "(void)t; (void)j;",
            *self._places(),
            *self._constants(),
        ]
        return "\n".join([*head, *body, "return SYMFLOW_OK;", "}", ""])

    def work(self) -> tuple[int, int]:
        """Return the numbers of scratch: once, and per coefficient."""
        places = [(rows, self.stride(rows)) for rows in self._all_rows()]
        once = sum(n for rows, n in places if self.constant(rows.array))
        return once + 8, sum(n for rows, n in places if not self.constant(rows.array))

    def _all_rows(self) -> list[_Rows]:
        program = self.source.program
        arrays = [
            *program.inputs,
            *program.matrices,
            *(op.out for op in self.source.ops),
            *self.helpers.values(),
        ]
        found = [self.primary(array) for array in arrays]
        return [*found, *self.scope.needed]

    def _places(self) -> list[str]:
        lines = ["double *memory = (double *)(((uintptr_t)call->work + 63) & ~(uintptr_t)63);"]
        for rows in sorted(self._all_rows(), key=lambda r: -width(self.extent(r)[1])):
            many = "" if self.constant(rows.array) else " * (order + 1)"
            lines.append(f"double *{self.base(rows)} = memory; memory += {self.stride(rows)}{many};")
        return lines

    def _constants(self) -> list[str]:
        program = self.source.program
        index = {p.name: i for i, p in enumerate(program.parameters)}
        read = {name: f"call->params[{index[name]}][0]" for name in program.scalars}
        read |= {name: f"{n}.0" for name, n in self.dims.items()}
        return [
            f"const double {name} = {scalar_text(value, read)};" for value, name in self.coefficients.items()
        ]

    def _body(self) -> list[str]:
        program, source = self.source.program, self.source
        index = {p.name: i for i, p in enumerate(program.parameters)}
        for array in program.matrices:
            self.load(array, f"call->params[{index[array.name]}]")
        for op in source.once:
            _rule(op, self, "0")
        start = 0
        for array in program.inputs:
            self.load(array, f"(y + {start})")
            start += self.size(array.rows) * self.size(array.cols)
        self.add(f"__builtin_memcpy(out, y, {start * 8});", "for (k = 0; k < order; k++) {")
        self.add("const double scale = 1.0/(double)(k + 1);")
        for op in source.rules:
            _rule(op, self, "k")
        self._advance(start)
        self.add("}")
        return self.scope.lines

    def load(self, array: Array, source: str) -> None:
        """Read a contiguous matrix into the rows of order zero."""
        count, length = self.extent(self.primary(array))
        w = width(length)
        pad = ["0.0"] * (w - length)
        rows = [[f"{source}[{i * length + j}]" for j in range(length)] for i in range(count)]
        self.finish(array, "0", [f"(v{w}){{{', '.join([*row, *pad])}}}" for row in rows])

    def contiguous(self, target: str, array: Array) -> None:
        """Copy the coefficient of order zero into a row-major array."""
        rows, cols = self.shape(Operand(array))
        self.add(
            *(
                f"{target}[{i * cols + j}] = {self.entry(Operand(array), '0', i, j)};"
                for i in range(rows)
                for j in range(cols)
            )
        )

    def finish(self, array: Array, index: str, rows: list[str]) -> None:
        """Give the rows names and store them."""
        self.add("{", *self.named(array, rows))
        self.store(array, index, [f"r{i}" for i in range(len(rows))])
        self.add("}")

    def named(self, array: Array, rows: list[str]) -> list[str]:
        """Return declarations of the rows."""
        w = width(self.extent(self.primary(array))[1])
        return [f"v{w} r{i} = {value};" for i, value in enumerate(rows)]

    def plus(self, rows: list[str], terms: Sequence[Term], out: Array, index: str) -> list[str]:
        """Return rows with those of a linear combination added; constants count at order zero only."""
        w, flipped = width(self.extent(self.primary(out))[1]), self.primary(out).transposed
        for term in terms:
            x = term.operand
            scale = "" if term.coefficient == ONE else f"{self.coefficient(term.coefficient)}*"
            found = [
                scale + self.row(_Rows(x.array, x.transposed != flipped), index, i) for i in range(len(rows))
            ]
            if index != "0" and self.constant(x.array):
                found = [f"(k == 0 ? {value} : (v{w}){{0.0}})" for value in found]
            rows = [f"{row} + {value}" for row, value in zip(rows, found, strict=True)]
        return rows

    def _advance(self, n: int) -> None:
        """Write the next coefficient of the states: that of the slope over k + 1."""
        program, start = self.source.program, 0
        for state, slope in zip(program.inputs, program.outputs, strict=True):
            rows = self.primary(state)
            count, length = self.extent(rows)
            w = width(length)
            self.add("{")
            self.add(
                *(
                    f"const v{w} r{i} = scale*{self.row(_Rows(slope, rows.transposed), 'k', i)};"
                    for i in range(count)
                )
            )
            self.store(state, "k + 1", [f"r{i}" for i in range(count)])
            self.add(
                *(
                    f"__builtin_memcpy(out + (k + 1)*{n} + {start + i * length}, &r{i}, {8 * length});"
                    for i in range(count)
                ),
                "}",
            )
            start += count * length

    # --- Cauchy sums --------------------------------------------------------------------------------

    def cauchy(self, out: Array, a: Operand, b: Operand, index: str, first: int = 0) -> list[str]:
        """Print the sum of ``a[j] b[k − j]`` over ``first ≤ j ≤ k`` and return its rows."""
        count, length = self.extent(self.primary(out))
        chains = max(1, min(self.shape(a)[1], _CHAINS // count))
        sums = _Sums(out, a, b, chains)
        w = width(length)
        self.add(*(f"v{w} s{i}_{c} = {{0.0}};" for i in range(count) for c in range(chains)))
        self._terms(sums, index, first)
        return ["(" + " + ".join(f"s{i}_{c}" for c in range(chains)) + ")" for i in range(count)]

    def _terms(self, sums: _Sums, index: str, first: int) -> None:
        """Print the terms of a Cauchy sum that are not zero for want of coefficients."""
        if index == "0" or self.constant(sums.a.array):
            if first == 0:
                self._product(sums, "0", index)
        elif self.constant(sums.b.array):
            self._guarded(sums, first, "k", "0")
        elif self._work(sums) > _SPLIT:
            self._loop(sums, f"j = {first}; j <= k", "j", "k - j")
        else:
            self._loop(sums, "j = 1; j < k", "j", "k - j")
            if first == 0:
                self._product(sums, "0", "k")
            self._guarded(sums, 1, "k", "0")

    def _work(self, sums: _Sums) -> int:
        """Return how many vector multiplications one term takes."""
        return self.extent(self.primary(sums.out))[0] * self.shape(sums.a)[1]

    def _loop(self, sums: _Sums, head: str, ia: str, ib: str) -> None:
        self.add(f"for ({head}; j++) {{")
        self._product(sums, ia, ib)
        self.add("}")

    def _guarded(self, sums: _Sums, first: int, ia: str, ib: str) -> None:
        """Print a term that is there from order ``first`` on."""
        self.add(f"if (k >= {first}) {{" if first else "{")
        self._product(sums, ia, ib)
        self.add("}")

    def _product(self, sums: _Sums, ia: str, ib: str) -> None:
        """Add ``a[ia] b[ib]``: entries of the left factor times rows of the right one."""
        left, right, il, ir = sums.a, sums.b, ia, ib
        if self.primary(sums.out).transposed:  # a column is kept as a row: the product is transposed, too
            left, right, il, ir = right.T, left.T, ib, ia
        rows = _Rows(right.array, right.transposed)
        count, inner = self.extent(self.primary(sums.out))[0], self.shape(left)[1]
        for n in range(inner):
            self.add(f"{{ const v{width(self.extent(rows)[1])} b = {self.row(rows, ir, n)};")
            self.add(
                *(f"s{i}_{n % sums.chains} += {self.entry(left, il, i, n)}*b;" for i in range(count)), "}"
            )


def width(n: int) -> int:
    """Return the lanes of a row of n numbers: a power of two."""
    return max(2, 1 << (n - 1).bit_length())


@functools.singledispatch
def _rule(op: Any, f: TaylorFunction, index: str) -> None:
    raise TypeError(f"no C text for {type(op).__name__}")


@_rule.register
def _(op: Gemm, f: TaylorFunction, index: str) -> None:
    f.add("{")
    rows = f.cauchy(op.out, op.a, op.b, index)
    if op.alpha != ONE:
        rows = [f"{f.coefficient(op.alpha)}*{row}" for row in rows]
    if op.c is None:
        f.finish(op.out, index, rows)
    else:
        f.finish(op.out, index, f.plus(rows, [Term(ONE, Operand(op.c))], op.out, index))
    f.add("}")


@_rule.register
def _(op: Combine, f: TaylorFunction, index: str) -> None:
    count, length = f.extent(f.primary(op.out))
    rows = f.plus([f"(v{width(length)}){{0.0}}"] * count, op.terms, op.out, index)
    f.add("{", *f.named(op.out, rows))
    if op.diagonal != ZERO:
        f.add("if (k == 0) {" if index != "0" else "{")
        f.add(*(f"r{i}[{i}] += {f.coefficient(op.diagonal)};" for i in range(count)), "}")
    f.store(op.out, index, [f"r{i}" for i in range(count)])
    f.add("}")


@_rule.register
def _(op: SymmetrisedSum, f: TaylorFunction, index: str) -> None:
    extent = f.extent(f.primary(op.out))
    half = [f"h{i}" for i in range(extent[0])]
    rows = _Rows(op.a, transposed=False)
    w = width(extent[1])
    f.add("{", *(f"const v{w} {h} = {f.row(rows, index, i)};" for i, h in enumerate(half)))
    turned = f.turned(half, extent)
    f.finish(op.out, index, [f"{h} + {t}" for h, t in zip(half, turned, strict=True)])
    f.add("}")


@_rule.register
def _(op: Factorise, f: TaylorFunction, index: str) -> None:
    """Keep the inverse of the constant coefficient: each order multiplies by it."""
    n = f.size(op.out.rows)
    f.add("if (k == 0) {" if index != "0" else "{")
    f.add(f"double lu[{n * n}], unit[{n * n}]; ptrdiff_t pivots[{n}];")
    f.contiguous("lu", op.a)
    f.add(*(f"unit[{i}] = {float(i % (n + 1) == 0)};" for i in range(n * n)))
    f.add(
        f"{{ const int status = call->linalg->lu({n}, lu, pivots); if (status != SYMFLOW_OK) return status; }}"
    )
    f.add(f"call->linalg->lu_solve(0, {n}, {n}, lu, pivots, unit);")
    f.load(f.helpers[op.out], "unit")
    f.add("}")


@_rule.register
def _(op: Solve, f: TaylorFunction, index: str) -> None:
    matrix, inverse, known = f.source.matrix_of[op.factors], f.helpers[op.factors], f.helpers[op.out]
    f.add("{")
    rows = f.cauchy(op.out, Operand(matrix, op.transposed), Operand(op.out), index, first=1)
    f.finish(known, "0", f.plus([f"-{row}" for row in rows], [Term(ONE, op.b)], op.out, index))
    f.add("}", "{")
    f.finish(op.out, index, f.cauchy(op.out, Operand(inverse, op.transposed), Operand(known), "0"))
    f.add("}")


@_rule.register
def _(op: RequirePositive, f: TaylorFunction, index: str) -> None:
    n = f.size(op.out.rows)
    f.add("if (k == 0) {" if index != "0" else "{", f"double root[{n * n}];")
    f.contiguous("root", op.a)
    f.add(*_checked(f"call->linalg->cholesky({n}, root)"), "}")


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
    function = TaylorFunction(source, dims, "taylor")
    text = function.text()
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
