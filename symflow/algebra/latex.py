r"""LaTeX of matrix expressions the way a paper writes them.

``V*(I + Sigma*A)*alpha`` becomes ``V(I+\Sigma A)\alpha``: transposes are ``^{\top}``, traces of ``uᵀv`` are
inner products, sums start with the identity or the mean, a term comes before its transpose, numbers stay
exact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter

from symflow.algebra._latex_lines import DEFAULT_WIDTH, break_lines, width
from symflow.algebra._latex_matrix import matrix_rows
from symflow.algebra._latex_names import has_superscript, latex_name
from symflow.errors import InputError

__all__ = ["DEFAULT_WIDTH", "aligned", "latex", "latex_equation", "latex_name", "latex_rows", "width"]

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
    return expr if isinstance(expr, str) else str(_Printer(matrix_style == "bold").doprint(expr))


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


class _Printer(LatexPrinter):  # type: ignore[misc]
    """SymPy's printer with our names, our order of terms and our matrix notation."""

    def __init__(self, bold: bool) -> None:
        super().__init__({"fold_short_frac": False, "mul_symbol": None})
        self._bold = bold
        self._depth = 0  # brackets around the current sum; spaces around + only at depth 0

    # ---- names -----------------------------------------------------------------------------------

    def _print_Symbol(self, expr: Any, style: str = "") -> str:
        return latex_name(expr.name)

    _print_RandomSymbol = _print_Dummy = _print_Symbol

    def _print_MatrixSymbol(self, expr: Any, style: str = "") -> str:
        return latex_name(expr.name, self._bold)

    def _print_MatrixElement(self, expr: Any) -> str:
        index = [expr.i] if expr.parent.shape[1] == 1 and expr.j == 0 else [expr.i, expr.j]
        return self._element(self._print(expr.parent), index)

    def _print_Indexed(self, expr: Any) -> str:
        return self._element(latex_name(str(expr.base.label)), expr.indices)

    def _print_IndexedBase(self, expr: Any) -> str:
        return latex_name(str(expr.label))

    def _element(self, base: str, index: Sequence[Any]) -> str:
        is_plain = "_" not in base and not has_superscript(base) and base[:1] != "("
        inner = ",".join(self._print(i) for i in index)
        return f"{base}_{{{inner}}}" if is_plain else f"({base.strip('()')})_{{{inner}}}"

    def parenthesize_super(self, s: str) -> str:
        return f"{{{s}}}" if has_superscript(s) else s

    # ---- matrices --------------------------------------------------------------------------------

    def _print_Identity(self, expr: Any) -> str:
        return r"\mathbf{I}" if self._bold else "I"

    def _print_ZeroMatrix(self, expr: Any) -> str:
        return r"\mathbf{0}" if self._bold else "0"

    def _print_Transpose(self, expr: Any) -> str:
        if isinstance(expr.arg, sympy.Inverse):
            return self._raised(expr.arg.arg, r"-\top")
        return self._raised(expr.arg, r"\top")

    def _print_Inverse(self, expr: Any) -> str:
        if isinstance(expr.arg, sympy.Transpose):
            return self._raised(expr.arg.arg, r"-\top")
        return self._raised(expr.arg, "-1")

    def _print_MatPow(self, expr: Any) -> str:
        return self._raised(expr.base, self._inside(expr.exp))

    def _raised(self, base: Any, exponent: str) -> str:
        if isinstance(base, (sympy.MatrixSymbol, sympy.Identity, sympy.ZeroMatrix)):
            text = self._print(base)
            return f"{{{text}}}^{{{exponent}}}" if has_superscript(text) else f"{text}^{{{exponent}}}"
        if isinstance(base, sympy.MatrixBase):
            return f"{self._print(base)}^{{{exponent}}}"
        return f"{self._bracket(base)}^{{{exponent}}}"

    def _inside(self, expr: Any) -> str:
        self._depth += 1
        text = str(self._print(expr))
        self._depth -= 1
        return text

    def _bracket(self, expr: Any) -> str:
        text = self._inside(expr)
        return rf"\left({text}\right)" if r"\frac" in text or r"\begin" in text else f"({text})"

    def _print_MatAdd(self, expr: Any) -> str:
        return self._joined(order_matrix_terms(expr.args, self._print))

    def _joined(self, terms: Sequence[Any]) -> str:
        plus, minus = (" + ", " - ") if self._depth == 0 else ("+", "-")
        text = str(self._print(terms[0]))
        for term in terms[1:]:
            written = str(self._print(term))
            text += minus + written[1:].lstrip() if written.startswith("-") else plus + written
        return text

    def _print_MatMul(self, expr: Any) -> str:
        coefficient, factors = expr.as_coeff_matrices()
        return self._with_coefficient(coefficient, self._word(factors))

    def _word(self, factors: Sequence[Any]) -> str:
        return _juxtaposed([self._factor(factor) for factor in factors])

    def _factor(self, expr: Any) -> str:
        is_sum = isinstance(expr, (sympy.Add, sympy.MatAdd))
        return self._bracket(expr) if is_sum else str(self._print(expr))

    def _with_coefficient(self, coefficient: Any, rest: str) -> str:
        if coefficient == 1:
            return rest
        if coefficient == -1:
            return f"-{rest}"
        return _juxtaposed([self._coefficient(coefficient), rest])

    def _coefficient(self, coefficient: Any) -> str:
        if coefficient.is_Rational and not coefficient.is_Integer:
            sign = "-" if coefficient < 0 else ""
            return rf"{sign}\tfrac{{{abs(coefficient.p)}}}{{{coefficient.q}}}"
        return self._factor(coefficient).replace("- ", "-", 1)

    # ---- scalars ---------------------------------------------------------------------------------

    def _print_Trace(self, expr: Any) -> str:
        inner = expr.arg
        if tuple(inner.shape) != (1, 1):
            return rf"\operatorname{{tr}}({self._inside(inner)})"
        if isinstance(inner, sympy.MatAdd):
            return self._bracket(inner)
        coefficient, factors = inner.as_coeff_matrices() if isinstance(inner, sympy.MatMul) else (1, [inner])
        if len(factors) < 2:
            return self._with_coefficient(coefficient, self._word(factors))
        return self._with_coefficient(coefficient, self._inner_product(factors))

    def _inner_product(self, factors: Sequence[Any]) -> str:
        """Split ``uᵀv`` where the fewest transposes are left."""
        self._depth += 1
        middle = len(factors) / 2
        best = min(
            range(1, len(factors)), key=lambda i: (_transposes_after_split(factors, i), abs(i - middle), i)
        )
        left, right = (self._print(side) for side in _sides(factors, best))
        self._depth -= 1
        return f"|{left}|^{{2}}" if left == right else rf"\langle {left}, {right}\rangle"

    def _print_LogDet(self, expr: Any) -> str:
        return rf"\log|\det({self._inside(expr.arg)})|"

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        if isinstance(expr, sympy.MatAdd):
            return self._print_MatAdd(expr)
        return self._joined(order_scalar_terms(expr))

    def _print_Mul(self, expr: Any) -> str:
        if isinstance(expr, sympy.MatMul):
            return self._print_MatMul(expr)
        if not isinstance(expr, sympy.Mul):  # SymPy sends reciprocals here
            return str(super()._print_Mul(expr))
        forms = [f for f in expr.args if f.has(sympy.Trace) and not _is_denominator(f)]
        if not forms:
            return str(super()._print_Mul(expr))
        coefficient = sympy.Mul(*(f for f in expr.args if f not in forms))
        forms.sort(key=lambda f: (not isinstance(f, sympy.Trace), str(f)))
        rest = _juxtaposed([self._factor(f) for f in forms])
        return self._with_coefficient(
            coefficient, rf"\,{rest}" if r"\frac" in self._print(coefficient) else rest
        )


