"""Second variations along geodesics: derived, drawn, and beside differences of the energy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from symflow.curvature.geodesics import Geodesic, geodesic, second_along
from symflow.curvature.second_variation import second_variation
from symflow.derive.second_variation.argument import second_variation_argument
from symflow.energies import Exponential
from symflow.integrate.gaussian import Gaussian
from symflow.models.energies.registry import energy_model
from symflow.plot import Landscape, landscapes, save
from symflow.report.blocks import Paragraph, Picture, Section
from symflow.report.comparison import Comparison, comparison, comparison_grid
from symflow.report.part import Part, decided, derived

#: V = I and A = −I on the line.
_V = [[1.0]]
_POINTS = {"wasserstein": 25, "twisted": 25, "bures": 15}
#: Step of fourth-order differences: their error is below 1e-7 and rounding below 1e-10 here.
_STEP = 0.02


def geodesics_part(out: Path) -> Part:
    """Return the second variation along geodesics of three metrics."""
    save(landscapes(_curves()), out / "figures" / "geodesics")
    rows = [*_per_unit_speed(), *(_difference(metric) for metric in _POINTS)]
    argument = second_variation_argument(energy_model("exponential"), "twisted")
    listed = derived(
        [("The second variation for the twisted metric, step by step", argument)], in_article=True
    )
    verdicts, records = decided(["CACP25/non-convexity", "CACP25/no-upper-bound"], out)
    said = (
        r"The second variation at a law is $\frac{d^2}{dt^2}F(\mu_t)$ along the geodesic with a given "
        r"velocity: straight lines for $W_2$ on tokens, $(I+tS)\Sigma(I+tS)$ for $W_2$ on Gaussian laws "
        r"(Bures), and for the twisted metric $\int\langle v, |M|v\rangle\,G_\mu\,d\mu$, $M = AV^{-1}$, "
        r"$G_\mu(x) = \int e^{\langle Ax, y\rangle}d\mu(y)$, the curves of its Hamiltonian. Here $V = I$ and "
        r"$A = -I$, so that attention descends $F = \frac12\iint e^{-\langle x, y\rangle}d\mu\,d\mu$. $F$ is "
        r"convex along geodesics of none of the three. On Gaussian laws energy and metric are finite for "
        r"$\Sigma \prec I$ only."
    )
    how = (
        r"Per unit speed: the second variation divided by the metric, for a random direction in dimension 3 "
        r"or for the variance of a centred Gaussian law. Along geodesics: fourth-order differences of the "
        r"energy beside the second variation, which does not know the curve."
    )
    caption = (
        r"The energy along geodesics and its second derivative, on the line. A band lies under a curve where "
        r"the energy is not convex. One token at 0; two tokens, at $\pm 0.2$ and moving apart, at $\pm 0.4$ "
        r"and moving together; the Gaussian law $\mathcal N(0, 0.3)$."
    )
    blocks = (
        Paragraph(said),
        Picture("geodesics", caption),
        Paragraph(how),
        comparison_grid(rows),
        *verdicts,
        *listed.blocks,
    )
    section = Section("Second variations along geodesics", "energies-geodesics", blocks)
    return Part(section, rows, listed.steps, records, listed.citations)


def _energy() -> Exponential:
    return Exponential([[-1.0]], [[1.0]])


def _start(metric: str) -> dict[str, tuple[Any, Any]]:
    """Return places and velocities by name."""
    if metric == "bures":
        law = Gaussian([0.0], [[0.3]])
        return {"mean": (law, ([1.0], [[0.0]])), "variance": (law, ([0.0], [[0.3]]))}
    return {
        "one token": ([[0.0]], [[1.0]]),
        "two, apart": ([[0.2], [-0.2]], [[1.0], [-1.0]]),
        "two, together": ([[0.4], [-0.4]], [[1.0], [1.0]]),
    }


def _followed(metric: str, start: tuple[Any, Any], times: Any) -> tuple[Geodesic, Any]:
    """Return a geodesic and the second variation along it."""
    given = {"V": _V} if metric == "twisted" else {}
    path = geodesic(_energy(), metric, *start, times, **given)
    return path, second_along(_energy(), metric, path, **given)


def _curves() -> dict[str, list[Landscape]]:
    titles = {"wasserstein": "$W_2$, tokens", "twisted": "twisted, tokens", "bures": "Bures, Gaussian law"}
    panels: dict[str, list[Landscape]] = {}
    for metric, title in titles.items():
        times = np.linspace(-0.9, 0.9, _POINTS[metric])
        panels[title] = []
        for name, start in _start(metric).items():
            path, second = _followed(metric, start, times)
            panels[title].append(Landscape(name, path.t, path.energy, second))
    return panels


def _per_unit_speed() -> list[Comparison]:
    rng, rows = np.random.default_rng(0), []
    space = Exponential(-np.eye(3), np.eye(3))
    for radius in (0.5, 1.5):
        x, v = rng.normal(size=(2, 1, 3))
        found = second_variation(space, "twisted", radius * x / np.linalg.norm(x), V=np.eye(3))
        rows.append(
            _beside(
                rf"twisted, one token, $|x| = {radius:g}$: $|x|^2 - 1$",
                radius**2 - 1,
                found.form(v) / found.metric(v),
                1e-12,
            )
        )
    s = 0.5
    on_law = second_variation(_energy(), "twisted", Gaussian([0.0], [[s]]), V=_V)
    value = on_law.form([[1.0]]) / on_law.metric([[1.0]])
    rows.append(
        _beside(r"twisted, Gaussian law, $s = \frac12$: $3s/(1-s^2)$", 3 * s / (1 - s * s), value, 1e-12)
    )
    return rows


def _difference(metric: str) -> Comparison:
    """Compare the second variation in the middle of a geodesic with differences of the energy."""
    name, start = list(_start(metric).items())[-1]
    path, second = _followed(metric, start, _STEP * np.arange(-2.0, 3.0))
    stencil = np.array([-1, 16, -30, 16, -1]) / (12 * _STEP**2)
    quantity = rf"{metric.capitalize() if metric != 'wasserstein' else '$W_2$'}, {name}: $d^2F/dt^2$"
    return _beside(quantity, float(second[2]), float(stencil @ path.energy), 1e-6)


def _beside(quantity: str, theorem: float, found: float, tolerance: float) -> Comparison:
    return comparison(
        quantity, f"{theorem:.10g}", f"{found:.10g}", abs(found - theorem), tolerance, "absolute"
    )
