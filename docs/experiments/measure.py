"""What the scripts of this folder share: their two options, and what is read off runs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import symflow
from symflow.plot import save
from symflow.spec import load_spec, parse_spec

EXAMPLES = Path(__file__).parents[2] / "examples"


def read_options() -> argparse.Namespace:
    """Read ``--size small|paper`` and ``--out FOLDER`` from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=("small", "paper"), default="small", help="seconds, or minutes")
    parser.add_argument("--out", type=Path, help="folder for the figures")
    options = parser.parse_args()
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    return options


def keep(figure: Any, options: argparse.Namespace, name: str) -> None:
    """Save a figure where ``--out`` asks for it: as PNG, and at paper size as SVG and PDF, too."""
    if options.out is not None:
        formats = ("svg", "pdf", "png") if options.size == "paper" else ("png",)
        save(figure, options.out / name, formats)


def example(name: str) -> Any:
    """Read ``examples/NAME.toml``."""
    return load_spec(EXAMPLES / f"{name}.toml")


def changed(spec: Any, changes: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return a spec with other values in some sections."""
    merged = {section: {**spec.data.get(section, {}), **values} for section, values in changes.items()}
    return parse_spec({**spec.data, **merged}, name=spec.name)


def swept(name: str, options: argparse.Namespace, small: Mapping[str, Mapping[str, Any]]) -> Any:
    """Run the sweep of ``examples/sweeps/NAME.toml``, and at small size with what ``small`` changes.

    At paper size the store lies in the folder of ``--out``: what was interrupted goes on there.
    """
    spec = example(f"sweeps/{name}")
    data = {**spec.data}
    if options.size == "small":
        for section, changes in small.items():
            data[section] = {**data[section], **changes}
    if options.size == "paper" and options.out is not None:
        return symflow.sweep(data, options.out / f"{name}.zarr", progress=Remaining()).load()
    with TemporaryDirectory() as folder:
        return symflow.sweep(data, Path(folder) / f"{name}.zarr", progress=Remaining()).load()


class Remaining:
    """Progress of long work on the standard error stream, with the time that is left."""

    def __init__(self) -> None:
        self._start, self._first, self._last = time.perf_counter(), -1, 0.0

    def __call__(self, done: int, total: int) -> None:
        """Take note that ``done`` of ``total`` have ended; one line in five seconds."""
        if self._first < 0:
            self._first = done
        passed, fresh = time.perf_counter() - self._start, done - self._first
        if passed < 5 or fresh == 0 or (passed < self._last + 5 and done < total):
            return
        self._last = passed
        left = passed / fresh * (total - done)
        print(f"{done} of {total} runs, {left:.0f} s left", file=sys.stderr, flush=True)


def slope(x: Any, y: Any, error: Any = None) -> tuple[float, float, float]:
    """Return slope, its standard error, and intercept of the straight line through points.

    Parameters
    ----------
    x, y : ndarray, (P,)
        At least three points.
    error : ndarray, (P,), optional
        Standard errors of y; where they are left out, the scatter about the line stands for them.
    """
    weights = None if error is None else 1 / np.asarray(error)
    scaled = "unscaled" if error is not None else True
    line, spread = np.polyfit(x, y, 1, w=weights, cov=scaled)
    return float(line[0]), float(np.sqrt(spread[0, 0])), float(line[1])


def spectrum(factor: Any) -> Any:
    """Return the eigenvalues of FFᵀ in decreasing order, accurate however small; zero where F is NaN."""
    finite = np.isfinite(factor).all(axis=(-1, -2))
    return np.linalg.svd(np.where(finite[..., None, None], factor, 0.0), compute_uv=False) ** 2


def settled_rank(early: Any, late: Any) -> Any:
    r"""Count the eigenvalues that stay, seen at two times.

    The slowest decay is 1/t, for which an eigenvalue at ten times the time is a tenth. One that keeps a third
    of its value stays.

    Parameters
    ----------
    early, late : ndarray, (..., d)
        Eigenvalues in decreasing order, at t and at 10t.
    """
    return (late > np.maximum(early / 3, 1e-12)).sum(axis=-1)


def laws_of_unit_trace(side: int) -> Any:
    """Return covariances (N, 2, 2) of trace one, eigenvalues above 1/40, on a grid ``side`` points wide."""
    ticks = np.linspace(-0.95, 0.95, side)
    x, y = (values.ravel() for values in np.meshgrid(ticks, ticks))
    inside = np.hypot(x, y) <= 0.95
    x, y = x[inside], y[inside]
    return np.moveaxis(np.array([[(1 + x) / 2, y / 2], [y / 2, (1 - x) / 2]]), -1, 0)


def fates(model: Any, params: dict[str, Any], laws: Any) -> list[str]:
    """Return what becomes of centred laws (N, 2, 2): zero, a rising or falling line, the plane, or blow-up.

    Attracting lines are reached exponentially, other decay is 1/t: the runs end at t = 1000.
    """
    own = {name: np.broadcast_to(value, (len(laws), *value.shape)) for name, value in params.items()}
    starts = [symflow.Gaussian([0, 0], cov) for cov in laws]
    runs = symflow.ensemble(model, starts, own, (0, 1000), t_eval=[0, 100, 1000])
    early, late = np.moveaxis(spectrum(runs.factor), 1, 0)[1:]
    lines = np.where(runs.cov[:, -1, 0, 1] > 0, "rising line", "falling line")
    names = np.choose(settled_rank(early, late), ["zero", lines, "plane"])
    if not np.isin(runs.status, ["finished", "blow-up"]).all():
        raise SystemExit(f"runs without an answer: {runs}")
    return np.where(runs.status == "blow-up", "blow-up", names).tolist()


def clipped_euler(V: Any, A: Any, cov: Any, step: float, *, still: float, most: int, far: float = 1e3) -> Any:
    r"""Return what the usual script reports: explicit Euler steps, negative eigenvalues set to zero.

    .. math:: \Sigma \leftarrow \Pi_{\succeq 0}(\Sigma + h(V\Sigma A\Sigma + \Sigma A^\top\Sigma V^\top))

    A comparison, and nothing that the package uses. A step that is too long overshoots zero, and a clipped
    direction may be lost for ever: the kernel of Σ lies in the kernel of ΣAᵀΣ.

    Parameters
    ----------
    V, A, cov : ndarray, (B, d, d)
        One run each.
    step : float
        h.
    still : float
        A run ends as converged where the drift's Frobenius norm is below it.
    most : int
        Steps at most.
    far : float
        A run ends as diverged where the trace is above it.

    Returns
    -------
    cov : ndarray, (B, d, d)
        Where each run ended.
    outcome : ndarray of str, (B,)
        ``"converged"``, ``"diverged"`` or ``"unfinished"``.
    clipped : ndarray of int, (B,)
        How many negative eigenvalues were set to zero.
    """
    cov, outcome = cov.copy(), np.full(len(cov), "unfinished", dtype="<U10")
    clipped, running = np.zeros(len(cov), dtype=int), np.arange(len(cov))
    for _ in range(most):
        S = cov[running]
        half = V[running] @ S @ A[running] @ S
        drift = half + np.swapaxes(half, 1, 2)
        values, axes = np.linalg.eigh(S + step * drift)
        clipped[running] += (values < 0).sum(axis=1)
        S = (axes * np.maximum(values, 0)[:, None, :]) @ np.swapaxes(axes, 1, 2)
        cov[running] = S
        outcome[running[np.linalg.norm(drift, axis=(1, 2)) < still]] = "converged"
        outcome[running[np.trace(S, axis1=1, axis2=2) > far]] = "diverged"
        running = running[outcome[running] == "unfinished"]
        if not running.size:
            break
    return cov, outcome, clipped
