"""The spectrum of the uniform law, and how one mode of a perturbation grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Rational, Symbol, latex

from symflow.clustering import uniform_instability
from symflow.integrate.solve import solve
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.plot import Predicted, beside_prediction, save
from symflow.report.blocks import Display, Paragraph, Picture, Section
from symflow.report.comparison import Comparison, comparison, comparison_grid

Array = NDArray[np.float64]

_BETAS = (1, 4, 9)
_MODES = 9
#: Tokens of the regular polygon: its sums are integrals up to terms far below the tolerance.
_CORNERS = 128
#: Size of the perturbation, and how long it grows: second order is 1e-12 of it.
_SIZE, _TIME = 1e-6, 0.5


def instability_part(out: Path) -> tuple[Section, list[Comparison]]:
    """Return the spectrum beside growth that is measured on perturbed regular polygons."""
    rows: list[Comparison] = []
    measured: dict[int, list[float]] = {}
    for beta in _BETAS:
        model = Softmax(space="sphere", beta=beta)
        measured[beta] = [_measured_rate(model, k) for k in range(1, _MODES + 1)]
        fastest = int(np.argmax([_rate(model, k, 2) for k in range(1, _MODES + 1)])) + 1
        rows.append(_row("SA", model, fastest, measured[beta][fastest - 1]))
    unscaled = Unnormalised(space="sphere", beta=4)
    rows.append(_row("USA", unscaled, 2, _measured_rate(unscaled, 2)))
    panels = {f"$d = {d}$": [_curve(beta, d, measured) for beta in _BETAS] for d in (2, 3)}
    figure = beside_prediction(panels, "degree $k$", r"growth rate $\lambda_k$", shared=False)
    save(figure, out / "figures" / "instability")
    return Section("How the uniform law falls apart", "clustering-instability", _blocks(rows)), rows


def _blocks(rows: list[Comparison]) -> tuple[Any, ...]:
    formula = uniform_instability(Softmax(space="sphere", beta=Symbol("beta", positive=True)))
    said = (
        r"The uniform law is an equilibrium. A perturbation by spherical harmonics of degree $k$ grows like "
        r"$e^{\lambda_kt}$ (Funk–Hecke and Rodrigues); for SA"
    )
    how = (
        rf"Measured on the circle: the corners of the regular {_CORNERS}-gon, whose sums are integrals up to "
        rf"rounding, are moved by $10^{{-6}}\cos k\theta$, and the amplitude is followed to "
        rf"$t = {Rational(str(_TIME))}$ by the compiled flow."
    )
    caption = (
        r"Growth rates by degree. Curves: the formula; points: amplitudes of perturbed regular polygons. The "
        r"fastest degree tells about how many clusters appear first."
    )
    return (
        Paragraph(said),
        Display(rf"\lambda_k = {latex(formula.rate())}."),
        Paragraph(how),
        comparison_grid(rows),
        Picture("instability", caption),
    )


def _rate(model: AttentionModel, k: int, d: int) -> float:
    return float(uniform_instability(model).rate(k, d).evalf(20))


def _row(name: str, model: AttentionModel, k: int, found: float) -> Comparison:
    exact = _rate(model, k, 2)
    quantity = rf"{name}, $\beta = {float(model.beta):g}$: $\lambda_{{{k}}}$"
    return comparison(quantity, f"{exact:.9g}", f"{found:.9g}", abs(found / exact - 1), 1e-6, "relative")


def _measured_rate(model: AttentionModel, k: int) -> float:
    """Return log(a(T)/a(0))/T of the amplitude a of mode k."""
    corners = 2 * np.pi * np.arange(_CORNERS) / _CORNERS
    angles = corners + _SIZE * np.cos(k * corners)
    start = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    run = solve(model, start, {}, (0.0, _TIME), t_eval=[_TIME], rtol=1e-12, atol=1e-15)
    x: Array = run.x[-1]
    moved = np.arctan2(
        x[:, 1] * np.cos(corners) - x[:, 0] * np.sin(corners),
        x[:, 0] * np.cos(corners) + x[:, 1] * np.sin(corners),
    )
    amplitude = 2.0 * float(moved @ np.cos(k * corners)) / _CORNERS
    return float(np.log(amplitude / _SIZE) / _TIME)


def _curve(beta: int, d: int, measured: dict[int, list[float]]) -> Predicted:
    degrees = np.arange(1.0, _MODES + 1)
    model = Softmax(space="sphere", beta=beta)
    values = np.array([_rate(model, int(k), d) for k in degrees])
    points = (degrees, np.array(measured[beta])) if d == 2 else ()
    return Predicted(rf"$\beta = {beta}$", (degrees, values), points)
