"""Columns kept beside a matrix: where two products share their left factor, one pass forms both.

Mean and covariance factor are multiplied by the same matrices, ``A [F | x] = [AF | Ax]``. A row of F leaves
lanes of its register unused, and x takes one of them: its product costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from symflow.codegen.program import Array, Gemm
from symflow.codegen.taylor.recursion import Recursion


def lanes(n: int) -> int:
    """Return the lanes of a row of n numbers: a power of two."""
    return max(2, 1 << (n - 1).bit_length())


@dataclass
class Columns:
    """Which columns lie beside a matrix, and which products are formed together.

    Attributes
    ----------
    host : dict of Array to Array
        The matrix beside which a column lies, by the column.
    guest : dict of Array to Array
        The inverse.
    partner : dict of Array to Gemm
        The product of a column that is formed together with that of a matrix, by the latter's result.
    """

    host: dict[Array, Array] = field(default_factory=dict)
    guest: dict[Array, Array] = field(default_factory=dict)
    partner: dict[Array, Gemm] = field(default_factory=dict)

    def admits(self, host: Array, column: Array) -> bool:
        """Tell whether ``column`` is or can be put beside ``host``."""
        return self.host.get(column, host) == host and self.guest.get(host, column) == column

    def put(self, host: Array, column: Array) -> None:
        """Put a column beside a matrix."""
        self.host[column], self.guest[host] = host, column


def columns(source: Recursion, sizes: Mapping[str, int]) -> Columns:
    """Return the columns of a recursion that get a place beside a matrix.

    Parameters
    ----------
    source : Recursion
    sizes : mapping of str to int
        Sizes by name.
    """

    def number(n: str | int) -> int:
        return n if isinstance(n, int) else sizes[n]

    found = Columns()
    ready = {*source.constants, *source.program.inputs}
    products = [op for op in source.rules if isinstance(op, Gemm) and number(op.out.rows) > 1]
    for op in source.rules:
        if isinstance(op, Gemm) and number(op.out.rows) > 1 and _has_room(number(op.out.cols)):
            for other in products:
                if number(other.out.cols) == 1 and _together(source, found, ready, op, other):
                    found.put(op.b.array, other.b.array)
                    found.put(op.out, other.out)
                    found.partner[op.out] = other
                    ready.add(other.out)
                    break
        ready.add(op.out)
    return found


def _has_room(cols: int) -> bool:
    """Tell whether one more column leaves the rows in a register that is no slower."""
    return cols > 1 and lanes(cols + 1) <= max(4, lanes(cols))


def _together(source: Recursion, found: Columns, ready: set[Array], op: Gemm, other: Gemm) -> bool:
    """Tell whether two products have one left factor and can be formed at once."""
    plain = not (op.b.transposed or other.b.transposed) and op.a == other.a and op.alpha == other.alpha
    states = source.program.inputs  # written together, and a constant never lies beside what is not one
    alike = (op.b.array in states) == (other.b.array in states)
    kinds = alike and source.is_constant(op.b.array) == source.is_constant(other.b.array)
    there = other.out not in ready and all(array in ready for array in other.reads())
    fits = found.admits(op.b.array, other.b.array) and found.admits(op.out, other.out)
    return plain and kinds and there and fits and not source.is_constant(op.b.array)
