"""Expressions and equations as LaTeX, broken into lines where they are too wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from symflow.algebra.latex.lines import DEFAULT_WIDTH, break_lines, width
from symflow.algebra.latex.matrices import matrix_rows
from symflow.algebra.latex.printer import Printer
from symflow.errors import InputError

_STYLES = ("plain", "bold")
_SIGN_WIDTH = width("=")


def latex(expr: Any, matrix_style: str = "plain") -> str:
    r"""Return the LaTeX of an expression; text is returned as it is.

    Parameters
    ----------
    expr : Expr, MatrixExpr or str
        What to print.
    matrix_style : {"plain", "bold"}
        Whether matrix and vector symbols are bold.

    Raises
    ------
    InputError
        If the style is unknown.

    Examples
    --------
    >>> from sympy import Identity, MatrixSymbol, Trace
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, V, S = (matrix(n, d, d) for n in ("A", "V", "Sigma"))
    >>> latex(V * (S * A + Identity(d)) * vector("alpha", d))
    'V(I+\\Sigma A)\\alpha'
    >>> latex(S * A.T * S * V.T + V * S * A * S)
    'V\\Sigma A\\Sigma + \\Sigma A^{\\top}\\Sigma V^{\\top}'
    """
    if matrix_style not in _STYLES:
        raise InputError(f"matrix_style = {matrix_style!r} is not one of {', '.join(map(repr, _STYLES))}")
    return expr if isinstance(expr, str) else str(Printer(matrix_style == "bold").doprint(expr))


def latex_equation(
    lhs: Any,
    rhs: Any,
    *,
    terms_per_line: int | None = None,
    max_width: int | None = DEFAULT_WIDTH,
    matrix_style: str = "plain",
) -> str:
    r"""Return ``lhs = rhs`` for display mode, split inside ``aligned`` where it is too long.

    Parameters
    ----------
    lhs, rhs : Expr, MatrixExpr or str
        Both sides.
    terms_per_line : int, optional
        Break after so many terms of the outer sum.
    max_width : int or None
        Widest line in units of 7 pt at 10 pt; None never breaks. An explicit matrix that is wider is
        written as named blocks of columns, or entry by entry.
    matrix_style : {"plain", "bold"}
        Whether matrix and vector symbols are bold.

    Examples
    --------
    >>> latex_equation("a", "b + c", terms_per_line=1)
    '\\begin{aligned}\na &= b \\\\\n&\\quad + c\n\\end{aligned}'
    >>> latex_equation("a", "b + c")
    'a = b + c'
    """
    rows = latex_rows(
        [(lhs, rhs)], terms_per_line=terms_per_line, max_width=max_width, matrix_style=matrix_style
    )
    return " = ".join(rows[0]) if len(rows) == 1 else _environment("aligned", rows)


def aligned(
    equations: Sequence[tuple[Any, Any]],
    *,
    terms_per_line: int | None = None,
    max_width: int | None = DEFAULT_WIDTH,
    matrix_style: str = "plain",
    environment: str = "aligned",
) -> str:
    r"""Return several equations aligned at the equality sign.

    Parameters
    ----------
    equations : sequence of (lhs, rhs)
        Both sides as in :func:`latex_equation`; an empty rhs gives a line without a sign.
    terms_per_line, max_width, matrix_style
        As in :func:`latex_equation`.
    environment : {"aligned", "align*"}
        ``aligned`` stands inside a display; ``align*`` is a display that may break across pages.

    Raises
    ------
    InputError
        If an option is out of its range.

    Examples
    --------
    >>> print(aligned([("a", "b"), ("c", "d")]))
    \begin{aligned}
    a &= b \\
    c &= d
    \end{aligned}
    """
    if environment not in ("aligned", "align*"):
        raise InputError(f"environment = {environment!r} is neither 'aligned' nor 'align*'")
    rows = latex_rows(
        equations, terms_per_line=terms_per_line, max_width=max_width, matrix_style=matrix_style
    )
    text = _environment(environment, rows)
    return text if environment == "aligned" else f"\\begingroup\\allowdisplaybreaks\n{text}\n\\endgroup"


def latex_rows(
    equations: Sequence[tuple[Any, Any]],
    *,
    terms_per_line: int | None = None,
    max_width: int | None = DEFAULT_WIDTH,
    matrix_style: str = "plain",
) -> list[tuple[str, str]]:
    """Return the lines of aligned equations as (left, right); continued lines have an empty left side."""
    if terms_per_line is not None and terms_per_line < 1:
        raise InputError(f"terms_per_line = {terms_per_line} must be at least 1")
    if max_width is not None and max_width < 10:
        raise InputError(f"max_width = {max_width} must be at least 10")
    pieces: list[tuple[str, str, bool]] = []
    for lhs, rhs in equations:
        left, is_matrix = latex(lhs, matrix_style), isinstance(rhs, sympy.MatrixBase)
        if is_matrix and max_width is not None:
            blocks = matrix_rows(left, rhs, lambda e: latex(e, matrix_style), max_width)
            pieces += [(name, text, r"\begin{array}" in text) for name, text in blocks]
        else:
            pieces.append((left, latex(rhs, matrix_style), is_matrix))
    # The lines of all equations start at one sign, after the widest left side.
    used = max((width(name) + _SIGN_WIDTH for name, text, _ in pieces if text), default=0.0)
    room = None if max_width is None else max(10.0, max_width - used)
    rows: list[tuple[str, str]] = []
    for name, text, is_whole in pieces:
        lines = [text] if is_whole else break_lines(text, room, terms_per_line)
        rows += [(name, lines[0]), *(("", line) for line in lines[1:])]
    return rows


def _environment(name: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = []
    for left, right in rows:
        if not right:
            lines.append(f"{left} &")
        else:
            lines.append(f"{left} &= {right}" if left else rf"&\quad {right}")
    body = " \\\\\n".join(lines)
    return f"\\begin{{{name}}}\n{body}\n\\end{{{name}}}"
