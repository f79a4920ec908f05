"""Figures: the geometry that they draw, their files, and that no global state of Matplotlib is touched."""

import re
import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.errors import InputError  # noqa: E402
from symflow.plot import (  # noqa: E402
    CovariancePath,
    Portrait,
    cone,
    curves,
    eigenvalues,
    ellipses,
    matrix_spectra,
    phase_portrait,
    rank_histograms,
    save,
    spectrum_over_time,
)
from symflow.plot.cone import _below, cone_coordinates  # noqa: E402
from symflow.plot.ellipses import ellipse  # noqa: E402
from symflow.plot.portrait import disc  # noqa: E402


def _path(label="", end=1.0, d=2, **kwargs):
    t = np.linspace(0, end, 20)
    start = np.eye(d) + 0.3 * np.ones((d, d))
    return CovariancePath(label, t, np.exp(-t)[:, None, None] * start, **kwargs)


def test_cone_coordinates_put_rank_one_on_the_boundary():
    u = np.random.default_rng(0).normal(size=(50, 2))
    x, y, z = cone_coordinates(u[:, :, None] * u[:, None, :]).T
    np.testing.assert_allclose(z, np.hypot(x, y), rtol=1e-12)
    np.testing.assert_allclose(cone_coordinates(3 * np.eye(2)), [0, 0, 6])


def test_cone_coordinates_turn_the_determinant_into_the_cone():
    root = np.random.default_rng(1).normal(size=(50, 2, 2))
    cov = root @ root.transpose(0, 2, 1)
    x, y, z = cone_coordinates(cov).T
    np.testing.assert_allclose(z**2 - x**2 - y**2, 4 * np.linalg.det(cov), rtol=1e-9, atol=1e-12)


def test_a_path_is_cut_where_it_leaves_the_picture():
    points = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(_below(points, 2.0), [[0, 0, 1], [0, 0, 2]])
    np.testing.assert_allclose(_below(points, 5.0), points)


def test_ellipse_is_the_standard_deviation():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    shift = ellipse(np.array([1.0, -1.0]), cov) - np.array([[1.0], [-1.0]])
    np.testing.assert_allclose(np.einsum("in,ij,jn->n", shift, np.linalg.inv(cov), shift), 1.0, rtol=1e-12)


def test_the_disc_has_rank_one_as_its_circle_at_twice_the_angle():
    angle = np.linspace(0, np.pi, 7)
    u = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    expected = np.stack([np.cos(2 * angle), np.sin(2 * angle)], axis=-1)
    np.testing.assert_allclose(disc(5 * u[:, :, None] * u[:, None, :]), expected, atol=1e-14)
    np.testing.assert_allclose(disc(3 * np.eye(2)), [0, 0])


def test_bars_are_as_high_as_the_ranks_are_frequent():
    figure = rank_histograms({"d = 3": {"exact": [2, 2, 2], "Euler": [0, 1, 2]}}, {"d = 3": 2})
    heights = [bar.get_height() for bar in figure.axes[0].containers[0]]
    assert heights == [0, 0, 3]
    assert [bar.get_height() for bar in figure.axes[0].containers[1]] == [1, 1, 1]


def test_a_fate_has_one_marker_in_every_panel():
    cov = np.array([np.eye(2), 2 * np.eye(2)])
    portraits = {"a": Portrait(cov, ["zero", "line"]), "b": Portrait(cov, ["line", "line"], [cov])}
    figure = phase_portrait(portraits)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["zero", "line", "trajectory"]
    assert [len(axes.collections[1].get_offsets()) for axes in figure.axes] == [1, 2]


def test_the_same_name_has_the_same_colour_in_every_panel():
    t = np.linspace(0, 1, 5)
    figure = curves({"one": {"a": (t, t + 1), "b": (t, t + 2)}, "two": {"b": (t, t + 3)}}, "$y$")
    first, second = (axes.get_lines() for axes in figure.axes)
    assert first[1].get_color() == second[0].get_color() != first[0].get_color()


def test_figures_have_labelled_axes_and_files_of_all_formats(tmp_path):
    figures = {
        "cone": cone({"one": [_path(limit=np.zeros((2, 2)))], "two": [_path("a"), _path("b")]}),
        "ellipses": ellipses([_path("a", mean=np.zeros((20, 2))), _path("b")]),
        "eigenvalues": eigenvalues([_path("a", t_star=1.5)]),
        "ranks": rank_histograms({"d = 3": {"exact": [2, 2]}, "d = 4": {"exact": [2, 1]}}, title="ranks"),
        "portrait": phase_portrait({"p": Portrait(np.array([np.eye(2)]), ["line"])}, title="fates"),
        "curves": curves({"": {"a": (np.arange(3.0), np.arange(3.0) + 1)}}, "$y$", title="curves"),
        "spectrum": spectrum_over_time(_path(d=30), rank=29),
        "spectra": matrix_spectra(
            {"$A$": (np.array([2.0, 1.0]), "$s$"), "$S$": (np.array([1.0, -1.0]), "$l$")}
        ),
    }
    for name, figure in figures.items():
        for file in save(figure, tmp_path / name):
            assert file.stat().st_size > 2000
        panels = [axes for axes in figure.axes if axes.get_visible() and axes.get_label() != "<colorbar>"]
        assert panels
        assert all(axes.get_xlabel() for axes in panels)
    svg = (tmp_path / "cone.svg").read_text()
    assert "<svg" in svg
    assert not re.search(r'(href|src)="http', svg)


def test_no_global_state_is_touched(tmp_path):
    before = dict(matplotlib.rcParams)
    save(cone({"one": [_path()]}), tmp_path / "cone", ("png",))
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


def test_without_matplotlib_the_remedy_is_named():
    code = "import sys; sys.modules['matplotlib'] = None; import symflow.plot"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "pip install 'symflow[plot]'" in run.stderr.splitlines()[-1]


def test_the_same_figure_gives_the_same_pdf(tmp_path):
    first, second = (save(eigenvalues([_path()]), tmp_path / n, ("pdf",))[0].read_bytes() for n in "ab")
    assert first == second


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cone({"x": []}), r"groups\['x'\]"),
        (lambda: cone({"x": [_path("p", d=3)]}), r"path 'p': cov has shape \(20, 3, 3\)"),
        (lambda: ellipses([]), "at least one path"),
        (lambda: ellipses([_path(d=3)]), r"needs \(T, 2, 2\)"),
        (lambda: eigenvalues([]), "at least one path"),
        (lambda: matrix_spectra({}), "at least one spectrum"),
        (lambda: rank_histograms({}), "at least one panel"),
        (lambda: rank_histograms({"d": {}}), r"panels\['d'\]: at least one method"),
        (lambda: rank_histograms({"d": {"Euler": [-1]}}), r"panels\['d'\]\['Euler'\]: -1 is not a rank"),
        (lambda: phase_portrait({}), "at least one portrait"),
        (lambda: Portrait(np.zeros((2, 2, 2)), ["line"]), r"needed \(1, 2, 2\)"),
        (lambda: curves({}, "y"), "at least one panel"),
        (lambda: curves({"p": {"a": (np.zeros(3), np.zeros(2))}}, "y"), r"panels\['p'\]\['a'\]: times have"),
        (lambda: CovariancePath("p", np.zeros(3), np.zeros((2, 2, 2))), r"\(T,\) and \(T, d, d\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
