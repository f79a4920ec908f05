"""Energies of the score ⟨Qx, Ky⟩."""

from __future__ import annotations

from abc import ABC
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.codegen.arrays import listed
from symflow.energies.energy import Energy
from symflow.energies.sums import largest_square
from symflow.errors import InputError


class ScoredEnergy(Energy, ABC):
    """An energy with a query and a key matrix, of one shape (k, d)."""

    def __init__(self, Q: Any, K: Any) -> None:
        self._given = {"Q": listed(Q, "Q"), "K": listed(K, "K")}
        self.Q, self.K = (real_array(self._given[name], name) for name in ("Q", "K"))
        if self.Q.ndim != 2 or self.Q.shape != self.K.shape:
            raise InputError(
                f"Q of shape {self.Q.shape} and K of shape {self.K.shape} must be matrices of one shape"
            )

    def score_bound(self, x: Array) -> float:
        """Return the norm of KᵀQ times the largest squared length of a token."""
        return float(np.linalg.norm(self.K.T @ self.Q, 2)) * largest_square(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(Q={self.Q.tolist()}, K={self.K.tolist()})"
