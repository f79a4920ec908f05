"""Logistic function."""

from __future__ import annotations

from symflow.models.noise.activation import Activation


class Sigmoid(Activation):
    r"""Logistic function.

    .. math:: \phi(z) = \frac{1}{1 + e^{-z}}

    References
    ----------
    ABGSR26.
    """

    name = "sigmoid"
    title = "Logistic function"
    phi = "sigmoid(z)"
    reference = "ABGSR26"
