"""What is predicted beside what is measured: one record per comparison, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symflow.report.blocks import Badge, Grid, mark, state

Comparison = dict[str, Any]


def comparison(
    quantity: str, theorem: str, measured: str, difference: float, tolerance: float, unit: str = ""
) -> Comparison:
    """Return the record: quantity, theorem, measured, difference, tolerance, unit, agrees.

    Parameters
    ----------
    quantity, theorem, measured : str
        What is compared, and both values as they are shown; LaTeX text.
    difference, tolerance : float
        The comparison holds where the difference is at most the tolerance.
    unit : str
        Of the difference.
    """
    return {
        "quantity": quantity,
        "theorem": theorem,
        "measured": measured,
        "difference": float(difference),
        "tolerance": tolerance,
        "unit": unit,
        "agrees": bool(difference <= tolerance),
    }


def at_most(quantity: str, measured: float, bound: float, digits: int = 4) -> Comparison:
    """Return the comparison of a number with an upper bound that a theorem gives."""
    shown = rf"$\le {in_tex(bound, digits)}$"
    return comparison(quantity, shown, f"${in_tex(measured, digits)}$", measured, bound)


def comparison_grid(rows: Sequence[Comparison], caption: str = "") -> Grid:
    """Return the table of comparisons."""
    head = ("quantity", "theorem", "measured", "difference", "allowed", "agrees")
    body = [
        (
            row["quantity"],
            row["theorem"],
            row["measured"],
            _cell(row["difference"]),
            _cell(row["tolerance"]),
            mark(row["agrees"]),
        )
        for row in rows
    ]
    units = "; ".join(dict.fromkeys(row["unit"] for row in rows if row["unit"]))
    note = " ".join(part for part in (f"Difference: {units}." if units else "", caption) if part)
    return Grid(head, tuple(body), note, judged=True, align="lrrrrl")


def agreement_badge(label: str, rows: Sequence[Comparison]) -> Badge:
    """Return the badge that counts the comparisons that hold."""
    good = sum(row["agrees"] for row in rows)
    return Badge(label, f"{good} of {len(rows)} agree", state(good == len(rows)))


def _cell(number: float) -> str:
    return "0" if number == 0 else f"{number:.1e}"


def in_tex(value: float, digits: int = 4) -> str:
    """Return a number in LaTeX."""
    text = f"{value:.{digits}g}"
    mantissa, e, exponent = text.partition("e")
    if not e:
        return text
    power = rf"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"
