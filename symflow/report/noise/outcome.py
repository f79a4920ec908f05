"""The section on common noise, from its parts."""

from __future__ import annotations

from pathlib import Path

from symflow.report.blocks import Outcome
from symflow.report.noise.layers import exponents_part, layers_part
from symflow.report.noise.pairs import pairs_part
from symflow.report.noise.paths import paths_part
from symflow.report.part import joined

_OPENING = (
    r"Transformers with a random perceptron in every layer move all tokens by the same random field: as "
    r"depth and width grow, the tokens solve a stochastic differential equation with common noise, and their "
    r"law a stochastic transport equation. What follows is derived from the definition of the layer; "
    r"exponents are enclosed in balls, and what a theorem predicts stands beside what paths show, with "
    r"standard errors."
)


def noise_outcome(out: Path) -> Outcome:
    """Return the section on common noise; figures and certificates are written below ``out``."""
    parts = [make(out) for make in (layers_part, exponents_part, pairs_part, paths_part)]
    return joined("Random layers and common noise", "noise", _OPENING, parts)
