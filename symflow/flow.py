"""Flow: the one record that mathematics and numerics share.

A flow is a system of matrix differential equations of symbolic size,

    dX_i/dt = drift_i(t, X, parameters),

together with the structure that an integrator must keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import MatrixExpr, MatrixSymbol, Symbol

MatrixLike = Any  #: a SymPy matrix expression (SymPy ships no complete types)


@dataclass(frozen=True)
class CovarianceStructure:
    """What keeps a covariance a covariance: ``Σ' = LΣ + ΣLᵀ`` and where the drift is defined.

    Attributes
    ----------
    state : MatrixSymbol
        The covariance Σ among the states of the flow.
    velocity_gradient : MatrixExpr
        L in terms of the states: a factor ``Σ = FFᵀ`` then flows by ``F' = LF``.
    tilt : MatrixExpr or None
        The symmetric C of the score; the drift is defined where ``I − Σ^{1/2}CΣ^{1/2} ≻ 0``.
        None where the sign of C proves that this holds for every Σ ⪰ 0.
    """

    state: MatrixSymbol
    velocity_gradient: MatrixExpr
    tilt: MatrixExpr | None = None


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
    """

    name: str
    states: tuple[MatrixSymbol, ...]
    drift: tuple[MatrixExpr, ...]
    parameters: tuple[MatrixSymbol | Symbol, ...]
    dimensions: tuple[Symbol, ...]
    covariance: CovarianceStructure | None = None
