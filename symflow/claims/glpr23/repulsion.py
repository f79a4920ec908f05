"""GLPR23: repelling tokens find optimal configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from symflow.certify.measurement import Criterion, Estimate
from symflow.checking import Array
from symflow.claims.claim import Deadline
from symflow.claims.glpr23._runs import run, uniform_starts
from symflow.claims.measuring import Experiment, measured
from symflow.energies import Interaction

BETA = 2.0
_ROUNDING = 1e-10  #: of energies at the end of a run, rather than a standard error


def simplex(d: int) -> Array:
    """Return d + 1 points with the common cosine −1/d."""
    centred = np.eye(d + 1) - 1.0 / (d + 1)
    axes = np.linalg.svd(centred)[2][:d]
    points = centred @ axes.T
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), dtype=np.float64)


def octahedron() -> Array:
    """Return ± the unit vectors of space."""
    return np.concatenate([np.eye(3), -np.eye(3)])


def icosahedron() -> Array:
    """Return the cyclic permutations of (0, ±1, ±φ), of length one."""
    golden = (1.0 + 5.0**0.5) / 2.0
    corners = [np.roll([0.0, a, b * golden], k) for k, a, b in product(range(3), (1, -1), (1, -1))]
    return np.asarray(np.array(corners) / np.sqrt(1.0 + golden**2))


def configurations() -> dict[str, Array]:
    """Return the optimal configurations that are compared with."""
    return {
        "antipodal pair": simplex(1) @ np.eye(1, 3),
        "simplex": simplex(3),
        "octahedron": octahedron(),
        "icosahedron": icosahedron(),
    }


def _measure(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> Sequence[Estimate]:
    energy: Any = Interaction(BETA)
    estimates = []
    for name, points in configurations().items():
        starts = uniform_starts(seed, int(sizes["starts"]), *points.shape)
        ends = run(starts, [sizes["time"]], BETA, sign=-1, rtol=1e-9)[:, 0]
        excess = energy.value(ends) / energy.value(points) - 1.0
        reached = (np.abs(excess) < sizes["tolerance"]).astype(float)
        below = Estimate(
            f"{name}: smallest relative excess of the energy",
            float(excess.min()),
            _ROUNDING,
            Criterion("near", 0.0, bias=1e-9),
            1,
        )
        share = f"{name}: fraction of starts that end there"
        estimates += [below, Estimate.of_samples(share, reached.tolist(), Criterion("at least", 0.5))]
        deadline.check()
    return tuple(estimates)


EXPERIMENT = Experiment(
    claim="GLPR23/sharp-configurations",
    scope="repulsive softmax attention on the sphere of space, Q = K = I, V = -I, beta = 2; 2, 4, 6 and 12 "
    "tokens from uniform starts",
    run=_measure,
    sizes={"starts": 16, "time": 1000.0, "tolerance": 1e-6},
    seed=14,
)

CLAIMS = (
    measured(
        EXPERIMENT,
        title="Repelling tokens and optimal configurations",
        quoted=r"For $V = -I$ tokens tend to optimal configurations: an antipodal pair, a simplex, the "
        "octahedron, the icosahedron.",
        holds=r"Measured for $n = 2, 4, 6, 12$ and $d = 3$: no run ends below the energy of the "
        "configuration, the best one agrees with it to nine digits, and more than half of all runs end "
        r"there. That these configurations minimise the energy for every $\beta$ is a theorem of Cohn and "
        "Kumar (2007).",
        hypotheses=r"Softmax attention, $Q = K = I$, $V = -I$, $\beta = 2$, uniform starts.",
        reference="GLPR23",
    ),
)
