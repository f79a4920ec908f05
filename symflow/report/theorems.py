r"""Which long-time theorem speaks about given matrices, decided with stated margins.

A hypothesis is an equation or an inequality between norms and eigenvalues; it counts as true when it holds
up to :data:`MARGIN` relative to the size of the matrices in it; the measured value stands beside the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.report.regimes import commuting_prediction

Array = NDArray[np.float64]

#: Relative size (Frobenius norms) below which a difference counts as zero, an eigenvalue as not positive.
MARGIN = 1e-10


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis: its statement (LaTeX text), the relative quantity measured, and whether it holds."""

    statement: str
    quantity: str
    value: float
    holds: bool


@dataclass(frozen=True)
class Theorem:
    """A theorem, whether its hypotheses hold for the matrices at hand, and what it then says about them.

    ``hypotheses`` is a disjunction of conjunctions: the theorem applies if every hypothesis of one group
    holds.
    """

    title: str
    statement: str
    reference: str
    hypotheses: tuple[tuple[Hypothesis, ...], ...]
    conclusion: str
    t_star: float | None = None

    @property
    def applies(self) -> bool:
        """Whether one group of hypotheses holds entirely."""
        return any(all(h.holds for h in group) for group in self.hypotheses)


def theorems(name: str, params: Mapping[str, Array], scale: float, cov: Array) -> tuple[Theorem, ...]:
    """Return every long-time theorem about the model ``name`` with its hypotheses decided.

    Parameters
    ----------
    name : str
        Name of the model; one without a long-time theorem gets none.
    params : mapping of str to ndarray
        As given to the model.
    scale : float
        ``beta/temperature``; the theorems speak about the matrices with the scale in them.
    cov : ndarray, (d, d)
        Σ₀.
    """
    if name == "softmax":
        A = scale * (params["A"] if "A" in params else params["K"].T @ params["Q"])
        return _commuting(params["V"], A, cov), _bounded(params["V"], A)
    if name == "l2":
        Q, K = (math.sqrt(scale) * params[name] for name in ("Q", "K"))
        return _injective(K), _same_limit(params["V"], Q, K, cov)
    return ()


def _commuting(V: Array, A: Array, cov: Array) -> Theorem:
    S = V @ A + (V @ A).T
    size = _size(V)
    groups = (
        (_vanishes("$V = I$", r"$\|V - I\|/\|V\|$", np.linalg.norm(V - np.eye(len(V))) / size),),
        (
            _vanishes(
                r"$V\Sigma_0 = \Sigma_0V$",
                r"$\|V\Sigma_0-\Sigma_0V\|/\|V\|\|\Sigma_0\|$",
                _commutator(V, cov),
            ),
            _vanishes("$VS = SV$", r"$\|VS-SV\|/\|V\|\|S\|$", _commutator(V, S)),
        ),
    )
    said, t_star = "", None
    if any(all(h.holds for h in group) for group in groups):
        prediction = commuting_prediction(S, cov, None)
        t_star = prediction.t_star
        if prediction.limit is not None:
            said = rf"No blow-up; $\Sigma(t)$ tends to a limit of rank {_rank(prediction.limit)}."
        else:
            said = rf"Blow-up at $t^* = {t_star:.9g}$."
    return Theorem(
        "closed form for commuting V",
        r"If $V = I$, or $V$ commutes with $\Sigma_0$ and with $S = VA + A^{\top}V^{\top}$, then "
        r"$\Sigma(t) = \Sigma_0^{1/2}(I - t\,\Sigma_0^{1/2}S\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2}$, with "
        r"blow-up at $t^* = 1/\lambda_{\max}(\Sigma_0^{1/2}S\Sigma_0^{1/2})$ exactly if that eigenvalue is "
        r"positive.",
        "CACP25",
        groups,
        said,
        t_star,
    )


