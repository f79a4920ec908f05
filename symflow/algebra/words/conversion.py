"""Normal form of SymPy matrix expressions of symbolic size, and the equality that it proves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any

from sympy import (
    Add,
    Adjoint,
    Determinant,
    Expr,
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixExpr,
    MatrixSymbol,
    Max,
    Min,
    Mul,
    Number,
    Piecewise,
    Pow,
    Rational,
    S,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
    exp,
    log,
    sympify,
)
from sympy.core.function import Application
from sympy.matrices.expressions.dotproduct import DotProduct
from sympy.matrices.expressions.matexpr import MatrixElement

from symflow.algebra.choice import Choice
from symflow.algebra.determinant import LogDet
from symflow.algebra.families import FamilySum
from symflow.algebra.words.atoms import FUNCTION, Atom, Factor
from symflow.algebra.words.closed import family_sum, square_root
from symflow.algebra.words.inverses import inverse
from symflow.algebra.words.normal import (
    NormalForm,
    constant,
    exponential,
    from_atom,
    from_factor,
    one,
    zero,
)
from symflow.algebra.words.powers import power
from symflow.algebra.words.traces import log_determinant, trace
from symflow.errors import InputError

Symmetric = frozenset[Any]


def normal_form(expr: Any, symmetric: Sequence[Any] = ()) -> NormalForm:
    r"""Return the normal form of a matrix expression or of a scalar over traces.

    A polynomial :math:`\sum c \cdot (\text{scalar factors}) \cdot (\text{word})` in the symbols, their
    transposes and inverses; a 1×1 matrix expression is the same as its entry.

    Parameters
    ----------
    expr : MatrixExpr or Expr
        Real matrices of symbolic size; scalars over ``Trace`` and ``LogDet``; matrices under an inverse are
        taken to be invertible.
    symmetric : sequence of MatrixSymbol
        Symbols with ``X.T = X``.

    Returns
    -------
    NormalForm
        Hashable, with ``+ - *``, ``.T``, ``.is_zero``, ``.to_sympy()``, ``.shape``.

    Raises
    ------
    InputError
        For a node that the calculus does not know, for example a single entry of a matrix.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, S, x = matrix("A", d, d), matrix("S", d, d), vector("x", d)
    >>> normal_form(A * (x + S * x) - A * x)
    NormalForm(A*S*x)
    >>> normal_form(Trace(S * A) - Trace(A.T * S), symmetric=(S,)).is_zero
    True
    """
    symmetric = tuple(symmetric)  # read twice
    wrong = [s for s in symmetric if not isinstance(s, MatrixSymbol) or s.rows != s.cols]
    if wrong:
        raise InputError(f"symmetric takes square MatrixSymbols, got {wrong[0]}")
    return _convert(sympify(expr, strict=True), frozenset(symmetric))


def identical(a: Any, b: Any, symmetric: Sequence[Any] = ()) -> bool:
    r"""Return True only where :math:`a = b` is proven by the normal form; False means "not proven".

    Parameters
    ----------
    a, b : MatrixExpr or Expr
        Expressions of equal shape.
    symmetric : sequence of MatrixSymbol
        Symbols with ``X.T = X``.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d, k = dimension("d"), dimension("k")
    >>> S, K, I = matrix("S", d, d), matrix("K", k, d), Identity(d)
    >>> identical(S * Inverse(I + 2 * K.T * K * S), Inverse(I + 2 * S * K.T * K) * S)
    True
    """
    symmetric = tuple(symmetric)  # read twice
    left, right = normal_form(a, symmetric), normal_form(b, symmetric)
    if left.shape != right.shape:
        return False
    return left == right or (left - right).is_zero


@singledispatch
def _convert(expr: Any, symmetric: Symmetric) -> NormalForm:
    kind = type(expr).__name__
    raise InputError(f"the matrix calculus does not know {kind} (in {expr}); use sums, products and inverses")


@_convert.register
def _(expr: Number, symmetric: Symmetric) -> NormalForm:
    return constant(expr)


@_convert.register(MatrixSymbol)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return from_atom(Atom(expr, symmetric=expr in symmetric))


@_convert.register(Identity)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return one(expr.rows)


@_convert.register(ZeroMatrix)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return zero(*expr.shape)


@_convert.register(Add)
@_convert.register(MatAdd)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if not expr.has(MatrixExpr):
        return constant(expr)
    first, *rest = expr.args
    total = _convert(first, symmetric)
    for term in rest:
        total = total + _convert(term, symmetric)
    return total


@_convert.register(Mul)
@_convert.register(MatMul)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    pure = [a for a in expr.args if not a.has(MatrixExpr)]
    others = [a for a in expr.args if a.has(MatrixExpr)]
    result = constant(Mul(*pure))
    for factor in others:
        result = result * _convert(factor, symmetric)
    return result


@_convert.register(Transpose)
@_convert.register(Adjoint)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return _convert(expr.arg, symmetric).T


@_convert.register(Inverse)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return _inverse(expr.arg, symmetric)


def _inverse(base: Any, symmetric: Symmetric) -> NormalForm:
    """Invert factor by factor where the factors of a product are square, so that they can cancel."""
    matrices = [a for a in base.args if isinstance(a, MatrixExpr)] if isinstance(base, MatMul) else []
    if len(matrices) < 2 or any(m.rows != m.cols for m in matrices):
        form = _convert(base, symmetric)
        return power(form, -1) if form.is_scalar else inverse(form)
    scalar = _convert(Mul(*[a for a in base.args if not isinstance(a, MatrixExpr)]), symmetric)
    result = power(scalar, -1)
    for factor in reversed(matrices):
        result = result * _inverse(factor, symmetric)
    return result


@_convert.register(MatPow)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if not (2 * expr.exp).is_Integer:
        raise InputError(f"only integer and half-integer powers of matrices are known, got {expr}")
    if not expr.exp.is_Integer:
        root = square_root(_convert(expr.base, symmetric))
        return (root if expr.exp > 0 else inverse(root)) ** int(2 * abs(expr.exp))
    if expr.exp >= 0:
        return _convert(expr.base, symmetric) ** int(expr.exp)
    return _inverse(expr.base, symmetric) ** int(-expr.exp)


@_convert.register(FamilySum)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return family_sum(_convert(expr.body, symmetric), expr.members, expr.count)


@_convert.register(Trace)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return trace(_convert(expr.arg, symmetric))


@_convert.register(DotProduct)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    left, right = (_convert(a, symmetric) for a in expr.args)
    row = left if left.shape[0] == 1 else left.T
    return row * (right if right.shape[1] == 1 else right.T)


@_convert.register(LogDet)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return log_determinant(_convert(expr.arg, symmetric))


@_convert.register(MatrixElement)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if expr.parent.shape == (1, 1):
        return _convert(expr.parent, symmetric)
    raise InputError(f"the entry {expr} is not known; write it with unit vectors and dot products")


@_convert.register(Symbol)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if not expr.is_commutative:
        raise InputError(f"the scalar {expr} must be commutative; use MatrixSymbol for matrices")
    return constant(expr)


@_convert.register(Pow)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if not expr.has(MatrixExpr):
        return constant(expr)
    base = _convert(expr.base, symmetric)
    if isinstance(expr.exp, Rational):
        return power(base, Fraction(int(expr.exp.p), int(expr.exp.q)))
    exponent = _convert(expr.exp, symmetric)
    return from_factor(Factor(FUNCTION, function=Pow, args=(base, exponent)))


@_convert.register(exp)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    return exponential(_convert(expr.args[0], symmetric))


@_convert.register(Application)
@_convert.register(Max)
@_convert.register(Min)
@_convert.register(Determinant)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if not expr.has(MatrixExpr):
        return constant(expr)
    if isinstance(expr, log) and isinstance(expr.args[0], Determinant):
        return log_determinant(_convert(expr.args[0].arg, symmetric))
    args = tuple(_convert(a, symmetric) for a in expr.args)
    if isinstance(expr, Max | Min):
        args = tuple(sorted(args, key=lambda form: form.key))
    if all(a.is_scalar and all(m == ((), ()) for m in a.terms) for a in args):
        return constant(expr.func(*[a.terms.get(((), ()), S.Zero) for a in args]))
    return from_factor(Factor(FUNCTION, function=expr.func, args=args))


@_convert.register(Piecewise)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if not expr.has(MatrixExpr):
        return constant(expr)
    choice = Choice.of(expr)
    parts = tuple(_convert(part, symmetric) for part in choice.parts(expr))
    return from_factor(Factor(FUNCTION, function=choice, args=parts))


@_convert.register(Expr)
def _(expr: Any, symmetric: Symmetric) -> NormalForm:
    if isinstance(expr, MatrixExpr) or expr.has(MatrixExpr):
        kind = type(expr).__name__
        raise InputError(f"the matrix calculus does not know {kind} (in {expr})")
    return constant(expr)
