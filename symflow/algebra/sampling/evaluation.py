"""The exact value of a matrix expression or scalar at a rational point."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce, singledispatch
from typing import Any

from sympy import (
    Abs,
    Add,
    Adjoint,
    And,
    Determinant,
    Float,
    Heaviside,
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixSymbol,
    Max,
    Min,
    Mul,
    Not,
    Piecewise,
    Pow,
    Rational,
    S,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
    exp,
)
from sympy.core.numbers import Exp1
from sympy.core.relational import Relational

from symflow.algebra.exact.exponentials import exponential
from symflow.algebra.exact.real import ExactReal
from symflow.algebra.families import FamilySum, families_in
from symflow.algebra.sampling.rational_matrices import (
    Matrix,
    SingularPoint,
    add,
    eliminate,
    identity,
    multiply,
    transpose,
)
from symflow.algebra.sampling.roots import principal_root
from symflow.algebra.sampling.surds import square_root
from symflow.errors import InputError

_COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class Point:
    """Values by name: matrices, scalars, sizes, and the matrices of every family.

    With an mpmath ``context`` roots of matrices and of numbers are computed to its digits, else exactly.
    Exponentials have a value, an exact one, only where ``exponentials`` is set.
    """

    matrices: Mapping[str, Matrix]
    scalars: Mapping[str, Fraction]
    dims: Mapping[str, int]
    families: Mapping[str, Sequence[Matrix]] = field(default_factory=dict)
    context: Any = None
    exponentials: bool = False


def evaluate(expr: Any, values: Mapping[Any, Any], dims: Mapping[Any, int] | None = None) -> Any:
    """Return the exact value of a matrix expression or scalar at a rational point.

    Parameters
    ----------
    expr : MatrixExpr or Expr
        Built from sums, products, transposes, inverses, traces, determinants and integer powers.
    values : mapping
        From symbol or name to a nested list (matrices), number (scalars) or list of nested lists (members of
        a family); numbers are read exactly, floats as the binary fractions they are. Symbols are looked up
        by name, so assumptions do not matter.
    dims : mapping, optional
        From symbolic size or its name to an integer; what is missing is read off the matrices.

    Returns
    -------
    list of list of Fraction, or Fraction
        A nested list for a matrix expression, a number for a scalar.

    Raises
    ------
    InputError
        For a symbol without a value, a wrong shape, an irrational number or function, a singular inverse.

    Examples
    --------
    >>> from sympy import Inverse, MatrixSymbol, Symbol
    >>> d = Symbol("d", integer=True, positive=True)
    >>> evaluate(Inverse(MatrixSymbol("A", d, d)), {"A": [[1, 2], [0, 4]]})
    [[Fraction(1, 1), Fraction(-1, 2)], [Fraction(0, 1), Fraction(1, 4)]]
    """
    result = value_at(expr, point_of(expr, values, dims))
    for entry in (e for row in result for e in row) if isinstance(result, list) else (result,):
        if not isinstance(entry, Fraction):
            raise InputError(f"the value {entry} is irrational; make the square root a symbol with a value")
    return result


def point_of(
    expr: Any,
    values: Mapping[Any, Any],
    dims: Mapping[Any, int] | None = None,
    number: Callable[[Any, str], Any] | None = None,
) -> Point:
    """Return the point at which an expression is evaluated.

    ``number(value, name)`` reads every number, and makes exponentials exact values; without it numbers are
    read as fractions, and exponentials have no value.
    """
    read = number or _fraction
    names = {name_of(key): value for key, value in values.items()}
    sizes = {name_of(key): int(value) for key, value in (dims or {}).items()}
    matrices: dict[str, Matrix] = {}
    families = {m: _read_count(m, count, names, sizes) for m, count in families_in(expr).items()}
    slices: dict[str, list[Matrix]] = {}
    for symbol in sorted(expr.atoms(MatrixSymbol), key=lambda s: str(s.name)):
        if symbol.name not in names:
            raise InputError(f"values has no entry for the matrix {symbol.name}; it has {sorted(names)}")
        if symbol in families:
            parts = [names[symbol.name][h] for h in range(families[symbol])]
            slices[symbol.name] = [_read_matrix(symbol, part, sizes, read) for part in parts]
        else:
            matrices[symbol.name] = _read_matrix(symbol, names[symbol.name], sizes, read)
    scalars = {n: read(v, n) for n, v in names.items() if n not in matrices and _is_number(v)}
    return Point(matrices, scalars, sizes, slices, exponentials=number is not None)


def name_of(key: Any) -> str:
    """Return the name of a symbol, or text as it is."""
    return str(getattr(key, "name", key))


def _is_number(value: Any) -> bool:
    return not isinstance(value, list | tuple) and not hasattr(value, "shape")


def _fraction(value: Any, name: str) -> Fraction:
    try:
        if isinstance(value, Rational):
            return Fraction(int(value.p), int(value.q))
        return Fraction(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the value {value!r} of {name} is not a finite rational number") from error


def _read_count(member: Any, count: Any, values: Mapping[str, Any], sizes: dict[str, int]) -> int:
    """Return the length of the leading axis of a member, which must be that of its family."""
    given = values.get(member.name, ())
    if _is_number(given):
        raise InputError(f"the value of {member.name} must be a list of matrices, got {given!r}")
    if isinstance(count, Symbol) and len(given):
        sizes.setdefault(str(count.name), len(given))
    if len(given) and size_of(count, sizes) != len(given):
        raise InputError(f"{member.name} has {len(given)} matrices, but {count} is {size_of(count, sizes)}")
    return len(given)


def _read_matrix(symbol: Any, value: Any, sizes: dict[str, int], number: Callable[[Any, str], Any]) -> Matrix:
    rows = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(rows, list | tuple) or not all(isinstance(r, list | tuple) for r in rows):
        raise InputError(f"the value of {symbol.name} must be a list of rows, got {value!r}")
    read = [[number(v, f"{symbol.name}[{i},{j}]") for j, v in enumerate(r)] for i, r in enumerate(rows)]
    shape = (len(read), len(read[0]) if read else 0)
    if any(len(r) != shape[1] for r in read):
        raise InputError(f"the rows of {symbol.name} have different lengths")
    for declared, given in zip(symbol.shape, shape, strict=True):
        if isinstance(declared, Symbol):
            sizes.setdefault(str(declared.name), given)
        size = size_of(declared, sizes)
        if size != given:
            raise InputError(f"{symbol.name} has shape {shape}, but {declared} is {size}")
    return read


def size_of(size: Any, sizes: Mapping[str, int]) -> int:
    """Return a symbolic size as the number that it is here."""
    if isinstance(size, Symbol) and size.name in sizes:
        return sizes[str(size.name)]
    unknown = sorted({str(s.name) for s in size.atoms(Symbol)} - sizes.keys())
    if unknown:
        raise InputError(f"dims has no entry for the size {unknown[0]}")
    number = size.xreplace({s: Rational(sizes[str(s.name)]) for s in size.atoms(Symbol)})
    if not number.is_Integer or number < 1:
        raise InputError(f"the size {size} is {number}, not a positive integer")
    return int(number)


@singledispatch
def value_at(expr: Any, point: Point) -> Any:
    """Return a fraction, a sum of square roots, or a nested list of them."""
    kind = type(expr).__name__
    raise InputError(f"{kind} in {expr} has no exact rational value; compare its derivative instead")


@value_at.register(Rational)
def _(expr: Any, point: Point) -> Any:
    return Fraction(int(expr.p), int(expr.q))


@value_at.register(Float)
def _(expr: Any, point: Point) -> Any:
    return Fraction(*float(expr).as_integer_ratio())


@value_at.register(Symbol)
def _(expr: Any, point: Point) -> Any:
    if expr.name in point.scalars:
        return point.scalars[expr.name]
    if expr.name in point.dims:
        return Fraction(point.dims[expr.name])
    raise InputError(f"values has no entry for the scalar {expr.name}; it has {sorted(point.scalars)}")


@value_at.register(FamilySum)
def _(expr: Any, point: Point) -> Any:
    names = [m.name for m in expr.members if m.name in point.families]
    values = []
    for h in range(size_of(expr.count, point.dims)):
        slices = {name: point.families[name][h] for name in names}
        values.append(value_at(expr.body, replace(point, matrices={**point.matrices, **slices})))
    return reduce(add, values)


@value_at.register(MatrixSymbol)
def _(expr: Any, point: Point) -> Any:
    return point.matrices[expr.name]


@value_at.register(Identity)
def _(expr: Any, point: Point) -> Any:
    return identity(size_of(expr.rows, point.dims))


@value_at.register(ZeroMatrix)
def _(expr: Any, point: Point) -> Any:
    rows, cols = (size_of(n, point.dims) for n in expr.shape)
    return [[Fraction(0)] * cols for _ in range(rows)]


@value_at.register(Add)
@value_at.register(MatAdd)
def _(expr: Any, point: Point) -> Any:
    return reduce(add, [value_at(a, point) for a in expr.args])


@value_at.register(Mul)
@value_at.register(MatMul)
def _(expr: Any, point: Point) -> Any:
    return reduce(multiply, [value_at(a, point) for a in expr.args])


@value_at.register(Transpose)
@value_at.register(Adjoint)
def _(expr: Any, point: Point) -> Any:
    return transpose(value_at(expr.arg, point))


@value_at.register(Inverse)
def _(expr: Any, point: Point) -> Any:
    return eliminate(value_at(expr.arg, point))[0]


@value_at.register(MatPow)
def _(expr: Any, point: Point) -> Any:
    base = value_at(expr.base, point)
    exponent = expr.exp
    if not exponent.is_Integer:
        if point.context is None or not (2 * exponent).is_Integer:
            raise InputError(
                f"the power {expr} has no exact rational value; agree_numerically compares roots"
            )
        root = principal_root(point.context.matrix(base), point.context)
        base, exponent = root.tolist(), 2 * exponent
    factor = base if exponent >= 0 else eliminate(base)[0]
    result = identity(len(base))
    for _ in range(abs(int(exponent))):
        result = multiply(result, factor)
    return result


@value_at.register(Trace)
def _(expr: Any, point: Point) -> Any:
    matrix = value_at(expr.arg, point)
    return sum((matrix[i][i] for i in range(len(matrix))), Fraction(0))


@value_at.register(Determinant)
def _(expr: Any, point: Point) -> Any:
    try:
        return eliminate(value_at(expr.arg, point))[1]
    except SingularPoint:
        return Fraction(0)


@value_at.register(Pow)
def _(expr: Any, point: Point) -> Any:
    base, exponent = value_at(expr.base, point), value_at(expr.exp, point)
    if point.context is not None and exponent.denominator > 1:
        if base < 0 or (base == 0 and exponent < 0):
            raise SingularPoint(f"{expr} is not real at this point")
        return point.context.power(base, point.context.mpf(exponent.numerator) / exponent.denominator)
    if not isinstance(exponent, Fraction) or exponent.denominator > 2:
        raise InputError(f"the power {expr} has no exact value; only integer and half-integer exponents do")
    if exponent.denominator == 2:
        if not isinstance(base, Fraction):
            raise InputError(f"the nested root {expr} has no exact value")
        if base < 0:
            raise SingularPoint(f"{expr} is not real at this point")
        base = square_root(base)
    if exponent < 0:
        base = _reciprocal(base, expr)
    result: Any = Fraction(1)
    for _ in range(abs(exponent.numerator)):
        result = result * base
    return result


@value_at.register(Exp1)
@value_at.register(exp)
def _(expr: Any, point: Point) -> Any:
    if not point.exponentials:
        raise InputError(f"{expr} has no exact rational value; compare its derivative instead")
    return exponential(value_at(expr.args[0], point) if expr.args else 1)


@value_at.register(Max)
@value_at.register(Min)
def _(expr: Any, point: Point) -> Any:
    args = [value_at(a, point) for a in expr.args]
    if not all(isinstance(a, Fraction | ExactReal) for a in args):
        raise InputError(f"{expr} compares irrational numbers")
    return max(args) if isinstance(expr, Max) else min(args)


@value_at.register(Abs)
def _(expr: Any, point: Point) -> Any:
    return abs(_comparable(expr.args[0], point))


@value_at.register(Heaviside)
def _(expr: Any, point: Point) -> Any:
    argument = _comparable(expr.args[0], point)
    if argument == 0:
        return value_at(expr.args[1], point)
    return Fraction(1 if argument > 0 else 0)


@value_at.register(Piecewise)
def _(expr: Any, point: Point) -> Any:
    chosen = next((case.expr for case in expr.args if _holds(case.cond, point)), None)
    if chosen is None:
        raise InputError(f"{expr} has no value at this point: none of its conditions holds")
    return value_at(chosen, point)


def _holds(condition: Any, point: Point) -> bool:
    if condition in (S.true, S.false):
        return bool(condition)
    if isinstance(condition, Relational):
        left, right = (_comparable(side, point) for side in (condition.lhs, condition.rhs))
        return bool(_COMPARISONS[condition.rel_op](left, right))
    parts = [_holds(part, point) for part in condition.args]
    if isinstance(condition, Not):
        return not parts[0]
    return all(parts) if isinstance(condition, And) else any(parts)


def _comparable(expr: Any, point: Point) -> Any:
    """Return a value that can be compared exactly."""
    value = value_at(expr, point)
    if isinstance(value, Fraction | ExactReal):
        return value
    raise InputError(f"{expr} is irrational here, and would have to be compared")


def _reciprocal(value: Any, expr: Any) -> Any:
    if value == 0:
        raise SingularPoint(f"{expr} divides by zero at this point")
    return 1 / value
