"""Figures of energies: along geodesics, spectra of Hessians, critical points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.critical import Atlas, CriticalPoint
from symflow.errors import InputError
from symflow.plot import Branch, Landscape, atlas, hessian_spectra, landscapes
from symflow.plot.atlas import places
from symflow.plot.hessians import merged, spread

T = np.linspace(-1.0, 1.0, 9)


def test_a_band_lies_exactly_where_the_energy_is_not_convex():
    figure = landscapes({"one": [Landscape("a", T, T**3, 6 * T)]})
    for axes in figure.axes:
        band, curve = axes.lines[:2]
        assert band.get_linewidth() > 3 * curve.get_linewidth()
        assert np.array_equal(np.isfinite(band.get_ydata()), T < 0)
        assert np.isfinite(curve.get_ydata()).all()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a"]


def test_landscapes_refuse_what_does_not_fit():
    with pytest.raises(InputError, match="needed the same"):
        Landscape("a", T, T, T[1:])
    with pytest.raises(InputError, match="at least one landscape"):
        landscapes({"one": []})


def test_equal_branches_are_one_and_signs_have_looks():
    grows, falls = Branch(T, 2), Branch(-T, 1)
    (first, second) = merged([grows, falls, Branch(T.copy(), 3), Branch(T, 0)])
    assert (first.multiplicity, second.multiplicity) == (5, 1)
    figure = hessian_spectra({"one": [grows, falls], "two": [Branch(0 * T, 4)]}, T, "y", threshold=0.1)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == [r"$\times2$", r"$\times1$"]
    drawn = {line.get_linestyle() for line in axes.lines if np.isfinite(line.get_ydata()).any()}
    assert drawn == {"-", "--", ":"}  # the branches vanish in the middle
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert "$0$" in labels
    assert "$-10^{-1}$" in labels
    with pytest.raises(InputError, match="needed"):
        hessian_spectra({"one": [Branch(T[1:], 1)]}, T, "y")


def test_labels_are_moved_apart_and_no_further():
    assert spread([0.9, 0.5, 0.1], 0.1) == [0.9, 0.5, 0.1]
    moved = spread([0.52, 0.5, 0.49, 0.0], 0.1)
    assert -np.diff(moved[:3]) == pytest.approx([0.1, 0.1])
    assert np.mean(moved[:3]) == pytest.approx(np.mean([0.52, 0.5, 0.49]))
    assert moved[3] == 0.0


def test_places_are_turned_so_that_the_axis_is_upright():
    angles = np.array([0.3, 0.3, 2.0, 2.0, 0.3 + (2.0 - 0.3) / 2 + np.pi])
    found = places(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert sorted(count for _, count in found) == [1, 2, 2]
    (single,) = [angle for angle, count in found if count == 1]
    assert single == pytest.approx(np.pi / 2)
    pair = [np.cos(angle) for angle, count in found if count == 2]
    assert sum(pair) == pytest.approx(0.0, abs=1e-12)


POINT = CriticalPoint(
    x=np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]),
    name="2 + 1 antipodal",
    clusters=(2, 1),
    rank=1,
    energy=0.5,
    eigenvalues=(-1.0, 0.0, 1.0),
    increasing=1,
    decreasing=1,
    flat=0,
    rotations=1,
    hits=3,
)


def test_an_atlas_says_energy_index_and_what_is_certified():
    certified = replace(POINT, certificate="certified", radius=1e-9)
    figure = atlas([Atlas("E", 3, 2, (certified, POINT), 10, 10, None)])
    texts = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    for said, proved in zip(texts, (True, False), strict=True):
        assert said[0] == "2"
        assert "$E = 0.5000$" in said[1]
        assert "1 up, 1 down" in said[1]
        assert said[1].endswith("\N{CHECK MARK}") is proved
    with pytest.raises(InputError, match="d = 2"):
        atlas([Atlas("E", 3, 3, (POINT,), 10, 10)])
