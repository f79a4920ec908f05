"""Program: straight-line matrix code of symbolic size, in single-assignment form.

A :class:`Program` is what :mod:`symflow.codegen.lower` makes of a flow and what the printers read. It knows
shapes and coefficients, but neither a language nor a memory layout beyond "row-major".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sympy import Expr, Integer

Size = str | int  #: a symbolic dimension by name, or a number (1 for vectors)

ONE = Integer(1)
ZERO = Integer(0)


@dataclass(frozen=True)
class Array:
    """A matrix with a name: an input, a parameter, or the result of one operation.

    ``lead`` is the size of a leading axis, None where there is one matrix only; a :class:`Loop` reads it
    slice by slice.
    """

    name: str
    rows: Size
    cols: Size
    lead: Size | None = None


@dataclass(frozen=True)
class Operand:
    """An array, read as it is or transposed."""

    array: Array
    transposed: bool = False

    @property
    def rows(self) -> Size:
        """Number of rows as read."""
        return self.array.cols if self.transposed else self.array.rows

    @property
    def cols(self) -> Size:
        """Number of columns as read."""
        return self.array.rows if self.transposed else self.array.cols

    @property
    def T(self) -> Operand:
        """The transpose."""
        return Operand(self.array, not self.transposed)


@dataclass(frozen=True)
class Term:
    """``coefficient · operand`` in a linear combination; coefficients are rational in the scalars."""

    coefficient: Expr
    operand: Operand


#: What is known of the factors of a product; the numbers are those of ``symflow_products.h``.
A_LOWER, A_UPPER, B_LOWER = 1, 2, 4


@dataclass(frozen=True)
class Gemm:
    """``out = alpha · a · b + c`` (``c`` may be absent).

    ``shape`` is a sum of ``A_LOWER``, ``A_UPPER`` and ``B_LOWER``: factors as read that are triangular.
    """

    out: Array
    a: Operand
    b: Operand
    alpha: Expr = ONE
    c: Array | None = None
    shape: int = 0

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.a.array, self.b.array, *(() if self.c is None else (self.c,)))


@dataclass(frozen=True)
class Combine:
    """``out = Σ terms + diagonal · I``; zeros when there is nothing to add."""

    out: Array
    terms: tuple[Term, ...] = ()
    diagonal: Expr = ZERO

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return tuple(term.operand.array for term in self.terms)


@dataclass(frozen=True)
class SymmetrisedSum:
    """``out = a + aᵀ``, symmetric to the last bit."""

    out: Array
    a: Array

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.a,)


@dataclass(frozen=True)
class Turned:
    """``out = a + w`` with the skew w that makes it lower triangular: below the diagonal ``a + aᵀ``."""

    out: Array
    a: Operand

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.a.array,)


@dataclass(frozen=True)
class Factorise:
    """``out`` = LU factors (with pivots) of ``a``; ends the run where ``a`` is singular."""

    out: Array
    a: Array

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.a,)


@dataclass(frozen=True)
class Solve:
    """``out = a⁻¹ b``, or ``a⁻ᵀ b``, from the factors of ``a``."""

    out: Array
    factors: Array
    transposed: bool
    b: Operand

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.factors, self.b.array)


@dataclass(frozen=True)
class RequirePositive:
    """``out`` = Cholesky factor of ``a``; ends the run where there is none: there the normaliser diverges."""

    out: Array
    a: Array

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.a,)


@dataclass(frozen=True)
class Root:
    """``out`` = the principal square root of ``a``; ends the run where none is found."""

    out: Array
    a: Array

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.a,)


@dataclass(frozen=True)
class Sylvester:
    """``out`` = the X with ``rX + Xr = e``, ``r`` the principal square root of something."""

    out: Array
    root: Array
    e: Array

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.root, self.e)


@dataclass(frozen=True)
class TraceOf:
    """``out`` (1 × 1) = tr(ab), or tr(a) where there is no ``b``."""

    out: Array
    a: Operand
    b: Operand | None = None

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.a.array, *(() if self.b is None else (self.b.array,)))


@dataclass(frozen=True)
class Scaled:
    """``out = factor · a`` with a 1 × 1 array as factor."""

    out: Array
    factor: Array
    a: Operand

    def reads(self) -> tuple[Array, ...]:
        """Arrays that are read."""
        return (self.factor, self.a.array)


@dataclass(frozen=True)
class Slice:
    """Inside a loop, ``part`` is one of the matrices of ``whole``."""

    part: Array
    whole: Array


@dataclass(frozen=True)
class Loop:
    """``body`` for every index below ``count``.

    An operation of the body that reads what it writes adds to it: an array that exists before the loop.

    Attributes
    ----------
    count : Size
        How often.
    slices : tuple of Slice
        What has another value each time; the body may also write to slices of outputs.
    body : tuple of Op
        The operations.
    scalars : tuple of (str, Array)
        Names in coefficients that stand for an entry of a vector parameter.
    """

    count: Size
    slices: tuple[Slice, ...]
    body: tuple[Op, ...]
    scalars: tuple[tuple[str, Array], ...] = ()


Simple = (
    Gemm
    | Combine
    | SymmetrisedSum
    | Turned
    | Factorise
    | Solve
    | RequirePositive
    | Root
    | Sylvester
    | TraceOf
    | Scaled
)
Op = Simple | Loop


def flattened(ops: Iterable[Op]) -> Iterator[Simple]:
    """Yield the operations in order, those of a loop once."""
    for op in ops:
        if isinstance(op, Loop):
            yield from flattened(op.body)
        else:
            yield op


def renamed(op: Op, table: Mapping[Array, Array]) -> Op:
    """Return the operation with arrays replaced."""
    if isinstance(op, Loop):
        return replace(op, body=tuple(renamed(inner, table) for inner in op.body))
    return replace(op, **{f.name: _renamed(getattr(op, f.name), table) for f in fields(op)})


def _renamed(value: Any, table: Mapping[Array, Array]) -> Any:
    if isinstance(value, Array):
        return table.get(value, value)
    if isinstance(value, (Operand, Term)):
        return replace(value, **{f.name: _renamed(getattr(value, f.name), table) for f in fields(value)})
    return tuple(_renamed(item, table) for item in value) if isinstance(value, tuple) else value


def loops(ops: Iterable[Op]) -> Iterator[Loop]:
    """Yield the loops, outer ones first."""
    for op in ops:
        if isinstance(op, Loop):
            yield op
            yield from loops(op.body)


@dataclass(frozen=True)
class Program:
    """One generated function.

    Attributes
    ----------
    name : str
        ``"moments"``, ``"factor"`` or ``"tangent"``.
    model : str
        The flow it came from, e.g. ``"softmax-A"``.
    inputs, outputs : tuple of Array
        In the order of the flattened state vector and of its derivative.
    parameters : tuple of Array
        In call order; those named in ``scalars`` are 1 × 1.
    scalars : tuple of str
        Names of the scalar parameters.
    dimensions : tuple of str
        Symbolic sizes in call order.
    ops : tuple of Op
        In order of execution; every array is written once, except what a loop adds to.
    identity : str or None
        The parameter that has to be the identity for the function to hold.
    """

    name: str
    model: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    parameters: tuple[Array, ...]
    scalars: tuple[str, ...]
    dimensions: tuple[str, ...]
    ops: tuple[Op, ...] = field(default=())
    identity: str | None = None

    @property
    def is_guarded(self) -> bool:
        """Whether states are refused where the normaliser diverges."""
        return any(isinstance(op, RequirePositive) for op in flattened(self.ops))

    @property
    def matrices(self) -> tuple[Array, ...]:
        """The parameters that are matrices."""
        return tuple(p for p in self.parameters if p.name not in self.scalars)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Inputs, parameters, outputs, slices and the results of the operations, each once."""
        slices = (item.part for loop in loops(self.ops) for item in loop.slices)
        results = (op.out for op in flattened(self.ops))
        return tuple(dict.fromkeys((*self.inputs, *self.parameters, *self.outputs, *slices, *results)))
