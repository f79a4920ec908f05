"""SymPy's printer with the names, the order of terms and the matrix notation of a paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.printing.latex import LatexPrinter

from symflow.algebra.families import FamilySum
from symflow.algebra.latex.names import has_superscript, indexed, latex_name
from symflow.algebra.latex.order import order_matrix_terms, order_scalar_terms, transposes

_INDICES = ("h", "j", "l", *(f"h_{{{n}}}" for n in range(1, 100)))


class Printer(LatexPrinter):  # type: ignore[misc]
    """SymPy's printer with our names, our order of terms and our matrix notation."""

    def __init__(self, bold: bool) -> None:
        super().__init__({"fold_short_frac": False, "mul_symbol": None})
        self._bold = bold
        self._depth = 0  # brackets around the current sum; spaces around + only at depth 0
        self._indices: dict[Any, str] = {}  # of the members of the sums around the current place

    # ---- names -----------------------------------------------------------------------------------

    def _print_Symbol(self, expr: Any, style: str = "") -> str:
        return latex_name(expr.name)

    _print_RandomSymbol = _print_Dummy = _print_Symbol

    def _print_MatrixSymbol(self, expr: Any, style: str = "") -> str:
        text = latex_name(expr.name, self._bold)
        return indexed(text, self._indices[expr]) if expr in self._indices else text

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
        exponent = expr.exp
        if exponent.is_Rational and not exponent.is_Integer:  # 1/2, not a fraction in a superscript
            return self._raised(expr.base, f"{exponent.p}/{exponent.q}")
        return self._raised(expr.base, self._inside(exponent))

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
        is_tall = any(mark in text for mark in (r"\frac", r"\begin", r"\sum"))
        return rf"\left({text}\right)" if is_tall else f"({text})"

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
        *before, last = factors
        # A sum reaches as far to the right as it can, so only the last one needs no brackets.
        parts = [self._bracket(f) if isinstance(f, FamilySum) else self._factor(f) for f in before]
        return _juxtaposed([*parts, self._factor(last)])

    def _print_FamilySum(self, expr: Any) -> str:
        outer, index = self._indices, self._free_index(expr)
        self._indices = outer | dict.fromkeys(expr.members, index)
        self._depth += 1
        text = self._factor(_without_unit(expr.body))
        self._depth -= 1
        self._indices = outer
        sign, text = ("-", text[1:].lstrip()) if text.startswith("-") else ("", text)
        gap = " " if text[:1].isalnum() else ""
        return rf"{sign}\sum_{{{index}=1}}^{{{self._print(expr.count)}}}{gap}{text}"

    def _free_index(self, expr: Any) -> str:
        """Return h, or the next letter that names nothing in the sum and no index around it."""
        taken = {latex_name(str(s.name)) for s in expr.free_symbols} | set(self._indices.values())
        return next(letter for letter in _INDICES if letter not in taken)

    def _factor(self, expr: Any) -> str:
        is_sum = isinstance(expr, (sympy.Add, sympy.MatAdd)) or _is_scalar_sum(expr)
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

    def _print_Pow(self, expr: Any) -> str:
        if _is_scalar_sum(expr.base) and expr.exp.is_Integer and expr.exp > 0:
            return f"{self._bracket(expr.base)}^{{{expr.exp}}}"
        if isinstance(expr.base, sympy.Trace) and expr.exp.is_Integer and expr.exp > 0:
            text = str(self._print(expr.base))
            if text.endswith("|^{2}"):  # |x|²ⁿ, not a power of a power
                return f"{text.removesuffix('^{2}')}^{{{2 * expr.exp}}}"
        return str(super()._print_Pow(expr))

    def _print_Heaviside(self, expr: Any, exp: Any = None) -> str:
        """Print the step as H; θ is the law of positions."""
        text = rf"\operatorname{{H}}{self._bracket(expr.args[0])}"
        return text if exp is None else f"{text}^{{{exp}}}"

    # ---- scalars ---------------------------------------------------------------------------------

    def _print_Trace(self, expr: Any) -> str:
        inner = expr.arg
        if isinstance(inner, FamilySum) and tuple(inner.shape) == (1, 1):
            return self._print_FamilySum(inner)
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


def _is_scalar_sum(expr: Any) -> bool:
    return isinstance(expr, sympy.Trace) and isinstance(expr.arg, FamilySum) and expr.arg.shape == (1, 1)


def _without_unit(body: Any) -> Any:
    """Return a 1×1 summand as the scalar that it is."""
    if tuple(body.shape) != (1, 1) or isinstance(body, sympy.MatAdd):
        return body
    coefficient, factors = body.as_coeff_matrices() if isinstance(body, sympy.MatMul) else (1, [body])
    rest = [f for f in factors if not f.is_Identity]
    return coefficient * sympy.Trace(sympy.MatMul(*rest)) if rest else coefficient


def _is_denominator(factor: Any) -> bool:
    return isinstance(factor, sympy.Pow) and factor.exp.could_extract_minus_sign()


def _sides(factors: Sequence[Any], split: int) -> tuple[Any, Any]:
    left = sympy.Transpose(sympy.MatMul(*factors[:split])).doit()
    return left, sympy.MatMul(*factors[split:]).doit(deep=False)


def _transposes_after_split(factors: Sequence[Any], split: int) -> int:
    return sum(transposes(side) for side in _sides(factors, split))


def _juxtaposed(parts: Sequence[str]) -> str:
    """Join factors; a command needs a space before a letter."""
    text = ""
    for part in parts:
        ends_in_command = text.rpartition("\\")[2].isalpha() and "\\" in text
        text += (" " if ends_in_command and part[:1].isalpha() else "") + part
    return text
