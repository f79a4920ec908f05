"""The ensemble that every tool integrates: softmax, V = I, A = −I + perturbation, T = 10, rtol = 1e-9."""

from __future__ import annotations

from typing import Any

import numpy as np

END, RTOL, ATOL, MEMBERS = 10.0, 1e-9, 1e-12, 1000


def matrix(d: int) -> Any:
    """Return A."""
    return -np.eye(d) + 0.2 * np.random.default_rng(0).normal(size=(d, d)) / np.sqrt(d)


def starts(d: int) -> tuple[Any, Any]:
    """Return means (B, d) and covariances (B, d, d)."""
    rng = np.random.default_rng(1)
    means, roots = rng.normal(size=(MEMBERS, d)), rng.normal(size=(MEMBERS, d, d)) / np.sqrt(d)
    return means, roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(d)


def error(d: int, covs: Any) -> float:
    """Return the largest relative error of covariances at the end; Σ(t)⁻¹ = Σ₀⁻¹ − t(A + Aᵀ)."""
    drift = matrix(d) + matrix(d).T
    exact = np.linalg.inv(np.linalg.inv(starts(d)[1][: len(covs)]) - END * drift)
    return float((np.abs(covs - exact).max((1, 2)) / np.abs(exact).max((1, 2))).max())
