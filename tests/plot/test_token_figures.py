"""Figures of predictions beside measurements, and of phases."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.errors import InputError
from symflow.plot import Predicted, beside_prediction, phase_diagram, save

T = np.linspace(0.0, 1.0, 5)
NOTHING = (np.array([]), np.array([]))


def test_a_name_has_one_colour_in_every_panel_and_points_are_named_once():
    one, two = Predicted("a", (T, T), (T, T)), Predicted("b", (T, T**2))
    figure = beside_prediction({"left": [one, two], "right": [two]}, "$t$", "$y$")
    left, right = figure.axes
    inks = {line.get_label(): line.get_color() for line in left.lines}
    assert inks["b"] == right.lines[0].get_color() != inks["a"]
    (drawn,) = figure.legends
    assert [text.get_text() for text in drawn.get_texts()] == ["a", "b", "measured"]


def test_error_bars_without_a_curve_are_named_themselves():
    figure = beside_prediction({"": [Predicted("c", NOTHING, (T, T, 0.1 * T))]}, "$t$", "$y$")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["c"]
    assert len(figure.axes[0].containers) == 1
    with pytest.raises(InputError, match="at least one panel"):
        beside_prediction({}, "$t$", "$y$")


def test_phase_diagram_checks_its_shapes_and_saves_at_full_resolution(tmp_path):
    beta, shares = np.linspace(1.0, 3.0, 3), np.linspace(0.0, 1.0, 15).reshape(3, 5)
    figure = phase_diagram({"d = 2": shares}, beta, T, (beta, np.linspace(0.2, 0.8, 3)))
    mesh = figure.axes[0].collections[0]
    assert np.array_equal(mesh.get_array().reshape(3, 5), shares)
    width = figure.get_size_inches()[0]
    files = save(figure, tmp_path / "phases")
    assert [file.suffix for file in files] == [".svg", ".pdf", ".png"]
    from matplotlib.image import imread

    assert imread(files[2]).shape[1] == pytest.approx(200 * width, abs=1)
    with pytest.raises(InputError, match="needed"):
        phase_diagram({"d = 2": shares.T}, beta, T)
