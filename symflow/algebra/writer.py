"""Writes SymPy expressions as text of the small grammar; the inverse of reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy.core.relational import Relational

from symflow.algebra.families import FamilySum
from symflow.algebra.text.syntax import MAX_EXPONENT, quote_name
from symflow.errors import InputError

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4
_Written = tuple[str, int]  # text and how tightly it binds


def to_text(expr: Any) -> str:
    """Return the text that ``parse`` reads back to ``expr``.

    Parameters
    ----------
    expr : Expr or MatrixExpr
        Built from symbols, exact numbers, sums, products, integer and half-integer powers, transposes,
        inverses, traces, sums over a family, identity and zero matrices and the functions of the grammar.

    Raises
    ------
    InputError
        If a part has no text in the grammar; the message names it.

    Examples
    --------
    >>> from sympy import Identity, MatrixSymbol, Trace
    >>> A, x = MatrixSymbol("A", 3, 3), MatrixSymbol("x", 3, 1)
    >>> to_text((Identity(3) + A.T).inv() * x), to_text(Trace(x.T * A * x) / 2)
    ('inv(eye(3) + A.T)*x', '1/2*tr(x.T*A*x)')
    """
    return _write(expr)[0]


def _write(expr: Any) -> _Written:
    for kind, writer in _WRITERS:
        if isinstance(expr, kind):
            return writer(expr)
    name = _NAMES.get(type(expr))
    if name is not None:
        arguments = expr.args[:1] if isinstance(expr, sympy.Heaviside) else expr.args
        return f"{name}({', '.join(to_text(argument) for argument in arguments)})", _ATOM
    if isinstance(expr, sympy.DiracDelta):
        raise InputError(
            f"{expr} is a distribution, no function: it is what the slope of a jump would be, as in the "
            "second derivative of Max or Abs; use a smooth function in its place"
        )
    raise InputError(f"{type(expr).__name__} {expr} has no text in the small grammar")


def _at_least(expr: Any, level: int) -> str:
    text, binding = _write(expr)
    return text if binding >= level else f"({text})"


def _symbol(expr: Any) -> _Written:
    return quote_name(expr.name), _ATOM


def _rational(expr: Any) -> _Written:
    text = str(expr.p) if expr.q == 1 else f"{expr.p}/{expr.q}"
    return text, _SUM if expr.p < 0 else _ATOM if expr.q == 1 else _PRODUCT


def _sum(expr: Any) -> _Written:
    terms = expr.args if isinstance(expr, sympy.MatAdd) else expr.as_ordered_terms()
    text = to_text(terms[0])
    for term in terms[1:]:
        written = _at_least(term, _SUM)
        text += f" - {written[1:]}" if written.startswith("-") else f" + {written}"
    return text, _SUM


def _product(expr: Any) -> _Written:
    coefficient, factors = _factors(expr)
    text = "*".join(_at_least(factor, _POWER) for factor in factors)
    sign = "-" if coefficient.is_Rational and coefficient < 0 else ""
    size = abs(coefficient) if coefficient.is_Rational else coefficient
    if size != 1:
        text = f"{_at_least(size, _PRODUCT)}*{text}"
    return sign + text, _SUM if sign else _PRODUCT


def _factors(expr: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the rational coefficient and the other factors; a MatMul is also a Mul, so it comes first."""
    matrices: tuple[Any, ...] = ()
    if isinstance(expr, sympy.MatMul):
        expr, matrices = expr.as_coeff_matrices()
    number, rest = expr.as_coeff_Mul()
    return number, (*(() if rest == 1 else rest.as_ordered_factors()), *matrices)


def _power(expr: Any) -> _Written:
    base, exponent = expr.args
    twice = 2 * exponent
    if not twice.is_Integer or abs(exponent) > MAX_EXPONENT:
        raise InputError(f"the exponent {exponent} of {expr} has no text in the small grammar")
    text = _at_least(base, _ATOM) if exponent.is_Integer else f"sqrt({to_text(base)})"
    power = exponent if exponent.is_Integer else twice
    if power == 1:
        return text, _ATOM
    return (f"{text}**{power}" if power > 0 else f"{text}**({power})"), _POWER


