r"""Energies of clouds of tokens, and their gradients, also where they exceed the range of doubles.

Every energy is a mean over ordered pairs, the pair of a token with itself included. It takes tokens of shape
(n, d), or any number of leading axes before these two, such as time; no array of n × n numbers is formed for
many tokens.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from symflow.checking import Array, real_array, real_number
from symflow.clustering.pairs import blocks, tokens
from symflow.errors import InputError

__all__ = ["Dissipation", "Energy", "Exponential", "Interaction", "energy_along"]

_SPACES = ("sphere", "euclidean")
#: Exponents up to here are safe to sum.
_SAFE = 600.0


class Energy(ABC):
    """An energy of tokens: a number for each cloud, its logarithm, and its gradient."""

    describe: str  #: one sentence, for readers

    @abstractmethod
    def to_latex(self) -> str:
        """Return the definition in LaTeX."""

    @abstractmethod
    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        """Return the sign of the energy of each cloud of (B, n, d), and the logarithm of its modulus."""

    @abstractmethod
    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        """Return s (B,) and G (B, n, d) with the Euclidean gradient ``exp(s) G``, and G of moderate size."""

    @abstractmethod
    def score_bound(self, x: Array) -> float:
        """Return a bound on the modulus of every exponent, from the lengths of the tokens."""

    def value(self, x: Any) -> Any:
        """Return the energy.

        Parameters
        ----------
        x : array_like, (..., n, d)
            Tokens.

        Returns
        -------
        float, or ndarray of the leading axes

        Raises
        ------
        InputError
            If ``x`` is no cloud of tokens, or if the energy exceeds the range of doubles.
        """
        clouds, lead = _clouds(x)
        sign, log = self._log_magnitude(clouds)
        if (log > _LOG_LARGEST).any():
            k = int(np.argmax(log))
            raise InputError(
                f"the energy is {'' if sign[k] > 0 else 'minus '}exp({log[k]:.6g}), "
                "beyond the range of doubles; use log_value"
            )
        return _shaped(sign * np.exp(log), lead)

    def log_value(self, x: Any) -> Any:
        """Return the logarithm of the energy, for every size of it; −∞ where the energy is zero.

        Parameters
        ----------
        x : array_like, (..., n, d)
            Tokens.

        Raises
        ------
        InputError
            If ``x`` is no cloud of tokens, or if the energy is negative.
        """
        clouds, lead = _clouds(x)
        sign, log = self._log_magnitude(clouds)
        if (sign < 0).any():
            raise InputError("the energy is negative and has no logarithm; use value")
        return _shaped(log, lead)

    def log_gradient(self, x: Any, space: str = "sphere") -> tuple[Any, Array]:
        r"""Return s and G with the gradient :math:`e^sG`, where G does not overflow.

        Parameters
        ----------
        x : array_like, (..., n, d)
            Tokens.
        space : {"sphere", "euclidean"}
            On the sphere the gradient of each token is projected by :math:`I - x_ix_i^\top`.

        Returns
        -------
        s : float, or ndarray of the leading axes
        G : ndarray, (..., n, d)

        Raises
        ------
        InputError
            If ``x`` is no cloud of tokens or ``space`` is unknown.
        """
        if space not in _SPACES:
            raise InputError(f"space = {space!r} is unknown; use {' or '.join(map(repr, _SPACES))}")
        clouds, lead = _clouds(x)
        log, gradient = self._scaled_gradient(clouds)
        if space == "sphere":
            gradient = gradient - np.einsum("bid,bid->bi", gradient, clouds)[..., None] * clouds
        return _shaped(log, lead), gradient.reshape((*lead, *clouds.shape[1:]))

    def gradient(self, x: Any, space: str = "sphere") -> Array:
        """Return the gradient with respect to the sum of the squared lengths of the tokens' velocities.

        Parameters and errors are those of :meth:`log_gradient`.

        Raises
        ------
        InputError
            Also if the gradient exceeds the range of doubles.
        """
        log, gradient = self.log_gradient(x, space)
        size = np.abs(gradient).max(axis=(-2, -1))
        with np.errstate(divide="ignore"):
            total = np.asarray(log) + np.log(size)
        if (total > _LOG_LARGEST).any():
            raise InputError(
                f"the gradient has size exp({float(total.max()):.6g}), beyond doubles; use log_gradient"
            )
        # exp(s) alone may overflow where the product does not
        half = np.exp(0.5 * np.asarray(log))[..., None, None]
        return np.asarray(gradient * half * half)

    def _repr_latex_(self) -> str:
        return f"${self.to_latex()}$"

    def __call__(self, x: Any) -> Any:
        """Return :meth:`value`."""
        return self.value(x)


class Exponential(Energy):
    r"""Exponential of the attention score.

    .. math:: F(\mu) = \tfrac12\iint e^{\langle Qx, Ky\rangle}\,d\mu(x)\,d\mu(y)

    Parameters
    ----------
    Q, K : array_like, (k, d)
        Query and key matrices.

    Raises
    ------
    InputError
        If they are no matrices of one shape.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> Exponential([[1.0]], [[2.0]]).value([[0.0], [0.0]])
    0.5
    """

    describe = "half the mean of exp(⟨Qx, Ky⟩) over ordered pairs of tokens"

    def __init__(self, Q: Any, K: Any) -> None:
        self.Q, self.K = real_array(Q, "Q"), real_array(K, "K")
        if self.Q.ndim != 2 or self.Q.shape != self.K.shape:
            raise InputError(
                f"Q of shape {self.Q.shape} and K of shape {self.K.shape} must be matrices of one shape"
            )

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"F(\mu) = \tfrac12\iint e^{\langle Qx, Ky\rangle}\,d\mu(x)\,d\mu(y)"

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        log = _log_mean(self._times(x, self.Q, "Q"), self._times(x, self.K, "K"))
        return np.ones(len(x)), log - math.log(2.0)

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        queries, keys = self._times(x, self.Q, "Q"), self._times(x, self.K, "K")
        sums = [
            _scaled_sums(queries, keys, keys @ self.Q),  # Σ_j e^{s_ij} QᵀK x_j
            _scaled_sums(keys, queries, queries @ self.K),  # Σ_j e^{s_ji} KᵀQ x_j
        ]
        log = np.maximum(sums[0][0], sums[1][0])
        total = sum(np.exp(one - log)[:, None, None] * part for one, part in sums)
        return log - math.log(2.0), np.asarray(total)

    def score_bound(self, x: Array) -> float:
        """Return the norm of KᵀQ times the largest squared length of a token."""
        return float(np.linalg.norm(self.K.T @ self.Q, 2)) * _largest_square(x)

    def _times(self, x: Array, matrix: Array, name: str) -> Array:
        if matrix.shape[1] != x.shape[2]:
            raise InputError(
                f"{name} has {matrix.shape[1]} columns, the tokens have {x.shape[2]} coordinates"
            )
        return np.asarray(x @ matrix.T)

    def __repr__(self) -> str:
        return f"Exponential(Q={self.Q.tolist()}, K={self.K.tolist()})"


class Interaction(Energy):
    r"""Interaction energy of tokens on the sphere, which attention with Q = K = V = I increases.

    .. math:: E_\beta(x_1,\dots,x_n) = \frac{1}{2\beta n^2}\sum_{i,j} e^{\beta\langle x_i, x_j\rangle}

    Parameters
    ----------
    beta : float
        β ≠ 0.

    Raises
    ------
    InputError
        If β is zero or no finite number.

    References
    ----------
    GLPR23.

    Examples
    --------
    >>> round(Interaction(1000.0).log_value([[1.0, 0.0], [0.0, 1.0]]), 5)  # its exponential overflows
    991.70595
    """

    def __init__(self, beta: float) -> None:
        self.beta = real_number(beta, "beta")
        if self.beta == 0.0:
            raise InputError("beta = 0: the energy divides by beta; use Dissipation for small beta")
        self.describe = f"mean of exp(β⟨x, y⟩)/(2β) over ordered pairs of tokens, β = {self.beta:g}"

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"E_\beta = \frac{1}{2\beta n^2}\sum_{i,j=1}^n e^{\beta\langle x_i, x_j\rangle}"

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        log = _log_mean(self.beta * x, x) - math.log(2.0 * abs(self.beta))
        return np.full(len(x), math.copysign(1.0, self.beta)), log

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        return _scaled_sums(self.beta * x, x, x)

    def score_bound(self, x: Array) -> float:
        """Return the modulus of β times the largest squared length of a token."""
        return abs(self.beta) * _largest_square(x)

    def __repr__(self) -> str:
        return f"Interaction(beta={self.beta!r})"


class Dissipation(Energy):
    r"""Distance of the interaction energy from that of a single cluster; zero exactly there, for β > 0.

    .. math:: E(\mu) = \tfrac12\iint\bigl(e^\beta - e^{\beta\langle x, y\rangle}\bigr)\,d\mu(x)\,d\mu(y)

    Differences of tokens are summed, not differences of exponentials, so that the value keeps its digits
    while the tokens merge.

    Parameters
    ----------
    beta : float
        β.

    Raises
    ------
    InputError
        If β is no finite number.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> Dissipation(1.0).value([[1.0, 0.0], [1.0, 0.0]])
    0.0
    """

    def __init__(self, beta: float) -> None:
        self.beta = real_number(beta, "beta")
        self.describe = f"half the mean of exp(β) − exp(β⟨x, y⟩) over ordered pairs, β = {self.beta:g}"

    def to_latex(self) -> str:
        """Return the definition in LaTeX."""
        return r"E(\mu) = \tfrac12\iint(e^\beta - e^{\beta\langle x, y\rangle})\,d\mu(x)\,d\mu(y)"

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        largest = max(float(scores.max()) for _, scores in self._scores(x))
        shift = largest if largest > _SAFE else 0.0
        total = np.zeros(len(x))
        for frames, scores in self._scores(x):
            part = math.exp(-shift) - np.exp(scores - shift) if shift else -np.expm1(scores)
            total[frames] += part.sum(axis=(1, 2))
        mean = 0.5 * total / x.shape[1] ** 2
        with np.errstate(divide="ignore"):
            return np.sign(mean), np.log(np.abs(mean)) + self.beta + shift

    def _scores(self, x: Array) -> Iterator[tuple[slice, Array]]:
        """Yield β(⟨x, y⟩ − 1) for blocks of pairs, from ⟨x, y⟩ = ½|x|² + ½|y|² − ½|x − y|²."""
        excess = 0.5 * (np.einsum("bid,bid->bi", x, x) - 1.0)
        # a token on the sphere has length one, whatever its last digit says
        excess[np.abs(excess) <= 4.0 * x.shape[2] * np.finfo(float).eps] = 0.0
        for frames, rows in blocks(len(x), x.shape[1], x.shape[2]):
            gap = x[frames, rows, None, :] - x[frames, None, :, :]
            squares = np.einsum("bijd,bijd->bij", gap, gap)
            yield (
                frames,
                self.beta * (excess[frames, rows, None] + excess[frames, None, :] - 0.5 * squares),
            )

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        log, sums = _scaled_sums(self.beta * x, x, x)
        return log, -self.beta * sums

    def score_bound(self, x: Array) -> float:
        """Return the modulus of β times the largest squared length of a token."""
        return abs(self.beta) * _largest_square(x)

    def __repr__(self) -> str:
        return f"Dissipation(beta={self.beta!r})"


def energy_along(which: Any, x: Any) -> Array:
    """Return an energy of the tokens at every time.

    Parameters
    ----------
    which : Energy or number
        A number stands for the interaction energy with that beta.
    x : array_like, (T, n, d)
        Tokens.

    Raises
    ------
    InputError
        If ``which`` is neither, or if the energy exceeds the range of doubles.

    Examples
    --------
    >>> energy_along(Dissipation(1.0), [[[1.0, 0.0], [1.0, 0.0]]])
    array([0.])
    """
    if isinstance(which, (int, float, np.number)) and not isinstance(which, bool):
        which = Interaction(float(which))
    if not isinstance(which, Energy):
        raise InputError(
            f"an energy of symflow.energies, or a number for beta, is needed, got {type(which).__name__}"
        )
    return np.asarray(which.value(x))


_LOG_LARGEST = math.log(np.finfo(np.float64).max)


def _clouds(x: Any) -> tuple[Array, tuple[int, ...]]:
    """Return the tokens as (B, n, d), and the leading axes that were flattened."""
    array = tokens(x)
    return array.reshape(-1, *array.shape[-2:]), array.shape[:-2]


def _largest_square(x: Array) -> float:
    return float(np.einsum("...d,...d->...", x, x).max())


def _shaped(values: Array, lead: tuple[int, ...]) -> Any:
    return values.reshape(lead) if lead else float(values[0])


def _log_mean(left: Array, right: Array) -> Array:
    """Return the logarithm of the mean of exp(left_i · right_j) over all pairs, for each cloud."""
    frames, n = left.shape[:2]
    log = np.full(frames, -np.inf)
    for chosen, rows in blocks(frames, n):
        scores = left[chosen, rows] @ right[chosen].swapaxes(1, 2)
        top = scores.max(axis=(1, 2))
        part = top + np.log(np.exp(scores - top[:, None, None]).sum(axis=(1, 2)))
        log[chosen] = np.logaddexp(log[chosen], part)
    return log - 2.0 * math.log(n)


def _scaled_sums(left: Array, right: Array, values: Array) -> tuple[Array, Array]:
    """Return s and G with ``exp(s) G_i = n⁻² Σ_j exp(left_i · right_j) values_j``."""
    frames, n = left.shape[:2]
    tops, sums = np.empty((frames, n)), np.empty((frames, n, values.shape[2]))
    for chosen, rows in blocks(frames, n):
        scores = left[chosen, rows] @ right[chosen].swapaxes(1, 2)
        top = scores.max(axis=2)
        tops[chosen, rows] = top
        sums[chosen, rows] = np.exp(scores - top[..., None]) @ values[chosen]
    log = tops.max(axis=1)
    return log - 2.0 * math.log(n), np.exp(tops - log[:, None])[..., None] * sums