def _is_denominator(factor: Any) -> bool:
    return isinstance(factor, sympy.Pow) and factor.exp.could_extract_minus_sign()


def _sides(factors: Sequence[Any], split: int) -> tuple[Any, Any]:
    left = sympy.Transpose(sympy.MatMul(*factors[:split])).doit()
    return left, sympy.MatMul(*factors[split:]).doit(deep=False)


def _transposes_after_split(factors: Sequence[Any], split: int) -> int:
    return sum(_transposes(side) for side in _sides(factors, split))


def _transposes(expr: Any) -> int:
    return sum(isinstance(node, sympy.Transpose) for node in sympy.preorder_traversal(expr))


def _letters(expr: Any) -> int:
    return sum(isinstance(node, sympy.MatrixSymbol) for node in sympy.preorder_traversal(expr))


def _is_negative(term: Any) -> bool:
    coefficient = term.as_coeff_matrices()[0] if isinstance(term, sympy.MatMul) else term.as_coeff_Mul()[0]
    return bool(coefficient.could_extract_minus_sign())


def _matrix_rank(term: Any) -> int:
    """Identity, then the mean, then products, then offsets such as a bias."""
    factors = term.as_coeff_matrices()[1] if isinstance(term, sympy.MatMul) else [term]
    if len(factors) == 1 and isinstance(factors[0], sympy.Identity):
        return 0
    if len(factors) == 1 and isinstance(factors[0], sympy.MatrixSymbol):
        return 1 if factors[0].name in ("alpha", "α") else 3 if factors[0].shape[1] == 1 else 2
    return 2


def order_matrix_terms(terms: Sequence[Any], write: Any) -> list[Any]:
    """Return the terms of a matrix sum in reading order; it depends on the terms only, not on their order."""
    kept = [t for t in terms if not t.is_ZeroMatrix] or list(terms[:1])
    ordered = sorted(kept, key=lambda t: (_matrix_rank(t), _transposes(t), _natural(write(abs_term(t)))))
    first = next((t for t in ordered if not _is_negative(t)), ordered[0])
    return [first, *(t for t in ordered if t is not first)]


def _natural(text: Any) -> str:
    """Return a key that puts W2 before W10."""
    return re.sub(r"\d+", lambda digits: digits.group().zfill(6), str(text))


def abs_term(term: Any) -> Any:
    """Return the term without its sign."""
    return -term if _is_negative(term) else term


def order_scalar_terms(expr: Any) -> list[Any]:
    """Return the terms of a scalar sum: forms with most letters first, plain scalars as SymPy orders them."""
    plain = [t for t in expr.as_ordered_terms() if not t.has(sympy.Trace)]
    forms = sorted(
        (t for t in expr.args if t.has(sympy.Trace)),
        key=lambda t: (-_letters(t), abs(t.as_coeff_Mul()[0]) != 1, _natural(abs_term(t))),
    )
    ordered = [*forms, *plain]
    first = next((t for t in ordered if not _is_negative(t)), ordered[0]) if forms else ordered[0]
    return [first, *(t for t in ordered if t is not first)]


def _juxtaposed(parts: Sequence[str]) -> str:
    """Join factors; a command needs a space before a letter."""
    text = ""
    for part in parts:
        ends_in_command = text.rpartition("\\")[2].isalpha() and "\\" in text
        text += (" " if ends_in_command and part[:1].isalpha() else "") + part
    return text
