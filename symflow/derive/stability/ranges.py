r"""What a function of two tokens can do on a ball: its values, its gradients and its mixed derivative.

A function of x and y with :math:`|x|, |y| \le R` is bounded by propagation along its expression: leaves are
products :math:`u^\top M v` of tokens and constant matrices, and every operation has one rule. Functions of
one number are those of :data:`_FUNCTIONS`; a function that is not Lipschitz is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sympy import (
    Abs,
    Add,
    E,
    Expr,
    MatMul,
    Max,
    Min,
    Mul,
    Pow,
    Rational,
    S,
    Symbol,
    Trace,
    cos,
    erf,
    exp,
    log,
    pi,
    sin,
    sqrt,
    tanh,
)

from symflow.algebra.norms import SpectralNorm
from symflow.algebra.transposition import transposed
from symflow.algebra.words import identical, normal_form
from symflow.algebra.words.atoms import BILINEAR, Factor
from symflow.algebra.words.restore import atom_to_sympy, factor_to_sympy
from symflow.errors import InputError

#: Radius of the ball.
RADIUS = Symbol("R", nonnegative=True)


@dataclass(frozen=True)
class Range:
    r"""Bounds of a scalar function f(x, y) on the ball.

    Attributes
    ----------
    low, high : Expr
        ``low ≤ f ≤ high``.
    query, key : Expr
        Lipschitz constants in x and in y.
    mixed : Expr or None
        :math:`\sup\|\nabla_x\nabla_y f\|`, None where f is not twice differentiable.
    """

    low: Any
    high: Any
    query: Any = S.Zero
    key: Any = S.Zero
    mixed: Any = S.Zero

    @property
    def size(self) -> Any:
        """Bound of \\|f\\|."""
        if self.low == -self.high or (self.low.is_nonpositive and self.high.is_zero):
            return -self.low
        if self.low.is_nonnegative:
            return self.high
        return Max(-self.low, self.high)

    @property
    def spread(self) -> Any:
        """Bound of the difference of two values."""
        return self.high - self.low

    def __add__(self, other: Range) -> Range:
        mixed = None if None in (self.mixed, other.mixed) else self.mixed + other.mixed
        return Range(
            self.low + other.low,
            self.high + other.high,
            self.query + other.query,
            self.key + other.key,
            mixed,
        )

    def __mul__(self, other: Range) -> Range:
        mixed = None
        if None not in (self.mixed, other.mixed):
            mixed = self.size * other.mixed + self.mixed * other.size
            mixed += self.query * other.key + self.key * other.query
        signs = self.low.is_nonnegative and other.low.is_nonnegative
        high = self.high * other.high if signs else self.size * other.size
        return Range(
            low=self.low * other.low if signs else -high,
            high=high,
            query=self.size * other.query + self.query * other.size,
            key=self.size * other.key + self.key * other.size,
            mixed=mixed,
        )

    def scaled(self, factor: Any) -> Range:
        """Return the bounds of a constant times the function."""
        size = Abs(factor)
        low, high = factor * self.low, factor * self.high
        if factor.is_nonpositive and not factor.is_nonnegative:
            low, high = high, low
        elif not factor.is_nonnegative:
            low, high = -size * self.size, size * self.size
        mixed = None if self.mixed is None else size * self.mixed
        return Range(low, high, size * self.query, size * self.key, mixed)

    def through(self, low: Any, high: Any, slope: Any, bend: Any) -> Range:
        """Return the bounds of a function of this one with these values, |φ'| ≤ slope and |φ''| ≤ bend."""
        mixed = None
        if bend is not None and self.mixed is not None:
            mixed = slope * self.mixed + bend * self.query * self.key
        return Range(low, high, slope * self.query, slope * self.key, mixed)


def range_of(expression: Any, x: Any, y: Any) -> Range:
    """Return bounds of a scalar expression in the tokens on the ball of radius :data:`RADIUS`.

    Parameters
    ----------
    expression : Expr
    x, y : MatrixSymbol
        The tokens; everything else is constant.

    Raises
    ------
    InputError
        If a part of the expression has no rule, or is not Lipschitz.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, x, y = matrix("A", d, d), vector("x", d), vector("y", d)
    >>> range_of(Trace(x.T * A * y), x, y).query
    R*SpectralNorm(A)
    """
    if not expression.has(x) and not expression.has(y):
        return Range(expression, expression)
    if isinstance(expression, Add):
        return reduce(Range.__add__, (range_of(part, x, y) for part in expression.args))
    if isinstance(expression, Mul):
        return _product(expression, x, y)
    if isinstance(expression, Trace):
        return _trace(expression, x, y)
    if isinstance(expression, Pow):
        return _power(expression, x, y)
    if isinstance(expression, (Max, Min)):
        return _extremum(expression, x, y)
    rule = _FUNCTIONS.get(expression.func)
    if rule is None:
        raise InputError(
            f"{expression.func.__name__} in {expression} has no bound on a ball; "
            f"known are {', '.join(sorted(f.__name__ for f in _FUNCTIONS))}, Max, Min and powers"
        )
    return rule(range_of(expression.args[0], x, y))


def _product(expression: Mul, x: Any, y: Any) -> Range:
    constant = [f for f in expression.args if not (f.has(x) or f.has(y))]
    rest = [range_of(f, x, y) for f in expression.args if f.has(x) or f.has(y)]
    return reduce(Range.__mul__, rest).scaled(Mul(*constant))


def _trace(expression: Trace, x: Any, y: Any) -> Range:
    found = reduce(Range.__add__, _terms(expression, x, y))
    parts: tuple[Any, ...] = expression.arg.args if isinstance(expression.arg, MatMul) else ()
    if len(parts) == 2 and identical(parts[0], transposed(parts[1])):  # |u|² ≥ 0
        return Range(S.Zero, found.high, found.query, found.key, found.mixed)
    return found


