"""Unnormalised exponential attention."""

from __future__ import annotations

from symflow.models.attention.model import AttentionModel


class Unnormalised(AttentionModel):
    r"""Unnormalised exponential attention.

    .. math:: \Gamma_\mu(x) = \int (Vy + b_v)\,e^{\langle Qx + b_q,\, Ky + b_k\rangle}\,d\mu(y) + b_o

    References
    ----------
    CACP25.
    """

    name = "unnormalised"
    title = "Unnormalised exponential attention"
    score = "dot(Q*x + bq, K*y + bk)"
    value = "V*y + bv"
    output = "bo"
    normalise = "none"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d")}
    biases = {"bq": ("k",), "bk": ("k",), "bv": ("d",), "bo": ("d",)}
    reference = "CACP25"
