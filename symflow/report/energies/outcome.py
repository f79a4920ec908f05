"""The section on energies, from its parts."""

from __future__ import annotations

from pathlib import Path

from symflow.report.blocks import Badge, Outcome, Paragraph, Section, state
from symflow.report.comparison import agreement_badge
from symflow.report.energies.along import geodesics_part
from symflow.report.energies.spheres import critical_part, hessian_part
from symflow.report.energies.structures import flows_part, variations_part

_OPENING = (
    r"Attention moves tokens along gradients of energies $F(\mu) = \frac12\iint W\,d\mu\,d\mu + \int "
    r"U\,d\mu$ and of entropic costs of transport, for metrics that are derived with them. What follows is "
    r"derived at symbolic size from the definitions of energy and attention, and compared with compiled "
    r"runs; every verdict has a certificate."
)


def energies_outcome(out: Path) -> Outcome:
    """Return the section on energies; figures and certificates are written below ``out``."""
    makers = (variations_part, flows_part, geodesics_part, hessian_part, critical_part)
    parts = [make(out) for make in makers]
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
        "Energies and their landscapes",
        "energies",
        (Paragraph(_OPENING),),
        badges,
        tuple(part.section for part in parts),
    )
    passed = good == total and decided == len(verdicts) and all(row["agrees"] for row in rows)
    cited = dict.fromkeys(key for part in parts for key in part.citations)
    summary = {"comparisons": rows, "verdicts": verdicts, "steps": total, "checked": good}
    return Outcome(section, summary, passed, tuple(cited))
