"""ABGSR26: deep networks of random layers approach the equation with common noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from symflow.certify.measurement import Criterion, Estimate
from symflow.checking import Array
from symflow.claims.abgsr26._runs import uniform_clouds
from symflow.claims.claim import Deadline
from symflow.claims.measuring import Experiment, measured
from symflow.integrate.deep.coupling import couple
from symflow.integrate.deep.network import DeepTransformer
from symflow.integrate.ensemble.run import ensemble
from symflow.models.attention.softmax import Softmax
from symflow.noise.common import CommonNoise

BIAS = 0.1  #: σ_W = σ_U
DIM = 3
DEPTHS = (4, 8, 16, 32)
WIDTHS = (8, 32, 128, 512)
_GROUPS = 8  # of paths, each with a fit of its own


def network(layers: int, width: int, time: float) -> DeepTransformer:
    """Return a network with softmax attention, Q = K = V = I, β = 1, and ReLU."""
    noise = CommonNoise("relu", BIAS, BIAS, dim=DIM)
    return DeepTransformer(Softmax(space="sphere"), noise, layers, width, time)


def bound(layers: int, width: float) -> float:
    """Return log L/L + 1/m, the rate of the theorem up to a constant."""
    return float(np.log(layers) / layers + 1.0 / width)


def ratio_slopes(sizes: Sequence[int], errors: Array, bounds: Sequence[float]) -> list[float]:
    """Return the exponent of a size in errors (sizes, paths) over bounds, for each group of paths."""
    relative = errors / np.array(bounds)[:, None]
    means = [relative[:, first::_GROUPS].mean(axis=1) for first in range(_GROUPS)]
    return [float(np.polyfit(np.log(sizes), np.log(mean), 1)[0]) for mean in means]


def coupled_errors(
    pairs: Sequence[tuple[int, int]], sizes: Mapping[str, float], seed: int, how: Callable[[int], Any]
) -> Array:
    """Return the errors of coupled paths for pairs (L, m), (pairs, paths); ``how(L)`` are options."""
    x0 = uniform_clouds(seed, int(sizes["n"]), DIM)
    paths = int(sizes["paths"])
    return np.array(
        [
            couple(
                network(layers, width, sizes["time"]), x0, [seed, layers, width], paths=paths, **how(layers)
            ).errors
            for layers, width in pairs
        ]
    )


def _rates(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> Sequence[Estimate]:
    fine, layers = int(sizes["reference"]), int(sizes["layers"])
    wide = coupled_errors([(layers, m) for m in WIDTHS], sizes, seed, lambda _: {"substeps": None})
    deadline.check()
    deep = coupled_errors(
        [(depth, 1) for depth in DEPTHS],
        sizes,
        seed,
        lambda depth: {"substeps": fine // depth, "infinite": True},
    )
    deadline.check()
    both = coupled_errors(
        list(zip(DEPTHS, WIDTHS, strict=True)), sizes, seed, lambda depth: {"substeps": fine // depth}
    )
    against = [bound(*pair) for pair in zip(DEPTHS, WIDTHS, strict=True)]
    in_m = ratio_slopes(WIDTHS, wide, [1.0] * len(WIDTHS))
    in_l = ratio_slopes(DEPTHS, deep, [bound(depth, np.inf) for depth in DEPTHS])
    worst = max(range(len(DEPTHS)), key=lambda i: float(both[i].mean()) / against[i])
    return (
        Estimate.of_samples(
            f"exponent of m in E sup |X - Xbar|^2, the limit infinitely wide with L = {layers}",
            in_m,
            Criterion("at most", -1.0, bias=0.25),
        ),
        Estimate.of_samples(
            "exponent of L in E sup |X - Xbar|^2 over log L / L, m infinite", in_l, Criterion("at most", 0.0)
        ),
        Estimate.of_samples(
            f"E sup |X - Xbar|^2 over log L / L + 1 / m, at most: L = {DEPTHS[worst]}, m = {WIDTHS[worst]}",
            (both[worst] / against[worst]).tolist(),
            Criterion("at most", 0.5),
        ),
    )


# ------------------------------------------------------------------------------------------- orders of limits


def mean_cosines(x: Array) -> Array:
    """Return the mean cosine of two different tokens of clouds (paths, n, d)."""
    n = x.shape[1]
    total = np.sum(x.sum(axis=1) ** 2, axis=-1)
    return np.asarray((total - n) / (n * n - n))


def _orders(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> Sequence[Estimate]:
    time, paths = sizes["time"], int(sizes["paths"])
    deep, both = int(sizes["deep"]), int(sizes["both"])
    x0 = uniform_clouds(seed, int(sizes["n"]), DIM)

    def through(layers: int, width: int, start: int) -> Array:
        runs: Any = network(layers, width, time).run(x0, start, paths=paths)
        deadline.check()
        return mean_cosines(runs.x[:, -1])

    ends = {
        f"L = {deep}, m = 1": through(deep, 1, seed),
        f"L = m = {both}": through(both, both, seed + 1),
    }
    wide = network(deep, 1, time)
    limit: Any = ensemble(
        wide.model, x0, {}, (0.0, time), noise=wide.noise, dt=time / deep, rng=seed + 2, paths=paths
    )
    ends[f"m infinite, L = {deep}"] = mean_cosines(limit.x[:, -1])
    names = tuple(ends)
    return tuple(_difference(one, other, ends) for i, one in enumerate(names) for other in names[i + 1 :])


def _difference(one: str, other: str, ends: Mapping[str, Array]) -> Estimate:
    first, second = ends[one], ends[other]
    error = float(np.sqrt(first.var(ddof=1) / first.size + second.var(ddof=1) / second.size))
    return Estimate(
        quantity=f"mean cosine at the end, {one} less {other}",
        value=float(first.mean() - second.mean()),
        error=error,
        criterion=Criterion("near", 0.0, bias=0.01),
        replicates=first.size,
    )


RATES = Experiment(
    claim="ABGSR26/pathwise-rate",
    scope="softmax attention on the sphere, Q = K = V = I, beta = 1, 4 tokens in dimension 3; ReLU, "
    "sigma_W = sigma_U = 0.1; L from 4 to 32, m from 8 to 512, 256 steps of the equation, T = 1",
    run=_rates,
    sizes={"n": 4, "paths": 64, "reference": 256, "layers": 16, "time": 1.0},
    seed=31,
)

ORDERS = Experiment(
    claim="ABGSR26/commuting-limits",
    scope="softmax attention on the sphere, Q = K = V = I, beta = 1, 8 tokens in dimension 3; ReLU, "
    "sigma_W = sigma_U = 0.1; mean cosine at T = 1",
    run=_orders,
    sizes={"n": 8, "paths": 512, "deep": 512, "both": 128, "time": 1.0},
    seed=32,
)

CLAIMS = (
    measured(
        RATES,
        title="How fast networks approach their limit, path by path",
        quoted=r"The layers of a network and the noise of its limit can be coupled so that $E\sup_l|X_l - "
        r"\bar X_l|^2 \le c\,(\log L/L + 1/m)$.",
        holds=r"Measured with the coupling built layer by layer: given $U$ and $b_U$ both fields are normal "
        r"at the tokens $Y$ of the network, with covariances $K_m \otimes I$ and $K \otimes I$, and are "
        r"joined by the optimal map for their Bures distance; the limit's field at its own tokens is drawn "
        r"given its values at $Y$. The error falls like $1/m$ against an infinitely wide network, not slower "
        r"than $\log L/L$ for infinite width, and is below half of $\log L/L + 1/m$ where both are finite.",
        hypotheses=r"Softmax attention, $Q = K = V = I$, $\beta = 1$, ReLU with $\sigma_W = \sigma_U = "
        r"0.1$, $d = 3$, four tokens, $T = 1$; the supremum is taken token by token and averaged.",
        reference="ABGSR26",
    ),
    measured(
        ORDERS,
        title="The limits of depth and width commute",
        quoted=r"$L \to \infty$ and $m \to \infty$ lead to the same equation in either order, and jointly.",
        holds=r"Measured: the mean cosine at the end is the same for a deep network of width one, for "
        r"infinitely wide layers of the same depth, and for depth and width growing together. The covariance "
        r"of a layer is $\kappa$ for every width, so that depth alone leads to the limit.",
        hypotheses=r"Softmax attention, $Q = K = V = I$, $\beta = 1$, ReLU with $\sigma_W = \sigma_U = 0.1$, "
        r"$d = 3$, eight tokens, $T = 1$.",
        reference="ABGSR26",
    ),
)
