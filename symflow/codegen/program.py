"""Program: straight-line matrix code of symbolic size, in single-assignment form.

A :class:`Program` is what :mod:`symflow.codegen.lower` makes of a flow and what the printers read. It knows
shapes and coefficients, but neither a language nor a memory layout beyond "row-major".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr, Integer

Size = str | int  #: a symbolic dimension by name, or a number (1 for vectors)

ONE = Integer(1)
ZERO = Integer(0)


@dataclass(frozen=True)
class Array:
    """A matrix with a name: an input, a parameter, or the result of one operation."""

    name: str
    rows: Size
    cols: Size


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


@dataclass(frozen=True)
class Gemm:
    """``out = alpha · a · b + c`` (``c`` may be absent)."""

    out: Array
    a: Operand
    b: Operand
    alpha: Expr = ONE
    c: Array | None = None

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


Op = Gemm | Combine | SymmetrisedSum | Factorise | Solve | RequirePositive


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
        In order of execution; every array is written once.
    """

    name: str
    model: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    parameters: tuple[Array, ...]
    scalars: tuple[str, ...]
    dimensions: tuple[str, ...]
    ops: tuple[Op, ...] = field(default=())

    @property
    def is_guarded(self) -> bool:
        """Whether states are refused where the normaliser diverges."""
        return any(isinstance(op, RequirePositive) for op in self.ops)

    @property
    def matrices(self) -> tuple[Array, ...]:
        """The parameters that are matrices."""
        return tuple(p for p in self.parameters if p.name not in self.scalars)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """Inputs, parameters, then the result of every operation, each once."""
        return (*self.inputs, *self.parameters, *(op.out for op in self.ops))
