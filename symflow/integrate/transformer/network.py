"""A Gaussian law, and tokens, pushed through the layers of a real BERT-style encoder.

One layer is y = LN(x + Γ(x)), x⁺ = LN(y + G(y)) with G the feed-forward block. Attention moves Gaussians to
Gaussians; layer norm and feed-forward block do not, and for a Gaussian law they are replaced by affine maps
that depend on mean and covariance only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from symflow.checking import real_array
from symflow.errors import InputError
from symflow.integrate.backends import covariances
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.layout import FactorLayout
from symflow.integrate.problem import read_problem, require_gaussian
from symflow.integrate.scheduled import bound_call
from symflow.integrate.solve import solve
from symflow.integrate.transformer.embeddings import LayerNorm, norm_epsilon, token_moments
from symflow.integrate.transformer.tensors import Array, Tensors, config, frozen, locate
from symflow.integrate.transformer.weights import AttentionWeights, load_attention

#: The parts of a layer that an affine map can stand for.
PARTS = frozenset({"norm", "feed-forward"})
_RESIDUALS = ("step", "flow")
_BLOCK = 1024  # queries at a time: scores of all pairs of tokens would not fit


@dataclass(frozen=True, eq=False)
class FeedForward:
    r"""The feed-forward block of a layer, without its residual connection.

    .. math:: G(x) = W_2\,\operatorname{gelu}(W_1x+b_1)+b_2, \qquad \operatorname{gelu}(z) = z\,\Phi(z)

    Attributes
    ----------
    inner : ndarray, (m, d)
    inner_bias : ndarray, (m,)
    outer : ndarray, (d, m)
    outer_bias : ndarray, (d,)
    """

    inner: Array
    inner_bias: Array
    outer: Array
    outer_bias: Array

    def __call__(self, tokens: Array) -> Array:
        """Return G for each row of (n, d)."""
        z = tokens @ self.inner.T + self.inner_bias
        z *= ndtr(z)
        return z @ self.outer.T + self.outer_bias

    def affine(self, mean: Array, cov: Array) -> tuple[Array, Array]:
        r"""Return (M, m) of the affine map nearest to G in mean square under a Gaussian law.

        .. math:: x \mapsto \mathbb E\,G + \mathbb E[DG]\,(x-\alpha), \qquad X\sim\mathcal N(\alpha,\Sigma)

        By Stein's identity :math:`\operatorname{Cov}(G(X),X) = \mathbb E[DG]\,\Sigma`, hence this is the
        regression of G(X) on X. With :math:`Z\sim\mathcal N(\mu,s^2)`, :math:`u = \mu/\sqrt{1+s^2}`:

        .. math:: \mathbb E\operatorname{gelu}(Z) = \mu\,\Phi(u) + \frac{s^2}{\sqrt{1+s^2}}\,\varphi(u),
                  \qquad \mathbb E\operatorname{gelu}'(Z) = \Phi(u) + \frac{\mu}{(1+s^2)^{3/2}}\,\varphi(u)
        """
        centre = self.inner @ mean + self.inner_bias
        variance = np.einsum("md,md->m", self.inner @ cov, self.inner)
        root = np.sqrt(1.0 + np.maximum(variance, 0.0))
        u = centre / root
        below, density = ndtr(u), np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)
        value = centre * below + (root - 1.0 / root) * density
        slope = below + centre / root**3 * density
        matrix = (self.outer * slope) @ self.inner
        return matrix, self.outer @ value + self.outer_bias - matrix @ mean


@dataclass(frozen=True, eq=False)
class EncoderLayer:
    """One layer: attention, layer norm, feed-forward block, layer norm, with two residual connections.

    Attributes
    ----------
    attention : AttentionWeights
    attention_norm : LayerNorm
    feed_forward : FeedForward
    output_norm : LayerNorm
    """

    attention: AttentionWeights
    attention_norm: LayerNorm
    feed_forward: FeedForward
    output_norm: LayerNorm

    def push(
        self, law: Gaussian, *, residual: str = "step", rtol: float = 1e-6, backend: str = "auto"
    ) -> Gaussian:
        """Return the law after the layer; see :func:`gaussian_flow_through`."""
        _choose("residual", residual, _RESIDUALS)
        if residual == "step":
            mean, cov = residual_step(self.attention, law, backend)
        else:
            mean, cov = residual_flow(self.attention, law, rtol, backend)
        for matrix, shift in self._affine(mean, cov):
            mean, cov = matrix @ mean + shift, _congruent(matrix, cov)
        return Gaussian(mean, cov)

    def __call__(self, tokens: Array, affine: Collection[str] = ()) -> Array:
        """Return the tokens (n, d) after the layer; see :func:`tokens_through`."""
        return self.after_attention(tokens + attend(self.attention, tokens), affine)

    def after_attention(self, tokens: Array, affine: Collection[str] = ()) -> Array:
        """Return tokens (n, d), to which attention was added, after the rest of the layer."""
        moved = _normalised(self.attention_norm, tokens, "norm" in affine)
        if "feed-forward" in affine:
            matrix, shift = self.feed_forward.affine(*token_moments(moved))
            moved = moved + (moved @ matrix.T + shift)
        else:
            moved = moved + self.feed_forward(moved)
        return _normalised(self.output_norm, moved, "norm" in affine)

    def _affine(self, mean: Array, cov: Array) -> Iterable[tuple[Array, Array]]:
        """Yield the maps after attention in their order, each at the law that the ones before it leave."""
        first = self.attention_norm.affine(mean, cov)
        yield first
        mean, cov = first[0] @ mean + first[1], _congruent(first[0], cov)
        matrix, shift = self.feed_forward.affine(mean, cov)
        second = matrix + np.eye(len(mean)), shift
        yield second
        yield self.output_norm.affine(second[0] @ mean + shift, _congruent(second[0], cov))


def load_layer(path: str | Path, layer: int, *, heads: int | None = None) -> EncoderLayer:
    """Read one whole layer of a BERT-style encoder.

    Parameters
    ----------
    path : str or Path
        As for :func:`symflow.load_attention`.
    layer : int
        From 0.
    heads : int, optional
        As for :func:`symflow.load_attention`.

    Returns
    -------
    EncoderLayer

    Raises
    ------
    InputError
        Naming the missing tensor or layer, or an activation other than ``gelu``.
    """
    attention = load_attention(path, layer, heads=heads)
    file = locate(path)
    activation = config(file).get("hidden_act", "gelu")
    if activation != "gelu":
        raise InputError(
            f"hidden_act = {activation!r} beside {file.name}: only the activation 'gelu' is known"
        )
    tensors = Tensors(file)
    root, epsilon = tensors.prefix(layer).removesuffix("attention."), norm_epsilon(file)

    def dense(name: str) -> tuple[Array, Array]:
        return frozen(tensors.read(f"{root}{name}.weight", 2)), frozen(tensors.read(f"{root}{name}.bias", 1))

    return EncoderLayer(
        attention,
        LayerNorm.read(tensors, f"{root}attention.output.LayerNorm", epsilon),
        FeedForward(*dense("intermediate.dense"), *dense("output.dense")),
        LayerNorm.read(tensors, f"{root}output.LayerNorm", epsilon),
    )


def gaussian_flow_through(
    path: str | Path,
    law: Gaussian,
    *,
    layers: Collection[int] | None = None,
    heads: int | None = None,
    residual: str = "step",
    rtol: float = 1e-6,
    backend: str = "auto",
) -> tuple[Gaussian, ...]:
    r"""Push a Gaussian law through the layers of a BERT-style encoder.

    .. math:: \mu \mapsto (\mathrm{id}+\Gamma_\mu)_\#\mu \quad\text{or}\quad \partial_t\mu +
              \operatorname{div}(\mu\Gamma_\mu) = 0,\ t\in[0,1],
              \qquad\text{then}\quad y = \widehat{\operatorname{LN}}_1(x),\
              x^+ = \widehat{\operatorname{LN}}_2\bigl(y + \widehat G(y)\bigr)

    Attention with all its heads and biases is the derived multi-head closure, run by its compiled kernel.
    Each layer norm divides by one standard deviation for all tokens, :math:`\sigma^2 = \mathbb E|Px|^2/d +
    \varepsilon`; the feed-forward block is its best affine fit under the law, :math:`\mathbb E\,G +
    \mathbb E[DG](x-\alpha)`.

    Parameters
    ----------
    path : str or Path
        As for :func:`symflow.load_attention`.
    law : Gaussian
        Of the first layer's input, e.g. ``Gaussian(*embedding_moments(path))``.
    layers : collection of int, optional
        In this order; by default all.
    heads : int, optional
        As for :func:`symflow.load_attention`.
    residual : str, default "step"
        ``"step"``: one residual step, as in the network; ``"flow"``: the flow over unit time.
    rtol : float
        Tolerance of the flow.
    backend : str
        As for :func:`symflow.solve`.

    Returns
    -------
    tuple of Gaussian
        The given law, then that after each layer.

    Raises
    ------
    InputError
        As :func:`load_layer`, and for a law of another dimension.
    IntegrationError
        If the flow ends before unit time, e.g. in a blow-up.

    References
    ----------
    CACP25, section 2 (multi-head attention as a velocity field).
    """
    require_gaussian(law)
    _choose("residual", residual, _RESIDUALS)
    laws = [law]
    for index in _indices(path, layers):
        layer = load_layer(path, index, heads=heads)
        _fit("law", laws[-1].dim, layer)
        laws.append(layer.push(laws[-1], residual=residual, rtol=rtol, backend=backend))
    return tuple(laws)


def tokens_through(
    path: str | Path,
    tokens: Any,
    *,
    layers: Collection[int] | None = None,
    heads: int | None = None,
    affine: Collection[str] = (),
) -> tuple[Array, ...]:
    r"""Push tokens, which attend to one another, through the layers of a BERT-style encoder.

    .. math:: y_i = \operatorname{LN}_1(x_i+\Gamma_{\mu_n}(x_i)), \qquad
              x_i^+ = \operatorname{LN}_2(y_i+G(y_i)), \qquad \mu_n = \tfrac1n\textstyle\sum_j\delta_{x_j}

    Parameters
    ----------
    path : str or Path
        As for :func:`symflow.load_attention`.
    tokens : array_like, (n, d)
        E.g. from :func:`symflow.integrate.transformer.embeddings.embed`.
    layers, heads
        As for :func:`gaussian_flow_through`.
    affine : collection of str
        Of ``"norm"`` and ``"feed-forward"``: replaced by the affine map of :func:`gaussian_flow_through`, at
        mean and covariance of the tokens.

    Returns
    -------
    tuple of ndarray, (n, d)
        The given tokens, then those after each layer.

    Raises
    ------
    InputError
        As :func:`load_layer`, and for tokens of another shape or an unknown part.
    """
    for part in affine:
        _choose("affine", part, sorted(PARTS))
    passed = [real_array(tokens, "tokens")]
    if passed[0].ndim != 2 or not passed[0].size:
        raise InputError(f"tokens must have shape (n, d), got {passed[0].shape}")
    for index in _indices(path, layers):
        layer = load_layer(path, index, heads=heads)
        _fit("tokens", passed[-1].shape[1], layer)
        passed.append(layer(passed[-1], affine))
    return tuple(passed)


def attend(weights: AttentionWeights, tokens: Array) -> Array:
    r"""Return the attention of each token to all of them, itself included.

    .. math:: \Gamma_{\mu_n}(x_i) = b_O + \sum_h W_h\sum_j\frac{e^{s_h(x_i,x_j)}}{\sum_l e^{s_h(x_i,x_l)}}
              (V_hx_j+b_{V,h})

    Parameters
    ----------
    weights : AttentionWeights
    tokens : ndarray, (n, d)

    Returns
    -------
    ndarray, (n, d)
    """
    out = np.tile(weights.bo, (len(tokens), 1))
    scale = 1.0 / float(weights.temperature)
    for h in range(weights.heads):
        keys = tokens @ weights.K[h].T + weights.bk[h]
        values = tokens @ weights.V[h].T + weights.bv[h]
        for start in range(0, len(tokens), _BLOCK):
            part = slice(start, start + _BLOCK)
            score = scale * (tokens[part] @ weights.Q[h].T + weights.bq[h]) @ keys.T
            score -= score.max(axis=1, keepdims=True)
            np.exp(score, out=score)
            out[part] += (score @ values / score.sum(axis=1, keepdims=True)) @ weights.W[h].T
    return out


def residual_step(weights: AttentionWeights, law: Gaussian, backend: str = "auto") -> tuple[Array, Array]:
    r"""Return mean and covariance after one residual step of attention, one value of the closed equations.

    .. math:: \alpha \mapsto \alpha + \Gamma_\mu(\alpha), \qquad F \mapsto F + LF, \qquad \Sigma = FF^\top
    """
    from symflow.codegen.calls import evaluate
    from symflow.codegen.kernel import compile as compile_kernel

    problem = read_problem(_model(weights), law, weights.parameters())
    kernel = compile_kernel(problem.model, backend, problem.parametrisation)
    layout = FactorLayout(law.dim, max(law.rank, 1))
    state = layout.pack(law)
    call = bound_call(kernel, problem, "factor", (*problem.dims, layout.r))
    means, factors = layout.factors((state + evaluate(call, 0.0, state))[None, :])
    return means[0], covariances(factors)[0]


def residual_flow(
    weights: AttentionWeights, law: Gaussian, rtol: float = 1e-6, backend: str = "auto"
) -> tuple[Array, Array]:
    """Return mean and covariance after unit time of the flow of attention.

    Raises
    ------
    IntegrationError
        If the flow ends before, e.g. in a blow-up.
    """
    scale = float(np.sqrt(np.trace(law.cov) / law.dim + law.mean @ law.mean / law.dim))
    run = solve(
        _model(weights),
        law,
        weights.parameters(),
        (0.0, 1.0),
        t_eval=[1.0],
        rtol=rtol,
        atol=rtol * scale,
        backend=backend,
        raise_on_failure=True,
    )
    return run.mean[-1], run.cov[-1]


def _model(weights: AttentionWeights) -> Any:
    from symflow.models.attention.softmax import Softmax
    from symflow.models.combinators.multihead import MultiHead

    return MultiHead(Softmax(temperature=weights.temperature))


def _normalised(norm: LayerNorm, tokens: Array, affine: bool) -> Array:
    if not affine:
        return norm(tokens)
    matrix, shift = norm.affine(*token_moments(tokens))
    return np.asarray(tokens @ matrix.T + shift)


def _congruent(matrix: Array, cov: Array) -> Array:
    moved = matrix @ cov @ matrix.T
    return np.asarray((moved + moved.T) / 2)


def _indices(path: str | Path, layers: Collection[int] | None) -> Collection[int]:
    return Tensors(locate(path)).layers() if layers is None else layers


def _fit(name: str, size: int, layer: EncoderLayer) -> None:
    if size != layer.attention.d:
        source, d = layer.attention.source, layer.attention.d
        raise InputError(f"{name} has dimension {size}, but {source} has d = {d}")


def _choose(name: str, given: Any, known: Collection[str]) -> None:
    if given not in known:
        raise InputError(f"{name} = {given!r} is unknown; choose one of {', '.join(known)}")
