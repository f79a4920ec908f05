"""The tools along runs of the solver: events, merges, growth of the energy, the common cosine."""

import numpy as np
import pytest

import symflow
from symflow.clustering import cluster_count_event, energy_growth, equiangular_flow
from symflow.energies import Dissipation, Interaction
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised


def unit(n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_a_run_ends_when_the_count_falls_and_the_clusters_agree():
    model, x = Softmax(space="sphere", beta=4.0), unit(12, 3)
    grid = np.linspace(0.0, 30.0, 601)
    whole = symflow.solve(model, x, {}, (0.0, 30.0), t_eval=grid)
    found = whole.clusters()
    assert found.count[0] == 12
    for k in (6, 3):
        event = cluster_count_event(k)
        stopped = symflow.solve(model, x, {}, (0.0, 30.0), events=[event])
        assert stopped.status == "event"
        assert event(0.0, stopped.x_events[0][0]) == pytest.approx(0.0, abs=1e-9)
        # the merge that leaves k clusters, interpolated on the grid
        assert found.merge_times[12 - k - 1] == pytest.approx(float(stopped.t_events[0][0]), abs=0.05)
        first = grid[np.argmax(found.count <= k)]
        assert first - grid[1] <= stopped.t_events[0][0] <= first


@pytest.mark.parametrize("variant", [Softmax, Unnormalised])
@pytest.mark.parametrize("beta", [0.5, 5.0])
def test_the_energy_never_decreases_along_a_run(variant, beta):
    model = variant(space="sphere", beta=beta)
    run = symflow.solve(model, unit(16, 3, 4), {}, (0.0, 20.0), t_eval=np.linspace(0, 20, 41))
    kernel = symflow.compile(model)
    velocity = np.array([kernel(0.0, tokens) for tokens in run.x])
    growth = energy_growth(Interaction(beta), run.x, velocity)
    assert growth.increases
    assert growth.rate[:5].min() > 1e3 * growth.margin.max()  # far from rounding at the start
    values = run.energy(beta)
    assert (np.diff(values) >= -1e-9 * values[-1]).all()
    assert (np.diff(run.energy(Dissipation(beta))) <= 1e-9).all()


@pytest.mark.parametrize("variant", [Softmax, Unnormalised])
def test_orthonormal_tokens_keep_one_cosine_along_a_run(variant):
    n, times = 6, np.linspace(0.0, 4.0, 9)
    model = variant(space="sphere", beta=1.0)
    run = symflow.solve(model, np.eye(n), {}, (0.0, 4.0), t_eval=times, rtol=1e-11, atol=1e-13)
    off = run.cosines()[:, ~np.eye(n, dtype=bool)]
    gamma = equiangular_flow(model).curve(times, n)
    np.testing.assert_allclose(off, np.repeat(gamma[:, None], n * (n - 1), axis=1), atol=1e-9)
