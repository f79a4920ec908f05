"""Two clouds of tokens beside the stability estimate of every variant, in exact distances on the line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from symflow.derive.stability import stability
from symflow.distances import wasserstein
from symflow.integrate.solve import solve
from symflow.models.attention.model import AttentionModel
from symflow.models.registry import attention_models
from symflow.report.blocks import Grid, Outcome, Paragraph, Section, mark
from symflow.report.comparison import Comparison, agreement_badge, at_most

Array = NDArray[np.float64]

_SEED = 41
_COUNT, _PAIRS = 64, 6
_RADIUS, _TIME = 0.5, 0.5
_QUERY, _VALUE = 1.0, 0.5


def separation_outcome() -> Outcome:
    """Return the section that compares the constants with runs."""
    rows, cells = [], []
    for name, variant in attention_models().items():
        row, cell = _compared(name, variant())
        rows.append(row)
        cells.append(cell)
    said = (
        r"Every variant has an estimate $W_p(\mu(t),\nu(t)) \le C(t, R_0)\,W_p(\mu_0,\nu_0)$, "
        r"$C(t, R_0) = \exp\int_0^t(\Lambda_x+\Lambda_\mu)(R(s))\,ds$, whose constants are derived in the "
        r"section of the variant. Here they are in numbers, rounded upwards in ball arithmetic, for "
        rf"$d = 1$, $Q = K = {_QUERY:g}$ (or $A = {_QUERY:g}$), $V = {_VALUE:g}$ and $R_0 = "
        rf"{_RADIUS:g}$; beside "
        rf"them is the largest ratio $W_1(\mu(t),\nu(t))/W_1(\mu_0,\nu_0)$ over {_PAIRS} pairs of clouds of "
        rf"{_COUNT} tokens at $t = {_TIME:g}$, in exact distances on the line."
    )
    head = ("variant", "$B$", r"$\Lambda_x$", r"$\Lambda_\mu$", rf"$C({_TIME:g}, R_0)$", "measured", "holds")
    note = (
        r"$B$, $\Lambda_x$, $\Lambda_\mu$ at $R_0$. The estimate allows for the worst law and every "
        r"start, so that "
        r"runs stay far below it."
    )
    grid = Grid(head, tuple(cells), note, judged=True, align="lrrrrrl")
    section = Section(
        "Stability in numbers", "stability", (Paragraph(said), grid), (agreement_badge("stability", rows),)
    )
    return Outcome(section, {"comparisons": rows}, all(row["agrees"] for row in rows), ("CACP25",))


def _compared(name: str, model: AttentionModel) -> tuple[Comparison, tuple[str, ...]]:
    names = [p.name for p in model.statement().parameters if getattr(p, "shape", ())]
    params = {key: np.array([[_VALUE if key == "V" else _QUERY]]) for key in names}
    found = stability(model)
    constants = found.constants(params, _RADIUS)
    factor = float(np.exp(found.exponent(params, _RADIUS, _TIME)))
    ratio = max(_ratio(model, params, index) for index in range(_PAIRS))
    row = at_most(name, ratio, factor)
    numbers = (constants.speed, constants.query, constants.law, factor, ratio)
    return row, (name, *(f"{number:.4g}" for number in numbers), mark(row["agrees"]))


def _ratio(model: AttentionModel, params: dict[str, Array], index: int) -> float:
    """Return by how much one pair of clouds in the ball has moved apart in W₁."""
    rng = np.random.default_rng([_SEED, index])
    first = rng.uniform(-_RADIUS, _RADIUS, size=(_COUNT, 1))
    if index % 2:
        second = np.clip(first + 0.05 * rng.normal(size=first.shape), -_RADIUS, _RADIUS)
    else:
        second = rng.uniform(-_RADIUS, _RADIUS, size=first.shape)
    ends = []
    for start in (first, second):
        run = solve(model, start, params, (0.0, _TIME), t_eval=[_TIME], raise_on_failure=True)
        ends.append(run.x[-1])
    return float(wasserstein(*ends, order=1) / wasserstein(first, second, order=1))
