"""The table of claims: what is in circulation, what holds, and the verdict."""

from __future__ import annotations

from symflow.claims import claims_table
from symflow.report.blocks import Badge, Code, Grid, Paragraph, Section


def claims_section() -> Section:
    """Return every claim with what holds and its documented verdict."""
    table = claims_table()
    rows = tuple((row.id.replace("/", "/ "), row.holds, row.status) for row in table)
    opening = Paragraph(
        "Every claim that the package decides: what holds, at every size, and the verdict on the statement "
        "as it is usually quoted. Where that is false, the verdict is “refuted” and the certificate holds a "
        "counterexample. One command decides a claim and derives its certificate again from its own text, "
        "for example"
    )
    example = Code("symflow check CACP25/blow-up-criterion --certificate c.json && symflow replay c.json")
    badge = Badge("claims", f"{len(table)} decided")
    grid = Grid(
        ("claim", "what holds", "as quoted"), rows, tex=r"p{0.19\textwidth}p{0.66\textwidth}p{0.09\textwidth}"
    )
    return Section("Claims", "claims", (opening, example, grid), (badge,))
