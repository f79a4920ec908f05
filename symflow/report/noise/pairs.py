"""Two tokens in common noise: paths beside the Fokker–Planck equation of their cosine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from symflow.noise.common import CommonNoise
from symflow.noise.fokker_planck import PairLaw, pair_law
from symflow.noise.pair import PairPaths, pair_paths
from symflow.plot import Law, laws, save
from symflow.report.blocks import Paragraph, Picture, Section
from symflow.report.comparison import Comparison, comparison, comparison_grid
from symflow.report.part import Part

_SIZE, _START, _TIMES = 3, -0.3, np.array([2.0, 8.0, 20.0])
_PATHS, _STEP, _SEED = 3000, 0.1, 31
#: In standard errors; a normal number exceeds it with probability 7e-6.
_ERRORS = 4.5
#: Of the mean cosine, by steps of 0.1: of the order of a third of κ(1) times the step.
_BIAS = 0.01


def pairs_part(out: Path) -> Part:
    """Return the law of the cosine of two tokens, computed twice."""
    fields = {
        "ReLU": CommonNoise("relu", dim=_SIZE),
        "tanh": CommonNoise("tanh", dim=_SIZE),
        r"tanh, $\sigma = 0.1$": CommonNoise("tanh", "0.1", "0.1", dim=_SIZE),
    }
    rows: list[Comparison] = []
    panels = {}
    for name, field in fields.items():
        paths = pair_paths(field, _START, _TIMES, dt=_STEP, paths=_PATHS, rng=_SEED)
        law = pair_law(field, _START, _TIMES)
        rows += _rows(name, paths, law)
        panels[name] = _panel(paths, law)
    save(laws(panels, r"$s = \log\frac{1+u}{1-u}$", span=(-12.0, 12.0)), out / "figures" / "noise-pairs")
    said = (
        rf"Two tokens start with the cosine $u = {_START:g}$ in dimension {_SIZE}, without attention. "
        rf"{_PATHS} pairs are moved by draws of the field at both tokens; the law of $u$ solves $\partial_tp "
        rf"= -(G_0p)' + (G_1p)''$, here by finite volumes that conserve mass and stay positive."
    )
    caption = (
        r"The law of $s = \log\frac{1+u}{1-u}$: histograms of paths, and the Fokker--Planck equation. Tokens "
        r"that meet go to the right, those that become opposite to the left; only an odd field, as that of "
        r"tanh without bias, keeps the latter."
    )
    blocks = (Paragraph(said), comparison_grid(rows), Picture("noise-pairs", caption))
    return Part(Section("Two tokens", "noise-pairs", blocks), rows)


def _rows(name: str, paths: PairPaths, law: PairLaw) -> list[Comparison]:
    error = paths.u.std(axis=0) / np.sqrt(_PATHS)
    return [
        comparison(
            rf"{name}: $E\,u$ at $t = {t:g}$",
            f"{law.mean()[k]:.4f}",
            f"{paths.u[:, k].mean():.4f}",
            abs(paths.u[:, k].mean() - law.mean()[k]),
            float(_ERRORS * error[k] + _BIAS),
            f"absolute, allowed are {_ERRORS:g} standard errors and {_BIAS:g} for the step",
        )
        for k, t in enumerate(_TIMES)
    ]


def _panel(paths: PairPaths, law: PairLaw) -> dict[str, Law]:
    inner = law.edges[1:-1]
    places = np.log1p(law.centres[1:-1]) - np.log1p(-law.centres[1:-1])
    widths = np.diff(np.log1p(inner) - np.log1p(-inner))
    logits = -2.0 * np.log(np.tan(0.5 * paths.angle))
    return {
        f"$t = {t:g}$": Law(logits[:, k], places, law.mass[k, 1:-1] / widths) for k, t in enumerate(_TIMES)
    }
