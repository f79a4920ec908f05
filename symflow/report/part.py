"""Parts of a section: their blocks, what they compare, the steps and verdicts in them; and the section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symflow.claims import check, claims
from symflow.derive.derivation import Argument
from symflow.report.blocks import Badge, Code, Grid, Outcome, Paragraph, Section, Steps, mark, state
from symflow.report.comparison import Comparison, agreement_badge
from symflow.report.tokens.derived import cited_by

#: The first and the last columns are words that should not be stretched.
_COLUMNS = "".join(
    rf"{ragged}p{{{share}\textwidth}}"
    for ragged, share in (
        (r">{\raggedright\arraybackslash}", 0.17),
        ("", 0.5),
        ("", 0.08),
        (r">{\raggedright\arraybackslash}", 0.11),
        ("", 0.05),
    )
)


@dataclass(frozen=True)
class Part:
    """A subsection and what it counts.

    Attributes
    ----------
    section : Section
    rows : sequence of Comparison
    steps : (int, int)
        How many steps are checked, of how many.
    verdicts : sequence of dict
        Claim, status, kind of proof, file of the certificate, whether its replay accepts it.
    citations : tuple of str
    """

    section: Section
    rows: Sequence[Comparison] = ()
    steps: tuple[int, int] = (0, 0)
    verdicts: Sequence[dict[str, Any]] = ()
    citations: tuple[str, ...] = ()


def joined(title: str, anchor: str, opening: str, parts: Sequence[Part]) -> Outcome:
    """Return a section of parts, with what they count in badges and in the summary."""
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
        title,
        anchor,
        (Paragraph(opening),),
        badges,
        tuple(part.section for part in parts),
    )
    passed = good == total and decided == len(verdicts) and all(row["agrees"] for row in rows)
    cited = dict.fromkeys(key for part in parts for key in part.citations)
    summary = {"comparisons": rows, "verdicts": verdicts, "steps": total, "checked": good}
    return Outcome(section, summary, passed, tuple(cited))


@dataclass(frozen=True)
class Derived:
    """Arguments as blocks, each shown on request, with the numbers of their steps."""

    blocks: tuple[Steps, ...]
    steps: tuple[int, int]
    citations: tuple[str, ...]


def derived(arguments: Iterable[tuple[str, Argument]], in_article: bool = False) -> Derived:
    """Check arguments and return them under the headings given."""
    found = [(title, argument, tuple(argument.checked())) for title, argument in arguments]
    seen = [one for _, _, checked in found for _, one in checked]
    return Derived(
        tuple(Steps(argument, checked, title, in_article) for title, argument, checked in found),
        (sum(one.passed for one in seen), len(seen)),
        cited_by([argument for _, argument, _ in found]),
    )


def decided(names: Sequence[str], out: Path) -> tuple[tuple[Any, ...], list[dict[str, Any]]]:
    """Decide claims, keep their certificates, replay these; return blocks and records."""
    records = [_decided(name, out) for name in names]
    rows = tuple(
        (
            r["claim"].replace("/", "/ "),
            claims()[r["claim"]].holds,
            r["status"],
            r["method"],
            mark(r["passed"]),
        )
        for r in records
    )
    grid = Grid(("claim", "what holds", "verdict", "proof", "holds"), rows, judged=True, tex=_COLUMNS)
    said = Paragraph(
        "Each certificate is derived again from its own text, by a route that shares no formula with the "
        "search:"
    )
    return (grid, said, Code(f"symflow replay {records[0]['certificate']}")), records


def _decided(name: str, out: Path) -> dict[str, Any]:
    verdict = check(name)
    file = f"certificates/{name.replace('/', '-')}.json"
    replayed = False
    if verdict.certificate is not None:
        verdict.certificate.save(out / file)
        replayed = verdict.replay()
    return {
        "claim": name,
        "status": verdict.status,
        "method": verdict.method,
        "scope": verdict.scope,
        "certificate": file,
        "replayed": replayed,
        "passed": replayed and verdict.status == claims()[name].documented,
    }
