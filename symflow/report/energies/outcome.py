"""The section on energies, from its parts."""

from __future__ import annotations

from pathlib import Path

from symflow.report.blocks import Outcome
from symflow.report.energies.along import geodesics_part
from symflow.report.energies.spheres import critical_part, hessian_part
from symflow.report.energies.structures import flows_part, variations_part
from symflow.report.part import joined

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
    return joined("Energies and their landscapes", "energies", _OPENING, parts)
