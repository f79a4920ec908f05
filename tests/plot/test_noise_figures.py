"""Figures of common noise: what is drawn is what was given."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.errors import InputError
from symflow.plot import Band, Law, band_grid, cosine_clusters, laws

T = np.linspace(0.0, 1.0, 6)


def test_bands_have_titles_on_top_and_one_legend():
    one = Band(T, T, T - 0.1, T + 0.1)
    two = Band(T, T**2, colour=1, dash=1)
    rows = {"low": {"a": {"x": one, "y": two}, "b": {"x": one}}, "high": {"a": {"y": two}, "b": {}}}
    figure = band_grid(rows, "value")
    assert [axes.get_title() for axes in figure.axes] == ["a", "b", "", ""]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["x", "y"]
    assert len(figure.axes[0].collections) == 1
    assert np.array_equal(figure.axes[0].lines[1].get_ydata(), T**2)
    assert figure.axes[2].get_ylabel() == "high\nvalue"


@pytest.mark.parametrize("rows", [{}, {"a": {}}, {"a": {"x": {}}, "b": {"y": {}}}])
def test_rows_need_the_same_columns(rows):
    with pytest.raises(InputError, match="rows"):
        band_grid(rows, "value")


def test_a_band_has_two_sides_of_its_length():
    with pytest.raises(InputError, match="middle"):
        Band(T, T[1:])
    with pytest.raises(InputError, match="low"):
        Band(T, T, low=T)


def test_matrices_of_cosines_are_sorted_by_cluster():
    """Four tokens at ±e₁ in turn: the last matrix has two blocks, the first histogram only the ends."""
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    figure = cosine_clusters({"two": (T, np.broadcast_to(x, (len(T), 4, 2)))})
    matrix = np.asarray(figure.axes[3].images[0].get_array())
    assert np.array_equal(np.abs(matrix), np.ones((4, 4)))
    assert np.array_equal(matrix[:2, :2], np.ones((2, 2)))
    assert np.array_equal(matrix[:2, 2:], -np.ones((2, 2)))
    share = figure.axes[0].collections[0].get_array().reshape(-1, len(T))
    assert np.allclose(share[0], 2 / 3)
    assert np.allclose(share[-1], 1 / 3)
    assert share[1:-1].mask.all()
    for runs in ({}, {"flat": (T, x)}):
        with pytest.raises(InputError, match="runs"):
            cosine_clusters(runs)


def test_a_histogram_is_a_density():
    samples, points = np.random.default_rng(3).uniform(size=500), np.linspace(-1.0, 2.0, 31)
    figure = laws({"uniform": {"law": Law(samples, points, np.ones(31))}}, "$u$", bins=10, span=(0.0, 1.0))
    (axes,) = figure.axes
    (line,), (steps,) = axes.lines, axes.patches
    assert line.get_xdata().min() >= 0.0
    heights, edges, _ = steps.get_data()
    assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)
    with pytest.raises(InputError, match="panels"):
        laws({}, "$u$", span=(0.0, 1.0))
