"""What a token kernel computes, in the order in which it does: per token, per pair, per average.

All tokens are one matrix x of shape (d, pitch), a column each, so that what is computed of every token is a
product of matrices, and an identity costs nothing: the array is used again.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Symbol

from symflow.codegen.program import Array, Program


@dataclass(frozen=True)
class Inner:
    """A number of each token: the inner product of its columns in two arrays.

    Without ``b`` it is the entry of a row, or where ``a`` is 1 × 1 the same number for every token.
    """

    symbol: Symbol
    a: Array
    b: Array | None = None


@dataclass(frozen=True)
class Number:
    """A number of each token: an expression in inner products, scalar parameters and sizes."""

    symbol: Symbol
    value: Expr
    inner: tuple[Inner, ...]

    @property
    def is_constant(self) -> bool:
        """Whether it is the same for every token."""
        return all(inner.a.cols == 1 for inner in self.inner)


@dataclass(frozen=True)
class Coupling:
    """The scalar product of two columns, or their squared distance."""

    symbol: Symbol
    left: Array
    right: Array
    difference: bool


@dataclass(frozen=True)
class TermProgram:
    """One sum over pairs.

    Attributes
    ----------
    prepare : Program
        Of each token: reads x and a row of ones, writes the arrays that the pairs need.
    couplings : tuple of Coupling
        What the score takes of a pair,
    rows, columns : tuple of Number
        of its first and of its second token,
    constants : tuple of (Symbol, Expr)
        and of the parameters alone.
    score : Expr
        In the symbols of these four.
    weight : Expr
        In :data:`symflow.flow.SCORE`.
    exponential : bool
        Whether the weight is the exponential of the score.
    normalise : str
        ``"softmax"``, ``"sinkhorn"`` or ``"none"``.
    feature : Array
        What is averaged.
    symmetry : Program or None
        Of the parameters alone: writes matrices, None where nothing is known of symmetry.
    symmetric_if : tuple of (Array, Array)
        The score is symmetric where all of them are equal in pairs.
    finish : Program
        Of each token: reads the average and the mass, writes the velocity.
    velocity : Array
        Its result: the average itself where nothing is to be done.
    members : tuple of str
        Parameters of which the term takes one matrix per head.
    count : str or None
        Size of their leading axis.
    """

    prepare: Program
    couplings: tuple[Coupling, ...]
    rows: tuple[Number, ...]
    columns: tuple[Number, ...]
    constants: tuple[tuple[Symbol, Expr], ...]
    score: Expr
    weight: Expr
    exponential: bool
    normalise: str
    feature: Array
    symmetry: Program | None
    symmetric_if: tuple[tuple[Array, Array], ...]
    finish: Program
    velocity: Array
    members: tuple[str, ...]
    count: str | None


@dataclass(frozen=True)
class TokenProgram:
    """The velocity of n tokens.

    Attributes
    ----------
    model : str
        The flow it came from.
    parameters : tuple of Array
        In call order; those named in ``scalars`` are 1 × 1.
    scalars : tuple of str
        Names of the scalar parameters.
    dimensions : tuple of str
        Sizes in call order, the number of tokens last.
    pitch : str
        Name of the number of columns of every array of tokens.
    x, ones : Array
        The tokens, and a row of ones.
    terms : tuple of TermProgram
        The sums over pairs.
    background : Program or None
        What is added, read off x and the ones; None: nothing.
    sphere : bool
        Whether the velocity is projected on the tangent space.
    weights : str or None
        The parameter that holds the weights of the tokens under a causal mask.
    """

    model: str
    parameters: tuple[Array, ...]
    scalars: tuple[str, ...]
    dimensions: tuple[str, ...]
    pitch: str
    x: Array
    ones: Array
    terms: tuple[TermProgram, ...]
    background: Program | None
    sphere: bool
    weights: str | None

    @property
    def name(self) -> str:
        """Name of the generated function."""
        return "tokens"
