"""What the script on a trained network uses: exact signs, distances of laws, words of a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Binary digits of the vectors that are exhibited.
_DIGITS = 30


def integers(matrix: Any) -> Any:
    """Return a positive multiple of an array of floats, exactly, as Python integers."""
    _, exponents = np.frexp(matrix)
    shift = 53 - int(exponents[matrix != 0].min(initial=0))
    return np.vectorize(int, otypes=[object])(np.ldexp(matrix, shift))


def rounded(vector: Any) -> Any:
    """Return integers close to a multiple of a vector."""
    scaled = np.ldexp(vector / np.abs(vector).max(), _DIGITS)
    return np.vectorize(int, otypes=[object])(np.rint(scaled))


@dataclass(frozen=True)
class ExactHead:
    r"""Q, K, V, W of one head as integers, each multiplied by a positive number; signs are those of the head.

    With :math:`A = K^\top Q`, :math:`U = WV` (what multiplies y) and :math:`S = UA + A^\top U^\top`.
    """

    Q: Any
    K: Any
    V: Any
    W: Any

    def A(self, u: Any) -> int:
        """Return a positive multiple of ``uᵀ(A + Aᵀ)u``."""
        return int((self.K @ u) @ (self.Q @ u))

    def U(self, u: Any) -> int:
        """Return a positive multiple of ``uᵀ(U + Uᵀ)u``."""
        return int((self.W.T @ u) @ (self.V @ u))

    def S(self, u: Any) -> int:
        """Return a positive multiple of ``uᵀSu``."""
        return int((self.W.T @ u) @ (self.V @ (self.K.T @ (self.Q @ u))))

    def commutes(self, u: Any, w: Any) -> bool:
        """Tell whether ``uᵀ(US − SU)w = 0``."""
        return bool(u @ self._times_U(self._times_S(w)) == u @ self._times_S(self._times_U(w)))

    def symmetric(self, u: Any, w: Any) -> tuple[bool, bool]:
        """Tell whether ``uᵀMw = wᵀMu`` for M = A and for M = U."""
        A = (self.K @ u) @ (self.Q @ w) == (self.K @ w) @ (self.Q @ u)
        U = (self.W.T @ u) @ (self.V @ w) == (self.W.T @ w) @ (self.V @ u)
        return bool(A), bool(U)

    def _times_U(self, u: Any) -> Any:
        return self.W @ (self.V @ u)

    def _times_S(self, u: Any) -> Any:
        return self._times_U(self.K.T @ (self.Q @ u)) + self.Q.T @ (self.K @ (self.V.T @ (self.W.T @ u)))


def extremes(left: Any, right: Any) -> tuple[Any, Any]:
    """Return the extreme eigenvalues of ``XYᵀ + YXᵀ`` and their vectors, for X and Y of (d, k)."""
    basis, _ = np.linalg.qr(np.hstack([left, right]))
    half = (basis.T @ left) @ (right.T @ basis)
    values, vectors = np.linalg.eigh(half + half.T)
    return values[[0, -1]], basis @ vectors[:, [0, -1]]


def indefinite(form: Callable[[Any], int], vectors: Any) -> bool:
    """Tell whether two exhibited vectors, rounded to integers, prove a form indefinite."""
    return form(rounded(vectors[:, 0])) < 0 < form(rounded(vectors[:, 1]))


def word_pieces(text: str, vocabulary: Path, most: int) -> list[int]:
    """Return ids between ``[CLS]`` and ``[SEP]`` of a text cut greedily into the longest known pieces."""
    lines = vocabulary.read_text(encoding="utf-8").splitlines()
    known = {piece: index for index, piece in enumerate(lines)}
    words = re.findall(r"[a-z0-9]+|[^\sa-z0-9]", text.lower())
    pieces = [known[piece] for word in words for piece in _pieces(word, known)]
    return [known["[CLS]"], *pieces[: most - 2], known["[SEP]"]]


def _pieces(word: str, known: dict[str, int]) -> list[str]:
    found: list[str] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        stop = next((s for s in range(len(word), start, -1) if mark + word[start:s] in known), None)
        if stop is None:
            return ["[UNK]"]
        found.append(mark + word[start:stop])
        start = stop
    return found


def errors(law: tuple[Any, Any], truth: tuple[Any, Any]) -> tuple[float, float, float]:
    r"""Return how far a law is from another one, relative to the spread of the latter.

    .. math:: \frac{|\alpha-\alpha'|}{\sqrt{\operatorname{tr}\Sigma'}}, \qquad
              \frac{\|\Sigma-\Sigma'\|_F}{\|\Sigma'\|_F}, \qquad
              \frac{W_2(\mathcal N(0,\Sigma),\mathcal N(0,\Sigma'))}{\sqrt{\operatorname{tr}\Sigma'}}
    """
    (mean, cov), (true_mean, true_cov) = law, truth
    spread = float(np.trace(true_cov))
    values, vectors = np.linalg.eigh(true_cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    fidelity = np.sqrt(np.maximum(np.linalg.eigvalsh(root.T @ cov @ root), 0.0)).sum()
    bures = np.trace(cov) + spread - 2 * fidelity
    return (
        float(np.linalg.norm(mean - true_mean) / np.sqrt(spread)),
        float(np.linalg.norm(cov - true_cov) / np.linalg.norm(true_cov)),
        float(np.sqrt(max(bures, 0.0) / spread)),
    )


def gaussian_tokens(law: Any, count: int, seed: int) -> Any:
    """Return tokens drawn from a Gaussian law, then corrected to have exactly its mean and covariance."""
    draw = np.random.default_rng(seed).normal(size=(count, law.rank))
    draw -= draw.mean(axis=0)
    values, vectors = np.linalg.eigh(draw.T @ draw / count)
    return law.mean + draw @ (vectors / np.sqrt(values)) @ vectors.T @ law.factor().T


def score_deviation(weights: Any, law: Any) -> Any:
    r"""Return per head the root of :math:`\mathbb E_x\operatorname{Var}_y s_h(x,y)` under a law.

    .. math:: \sigma_h^2 = \mathbb E\,g^\top\Sigma g, \qquad g = K_h^\top(Q_hx+b_{Q,h})/\sqrt k

    The weight :math:`e^{s}` of a token is log-normal under a Gaussian law: n tokens count as
    :math:`ne^{-\sigma^2}` equal ones.
    """
    scale = 1.0 / float(weights.temperature)
    found = []
    for Q, K, bias in zip(weights.Q, weights.K, weights.bq, strict=True):
        inner = K @ law.cov @ K.T
        query = Q @ law.mean + bias
        found.append(np.trace(inner @ Q @ law.cov @ Q.T) + query @ inner @ query)
    return scale * np.sqrt(found)