def _terms(expression: Trace, x: Any, y: Any) -> list[Range]:
    """Return the bounds of every term of the normal form."""
    terms: list[Range] = []
    for (scalars, _), coefficient in normal_form(expression).terms.items():
        factors = [(factor_to_sympy(factor), factor) for factor, times in scalars for _ in range(int(times))]
        constant = Mul(coefficient, *(whole for whole, _ in factors if not (whole.has(x) or whole.has(y))))
        moving = [_bilinear(factor, x, y) for whole, factor in factors if whole.has(x) or whole.has(y)]
        found = reduce(Range.__mul__, moving).scaled(constant) if moving else Range(constant, constant)
        terms.append(found)
    return terms


def _bilinear(factor: Factor, x: Any, y: Any) -> Range:
    """Return the bounds of ``uᵀMv``, where u and v may be tokens or constant."""
    letters = [atom_to_sympy(atom) for atom in factor.word]
    inside = [letter for letter in letters if not (letter.has(x) or letter.has(y))]
    if factor.kind != BILINEAR or any(part.has(x) or part.has(y) for part in letters[1:-1]):
        whole = factor_to_sympy(factor)
        raise InputError(f"{whole} has no bound on a ball: a token stands inside an inverse, a root or a sum")
    ends = (letters[0], letters[-1])
    queries, keys = (sum(1 for end in ends if end.has(token)) for token in (x, y))
    norm = SpectralNorm(MatMul(*inside)) if inside else S.One
    degree = queries + keys
    size = norm * RADIUS**degree
    return Range(
        low=-size,
        high=size,
        query=queries * norm * RADIUS ** (degree - 1) if queries else S.Zero,
        key=keys * norm * RADIUS ** (degree - 1) if keys else S.Zero,
        mixed=norm if queries and keys else S.Zero,
    )


def _power(expression: Pow, x: Any, y: Any) -> Range:
    base, exponent = expression.base, expression.exp
    if base == E:
        return _exponential(range_of(exponent, x, y))
    if exponent == -1 and (argument := _logistic_argument(base)) is not None:
        return _sigmoid(range_of(argument, x, y))
    if not exponent.is_Rational:
        raise InputError(f"{expression}: a power on a ball needs a rational exponent")
    inner = range_of(base, x, y)
    if exponent.is_Integer and exponent > 0:
        return reduce(Range.__mul__, [inner] * int(exponent)) if exponent % 2 else _even(inner, exponent)
    if not inner.low.is_positive:
        raise InputError(f"{base} may vanish on the ball, so that {expression} has no bound there")
    values = (inner.low**exponent, inner.high**exponent)
    slope = Max(*(Abs(exponent) * end ** (exponent - 1) for end in (inner.low, inner.high)))
    bend = Max(*(Abs(exponent * (exponent - 1)) * end ** (exponent - 2) for end in (inner.low, inner.high)))
    low, high = values if exponent > 0 else values[::-1]
    return inner.through(low, high, slope, bend)


def _even(inner: Range, exponent: Any) -> Range:
    found = reduce(Range.__mul__, [inner] * int(exponent))
    return (
        found if inner.low.is_nonnegative else Range(S.Zero, found.high, found.query, found.key, found.mixed)
    )


def _logistic_argument(base: Any) -> Any:
    """Return u where the base is ``1 + exp(−u)``, else None."""
    if isinstance(base, Add) and len(base.args) == 2 and S.One in base.args:
        (other,) = (part for part in base.args if part != 1)
        if isinstance(other, exp):
            return -other.args[0]
    return None


def _extremum(expression: Any, x: Any, y: Any) -> Range:
    parts = [range_of(part, x, y) for part in expression.args]
    return Range(
        low=expression.func(*(part.low for part in parts)),
        high=expression.func(*(part.high for part in parts)),
        query=Max(*(part.query for part in parts)),
        key=Max(*(part.key for part in parts)),
        mixed=None,
    )


def _exponential(inner: Range) -> Range:
    return inner.through(exp(inner.low), exp(inner.high), exp(inner.high), exp(inner.high))


def _sigmoid(inner: Range) -> Range:
    return inner.through(S.Zero, S.One, Rational(1, 4), sqrt(3) / 18)


def _logarithm(inner: Range) -> Range:
    if not inner.low.is_positive:
        raise InputError("log of what may vanish on the ball has no bound there")
    return inner.through(log(inner.low), log(inner.high), 1 / inner.low, 1 / inner.low**2)


def _absolute(inner: Range) -> Range:
    low = inner.low if inner.low.is_nonnegative else S.Zero
    return inner.through(low, inner.size, S.One, None)


def _wave(inner: Range) -> Range:
    return inner.through(-S.One, S.One, S.One, S.One)


#: Values, slope and bend of a function of one number.
_FUNCTIONS: dict[Any, Callable[[Range], Range]] = {
    exp: _exponential,
    log: _logarithm,
    Abs: _absolute,
    sin: _wave,
    cos: _wave,
    tanh: lambda inner: inner.through(-S.One, S.One, S.One, 4 * sqrt(3) / 9),
    erf: lambda inner: inner.through(-S.One, S.One, 2 / sqrt(pi), 2 * sqrt(2) / sqrt(pi * E)),
}


def bound_of_vector(expression: Any, token: Any) -> tuple[Expr, Expr]:
    r"""Return (constant, slope) with :math:`|v(y)| \le c + \ell R` for an affine vector v(y) = My + m."""
    from symflow.algebra.affine import affine_parts

    matrix, constant = affine_parts(expression, token)
    return SpectralNorm(constant), SpectralNorm(matrix)
