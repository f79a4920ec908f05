"""Recurrences of Taylor coefficients at fixed small sizes, as C with vector types.

A coefficient is a matrix whose rows are vectors of one machine register; a column is kept as one row. Sizes
are constants of the text, so that every loop over a matrix is unrolled; the order stays an argument. In a
Cauchy sum the products with the newest coefficients come last, behind those which were known before: the
processor has the latter done while it waits for the former.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr

from symflow.codegen.names import identifiers
from symflow.codegen.program import (
    ONE,
    Array,
    Factorise,
    Operand,
    Solve,
    Term,
)
from symflow.codegen.scalars import scalar_text
from symflow.codegen.taylor.columns import columns, lanes
from symflow.codegen.taylor.recursion import LARGEST, Recursion

_RESERVED = (
    *("t", "y", "out", "call", "k", "j", "p", "order", "work", "status", "memory", "scale", "pivots", "sqrt"),
    *("lu", "unit", "root", "moved", "b"),
    *(f"{letter}{i}" for letter in "rh" for i in range(LARGEST)),
    *(f"s{i}_{c}" for i in range(LARGEST) for c in range(LARGEST)),
)

#: Products of at most this many vector multiplications have the newest terms split off.
_SPLIT = 32
#: Sums that run side by side: as many as hide the latency of an addition, fewer than there are registers.
_CHAINS = 12


@dataclass(frozen=True)
class Rows:
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
    needed: dict[Rows, None] = field(default_factory=dict)


class TaylorText:
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
        self.columns = columns(source, dims)
        self.widened = {self.size(array.cols) for array in self.columns.guest}
        self.scope = _Scope()
        self.coefficients: dict[Expr, str] = {}

    # --- shapes and memory --------------------------------------------------------------------------

    def size(self, n: Any) -> int:
        """Return a size as a number."""
        return n if isinstance(n, int) else self.dims[n]

    def shape(self, x: Operand) -> tuple[int, int]:
        """Return rows and columns as read."""
        return self.size(x.rows), self.size(x.cols)

    def primary(self, array: Array) -> Rows:
        """Return how an array is kept: a column as one row."""
        return Rows(array, self.size(array.cols) == 1 and self.size(array.rows) > 1)

    def extent(self, rows: Rows) -> tuple[int, int]:
        """Return number and length of the rows."""
        return self.shape(Operand(rows.array, rows.transposed))

    def lanes(self, length: int) -> int:
        """Return the lanes of a row: one more where rows of that length have a column beside them."""
        return lanes(length + 1 if length in self.widened else length)

    def stride(self, rows: Rows) -> int:
        """Return how many numbers one coefficient takes."""
        count, length = self.extent(rows)
        return count * self.lanes(length)

    def constant(self, array: Array) -> bool:
        """Tell whether there is a coefficient of order zero only."""
        return self.source.is_constant(array) or array in self.helpers.values()

    def base(self, rows: Rows) -> str:
        """Return the name of the memory of some rows."""
        kept = self.primary(rows.array) == rows
        return self.names[rows.array.name] + ("" if kept else "_turned")

    def pointer(self, rows: Rows, index: str) -> str:
        """Return the address of a coefficient."""
        self.need(rows)
        if self.constant(rows.array) or index == "0":
            return self.base(rows)
        return f"({self.base(rows)} + ({index})*{self.stride(rows)})"

    def need(self, rows: Rows) -> None:
        """Ask for a copy beside the primary one."""
        if rows != self.primary(rows.array):
            self.scope.needed.setdefault(rows)

    def row(self, rows: Rows, index: str, i: int) -> str:
        """Return the i-th row of a coefficient."""
        length = self.extent(rows)[1]
        if rows.array in self.columns.host:
            x = Operand(rows.array, rows.transposed)
            return self.vector([self.entry(x, index, i, j) for j in range(length)])
        return f"((const v{self.lanes(length)} *){self.pointer(rows, index)})[{i}]"

    def vector(self, entries: list[str], beside: int = 0) -> str:
        """Return a row made of numbers, of which the last ones stand beside it."""
        w = self.lanes(len(entries) - beside)
        return f"(v{w}){{{', '.join([*entries, *['0.0'] * (w - len(entries))])}}}"

    def entry(self, x: Operand, index: str, i: int, j: int) -> str:
        """Return entry (i, j) of a coefficient as read."""
        host = self.columns.host.get(x.array)
        if host is not None:
            i, j, rows = max(i, j), self.size(host.cols), self.primary(host)
        else:
            rows = self.primary(x.array)
            i, j = (j, i) if rows.transposed != x.transposed else (i, j)
        return f"{self.pointer(rows, index)}[{i * self.lanes(self.extent(rows)[1]) + j}]"

    def coefficient(self, value: Expr) -> str:
        """Return the text of a coefficient; one that depends on parameters gets a name."""
        if value.is_number:
            return scalar_text(value, {})
        return self.coefficients.setdefault(value, f"coefficient_{len(self.coefficients)}")

    # --- lines --------------------------------------------------------------------------------------

    def add(self, *lines: str) -> None:
        """Print lines."""
        self.scope.lines += lines

    def store(self, array: Array, index: str, rows: list[str], whole: bool = False) -> None:
        """Write the rows of a coefficient, and every other copy that is asked for.

        ``whole`` says that the rows contain the column beside them; else it stays as it is.
        """
        kept = self.primary(array)
        host = self.columns.host.get(array)
        if host is not None:
            place, cols, step = (
                self.pointer(self.primary(host), index),
                self.size(host.cols),
                self.extent(kept)[1],
            )
            w = self.lanes(cols)
            self.add(*(f"{place}[{i * w + cols}] = {rows[0]}[{i}];" for i in range(step)))
            return
        if array in self.columns.guest and not whole:
            count, length = self.extent(kept)
            place, w = self.pointer(kept, index), self.lanes(length)
            self.add(
                *(f"__builtin_memcpy({place} + {i * w}, &{rows[i]}, {8 * length});" for i in range(count))
            )
        else:
            self._write(kept, index, rows)
        other = Rows(array, not kept.transposed)
        if other in self.scope.needed:
            self._write(other, index, self.turned(rows, self.extent(other)))

    def _write(self, rows: Rows, index: str, values: list[str]) -> None:
        w = self.lanes(self.extent(rows)[1])
        target = self.pointer(rows, index)
        self.add(*(f"((v{w} *){target})[{i}] = {value};" for i, value in enumerate(values)))

    def turned(self, rows: list[str], extent: tuple[int, int]) -> list[str]:
        """Return the rows of the transpose, made from registers: no load waits for a narrower store."""
        count, length = extent
        return [self.vector([f"{rows[j]}[{i}]" for j in range(length)]) for i in range(count)]

    def text(self, body: Callable[[TaylorText], None]) -> str:
        """Return the C function around what ``body`` prints."""
        body(self)  # the first pass finds the copies that are needed
        self.scope.lines = []
        body(self)
        head = [
            f"static int {self.name}(double t, const double *y, double *out, const symflow_call *call)",
            "{",
            f"const ptrdiff_t order = call->dims[{len(self.dims)}];",
            "ptrdiff_t k, j;",
            "(void)t; (void)j;",
            *self._places(),
            *self._constants(),
        ]
        return "\n".join([*head, *self.scope.lines, "return SYMFLOW_OK;", "}", ""])

    def work(self) -> tuple[int, int]:
        """Return the numbers of scratch: once, and per coefficient."""
        places = [(rows, self.stride(rows)) for rows in self._all_rows()]
        once = sum(n for rows, n in places if self.constant(rows.array))
        return once + 8, sum(n for rows, n in places if not self.constant(rows.array))

    def _all_rows(self) -> list[Rows]:
        program = self.source.program
        arrays = [
            *program.inputs,
            *program.matrices,
            *(op.out for op in self.source.ops),
            *self.helpers.values(),
        ]
        found = [self.primary(array) for array in arrays if array not in self.columns.host]
        return [*found, *self.scope.needed]

    def _places(self) -> list[str]:
        lines = ["double *memory = (double *)(((uintptr_t)call->work + 63) & ~(uintptr_t)63);"]
        for rows in sorted(self._all_rows(), key=lambda r: -self.lanes(self.extent(r)[1])):
            many = "" if self.constant(rows.array) else " * (order + 1)"
            lines.append(f"double *{self.base(rows)} = memory; memory += {self.stride(rows)}{many};")
        return lines

    def _constants(self) -> list[str]:
        program = self.source.program
        read = {p.name: f"{self.parameter(p)}[0]" for p in program.parameters if p.name in program.scalars}
        read |= {name: f"{n}.0" for name, n in self.dims.items()}
        return [
            f"const double {name} = {scalar_text(value, read)};" for value, name in self.coefficients.items()
        ]

    def parameter(self, array: Array) -> str:
        """Return the address of a parameter or of a part of one."""
        place = self.source.places[array.name]
        start = place.index * self.size(array.rows) * self.size(array.cols)
        return f"(call->params[{self.source.given.index(place.whole)}] + {start})"

    def load(self, array: Array, source: str, index: str = "0") -> None:
        """Read a contiguous matrix into the rows of a coefficient."""
        count, length = self.extent(self.primary(array))
        rows = [[f"{source}[{i * length + j}]" for j in range(length)] for i in range(count)]
        self.finish(array, index, [self.vector(row) for row in rows])

    def contiguous(self, target: str, array: Array, index: str = "0") -> None:
        """Copy a coefficient into a row-major array."""
        rows, cols = self.shape(Operand(array))
        self.add(
            *(
                f"{target}[{i * cols + j}] = {self.entry(Operand(array), index, i, j)};"
                for i in range(rows)
                for j in range(cols)
            )
        )

    def finish(self, array: Array, index: str, rows: list[str], whole: bool = False) -> None:
        """Give the rows names and store them."""
        self.add("{", *self.named(array, rows))
        self.store(array, index, [f"r{i}" for i in range(len(rows))], whole)
        self.add("}")

    def named(self, array: Array, rows: list[str]) -> list[str]:
        """Return declarations of the rows."""
        w = self.lanes(self.extent(self.primary(array))[1])
        return [f"v{w} r{i} = {value};" for i, value in enumerate(rows)]

    def plus(self, rows: list[str], terms: Sequence[Term], out: Array, index: str) -> list[str]:
        """Return rows with those of a linear combination added; constants count at order zero only."""
        w, flipped = self.lanes(self.extent(self.primary(out))[1]), self.primary(out).transposed
        for term in terms:
            x = term.operand
            scale = "" if term.coefficient == ONE else f"{self.coefficient(term.coefficient)}*"
            found = [
                scale + self.row(Rows(x.array, x.transposed != flipped), index, i) for i in range(len(rows))
            ]
            if index != "0" and self.constant(x.array):
                found = [f"(k == 0 ? {value} : (v{w}){{0.0}})" for value in found]
            rows = [f"{row} + {value}" for row, value in zip(rows, found, strict=True)]
        return rows

    def plus_beside(
        self, rows: list[str], length: int, c: Array | None, column: Array | None, index: str
    ) -> list[str]:
        """Return rows of a matrix and a column with both parts of a sum added, if any."""
        if c is None and column is None:
            return rows
        found = []
        for i, row in enumerate(rows):
            left = ["0.0"] * length if c is None else [self._counted(c, index, i, j) for j in range(length)]
            right = "0.0" if column is None else self._counted(column, index, i, 0)
            found.append(f"{row} + {self.vector([*left, right], 1)}")
        return found

    def _counted(self, array: Array, index: str, i: int, j: int) -> str:
        """Return an entry that counts at order zero only where it is constant."""
        entry = self.entry(Operand(array), index, i, j)
        return f"(k == 0 ? {entry} : 0.0)" if index != "0" and self.constant(array) else entry

    # --- Cauchy sums --------------------------------------------------------------------------------

    def cauchy(
        self, out: Array, a: Operand, b: Operand, index: str, first: int = 0, last: int = 0
    ) -> list[str]:
        """Print the sum of ``a[j] b[k − j]`` over ``first ≤ j ≤ k − last`` and return its rows.

        Where a is 1 × 1 and b has more rows it is a factor of every entry.
        """
        count, length = self.extent(self.primary(out))
        chains = max(1, min(self.shape(a)[1], _CHAINS // count))
        sums = _Sums(out, a, b, chains)
        w = self.lanes(length)
        self.add(*(f"v{w} s{i}_{c} = {{0.0}};" for i in range(count) for c in range(chains)))
        if last:
            self._loop(sums, f"j = {first}; j <= k - {last}", "j", "k - j")
        else:
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
        if self.shape(sums.a)[1] != self.shape(sums.b)[0]:
            self._multiple(sums, ia, ib)
            return
        left, right, il, ir = sums.a, sums.b, ia, ib
        if self.primary(sums.out).transposed:  # a column is kept as a row: the product is transposed, too
            left, right, il, ir = right.T, left.T, ib, ia
        rows = Rows(right.array, right.transposed)
        count, inner = self.extent(self.primary(sums.out))[0], self.shape(left)[1]
        for n in range(inner):
            self.add(f"{{ const v{self.lanes(self.extent(rows)[1])} b = {self.row(rows, ir, n)};")
            self.add(
                *(f"s{i}_{n % sums.chains} += {self.entry(left, il, i, n)}*b;" for i in range(count)), "}"
            )

    def _multiple(self, sums: _Sums, ia: str, ib: str) -> None:
        """Add ``a[ia] b[ib]`` with a number a: it multiplies every row."""
        count = self.extent(self.primary(sums.out))[0]
        rows = Rows(sums.b.array, sums.b.transposed != self.primary(sums.out).transposed)
        factor = self.entry(sums.a, ia, 0, 0)
        self.add(*(f"s{i}_0 += {factor}*{self.row(rows, ib, i)};" for i in range(count)))
