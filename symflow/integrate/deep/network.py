"""Deep transformers with random layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symflow.checking import positive_number, whole_number
from symflow.errors import InputError
from symflow.integrate.deep.layer import RandomLayer, Weights, normals, read_layer
from symflow.integrate.deep.run import read_request, run_many, run_one
from symflow.integrate.ensemble.threads import Progress
from symflow.integrate.stochastic.streams import stream_key
from symflow.integrate.tokens.ensemble import TokenEnsemble
from symflow.integrate.tokens.trajectory import TokenTrajectory
from symflow.models.attention.model import AttentionModel


@dataclass(frozen=True, eq=False)
class DeepTransformer:
    r"""A transformer whose layers alternate attention with random perceptrons that all tokens share.

    .. math:: Y = \mathrm{LN}\bigl(X + \tfrac TL \mathrm{Attn}(X)\bigr), \qquad
              X^+ = \mathrm{LN}\bigl(Y + \sqrt{\tfrac TL}\, G(Y)\bigr), \qquad \mathrm{LN}(v) = v/|v|,

    .. math:: G(y) = m^{-1/2} W \phi(d^{-1/2} U y + b_U) + b_W,

    W (d, m) and U (m, d) with independent standard normal entries, :math:`b_W \sim N(0, \sigma_W^2)`,
    :math:`b_U \sim N(0, \sigma_U^2)`, drawn anew for every layer. As L and m grow, its tokens follow the
    equation with common noise, ``solve(…, noise=noise)``.

    Parameters
    ----------
    model : AttentionModel
        On the sphere; its ``sign`` 1, 0 or −1 is the factor of Attn.
    noise : CommonNoise
        φ, σ_W, σ_U and d of the perceptrons.
    layers, width : int
        L and m, positive.
    horizon : float
        T > 0.
    params : mapping, optional
        Parameters of the model by name, as in :func:`symflow.solve`; those of Q, K, V that are missing are
        the identity. What depends on time takes layer l at lT/L.

    Raises
    ------
    InputError
        If an argument cannot be used.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> import numpy as np
    >>> from symflow import CommonNoise, DeepTransformer, Softmax
    >>> network = DeepTransformer(Softmax(space="sphere"), CommonNoise("relu", dim=3), 20, 64, 1.0)
    >>> run = network.run(np.eye(3), rng=7)
    >>> run.x.shape, run.status
    ((21, 3, 3), 'finished')
    """

    model: Any
    noise: Any
    layers: int
    width: int
    horizon: float
    params: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.model, AttentionModel):
            given = type(self.model).__name__
            raise InputError(f"model must be an attention model such as Softmax(space='sphere'), got {given}")
        for name in ("layers", "width"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name))
        object.__setattr__(self, "horizon", positive_number(self.horizon, "horizon"))
        object.__setattr__(self, "params", dict(self.params))
        object.__setattr__(self, "_layer", read_layer(self.noise, self.width))

    @property
    def layer(self) -> RandomLayer:
        """The law of a perceptron."""
        found: RandomLayer = self.__dict__["_layer"]
        return found

    def weights(self, rng: Any, layer: int, path: int = 0) -> Weights:
        """Return the perceptron that :meth:`run` draws for a layer of a path: U, b_U, W, b_W.

        Parameters
        ----------
        rng : int, Generator, SeedSequence
            As in :meth:`run`.
        layer : int
            0 ≤ layer < L.
        path : int, default 0

        Raises
        ------
        InputError
            If there is no such layer or path.
        """
        if not 0 <= whole_number(layer, "layer", 0) < self.layers:
            raise InputError(
                f"layer = {layer} is not there; the network has the layers 0 to {self.layers - 1}"
            )
        number = whole_number(path, "path", 0)
        return self.layer.read(normals(stream_key(rng), number, int(layer), self.layer.size))

    def run(
        self,
        x0: Any,
        rng: Any = None,
        *,
        paths: Any = None,
        path: int = 0,
        every: int | None = None,
        t_eval: Any = None,
        threads: int = 1,
        backend: str = "auto",
        callback: Callable[..., Any] | None = None,
        progress: Progress | bool | None = None,
        max_wall_time: float | None = None,
    ) -> TokenTrajectory | TokenEnsemble:
        """Send tokens through the layers.

        What a layer draws depends on the seed, the path and the layer alone: a path has the same bits
        whatever ``paths``, ``threads`` and what is recorded. ``solve(…, draw="features")`` with
        ``features=width``, ``dt=horizon/layers`` and the same seed draws the same fields.

        Parameters
        ----------
        x0 : array_like, (n, d), or (paths, n, d)
            Tokens on the unit sphere, the same for all paths or one cloud for each.
        rng : int, Generator, SeedSequence, optional
            The seed; NumPy's global state is left alone.
        paths : int or sequence of int, optional
            How many paths, or the numbers of those to run.
        path : int, default 0
            Number of a single path.
        every : int, optional
            Record after every so many layers, and after the last one. By default after every layer of a
            single path, and at the first and the last time of several.
        t_eval : array_like, (T,), optional
            Times to record instead, increasing; each stands for the layer nearest to it.
        threads : int, default 1
            How many threads share several paths.
        backend : str, default "auto"
            ``"compiled"``, ``"numpy"``, or compiled where possible.
        callback : callable, optional
            ``callback(t, x)`` after every layer of a single path; a true value ends the run.
        progress : callable or bool, optional
            ``progress(done, total)`` from time to time: layers of a single path, else paths.
        max_wall_time : float, optional
            Seconds after which the run ends with what it has.

        Returns
        -------
        TokenTrajectory or TokenEnsemble
            Of one path, times first; of ``paths`` > 1 or a list, paths first. Times are lT/L.

        Raises
        ------
        InputError
            If an argument cannot be used, before any work.
        """
        request = read_request(
            self, x0, rng, paths=paths, path=path, every=every, t_eval=t_eval, backend=backend,
            threads=threads, callback=callback, progress=progress, max_wall_time=max_wall_time,
        )  # fmt: skip
        return run_one(request) if request.single else run_many(request)

    def times(self, layers: Any) -> Any:
        """Return lT/L of numbers of layers."""
        return np.asarray(layers) * self.horizon / self.layers
