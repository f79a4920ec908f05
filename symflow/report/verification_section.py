"""The tables of verification: one row per system of tokens, one per witness of Gaussian laws."""

from __future__ import annotations

from collections.abc import Sequence

from symflow.report.blocks import BAD, GOOD, Badge, Grid, Paragraph, Section, mark
from symflow.verify import Row, Table

_HEAD = ("model", "given", "what and witness", "points", "error", "bound", "holds")


def verification_section(table: Table) -> Section:
    """Return the section on a verification; every row is in the page, the article gathers those on tokens."""
    gaussian = [row for row in table if not row.on_tokens]
    tokens = [row for row in table if row.on_tokens]
    good = sum(row.passed for row in table)
    badge = Badge("witnesses", f"{good} of {len(table)} agree", GOOD if table.passed else BAD)
    blocks: list[Paragraph | Grid] = []
    if gaussian:
        said = f"Gaussian laws: all {len(gaussian)} comparisons, with errors and bounds"
        blocks += [
            Paragraph(
                rf"\textbf{{Gaussian laws.}} {_count(gaussian)} between compiled kernels and witnesses "
                rf"that share "
                "no code with them; the table has all of them."
            ),
            _every_row(gaussian, said if len(gaussian) > 1 else ""),
        ]
    if tokens:
        blocks += [
            Paragraph(
                rf"\textbf{{Tokens.}} {_count(tokens)}, one column per witness: the largest error over "
                rf"its bound, "
                "so that at most 1 is good."
            ),
            _gathered(tokens),
            _every_row(tokens, f"Tokens: all {len(tokens)} comparisons, with errors and bounds", False),
        ]
    return Section("Verification", "verification", tuple(blocks), (badge,))


def _count(rows: Sequence[Row]) -> str:
    return f"{sum(row.passed for row in rows)} of {len(rows)} comparisons agree"


def _every_row(rows: Sequence[Row], folded: str, in_article: bool = True) -> Grid:
    cells = []
    for row in rows:
        what = f"{row.quantity}: {row.witness}"
        numbers = (str(row.points), f"{row.error:.2g}", f"{row.tolerance:.2g}")
        cells.append((row.model, row.parametrisation or "–", what, *numbers, mark(row.passed)))
    notes = "; ".join(dict.fromkeys(f"{row.witness}: {row.note}" for row in rows if row.note))
    caption = f"Units of the error. {notes}." if notes else ""
    return Grid(
        _HEAD,
        tuple(cells),
        caption,
        judged=True,
        align="lllrrrl",
        tex=r"p{0.16\textwidth}p{0.18\textwidth}p{0.34\textwidth}rrrl",
        folded=folded,
        in_article=in_article,
    )


def _gathered(rows: Sequence[Row]) -> Grid:
    """Return one row per system, with the error of every witness over its bound."""
    witnesses = tuple(dict.fromkeys(row.witness for row in rows))
    systems: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        systems.setdefault((row.model, row.parametrisation), {})[row.witness] = row
    cells = tuple(
        (
            *(part.replace(", tokens", "") for part in system),
            *(_share(found.get(witness)) for witness in witnesses),
            mark(all(row.passed for row in found.values())),
        )
        for system, found in systems.items()
    )
    width = 0.5 / len(witnesses)
    column = rf">{{\raggedleft\arraybackslash}}p{{{width:.3f}\textwidth}}"
    tex = rf"p{{0.19\textwidth}}p{{0.14\textwidth}}*{{{len(witnesses)}}}{{{column}}}l"
    head = ("system", "given", *witnesses, "holds")
    return Grid(head, cells, judged=True, align=f"ll{'r' * len(witnesses)}l", tex=tex)


def _share(row: Row | None) -> str:
    if row is None:
        return "–"
    if row.tolerance == 0.0:
        return f"{row.error:.2g}"
    return f"{row.error / row.tolerance:.1g}"
