"""The section on common noise, from its parts."""

from __future__ import annotations

from pathlib import Path

from symflow.report.blocks import Badge, Outcome, Paragraph, Section, state
from symflow.report.comparison import agreement_badge
from symflow.report.noise.layers import exponents_part, layers_part
from symflow.report.noise.pairs import pairs_part
from symflow.report.noise.paths import paths_part

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
    rows = [row for part in parts for row in part.rows]
    verdicts = [record for part in parts for record in part.verdicts]
    good, total = (sum(column) for column in zip(*(part.steps for part in parts), strict=True))
    decided = sum(record["passed"] for record in verdicts)
    badges = (
        Badge("derivations", f"{good} of {total} steps checked", state(good == total)),
        agreement_badge("predictions", rows),
        Badge("verdicts", f"{decided} of {len(verdicts)} as documented", state(decided == len(verdicts))),
    )
    section = Section(
        "Random layers and common noise",
        "noise",
        (Paragraph(_OPENING),),
        badges,
        tuple(part.section for part in parts),
    )
    passed = good == total and decided == len(verdicts) and all(row["agrees"] for row in rows)
    cited = dict.fromkeys(key for part in parts for key in part.citations)
    summary = {"comparisons": rows, "verdicts": verdicts, "steps": total, "checked": good}
    return Outcome(section, summary, passed, tuple(cited))
