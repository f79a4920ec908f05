"""Softmax attention."""

from __future__ import annotations

from symflow.models.attention.model import AttentionModel


class Softmax(AttentionModel):
    r"""Softmax attention.

    .. math:: \Gamma_\mu(x) = \frac{\int (Vy + b_v)\,e^{\langle Qx + b_q,\, Ky + b_k\rangle}\,d\mu(y)}
                                   {\int e^{\langle Qx + b_q,\, Ky + b_k\rangle}\,d\mu(y)} + b_o

    References
    ----------
    CACP25.
    """

    name = "softmax"
    title = "Softmax attention"
    score = "dot(Q*x + bq, K*y + bk)"
    value = "V*y + bv"
    output = "bo"
    normalise = "softmax"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d")}
    biases = {"bq": ("k",), "bk": ("k",), "bv": ("d",), "bo": ("d",)}
    reference = "CACP25"
