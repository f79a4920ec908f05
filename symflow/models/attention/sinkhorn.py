"""Sinkhorn attention."""

from __future__ import annotations

from symflow.models.attention.model import AttentionModel


class Sinkhorn(AttentionModel):
    r"""Sinkhorn attention with ε = ``temperature``; :math:`k_\infty` is the doubly stochastic scaling of
    :math:`e^{\langle Qx + b_q, Ky + b_k\rangle/\varepsilon}` with respect to μ.

    .. math:: \Gamma_\mu(x) = \frac1\varepsilon \int (Vy + b_v)\,k_\infty(x,y)\,d\mu(y) + b_o

    References
    ----------
    CACP25.
    """

    name = "sinkhorn"
    title = "Sinkhorn attention"
    score = "dot(Q*x + bq, K*y + bk)"
    value = "V*y + bv"
    output = "bo"
    prefactor = "1/temperature"
    normalise = "sinkhorn"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d")}
    biases = {"bq": ("k",), "bk": ("k",), "bv": ("d",), "bo": ("d",)}
    reference = "CACP25"
