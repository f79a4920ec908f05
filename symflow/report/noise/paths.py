"""Paths of tokens in common noise, beside what theorems predict of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.integrate.deep.network import DeepTransformer
from symflow.integrate.ensemble.run import ensemble
from symflow.models.attention.softmax import Softmax
from symflow.noise.common import CommonNoise
from symflow.noise.one_point import OnePointLaw
from symflow.plot import Band, band_grid, save
from symflow.report.blocks import Paragraph, Picture, Section
from symflow.report.comparison import Comparison, comparison, comparison_grid
from symflow.report.part import Part

_SIZE, _TOKENS, _PATHS, _SEED = 4, 8, 400, 41
_TIMES = np.linspace(0.0, 2.0, 9)
_STEP, _WIDTH = 0.02, 64
_ERRORS = 4.5
_CLOSE = 1e-4


def paths_part(out: Path) -> Part:
    """Return ensembles of paths beside predictions."""
    noise = CommonNoise("relu", "0.1", "0.1", dim=_SIZE)
    start = _start()
    model = Softmax(space="sphere", beta=1)
    drawn = {draw: _moved(model, noise, start, draw) for draw in ("covariance", "features")}
    layers = round(float(_TIMES[-1]) / _STEP)
    network = DeepTransformer(model, noise, layers, _WIDTH, float(_TIMES[-1]))
    drawn["network"] = np.asarray(network.run(start, rng=_SEED + 1, paths=_PATHS, t_eval=_TIMES).x)
    cosines = {name: _cosines(x) for name, x in drawn.items()}
    rows = [_agreement(name, cosines) for name in ("features", "network")]
    rows += [_one_point(noise, start), _lyapunov(noise)]
    panel = {name: _band(values, order) for order, (name, values) in enumerate(cosines.items())}
    save(band_grid({"": {"": panel}}, "mean cosine"), out / "figures" / "noise-paths")
    said = (
        rf"{_TOKENS} tokens in dimension {_SIZE} with softmax attention, $\beta = 1$, and layers with ReLU, "
        rf"$\sigma = 0.1$; {_PATHS} paths. The field is drawn by its covariance at the tokens, or as a "
        rf"random layer of {_WIDTH} units, and the network itself is run with {layers} layers: the laws "
        rf"agree."
    )
    caption = (
        "Mean cosine of all pairs, averaged over paths, with two standard errors: the equation with common "
        "noise, drawn in two ways, and the network."
    )
    blocks = (Paragraph(said), comparison_grid(rows), Picture("noise-paths", caption, "narrow"))
    return Part(Section("Paths", "noise-paths", blocks), rows)


def _start() -> Array:
    x = np.random.default_rng(_SEED).normal(size=(_TOKENS, _SIZE))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _moved(model: Any, noise: CommonNoise, start: Array, draw: str, **options: Any) -> Array:
    settings: dict[str, Any] = {"t_eval": _TIMES, "dt": _STEP, "rng": _SEED, "paths": _PATHS} | options
    units = _WIDTH if draw == "features" else None
    span = (0.0, float(settings["t_eval"][-1]))
    return np.asarray(ensemble(model, start, {}, span, noise=noise, draw=draw, features=units, **settings).x)


def _cosines(x: Array) -> Array:
    """Return the mean cosine of different tokens, (paths, T)."""
    gram = x @ np.swapaxes(x, -1, -2)
    return np.asarray(gram[..., ~np.eye(x.shape[-2], dtype=bool)].mean(axis=-1))


def _band(values: Array, order: int) -> Band:
    mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
    return Band(_TIMES, mean, mean - 2 * error, mean + 2 * error, order, order)


def _agreement(name: str, cosines: dict[str, Array]) -> Comparison:
    one, other = cosines["covariance"][:, -1], cosines[name][:, -1]
    error = np.hypot(one.std(), other.std()) / np.sqrt(_PATHS)
    return comparison(
        rf"mean cosine at $t = {_TIMES[-1]:g}$: covariance draws, {name}",
        f"{one.mean():.4f}",
        f"{other.mean():.4f}",
        abs(one.mean() - other.mean()),
        float(_ERRORS * error),
        "absolute",
    )


def _one_point(noise: CommonNoise, start: Array) -> Comparison:
    """Compare the mean of ⟨x(0), x(t)⟩ without attention with that of spherical Brownian motion."""
    x = _moved(Softmax(space="sphere", sign=0), noise, start[:1], "covariance")
    found = x[:, -1, 0] @ start[0]
    exact = float(OnePointLaw(noise).mean(_TIMES[-1]))
    return comparison(
        rf"$E\langle x(0), x({_TIMES[-1]:g})\rangle$ without attention",
        f"{exact:.4f}",
        f"{found.mean():.4f}",
        abs(found.mean() - exact),
        float(_ERRORS * found.std() / np.sqrt(_PATHS)),
        "absolute",
    )


def _lyapunov(noise: CommonNoise) -> Comparison:
    """Compare the slope of the logarithm of a small distance with the exponent."""
    pair = np.zeros((2, _SIZE))
    pair[0, 0], pair[1, :2] = 1.0, (np.cos(_CLOSE), np.sin(_CLOSE))
    x = _moved(Softmax(space="sphere", sign=0), noise, pair, "covariance")
    slope = np.log(np.linalg.norm(x[:, -1, 0] - x[:, -1, 1], axis=-1) / _CLOSE) / _TIMES[-1]
    exact = float(noise.lyapunov)
    return comparison(
        r"slope of $E\log|x - y|$ without attention, and $\lambda_1$",
        f"{exact:.4f}",
        f"{slope.mean():.4f}",
        abs(slope.mean() - exact),
        float(_ERRORS * slope.std() / np.sqrt(_PATHS)),
        "absolute",
    )
