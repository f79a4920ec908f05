"""Parts of proof objects as LaTeX: numbers, vectors, matrices, exact values, lines of a replay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from symflow.algebra.grammar import parse
from symflow.algebra.latex import latex
from symflow.derive.tex import tex_escape

#: A line may end after these.
_OPERATOR = re.compile(r"[*,(=)](?! )")
#: Lines of a replay that are written out; of longer ones the first and the last.
MOST_LINES = 30


def number_latex(token: Any) -> str:
    r"""Return a rational number, given as text or fraction, as mathematics.

    Examples
    --------
    >>> number_latex("-3/4"), number_latex("2")
    ('-\\tfrac{3}{4}', '2')
    """
    value = Fraction(str(token))
    if value.denominator == 1:
        return str(value)
    return rf"{'-' if value < 0 else ''}\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def matrix_latex(rows: Sequence[Sequence[Any]]) -> str:
    """Return rows of rational numbers as a matrix."""
    inner = r" \\ ".join(" & ".join(number_latex(entry) for entry in row) for row in rows)
    return rf"\begin{{pmatrix}} {inner} \end{{pmatrix}}"


def vector_latex(entries: Sequence[Any]) -> str:
    """Return a column of rational numbers, written in a row and transposed; a number in dimension one."""
    if len(entries) == 1:
        return number_latex(entries[0])
    return rf"({', '.join(number_latex(entry) for entry in entries)})^\top"


def value_latex(value: Any) -> str:
    """Return an exact value of the small grammar, or a ball with midpoint and radius."""
    if isinstance(value, Mapping):
        midpoint, radius = (float(Fraction(value[key])) for key in ("midpoint", "radius"))
        mantissa, _, exponent = f"{radius:.0e}".partition("e")
        return rf"{midpoint:.15g} \pm {mantissa}\cdot10^{{{int(exponent)}}}"
    return latex(parse(value, {}))


def lines_latex(lines: Sequence[Any]) -> list[str]:
    """Return the lines of a replay, each with what it says and how it follows."""
    if not lines:
        return []
    shown: Iterable[Any] = lines
    left_out = len(lines) - MOST_LINES
    if left_out > 0:
        half = MOST_LINES // 2
        shown = [*lines[:half], None, *lines[len(lines) - half :]]
    items = [
        rf"\item \emph{{{left_out} lines that are not shown.}}" if line is None else _item(line)
        for line in shown
    ]
    return [r"\begin{description}\raggedright", *items, r"\end{description}"]


def _item(line: Any) -> str:
    """Return one line; brackets around the label keep a bracket in it from ending it."""
    label, said, reason = (tex_escape(part) for part in (line.id, line.statement, line.reason))
    return rf"\item[{{{label}}}] {breakable(said)} \emph{{[{breakable(reason)}]}}"


def breakable(text: str) -> str:
    r"""Let a formula that is written as text break after its operators.

    Examples
    --------
    >>> breakable("V*Sigma*A")
    'V*\\allowbreak{}Sigma*\\allowbreak{}A'
    """
    return _OPERATOR.sub(r"\g<0>\\allowbreak{}", text)
