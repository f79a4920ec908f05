"""Random numbers of compiled paths: Philox as NumPy has it, and normal numbers with the right law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest

paths = pytest.importorskip("symflow_ext.paths")

KEY = (0x0123456789ABCDEF, 0xFEDCBA9876543210)


@pytest.mark.parametrize("path", [0, 1, 12345678901])
@pytest.mark.parametrize(("step", "tag"), [(0, 0), (7, 2), (2**40 + 3, 1)])
def test_words_are_those_of_numpys_philox(path: int, step: int, tag: int) -> None:
    counter = np.array([0, step, path, tag], dtype=np.uint64)
    expected = np.random.Philox(key=np.array(KEY, dtype=np.uint64), counter=counter).random_raw(40)
    found = paths.draw_numbers(KEY, 37, [3, path, 5], step, tag, True)
    assert np.array_equal(found[1], expected[:37])
    assert not np.array_equal(found[0], found[1])


def test_a_stream_does_not_depend_on_its_lane() -> None:
    together = paths.draw_numbers(KEY, 10, list(range(20)), 3, 0)
    for path in (0, 7, 8, 19):
        assert np.array_equal(paths.draw_numbers(KEY, 10, [path], 3, 0)[0], together[path])


def test_normal_numbers_are_box_and_mullers() -> None:
    words = paths.draw_numbers(KEY, 4096, list(range(16)), 1, 0, True).reshape(-1, 2)
    found = paths.draw_numbers(KEY, 4096, list(range(16)), 1, 0).reshape(-1, 2)
    one = np.uint64(0x3FF0000000000000)
    first, second = ((words[:, k] >> np.uint64(12) | one).view(np.float64) for k in (0, 1))
    radius, angle = np.sqrt(-2.0 * np.log(2.0 - first)), 0.5 * np.pi * (second - 1.5)
    swap, turn = words[:, 1] & np.uint64(1), 1.0 - (words[:, 1] & np.uint64(2)).astype(float)
    pair = np.stack(
        [np.where(swap, np.sin(angle), np.cos(angle)), np.where(swap, np.cos(angle), np.sin(angle))]
    )
    assert np.abs(found - (radius * turn * pair).T).max() <= 8.0 * 2.0**-52  # radii up to 8


def test_normal_numbers_have_their_law() -> None:
    # One sample of fixed seed; each bound is passed by a true sample with probability above 0.999.
    z = paths.draw_numbers(KEY, 8192, list(range(64)), 5, 0)
    flat, count = z.ravel(), z.size
    assert kstest(flat, "norm").pvalue > 1e-3
    for power, mean, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)):
        assert abs((flat**power).mean() - mean) < 3.3 * np.sqrt(variance / count)
    for level in (3.0, 4.0):
        expected = 2.0 * count * ndtr(-level)
        assert abs((np.abs(flat) > level).sum() - expected) < 3.3 * np.sqrt(expected)
    pairs = flat.reshape(-1, 2)
    for a, b in (
        (pairs[:, 0], pairs[:, 1]),
        (z[0::2].ravel(), z[1::2].ravel()),
        (pairs[:-1, 1], pairs[1:, 0]),
    ):
        assert abs((a * b).mean()) < 3.3 / np.sqrt(a.size)
        assert abs((a**2 * b**2).mean() - 1.0) < 3.3 * np.sqrt(8.0 / a.size)
