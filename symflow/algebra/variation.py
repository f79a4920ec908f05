"""Gateaux derivatives of matrix expressions of symbolic size, and gradients of scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from sympy import (
    Add,
    Adjoint,
    Derivative,
    Determinant,
    DiracDelta,
    Dummy,
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
    Piecewise,
    Pow,
    S,
    Subs,
    Trace,
    Transpose,
    ZeroMatrix,
    log,
)
from sympy.core.function import Application
from sympy.matrices.expressions.dotproduct import DotProduct

from symflow.algebra.determinant import LogDet
from symflow.algebra.families import FamilySum
from symflow.algebra.words import normal_form
from symflow.algebra.words.atoms import SUM, Factor, Word, mentions
from symflow.algebra.words.closed import family_sum
from symflow.algebra.words.normal import NormalForm, zero
from symflow.algebra.words.traces import trace
from symflow.errors import InputError

__all__ = ["LogDet", "gateaux", "gradient"]

Directions = Mapping[Any, Any]


def gateaux(expr: Any, directions: Directions) -> Any:
    r"""Return the Gateaux derivative in the given directions.

    .. math:: \frac{d}{d\varepsilon}\Big|_{\varepsilon=0} F(X_1 + \varepsilon H_1, X_2 + \varepsilon H_2, …)

    Parameters
    ----------
    expr : MatrixExpr or Expr
        F, from sums, products, transposes, inverses, integer powers, traces, ``LogDet`` and differentiable
        scalar functions. All quantities are real.
    directions : mapping
        From each varied symbol (matrix or scalar) to its direction of the same shape.

    Returns
    -------
    MatrixExpr or Expr
        Of the shape of F, linear in the directions.

    Raises
    ------
    InputError
        When a direction has another shape, or F contains a node whose derivative is not known.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> X, H = matrix("X", d, d), matrix("H", d, d)
    >>> gateaux(LogDet(X), {X: H})
    Trace(X**(-1)*H)
    """
    for symbol, direction in directions.items():
        is_matrix = isinstance(symbol, MatrixSymbol)
        if not is_matrix and not getattr(symbol, "is_Symbol", False):
            raise InputError(f"only symbols can be varied, got {symbol}")
        if is_matrix and getattr(direction, "shape", None) != symbol.shape:
            raise InputError(f"the direction {direction} of {symbol} must have shape {tuple(symbol.shape)}")
    return _vary(expr, directions)


def gradient(scalar: Any, X: Any, symmetric: Sequence[Any] = ()) -> Any:
    r"""Return the matrix G with :math:`dF(H) = \operatorname{tr}(G^\top H)` for every H.

    Parameters
    ----------
    scalar : Expr or 1×1 MatrixExpr
        F.
    X : MatrixSymbol
        The variable; where it is listed as symmetric, H ranges over symmetric matrices and G is the
        symmetric one.
    symmetric : sequence of MatrixSymbol
        Symbols with ``X.T = X``.

    Returns
    -------
    MatrixExpr
        Of the shape of X, in normal form.

    Raises
    ------
    InputError
        When F is a matrix: its derivative is an array with four indices and is not squeezed into a matrix.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> Sigma = matrix("Sigma", d, d)
    >>> gradient(Trace(Sigma) + Trace(Sigma**2), Sigma)
    I + 2*Sigma.T
    """
    if isinstance(scalar, MatrixExpr) and scalar.shape != (1, 1):
        raise InputError(
            f"the gradient of a matrix of shape {tuple(scalar.shape)} is an array with four indices; "
            "use gateaux(expr, {X: H}) for its derivative in a direction"
        )
    if not isinstance(X, MatrixSymbol):
        raise InputError(f"X must be a MatrixSymbol, got {X}")
    H = MatrixSymbol("H" + "'" * _primes(scalar), *X.shape)
    form = normal_form(gateaux(scalar, {X: H}), symmetric)
    total = _isolate(form, H)
    if X in symmetric:
        total = (total + total.T).scaled(S.Half)
    return total.to_matrix()


def _primes(scalar: Any) -> int:
    """Return how many primes make the name of the direction new."""
    names = {str(m.name) for m in scalar.atoms(MatrixSymbol)}
    return next(n for n in range(len(names) + 1) if "H" + "'" * n not in names)


def _isolate(form: NormalForm, H: Any) -> NormalForm:
    """Return G with tr(GᵀH) equal to a scalar that is linear in H."""
    total = zero(*H.shape)
    for (scalars, _), coefficient in form.terms.items():
        (factor,) = [f for f, _ in scalars if mentions(f, frozenset((H,)))]
        rest = tuple((f, e) for f, e in scalars if f is not factor)
        front = NormalForm((S.One, S.One), {(rest, ()): coefficient})
        total = total + front * _isolate_in_factor(factor, H)
    return total


def _isolate_in_factor(factor: Factor, H: Any) -> NormalForm:
    if factor.kind == SUM:
        return family_sum(_isolate(factor.args[0], H), factor.members, factor.count)
    word = factor.word
    i = next(i for i, a in enumerate(word) if mentions(a, frozenset((H,))))
    letter = word[i]
    others = _product_of(word[i + 1 :] + word[:i], letter.cols, letter.rows)
    if letter.inner is not None:  # a sum over a family: its index is summed last
        return family_sum(_isolate(trace(letter.inner * others), H), letter.members, letter.count)
    return others if letter.transposed else others.T


def _product_of(word: Word, rows: Any, cols: Any) -> NormalForm:
    """Return the normal form of a word whose letters may sit beside new neighbours."""
    result: NormalForm | None = None
    for atom in word:
        letter = NormalForm((atom.rows, atom.cols), {((), (atom,)): S.One})
        result = letter if result is None else result * letter
    return normal_form(Identity(rows)) if result is None else result


@singledispatch
def _vary(expr: Any, directions: Directions) -> Any:
    raise InputError(f"the derivative of {type(expr).__name__} (in {expr}) is not known")


def _zero_of(expr: Any) -> Any:
    return ZeroMatrix(*expr.shape) if isinstance(expr, MatrixExpr) else S.Zero


def _is_zero(value: Any) -> bool:
    return bool(value.is_ZeroMatrix) if isinstance(value, MatrixExpr) else bool(value == 0)


@_vary.register(Expr)
def _(expr: Any, directions: Directions) -> Any:
    if expr in directions:
        return directions[expr]
    if not expr.has(*directions):
        return _zero_of(expr)
    raise InputError(f"the derivative of {type(expr).__name__} (in {expr}) is not known")


@_vary.register(Add)
@_vary.register(MatAdd)
def _(expr: Any, directions: Directions) -> Any:
    return _total(expr, [_vary(a, directions) for a in expr.args])


@_vary.register(Mul)
@_vary.register(MatMul)
@_vary.register(DotProduct)
def _(expr: Any, directions: Directions) -> Any:
    terms = []
    for i, factor in enumerate(expr.args):
        change = _vary(factor, directions)
        if not _is_zero(change):
            terms.append(expr.func(*expr.args[:i], change, *expr.args[i + 1 :]))
    return _total(expr, terms)


@_vary.register(Transpose)
@_vary.register(Adjoint)
def _(expr: Any, directions: Directions) -> Any:
    return Transpose(_vary(expr.arg, directions)).doit(deep=False)


@_vary.register(Inverse)
def _(expr: Any, directions: Directions) -> Any:
    change = _vary(expr.arg, directions)
    return _zero_of(expr) if _is_zero(change) else MatMul(-1, expr, change, expr)


@_vary.register(MatPow)
def _(expr: Any, directions: Directions) -> Any:
    change = _vary(expr.base, directions)
    if _is_zero(change):
        return _zero_of(expr)
    if not expr.exp.is_Integer:
        raise InputError(
            f"the derivative of {expr} has no closed form: that of a root R of P solves R·dR + dR·R = dP, "
            "and that of another power an equation of that kind; only integer powers can be varied"
        )
    n, base = int(expr.exp), expr.base
    if n > 0:
        return _total(expr, [MatMul(*[base] * i, change, *[base] * (n - 1 - i)) for i in range(n)])
    inverse = Inverse(base)
    terms = [MatMul(-1, *[inverse] * (i + 1), change, *[inverse] * (-n - i)) for i in range(-n)]
    return _total(expr, terms)


@_vary.register(FamilySum)
def _(expr: Any, directions: Directions) -> Any:
    varied = sorted(str(m.name) for m in expr.members if m in directions)
    if varied:
        raise InputError(
            f"{varied[0]} stands for every matrix of a family in {expr}; vary a symbol that is no member"
        )
    change = _vary(expr.body, directions)
    return _zero_of(expr) if _is_zero(change) else FamilySum(change, expr.members, expr.count)


@_vary.register(Trace)
def _(expr: Any, directions: Directions) -> Any:
    change = _vary(expr.arg, directions)
    return S.Zero if _is_zero(change) else Trace(change)


@_vary.register(LogDet)
def _(expr: Any, directions: Directions) -> Any:
    change = _vary(expr.arg, directions)
    return S.Zero if _is_zero(change) else Trace(MatMul(Inverse(expr.arg), change))


@_vary.register(Determinant)
def _(expr: Any, directions: Directions) -> Any:
    change = _vary(expr.arg, directions)
    return S.Zero if _is_zero(change) else expr * Trace(MatMul(Inverse(expr.arg), change))


@_vary.register(Pow)
def _(expr: Any, directions: Directions) -> Any:
    base, exponent = expr.base, expr.exp
    first = exponent * base ** (exponent - 1) * _vary(base, directions)
    change = _vary(exponent, directions)
    return first if _is_zero(change) else first + log(base) * expr * change


@_vary.register(Application)
@_vary.register(Max)
@_vary.register(Min)
def _(expr: Any, directions: Directions) -> Any:
    terms = []
    for i, argument in enumerate(expr.args):
        change = _vary(argument, directions)
        if not _is_zero(change):
            terms.append(_partial(expr, i) * change)
    return Add(*terms)


@_vary.register(Piecewise)
def _(expr: Any, directions: Directions) -> Any:
    """Vary the value that is chosen; where the choice changes, a slope is taken from the chosen side."""
    changes = [(_vary(case.expr, directions), case.cond) for case in expr.args]
    return S.Zero if all(_is_zero(change) for change, _ in changes) else Piecewise(*changes)


def _partial(expr: Any, index: int) -> Any:
    """Return the partial derivative of a scalar function of real arguments."""
    slots = [Dummy(f"u{i}", real=True) for i in range(len(expr.args))]
    slope = expr.func(*slots).diff(slots[index])
    if slope.has(Derivative, Subs):
        raise InputError(f"the function {expr.func} has no known derivative in argument {index + 1}")
    if slope.has(DiracDelta):
        raise InputError(
            f"the derivative of {expr.func} is a distribution at its jump; use a smooth function in its place"
        )
    return slope.xreplace(dict(zip(slots, expr.args, strict=True)))


def _total(expr: Any, terms: list[Any]) -> Any:
    kept = [t for t in terms if not _is_zero(t)]
    if not kept:
        return _zero_of(expr)
    if len(kept) == 1:
        return kept[0]
    return MatAdd(*kept) if isinstance(expr, MatrixExpr) else Add(*kept)
