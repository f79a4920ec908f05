"""Clusters, merges and their event against other algorithms and against tokens whose clusters are known."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components

from symflow.clustering import (
    cluster_count_event,
    clusters,
    cosines,
    count_plateaus,
    fraction_above,
    merge_heights,
    plateaus,
    waiting_times,
)
from symflow.errors import InputError


def unit(shape, seed=0):
    x = np.random.default_rng(seed).normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


@pytest.mark.parametrize("threshold", [-0.5, 0.3, 0.8, 0.99])
def test_components_are_those_of_scipy(threshold):
    x = unit((5, 40, 3))
    found = clusters(np.arange(5.0), x, threshold)
    for index, cloud in enumerate(x):
        count, labels = connected_components(cosines(cloud) >= threshold, directed=False)
        assert found.count[index] == count
        same = found.labels[index][:, None] == found.labels[index][None]
        np.testing.assert_array_equal(same, labels[:, None] == labels[None])
        assert sorted(found.sizes(index)) == sorted(np.bincount(labels))


def test_heights_are_those_of_single_linkage():
    x = np.random.default_rng(2).normal(size=(30, 4))
    expected = linkage(x, "single")[:, 2]
    np.testing.assert_allclose(merge_heights(x, on_sphere=False), expected, rtol=1e-12)
    y = unit((30, 3))
    chords = np.sqrt(2 - 2 * merge_heights(y))
    np.testing.assert_allclose(chords, linkage(y, "single")[:, 2], rtol=1e-9)


def test_there_are_at_most_k_clusters_where_the_height_is_past_the_threshold():
    x = unit((20, 3))
    for threshold in (0.2, 0.7, 0.9):
        count = clusters([0.0], x[None], threshold).count[0]
        for k in range(1, 20):
            assert (cluster_count_event(k, threshold)(0.0, x) >= 0) == (count <= k)


def test_merge_times_of_pairs_that_approach_on_the_circle():
    """Two pairs close at known times; outputs lie between them."""
    t = np.linspace(0.0, 4.0, 41)
    first, second = np.maximum(1.0 - t, 0.0), np.maximum(1.0 - t / 3.0, 0.0)
    x = circle(np.stack([0 * t, first, np.full_like(t, 3.0), 3.0 + second], axis=-1))
    found = clusters(t, x, np.cos(0.05))
    np.testing.assert_allclose(found.merge_times, [0.95, 2.85], atol=5e-3)
    assert found.count[[0, 15, -1]].tolist() == [4, 3, 2]
    np.testing.assert_allclose(waiting_times(found.merge_times), [1.9], atol=1e-2)
    assert [p.level for p in found.plateaus(1.5)] == [3.0]


def test_tokens_that_split_do_not_count_as_merges():
    x = circle(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    found = clusters([0.0, 1.0, 2.0], x)
    assert found.count.tolist() == [1, 2, 1]
    assert len(found.merge_times) == 1
    assert 1.0 < found.merge_times[0] <= 2.0


def test_on_euclidean_space_the_scale_does_not_matter():
    x = np.random.default_rng(4).normal(size=(3, 12, 2))
    x[:, 6:] = x[:, :6] + 1e-4
    counts = [clusters(range(3), scale * x, on_sphere=False).count.tolist() for scale in (1.0, 1e6)]
    assert counts[0] == counts[1] == [6, 6, 6]
    assert clusters([0.0], np.zeros((1, 4, 2)), on_sphere=False).count.tolist() == [1]


@pytest.mark.parametrize("n", [1, 2])
def test_few_tokens(n):
    found = clusters([0.0, 1.0], np.ones((2, n, 1)))
    assert found.count.tolist() == [1, 1]
    assert found.merge_times.size == 0
    assert merge_heights(np.ones((n, 1))).shape == (n - 1,)


def test_fraction_above_counts_pairs_blockwise(monkeypatch):
    import symflow.clustering.pairs as pairs

    x = unit((3, 25, 2))
    expected = (cosines(x) >= 0.5).mean(axis=(1, 2))
    off = ((cosines(x) >= 0.5).sum(axis=(1, 2)) - 25) / (25 * 24)
    monkeypatch.setattr(pairs, "_BLOCK", 60)
    np.testing.assert_array_equal(fraction_above(x, 0.5), expected)
    np.testing.assert_allclose(fraction_above(x, 0.5, distinct=True), off, rtol=1e-15)
    assert fraction_above(x[0, :1], 0.5, distinct=True) == 1.0


def test_cosines_of_tokens_of_any_length():
    x = np.array([[1e200, 0.0], [1e-200, 1e-200], [-3.0, 0.0]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(cosines(x), [[1, half, -1], [half, 1, -half], [-1, -half, 1]], rtol=1e-15)


def test_plateaus_of_an_energy_like_staircase():
    t = np.linspace(0.0, 30.0, 601)
    values = 1 / (1 + np.exp(-8 * (t - 3))) + 1 / (1 + np.exp(-8 * (t - 20)))
    found = plateaus(t, values, 0.02, 5.0)
    assert [round(p.level, 2) for p in found] == [1.0, 2.0]
    assert found[0].start == pytest.approx(3.5, abs=0.3)
    assert found[0].duration == pytest.approx(16.0, abs=0.7)


def test_plateaus_of_a_count():
    found = count_plateaus([0.0, 1.0, 2.0, 5.0, 6.0], [8, 3, 3, 2, 2])
    assert [(p.start, p.end, p.level) for p in found] == [(0.0, 1.0, 8.0), (1.0, 5.0, 3.0), (5.0, 6.0, 2.0)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clusters([0.0], np.zeros((1, 2, 2))), r"x\[0, 0\] is zero"),
        (lambda: clusters([0.0, 1.0], np.ones((1, 2, 2))), r"give \(T,\) and \(T, n, d\)"),
        (lambda: clusters([0.0], np.ones((1, 2, 2)), 1.5), "no cosine"),
        (lambda: clusters([0.0], np.ones((1, 2, 2)), -1.0, on_sphere=False), "no distance"),
        (lambda: cluster_count_event(0), "k = 0"),
        (lambda: cluster_count_event(2)(0.0, np.ones((2, 2))), "k = 2, but there are 2 tokens"),
        (lambda: merge_heights(np.ones((2, 2, 2))), "one cloud"),
        (lambda: count_plateaus([0.0, 0.0], [1, 2]), r"t\[1\] does not increase"),
        (lambda: plateaus([0.0, 1.0], [1.0], 0.1, 0.0), r"give \(T,\) both"),
    ],
)
def test_refusals_name_what_is_wrong(call, message):
    with pytest.raises(InputError, match=message):
        call()
