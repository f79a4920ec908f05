"""Flow: the one record that mathematics and numerics share.

A flow is a system of matrix differential equations of symbolic size,

    dX_i/dt = drift_i(t, X, parameters),

together with the structure that an integrator must keep.
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