def _bounded(V: Array, A: Array) -> Theorem:
    size = _size(V)
    lowest = float(np.linalg.eigvalsh((V + V.T) / 2)[0]) / size
    form = A + A.T
    highest = float(np.linalg.eigvalsh(form)[-1]) / _size(A)
    group = (
        _vanishes(r"$V = V^{\top}$", r"$\|V - V^{\top}\|/\|V\|$", np.linalg.norm(V - V.T) / size),
        Hypothesis(r"$V \succ 0$", r"$\lambda_{\min}(\tfrac12(V+V^{\top}))/\|V\|$", lowest, lowest > MARGIN),
        Hypothesis(
            r"$A + A^{\top} \preceq 0$", r"$\lambda_{\max}(A+A^{\top})/\|A\|$", highest, highest <= MARGIN
        ),
    )
    return Theorem(
        "bounded covariance for positive V",
        r"If $V = V^{\top} \succ 0$ and $A + A^{\top} \preceq 0$, then $\Sigma$ stays bounded for all $t "
        r"\ge 0$, since "
        r"$\tfrac{d}{dt}\operatorname{tr}(V^{-1}\Sigma) = \operatorname{tr}(\Sigma(A+A^{\top})\Sigma) "
        r"\le 0$.",
        "directly from the closed equation",
        (group,),
        "No blow-up." if all(h.holds for h in group) else "",
    )


def _injective(K: Array) -> Theorem:
    values = np.linalg.svd(K, compute_uv=False)
    share = float(values[-1] / values[0]) if len(K) >= K.shape[1] and values[0] > 0 else 0.0
    holds = share > MARGIN
    return Theorem(
        "no blow-up for injective K",
        r"If $K$ is injective, then $|2\Sigma K^{\top}(I + 2K\Sigma K^{\top})^{-1}| \le |K^{+}|$, so that "
        r"$\Sigma$ grows at most exponentially: no blow-up in finite time.",
        "CACP25",
        ((Hypothesis("$K$ is injective", r"$\sigma_{\min}(K)/\sigma_{\max}(K)$", share, holds),),),
        "No blow-up in finite time." if holds else "",
    )


def _same_limit(V: Array, Q: Array, K: Array, cov: Array) -> Theorem:
    group = (
        _vanishes("$V = I$", r"$\|V - I\|/\|V\|$", np.linalg.norm(V - np.eye(len(V))) / _size(V)),
        _vanishes("$K = -Q$", r"$\|K + Q\|/\|Q\|$", np.linalg.norm(K + Q) / _size(Q)),
        Hypothesis(
            r"$\Sigma_0 \succ 0$",
            r"$\lambda_{\min}(\Sigma_0)/\lambda_{\max}(\Sigma_0)$",
            _condition(cov),
            _condition(cov) > MARGIN,
        ),
    )
    return Theorem(
        "the limit of softmax",
        r"If $V = I$, $K = -Q$ and $\Sigma_0 \succ 0$, then "
        r"$\Sigma(t) \to N(N^{\top}\Sigma_0^{-1}N)^{-1}N^{\top}$, the columns of $N$ a basis of $\ker(Q)$.",
        "CACP25",
        (group,),
        rf"No blow-up; $\Sigma(t)$ tends to a limit of rank {len(cov) - _rank(Q)}."
        if all(h.holds for h in group)
        else "",
    )


def _vanishes(statement: str, quantity: str, value: Any) -> Hypothesis:
    return Hypothesis(statement, quantity, float(value), bool(value <= MARGIN))


def _commutator(a: Array, b: Array) -> float:
    return float(np.linalg.norm(a @ b - b @ a)) / (_size(a) * _size(b))


def _rank(matrix: Array) -> int:
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > MARGIN * values[0]).sum())


def _size(matrix: Array) -> float:
    return float(np.linalg.norm(matrix)) or 1.0


def _condition(cov: Array) -> float:
    values = np.linalg.eigvalsh(cov)
    return float(values[0] / values[-1]) if values[-1] > 0 else 0.0
