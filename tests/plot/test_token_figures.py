"""Figures of tokens: what they draw is what they were given, and shapes that do not fit are refused."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib", reason="figures are an extra")

from symflow.errors import InputError  # noqa: E402
from symflow.plot import (  # noqa: E402
    CirclePath,
    Points,
    cosine_spectra,
    fits,
    polyhedra,
    sphere_movie,
    staircases,
)
from symflow.plot.sphere import _seen  # noqa: E402


def _cloud(n=6, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _circle(t, angles):
    x = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return CirclePath(t, x, np.linspace(0, 1, len(t)), np.arange(len(t))[::-1])


def test_the_eye_looks_from_a_right_handed_place():
    eye = (37.0, 21.0)
    frame = _seen(np.eye(3), eye)
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    longitude, latitude = np.radians(eye)
    towards = np.cos(latitude) * np.array([np.cos(longitude), np.sin(longitude), np.tan(latitude)])
    np.testing.assert_allclose(_seen(towards, eye), [0, 0, 1], atol=1e-15)
    assert _seen(np.array([0.0, 0.0, 1.0]), eye)[1] > 0  # north is up


def test_near_and_far_tokens_are_all_drawn():
    x = _cloud(20)
    drawn = [np.asarray(part.get_offsets()) for part in polyhedra({"": (x, 1.0)}).axes[0].collections]
    assert sum(map(len, drawn)) == 20
    assert len(drawn[1]) == (_seen(x, (30.0, 25.0))[:, 2] >= 0).sum()


def test_an_octahedron_has_twelve_edges():
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    bare, joined = (len(polyhedra({"": (corners, least)}).axes[0].lines) for least in (0.5, -0.001))
    assert joined - bare == 12


def test_a_film_has_one_picture_per_time(tmp_path):
    from PIL import Image

    x = np.stack([_cloud(5, seed) for seed in range(4)])
    with Image.open(sphere_movie(tmp_path / "film.gif", np.arange(4.0), x, inches=1.5)) as film:
        assert film.n_frames == 4
        assert film.size == (150, 150)


def test_a_line_is_broken_where_an_angle_goes_around():
    t = np.array([1.0, 2.0, 3.0, 4.0])
    figure = staircases({"": _circle(t, np.array([[3.0], [3.1], [-3.1], [-3.0]]))})
    drawn = figure.axes[0].lines[0].get_ydata()
    assert np.isnan(drawn).sum() == 1
    assert np.nanmax(np.abs(np.diff(drawn))) < 1


def test_spectra_have_one_line_per_value():
    exact = np.array([-1.0, -0.5, -0.5, 0.5])
    axes = cosine_spectra({"": (exact[::-1], exact)}).axes[0]
    assert [line.get_ydata()[0] for line in axes.lines[:-1]] == [-1.0, -0.5, 0.5]
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), exact)


def test_points_keep_bars_and_lines():
    x = np.array([1.0, 2.0, 3.0])
    points = Points(x, x**2, x**2 - 0.5, x**2 + 1, (x, x**2))
    axes = fits({"": {"measured": points}}, "x", "y", scales=("log", "log")).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), x**2)
    (bars,) = axes.collections
    np.testing.assert_allclose(
        [segment[:, 1] for segment in bars.get_segments()], np.c_[x**2 - 0.5, x**2 + 1]
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: polyhedra({}), "at least one"),
        (lambda: polyhedra({"a": (np.zeros((4, 2)), 1.0)}), "(n, 3)"),
        (lambda: sphere_movie(None, np.zeros(2), np.zeros((3, 4, 3))), "(T, n, 3)"),
        (lambda: cosine_spectra({"a": (np.zeros(3), np.zeros(2))}), "panels['a']"),
        (lambda: staircases({}), "at least one"),
        (lambda: _circle(np.array([0.0, 1.0]), np.zeros((2, 1))), "positive"),
        (lambda: CirclePath(np.ones(2), np.zeros((2, 1, 3)), np.ones(2), np.ones(2)), "(T, n, 2)"),
        (lambda: fits({}, "x", "y"), "at least one"),
        (lambda: Points(np.zeros(2), np.zeros(3)), "(P,)"),
        (lambda: Points(np.zeros(2), np.zeros(2), low=np.zeros(2)), "both"),
    ],
)
def test_what_does_not_fit_is_refused(make, words):
    with pytest.raises(InputError, match=r"give|needed|needs|at least|leave"):
        make()
    with pytest.raises(InputError) as caught:
        make()
    assert words in str(caught.value)
