"""GLPR23: in high dimension uniform tokens behave like orthogonal ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symflow.certify.measurement import Criterion, Estimate
from symflow.claims.claim import Deadline
from symflow.claims.glpr23._runs import run, uniform_starts
from symflow.claims.measuring import Experiment, measured
from symflow.clustering import cosines, equiangular_flow
from symflow.models.attention.softmax import Softmax

BETA = 1.0


def _distances(seed: int, runs: int, n: int, d: int, times: Any) -> Any:
    """Return, for every start, how far any cosine is ever from the one of orthonormal tokens."""
    gamma = equiangular_flow(Softmax(space="sphere", beta=BETA)).curve([0.0, *times], n)[1:]
    gram = cosines(run(uniform_starts(seed, runs, n, d), times, BETA))
    others = gram[..., ~np.eye(n, dtype=bool)]
    return np.abs(others - gamma[None, :, None]).max(axis=(1, 2))


def _measure(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> Sequence[Estimate]:
    runs, n = int(sizes["starts"]), int(sizes["n"])
    low, high = int(sizes["low dimension"]), int(sizes["high dimension"])
    times = np.linspace(0.0, sizes["time"], 25)[1:]
    far = _distances(seed, runs, n, low, times)
    deadline.check()
    near = _distances(seed, runs, n, high, times)
    slopes = np.log(near / far) / np.log(high / low)
    return (
        Estimate.of_samples(
            f"largest |cosine - gamma(t)| over pairs and times, d = {high}",
            near.tolist(),
            Criterion("at most", 0.15),
        ),
        Estimate.of_samples(
            f"slope of its logarithm in log d between d = {low} and d = {high}",
            slopes.tolist(),
            Criterion("at most", -1.0 / 3.0),
        ),
    )


EXPERIMENT = Experiment(
    claim="GLPR23/high-dimension-clustering",
    scope="softmax attention on the sphere, Q = K = V = I, beta = 1, eight uniform tokens in dimensions 64 "
    "and 1024, until the orthonormal ones have the cosine 0.9999",
    run=_measure,
    sizes={"starts": 16, "n": 8, "low dimension": 64, "high dimension": 1024, "time": 6.0},
    seed=11,
)

CLAIMS = (
    measured(
        EXPERIMENT,
        title="Clustering in high dimension",
        quoted=r"For $d \to \infty$ and $n$ fixed, all cosines of uniform tokens follow the "
        r"$\gamma_\beta(t)$ of orthonormal ones, with high probability and up to $O(\sqrt{\log d/d})$.",
        holds=r"Measured: the largest distance of any cosine from $\gamma_1(t)$ at any time is below 0.15 at "
        r"$d = 1024$, and falls at least like $d^{-1/3}$ from $d = 64$ on.",
        hypotheses=r"Softmax attention, $Q = K = V = I$, $\beta = 1$, $n = 8$. Nothing is proved about the "
        "probability; the equation of $\\gamma_\\beta$ is GLPR23/orthogonal-start.",
        reference="GLPR23",
    ),
)
