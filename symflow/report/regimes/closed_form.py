r"""Predictions from exact closed forms, and in floats where matrices are too large to be rational."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symflow.integrate.gaussian import Gaussian
from symflow.longtime.entry import long_time
from symflow.models.attention.model import AttentionModel
from symflow.report.regimes.regime import Array, Prediction


def exact_prediction(
    model: AttentionModel, params: Mapping[str, Array], cov: Array, end: float | None
) -> Prediction:
    """Return what :func:`symflow.long_time` proves about one start.

    Parameters
    ----------
    model : AttentionModel
    params : mapping of str to ndarray
    cov : ndarray, (d, d)
        Σ₀ ⪰ 0; the mean is zero.
    end : float or None
        Where Σ is wanted.
    """
    found = long_time(model, Gaussian(np.zeros(len(cov)), cov), params)
    if found.blow_up_time is not None:
        return Prediction(t_star=float(found.blow_up_time))
    at_end = None if end is None or found.closed_form is None else found.closed_form(end)[1]
    limit = None if found.limit is None else np.array(found.limit, dtype=float)
    return Prediction(limit=limit, at_end=at_end)


def square_root(cov: Array) -> Array:
    """Return the symmetric positive semidefinite root."""
    weights, axes = np.linalg.eigh(cov)
    return np.asarray(axes * np.sqrt(np.maximum(weights, 0.0)) @ axes.T)


def commuting_prediction(S: Array, cov: Array, end: float | None) -> Prediction:
    r"""Return in floats what the closed form of softmax says for V = I, or V commuting with Σ₀ and S.

    .. math:: \Sigma(t) = \Sigma_0^{1/2}(I - t\Sigma_0^{1/2}S\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2}, \qquad
              t^* = 1/\lambda_{\max}(\Sigma_0^{1/2}S\Sigma_0^{1/2}) \text{ if positive}

    Parameters
    ----------
    S : ndarray, (d, d)
        :math:`VA + A^\top V^\top`.
    cov : ndarray, (d, d)
        Σ₀ ⪰ 0.
    end : float or None
        Where Σ is wanted.

    References
    ----------
    CACP25.
    """
    root = square_root(cov)
    rates, axes = np.linalg.eigh(root @ S @ root)
    noise = 64 * np.finfo(float).eps * len(S) * np.abs(rates).max(initial=0.0)
    if rates[-1] > noise:
        return Prediction(t_star=float(1.0 / rates[-1]))
    rates = np.where(np.abs(rates) <= noise, 0.0, rates)
    turned = root @ axes
    limit = turned * (rates == 0.0) @ turned.T
    return Prediction(limit=limit, at_end=None if end is None else turned / (1.0 - end * rates) @ turned.T)
