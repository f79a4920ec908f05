"""Measurements about tokens: what they compare with, other seeds, and claims that do not hold."""

import numpy as np
import pytest

from symflow.claims.claim import Deadline
from symflow.claims.glpr23 import high_dimension, metastability, repulsion
from symflow.claims.glpr23._runs import run, uniform_starts
from symflow.clustering import cosines
from symflow.errors import Undecided


def test_the_configurations_are_the_known_ones():
    """Cosines of different points: one value, or those of the platonic solids."""
    allowed = {
        "antipodal pair": [-1.0],
        "simplex": [-1.0 / 3.0],
        "octahedron": [-1.0, 0.0],
        "icosahedron": [-1.0, -(5**-0.5), 5**-0.5],
    }
    for name, points in repulsion.configurations().items():
        off = cosines(points)[~np.eye(len(points), dtype=bool)]
        found = np.unique(off.round(12))
        np.testing.assert_allclose(found, allowed[name], atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-14)


def test_starts_are_uniform_and_depend_on_the_seed_alone():
    x = uniform_starts(3, 4000, 2, 3)
    np.testing.assert_array_equal(x, uniform_starts(3, 4000, 2, 3))
    assert not np.array_equal(x, uniform_starts(4, 4000, 2, 3))
    # second moments of 8000 uniform points: standard error 0.3/√8000 ≈ 0.0033
    np.testing.assert_allclose(x.reshape(-1, 3).T @ x.reshape(-1, 3) / 8000, np.eye(3) / 3, atol=0.017)


@pytest.mark.parametrize(
    ("experiment", "sizes"),
    [
        (high_dimension.EXPERIMENT, {"starts": 6}),
        (metastability.PHASES, {"starts": 6}),
        (repulsion.EXPERIMENT, {"starts": 6}),
    ],
    ids=["high-dimension", "phases", "repulsion"],
)
def test_another_seed_supports_the_claim_too(experiment, sizes):
    assert experiment.measure(seed=experiment.seed + 100, sizes=sizes).met


def test_a_run_that_is_too_short_does_not_support_the_claims():
    """The criteria can fail: tokens that had no time have not repelled each other, nor clustered."""
    assert not repulsion.EXPERIMENT.measure(sizes={"starts": 3, "time": 0.1}).met
    assert not metastability.PHASES.measure(sizes={"starts": 3, "d": 8, "time": 0.1}).met
    assert not high_dimension.EXPERIMENT.measure(sizes={"starts": 3, "high dimension": 128}).met


def test_the_deadline_is_consulted():
    with pytest.raises(Undecided, match="max_wall_time"):
        repulsion.EXPERIMENT.run(0, {**repulsion.EXPERIMENT.sizes, "starts": 2}, Deadline(1e-9))


def test_runs_stay_on_the_sphere():
    x = run(uniform_starts(0, 2, 4, 3), [1.0, 50.0], 2.0)
    np.testing.assert_allclose(np.linalg.norm(x, axis=-1), 1, atol=1e-12)
