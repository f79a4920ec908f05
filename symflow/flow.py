"""The records that mathematics and numerics share.

A :class:`Flow` is a system of matrix differential equations of symbolic size,

    dX_i/dt = drift_i(t, X, parameters),

together with the structure that an integrator must keep. A :class:`TokenFlow` is a system of n interacting
tokens, stated by what one pair of them contributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, MatrixExpr, MatrixSymbol, S, Symbol

MatrixLike = Any  #: a SymPy matrix expression (SymPy ships no complete types)


@dataclass(frozen=True)
class CovarianceStructure:
    """What keeps a covariance a covariance: ``Σ' = LΣ + ΣLᵀ + 2εI`` and where the drift is defined.

    Attributes
    ----------
    state : MatrixSymbol
        The covariance Σ among the states of the flow.
    velocity_gradient : MatrixExpr
        L in terms of the states: without noise a factor ``Σ = FFᵀ`` flows by ``F' = LF``.
    tilt : MatrixExpr or None
        The symmetric C of the score; the drift is defined where ``I − Σ^{1/2}CΣ^{1/2} ≻ 0``.
        None where the sign of C proves that this holds for every Σ ⪰ 0.
    diffusion : Expr
        ε of an idiosyncratic noise √(2ε)dW; zero when there is none.
    """

    state: MatrixSymbol
    velocity_gradient: MatrixExpr
    tilt: MatrixExpr | None = None
    diffusion: Expr = S.Zero


@dataclass(frozen=True)
class Chain:
    r"""Copies of one system at ordered positions, each driven by those before it and by itself.

    Attributes
    ----------
    count : Symbol
        How many positions there are; the states and drifts of the flow are those at one position.
    running : tuple of (MatrixSymbol, MatrixExpr)
        A matrix M of the drift, and what position τ adds to it (in its states and its weight):
        at position s, M is the sum over τ ≤ s.
    weight : Symbol
        The weight θ_τ of one position in ``running``.
    weights : MatrixSymbol
        The parameter that holds all weights.
    """

    count: Symbol
    running: tuple[tuple[MatrixSymbol, MatrixExpr], ...]
    weight: Symbol
    weights: MatrixSymbol


@dataclass(frozen=True)
class Flow:
    """A matrix ODE of symbolic size.

    Attributes
    ----------
    name : str
        Identifier, e.g. ``"softmax-A"``.
    states : tuple of MatrixSymbol
        In the order of the flattened state vector (row-major each).
    drift : tuple of MatrixExpr
        One right-hand side per state.
    parameters : tuple of MatrixSymbol or Symbol
        Matrix and scalar parameters in call order.
    dimensions : tuple of Symbol
        The symbolic sizes, in call order (``d`` first).
    covariance : CovarianceStructure or None
        Present when one of the states is a covariance.
    stacked : mapping of str to Symbol
        Parameters that are arrays with a leading axis, whose symbol stands for one slice, and the size of
        that axis; they occur inside a :class:`~symflow.algebra.families.FamilySum` only.
    chain : Chain or None
        Present when the states are arrays with a leading axis of positions.
    """

    name: str
    states: tuple[MatrixSymbol, ...]
    drift: tuple[MatrixExpr, ...]
    parameters: tuple[MatrixSymbol | Symbol, ...]
    dimensions: tuple[Symbol, ...]
    covariance: CovarianceStructure | None = None
    stacked: Mapping[str, Symbol] = field(default_factory=dict)
    chain: Chain | None = None


@dataclass(frozen=True)
class Pairing:
    r"""A number that a query x and a key y make: ``left·right``, or ``|left − right|²``.

    Attributes
    ----------
    symbol : Symbol
        What stands for it in the score.
    left, right : MatrixExpr
        Column vectors of one size, of x alone and of y alone.
    difference : bool
        Whether it is the squared distance, which is not to be expanded: that would cancel.
    """

    symbol: Symbol
    left: MatrixLike
    right: MatrixLike
    difference: bool = False


@dataclass(frozen=True)
class PairTerm:
    r"""One integral against the empirical law of the tokens.

    .. math:: \text{prefactor}\cdot\Big(M\,\frac{\sum_j \theta_j w_{ij}\,f(x_j)}{N_i} +
              c\,\frac{\sum_j \theta_j w_{ij}}{N_i}\Big)

    with :math:`w_{ij}` the weight of the score :math:`s(x_i, x_j)`; the normaliser is
    :math:`N_i = \sum_j\theta_j w_{ij}` for ``"softmax"`` and one for ``"none"``, and for ``"sinkhorn"``
    :math:`w_{ij} = e^{f_i + s_{ij} + g_j}` with both marginals one.

    Attributes
    ----------
    pairings : tuple of Pairing
        What couples x and y.
    rows, columns : tuple of (Symbol, Expr)
        Numbers of x alone, and of y alone.
    score : Expr
        s in the symbols of pairings, rows and columns, and in scalar parameters.
    weight : Expr
        w in the symbol :data:`SCORE`: ``exp(s)``, ``s``, ``1/(1 + exp(-s))``, ….
    normalise : str
        ``"softmax"``, ``"sinkhorn"`` or ``"none"``.
    feature : MatrixExpr
        f(y), a column vector: y itself wherever the value is affine in y.
    matrix, offset : MatrixExpr
        M and c: the value is v(y) = M f(y) + c, and M works on the average, once per token.
    prefactor : Expr
        A scalar free of x and y.
    symmetric_if : tuple of (MatrixExpr, MatrixExpr), or None
        s(x, y) = s(y, x) where both of every pair are equal: always if there is none. None: not known.
    family : Family or None
        Where the term is summed over heads (see :mod:`symflow.models.statement`).
    """

    pairings: tuple[Pairing, ...]
    rows: tuple[tuple[Symbol, Expr], ...]
    columns: tuple[tuple[Symbol, Expr], ...]
    score: Expr
    weight: Expr
    normalise: str
    feature: MatrixLike
    matrix: MatrixLike
    offset: MatrixLike
    prefactor: Expr = S.One
    symmetric_if: tuple[tuple[MatrixLike, MatrixLike], ...] | None = None
    family: Any = None


#: The score, in the weight of a pair.
SCORE = Symbol("s", real=True)


@dataclass(frozen=True)
class TokenFlow:
    r"""n interacting tokens on ℝᵈ or on the unit sphere.

    .. math:: \dot x_i = P_{x_i}\Big(b(x_i) + \sum_{\text{terms}} \ldots\Big), \qquad
              P_x = I - xx^\top \text{ on the sphere, } I \text{ on } \mathbb{R}^d

    The weights θ_j are 1/n; under a causal mask they are a parameter and j runs up to i.

    Attributes
    ----------
    name : str
        Identifier, e.g. ``"softmax-A-tokens"``.
    x, y : MatrixSymbol
        Query and key token (d × 1).
    terms : tuple of PairTerm
    background : MatrixExpr
        b(x), affine in x.
    space : str
        ``"euclidean"`` or ``"sphere"``.
    parameters : tuple of MatrixSymbol or Symbol
        In call order.
    dimensions : tuple of Symbol
        Sizes, ``d`` first, the number n of tokens last.
    count : Symbol
        n.
    weights : MatrixSymbol or None
        θ among the parameters: a causal mask.
    stacked : mapping of str to Symbol
        As in :class:`Flow`.
    """

    name: str
    x: MatrixSymbol
    y: MatrixSymbol
    terms: tuple[PairTerm, ...]
    background: MatrixLike
    space: str
    parameters: tuple[MatrixSymbol | Symbol, ...]
    dimensions: tuple[Symbol, ...]
    count: Symbol
    weights: MatrixSymbol | None = None
    stacked: Mapping[str, Symbol] = field(default_factory=dict)
