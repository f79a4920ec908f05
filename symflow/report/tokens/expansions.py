"""Velocities of tokens without a sum over pairs, beside the bound of what is cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.codegen.expansions import fast_sum
from symflow.codegen.kernel import compile
from symflow.derive.derivation import Argument
from symflow.derive.expansions.harmonics import harmonic_sum
from symflow.derive.expansions.moments import moment_sum
from symflow.derive.particles import token_flow
from symflow.models.attention.linear import Linear
from symflow.models.attention.softmax import Softmax
from symflow.plot import Predicted, beside_prediction, save
from symflow.references import keys_in
from symflow.report.blocks import Badge, Display, Outcome, Paragraph, Picture, Section, Steps, state
from symflow.report.comparison import Comparison, agreement_badge, at_most, comparison_grid
from symflow.report.formulas import displayed
from symflow.report.tokens.clustering import uniform_tokens

Array = NDArray[np.float64]

_SEED, _COUNT = 99, 2000
_TOLERANCES = tuple(10.0**-k for k in range(1, 14, 2))
_SHOWN = (1e-5, 1e-13)
_SCALES = (1.0, 9.0, 81.0)
#: What rounding adds to the difference of two sums over 2000 tokens, of order one.
_ROUNDING = 1e-12


def expansions_outcome(out: Path) -> Outcome:
    """Return the section on fast sums; a figure is written below ``out``."""
    circle, sphere = (harmonic_sum(token_flow(Softmax(space="sphere"), ()), d) for d in (2, 3))
    moments = moment_sum(token_flow(Linear()))
    folds = {
        "The circle, step by step, with what every check saw": circle,
        r"$S^2$, step by step, with what every check saw": sphere,
        "Linear attention by moments, step by step": moments,
    }
    steps = [
        Steps(found, tuple(found.checked()), title, in_article=found is circle)
        for title, found in folds.items()
    ]
    seen = [check.passed for block in steps for _, check in block.checked]
    rows, panels = _measured()
    figure = beside_prediction(panels, "degree $M$", "error of a velocity", scales=("linear", "log"))
    save(figure, out / "figures" / "expansions")
    badges = (
        Badge("derivations", f"{sum(seen)} of {len(seen)} steps checked", state(all(seen))),
        agreement_badge("bounds", rows),
    )
    section = Section(
        "Sums without pairs", "expansions", tuple(_blocks(circle, moments, steps, rows)), badges
    )
    cited = {key for found in folds.values() for step in found.steps for key in keys_in(step.reference)}
    passed = all(seen) and all(row["agrees"] for row in rows)
    return Outcome(section, {"comparisons": rows}, passed, tuple(sorted(cited)))


def _blocks(circle: Argument, moments: Argument, steps: list[Steps], rows: list[Comparison]) -> list[Any]:
    said = (
        r"On the circle and on $S^2$ the kernel $e^{\beta\langle x,y\rangle}$ is a series of harmonics with "
        r"positive coefficients, so that all $n$ velocities cost $O(nM)$ or $O(nM^2)$ operations instead of "
        r"$O(n^2)$. What is cut off beyond the degree $M$ is bounded before anything is summed. On "
        r"the circle:"
    )
    linear = (
        "Weights that are affine in both tokens need no series: two moments of the law determine "
        "every velocity exactly."
    )
    compared = (
        rf"Below, the velocity of {_COUNT} uniform tokens under SA by the series, beside the sum over "
        rf"all pairs. "
        r"“Theorem” is the proved bound for the degree that a tolerance selects, and $10^{-12}$ for the "
        r"rounding of both sums."
    )
    results = [Display(displayed(circle.steps[-1].formulas)), Paragraph(circle.steps[-1].statement)]
    picture = Picture(
        "expansions",
        r"Errors of velocities by the degree $M$ of the series: curves are proved bounds, points are "
        r"measured, "
        r"down to rounding.",
    )
    return [
        Paragraph(said),
        results[1],
        results[0],
        *steps[:2],
        Paragraph(linear),
        Display(displayed(moments.steps[-1].formulas)),
        steps[2],
        Paragraph(compared),
        comparison_grid(rows),
        picture,
    ]


def _measured() -> tuple[list[Comparison], dict[str, list[Predicted]]]:
    rows: list[Comparison] = []
    panels: dict[str, list[Predicted]] = {}
    for d, place in ((2, "the circle"), (3, "$S^2$")):
        start = uniform_tokens(_COUNT, d, _SEED)
        for beta in _SCALES:
            model = Softmax(space="sphere", beta=beta)
            direct = compile(model, given=(), entry="tokens")(0.0, start)
            found = {t: _one(model, start, direct, t) for t in _TOLERANCES}
            for tolerance in _SHOWN:
                modes, bound, error = found[tolerance]
                name = rf"{place}, $\beta = {beta:g}$, $M = {modes}$"
                rows.append(at_most(name, error, bound + _ROUNDING, 2))
            degrees, bounds, errors = (
                np.array(column, float) for column in zip(*found.values(), strict=True)
            )
            panel = panels.setdefault("the circle" if d == 2 else "$S^2$", [])
            panel.append(Predicted(rf"$\beta = {beta:g}$", (degrees, bounds), (degrees, errors)))
    return rows, panels


def _one(model: Softmax, start: Array, direct: Array, tolerance: float) -> tuple[int, float, float]:
    """Return the degree that a tolerance selects, the proved bound and the measured error."""
    found = fast_sum(model, (start.shape[1], len(start)), {}, tolerance, "fast")
    if found is None:
        raise AssertionError("there is an expansion on the circle and on the sphere")
    velocity = np.empty(start.size)
    found.call(0.0, start.ravel(), velocity)
    difference = np.linalg.norm(velocity.reshape(start.shape) - direct, axis=1)
    return found.modes, found.error, float(difference.max())
