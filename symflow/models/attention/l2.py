"""ℓ2 (distance) attention."""

from __future__ import annotations

from symflow.models.attention.model import AttentionModel


class L2(AttentionModel):
    r"""ℓ2 attention: the score is minus the squared distance of query and key.

    .. math:: \Gamma_\mu(x) = \frac{\int (Vy + b_v)\,e^{-|Qx + b_q - Ky - b_k|^2}\,d\mu(y)}
                                   {\int e^{-|Qx + b_q - Ky - b_k|^2}\,d\mu(y)} + b_o

    References
    ----------
    CACP25.
    """

    name = "l2"
    title = "L2 attention"
    score = "-norm2(Q*x + bq - K*y - bk)"
    value = "V*y + bv"
    output = "bo"
    normalise = "softmax"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d")}
    biases = {"bq": ("k",), "bk": ("k",), "bv": ("d",), "bo": ("d",)}
    reference = "CACP25"
