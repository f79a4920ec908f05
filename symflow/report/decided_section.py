"""The section on a long time that is decided in exact arithmetic."""

from __future__ import annotations

from typing import Any

from symflow.algebra.exact.numbers import AlgebraicNumber
from symflow.longtime.record import to_record
from symflow.longtime.result import LongTime
from symflow.report.blocks import GOOD, Badge, Callout, Grid, Outcome, Paragraph, Section


def decided_outcome(decided: LongTime, caution: str) -> Outcome:
    """Return the section on a long time that is decided exactly, or on why it is not."""
    decided.check()
    criterion = decided.criterion
    if criterion is None:
        blocks: list[Any] = [Callout(f"Nothing is proved about the long time: {decided.reason}.")]
    else:
        blocks = [Callout(_fate(decided), GOOD)]
        source = criterion.reference or "the closed equation"
        name = rf"\textbf{{Criterion “{criterion.name}”.}}"
        blocks.append(Paragraph(f"{name} {criterion.statement} Source: {source}."))
        rows = tuple((h.statement, h.decided) for h in criterion.hypotheses)
        blocks.append(Grid(("hypothesis", "decided by"), rows))
        blocks.append(
            Paragraph("Every number is read as the rational it is; no hypothesis is decided in floats.")
        )
    if caution and decided.blow_up_time is None:
        blocks.append(Paragraph(caution))
    applies = "none applies" if criterion is None else criterion.name
    section = Section("Long time", "theorems", tuple(blocks), (Badge("theorem", applies),))
    summary = {"long_time": to_record(decided), "theorem_applies": criterion is not None}
    return Outcome(section, summary, True)


def _fate(decided: LongTime) -> str:
    if (time := decided.blow_up_time) is not None:
        exact = "exactly known" if isinstance(time, AlgebraicNumber) else rf"$\pm {float(time.radius):.1g}$"
        return rf"Blow-up at $t^* = {float(time):.15g}$, {exact}."
    if decided.limit is not None:
        return rf"No blow-up; $\Sigma(t)$ tends to a limit of rank {decided.limit_rank}."
    return (decided.reason or "a bound holds for all times").capitalize() + "."