def _matrix_power(expr: Any) -> _Written:
    base, exponent = expr.args
    if not (2 * exponent).is_Integer or not 0 < abs(exponent) <= MAX_EXPONENT:
        raise InputError(f"the matrix power {expr} has no text in the small grammar")
    factor, count = _at_least(base, _ATOM), abs(int(exponent))
    if not exponent.is_Integer:
        factor, count = f"sqrtm({to_text(base)})", abs(int(2 * exponent))
    if exponent < 0:
        factor = f"inv({factor if not exponent.is_Integer else to_text(base)})"
    return "*".join([factor] * count), _ATOM if count == 1 else _PRODUCT


def _family_sum(expr: Any) -> _Written:
    body = expr.body
    if not expr.members:
        raise InputError(f"the sum {expr} has no members and no text; write a product with its count")
    if body.shape == (1, 1) and isinstance(body, sympy.MatMul):  # as the scalar that it is read as
        scale, rest = body.as_coeff_matrices()
        body = scale if all(m.is_Identity for m in rest) else body
    listed = [to_text(part) for part in (body, expr.count, *expr.members)]
    return f"sum({', '.join(listed)})", _ATOM


def _transpose(expr: Any) -> _Written:
    return f"{_at_least(expr.arg, _ATOM)}.T", _ATOM


def _trace(expr: Any) -> _Written:
    inner = expr.arg
    if isinstance(inner, FamilySum) and inner.shape == (1, 1):
        return _family_sum(inner)
    is_pair = isinstance(inner, sympy.MatMul) and len(inner.args) == 2
    if is_pair and isinstance(inner.args[0], sympy.Transpose):
        left, right = inner.args[0].arg, inner.args[1]
        if left.shape == right.shape:
            return f"dot({to_text(left)}, {to_text(right)})", _ATOM
    return f"tr({to_text(inner)})", _ATOM


def _call(name: str) -> Callable[[Any], _Written]:
    return lambda expr: (f"{name}({', '.join(to_text(argument) for argument in expr.args)})", _ATOM)


def _cases(expr: Any) -> _Written:
    *cases, last = expr.args
    if last.cond != sympy.true:
        raise InputError(f"{expr} has no value where none of its conditions holds; add a last case (…, True)")
    parts = [part for case in cases for part in (to_text(case.expr), _condition(case.cond))]
    return f"Piecewise({', '.join((*parts, to_text(last.expr)))})", _ATOM


def _condition(expr: Any) -> str:
    if isinstance(expr, Relational):
        return f"{to_text(expr.lhs)} {expr.rel_op} {to_text(expr.rhs)}"
    if isinstance(expr, (sympy.And, sympy.Or, sympy.Not)):
        parts = sorted(expr.args, key=sympy.default_sort_key)
        return f"{type(expr).__name__}({', '.join(map(_condition, parts))})"
    raise InputError(f"the condition {expr} has no text in the small grammar; compare scalars")


_WRITERS: tuple[tuple[Any, Callable[[Any], _Written]], ...] = (
    ((sympy.Symbol, sympy.MatrixSymbol), _symbol),
    (sympy.Rational, _rational),
    ((sympy.Add, sympy.MatAdd), _sum),
    ((sympy.Mul, sympy.MatMul), _product),
    (sympy.Inverse, lambda expr: (f"inv({to_text(expr.arg)})", _ATOM)),
    (sympy.MatPow, _matrix_power),
    (FamilySum, _family_sum),
    (sympy.Transpose, _transpose),
    (sympy.Trace, _trace),
    (sympy.Identity, lambda expr: (f"eye({to_text(expr.shape[0])})", _ATOM)),
    (sympy.ZeroMatrix, lambda expr: (f"zeros({to_text(expr.shape[0])}, {to_text(expr.shape[1])})", _ATOM)),
    (sympy.exp, _call("exp")),
    (sympy.Piecewise, _cases),
    (sympy.core.numbers.Exp1, lambda expr: ("exp(1)", _ATOM)),
    (sympy.Pow, _power),
)
_NAMES = {
    sympy.log: "log",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.tanh: "tanh",
    sympy.erf: "erf",
    sympy.Max: "Max",
    sympy.Min: "Min",
    sympy.Abs: "Abs",
    sympy.Heaviside: "Heaviside",
}
