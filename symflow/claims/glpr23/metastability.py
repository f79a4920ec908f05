"""GLPR23: clusters form fast and merge slowly; the phase diagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symflow.certify.measurement import Criterion, Estimate
from symflow.claims.claim import Deadline
from symflow.claims.glpr23._runs import run, uniform_starts
from symflow.claims.measuring import Experiment, measured
from symflow.clustering import clusters, equiangular_flow, fraction_above
from symflow.models.attention.softmax import Softmax

LEVEL = 0.999  #: from which cosine on two tokens count as one


def _last_merge(starts: Any, beta: float, longest: float) -> Any:
    """Return when the last two clusters merge, or ``longest`` where they have not by then."""
    times = np.geomspace(0.5, longest, 80)
    found = [clusters(times, path, LEVEL) for path in run(starts, times, beta)]
    return np.array([one.merge_times[-1] if one.count[-1] == 1 else longest for one in found])


def _two_scales(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> Sequence[Estimate]:
    starts = uniform_starts(seed, int(sizes["starts"]), int(sizes["n"]), 2)
    estimates = []
    for beta, expected in ((4.0, 2.0), (9.0, 3.0)):
        tokens = run(starts, [sizes["time"]], beta)
        counts = clusters(np.arange(len(tokens)), tokens[:, 0], LEVEL).count
        name = f"number of clusters at t = {sizes['time']:g}, beta = {beta:g}"
        estimates.append(Estimate.of_samples(name, counts.tolist(), Criterion("near", expected, bias=0.5)))
        deadline.check()
    fast, slow = (_last_merge(starts, beta, sizes["longest"]) for beta in (2.0, 3.0))
    growth = Criterion("at least", 1.0)
    name = "growth of the logarithm of the last merge time from beta = 2 to beta = 3"
    return (*estimates, Estimate.of_samples(name, np.log(slow / fast).tolist(), growth))


def _phases(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> Sequence[Estimate]:
    n, d, runs = int(sizes["n"]), int(sizes["d"]), int(sizes["starts"])
    estimates = []
    for beta in (1.0, 4.0):
        predicted = equiangular_flow(Softmax(space="sphere", beta=beta)).hitting_time(LEVEL, n)
        share = fraction_above(
            run(uniform_starts(seed, runs, n, d), [predicted / 2, 1.5 * predicted], beta), LEVEL
        )
        for column, (factor, criterion) in enumerate(
            ((0.5, Criterion("at most", 0.1)), (1.5, Criterion("at least", 0.9)))
        ):
            name = f"fraction of pairs above {LEVEL}, d = {d}, beta = {beta:g}, {factor:g} times predicted"
            estimates.append(Estimate.of_samples(name, share[:, column].tolist(), criterion))
        deadline.check()
    for beta, criterion in ((1.0, Criterion("at least", 0.9)), (9.0, Criterion("near", 0.4, bias=0.15))):
        share = fraction_above(run(uniform_starts(seed, runs, n, 2), [sizes["time"]], beta), LEVEL)
        name = f"fraction of pairs above {LEVEL}, d = 2, beta = {beta:g}, t = {sizes['time']:g}"
        estimates.append(Estimate.of_samples(name, share[:, 0].tolist(), criterion))
    return tuple(estimates)


TWO_SCALES = Experiment(
    claim="GLPR23/two-time-scales",
    scope="softmax attention on the circle, Q = K = V = I, 32 uniform tokens; beta = 4 and 9 at t = 30, last "
    "merges at beta = 2 and 3",
    run=_two_scales,
    sizes={"starts": 16, "n": 32, "time": 30.0, "longest": 5000.0},
    seed=12,
)

PHASES = Experiment(
    claim="GLPR23/phase-diagram",
    scope="softmax attention on the sphere, Q = K = V = I, 32 uniform tokens: dimension 128 at beta = 1 and "
    "4, dimension 2 at beta = 1 and 9",
    run=_phases,
    sizes={"starts": 48, "n": 32, "d": 128, "time": 30.0},
    seed=13,
)

CLAIMS = (
    measured(
        TWO_SCALES,
        title="Two time scales",
        quoted=r"Tokens form clusters in a time of order one; these are long-lived and merge in times that "
        r"grow exponentially with $\beta$.",
        holds=r"Measured on the circle: at $t = 30$ there are about two clusters for $\beta = 4$ and about "
        r"three for $\beta = 9$; from $\beta = 2$ to $\beta = 3$ the logarithm of the time of the last merge "
        "grows by more than one, start by start.",
        hypotheses=r"Softmax attention, $Q = K = V = I$, $d = 2$, $n = 32$, uniform starts; clusters are "
        "linked by cosines of at least 0.999.",
        reference="GLPR23",
    ),
    measured(
        PHASES,
        title="The phase diagram",
        quoted=r"The probability that two tokens have a cosine above 0.999 changes from zero to one along "
        r"the curve $\gamma_\beta(t) = 0.999$ in high dimension; on the circle several clusters stay for "
        r"large $\beta$.",
        holds=r"Measured: at $d = 128$ the fraction of pairs is below 0.1 at half of the predicted time and "
        r"above 0.9 at one and a half of it, for $\beta = 1$ and $4$. On the circle it is above 0.9 at $t = "
        r"30$ for $\beta = 1$ and about 0.4 for $\beta = 9$.",
        hypotheses=r"Softmax attention, $Q = K = V = I$, $n = 32$, uniform starts; a token counts as a pair "
        "with itself. The full diagram is an experiment of its own.",
        reference="GLPR23",
    ),
)
