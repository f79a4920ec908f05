"""Exact evaluation at rational points: the second route to equality, sharing no code with the normal form."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import product
from typing import Any

from sympy import (
    Add,
    Adjoint,
    Determinant,
    Float,
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixSymbol,
    Max,
    Min,
    Mul,
    Pow,
    Rational,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
)

from symflow.algebra.rational_matrices import (
    Matrix,
    SingularPoint,
    add,
    eliminate,
    identity,
    multiply,
    transpose,
)
from symflow.algebra.surds import square_root
from symflow.errors import InputError

_REDRAWS = 50  # draws of one point before it is given up as singular everywhere
_COMBINATIONS = 12  # most combinations of sizes that are visited


@dataclass(frozen=True)
class Sampled:
    """The outcome of a comparison at rational points.

    Attributes
    ----------
    agrees : bool
        False is a proof that the two sides differ; True is evidence that they do not.
    method : str
        In words.
    evidence : str
        The points that were tried, or the point where the sides differ with the difference.
    """

    agrees: bool
    method: str
    evidence: str


@dataclass(frozen=True)
class _Point:
    matrices: Mapping[str, Matrix]
    scalars: Mapping[str, Fraction]
    dims: Mapping[str, int]


def evaluate(expr: Any, values: Mapping[Any, Any], dims: Mapping[Any, int] | None = None) -> Any:
    """Return the exact value of a matrix expression or scalar at a rational point.

    Parameters
    ----------
    expr : MatrixExpr or Expr
        Built from sums, products, transposes, inverses, traces, determinants and integer powers.
    values : mapping
        From symbol or name to a nested list (matrices) or number (scalars); numbers are read exactly, floats
        as the binary fractions they are. Symbols are looked up by name, so assumptions do not matter.
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
    names = {_name(key): value for key, value in values.items()}
    sizes = {_name(key): int(value) for key, value in (dims or {}).items()}
    matrices: dict[str, Matrix] = {}
    for symbol in sorted(expr.atoms(MatrixSymbol), key=lambda s: str(s.name)):
        if symbol.name not in names:
            raise InputError(f"values has no entry for the matrix {symbol.name}; it has {sorted(names)}")
        matrices[symbol.name] = _read_matrix(symbol, names[symbol.name], sizes)
    scalars = {n: _fraction(v, n) for n, v in names.items() if n not in matrices and _is_number(v)}
    result = _value(expr, _Point(matrices, scalars, sizes))
    for entry in (e for row in result for e in row) if isinstance(result, list) else (result,):
        if not isinstance(entry, Fraction):
            raise InputError(f"the value {entry} is irrational; make the square root a symbol with a value")
    return result


def draw(
    symbols: Iterable[Any],
    dims: Mapping[Any, int],
    seed: int,
    symmetric: Sequence[Any] = (),
    psd: Sequence[Any] = (),
) -> dict[str, Any]:
    """Return small random rational values for symbols, by name.

    Parameters
    ----------
    symbols : iterable of MatrixSymbol and Symbol
        Symbols declared positive get positive values; no scalar gets zero.
    dims : mapping
        From symbolic size or its name to an integer.
    seed : int
        The same seed gives the same values.
    symmetric, psd : sequence of MatrixSymbol
        Symbols drawn as ``(X + X.T)/2`` and as ``F·F.T`` (a psd symbol need not be listed twice).

    Examples
    --------
    >>> from sympy import MatrixSymbol, Symbol
    >>> d = Symbol("d", integer=True, positive=True)
    >>> S = MatrixSymbol("S", d, d)
    >>> value = draw([S], {d: 2}, seed=1, symmetric=(S,))["S"]
    >>> value[0][1] == value[1][0]
    True
    """
    generator = random.Random(seed)
    sizes = {_name(key): int(value) for key, value in dims.items()}
    even, positive = {s.name for s in symmetric}, {s.name for s in psd}
    values: dict[str, Any] = {}
    for symbol in sorted(symbols, key=lambda s: (isinstance(s, MatrixSymbol), str(s.name))):
        if not isinstance(symbol, MatrixSymbol):
            values[symbol.name] = _draw_scalar(generator, bool(symbol.is_positive), bool(symbol.is_negative))
            continue
        rows, cols = (_size(n, sizes) for n in symbol.shape)
        value = [[_draw_entry(generator) for _ in range(cols)] for _ in range(rows)]
        if symbol.name in positive:
            value = multiply(value, transpose(value))
        elif symbol.name in even:
            value = [[(value[i][j] + value[j][i]) / 2 for j in range(cols)] for i in range(rows)]
        values[symbol.name] = value
    return values


def agree_at_rational_points(
    a: Any,
    b: Any,
    sizes: Sequence[int] = (1, 2, 3),
    points: int = 3,
    seed: int = 0,
    symmetric: Sequence[Any] = (),
    psd: Sequence[Any] = (),
) -> Sampled:
    """Compare two expressions exactly at random rational points of several sizes.

    Symbolic sizes take the given values independently of each other. A point where an inverse does not
    exist is drawn again. Square roots of rationals are computed with exactly; other irrational numbers
    and functions are refused.

    Parameters
    ----------
    a, b : MatrixExpr or Expr
        The two sides.
    sizes : sequence of int
        Values of the symbolic sizes.
    points : int
        Points per combination of sizes.
    seed : int
        Seed of the points.
    symmetric, psd : sequence of MatrixSymbol
        Symbols drawn symmetric, and positive semidefinite.

    Returns
    -------
    Sampled
        ``agrees`` is False exactly where a point was found at which the sides differ.

    Raises
    ------
    InputError
        When an expression has no rational value, or every drawn point was singular.
    """
    sizes, symmetric, psd = tuple(sizes), tuple(symmetric), tuple(psd)  # read more than once
    symbols = _symbols(a, b)
    unknown = _dimensions(a, b, symbols)
    symbols = [s for s in symbols if s.name not in unknown]
    tried = 0
    for combination in _combinations(sizes, len(unknown), seed):
        dims = dict(zip(unknown, combination, strict=True))
        for point in range(points):
            name = f"{seed}/{tried}/{point}"
            values, left, right = _draw_regular(a, b, symbols, dims, name, symmetric, psd)
            if left != right:
                evidence = f"at {_text(dims)} {_text(values)}: {_show(left)} against {_show(right)}"
                return Sampled(False, "exact evaluation at rational points", evidence)
        tried += 1
    dims_text = ", ".join(unknown) or "no symbolic size"
    evidence = f"{tried * points} rational points, {dims_text} in {sizes}, seed {seed}"
    return Sampled(True, "exact evaluation at rational points", evidence)


def _symbols(*exprs: Any) -> list[Any]:
    found = {s for e in exprs for s in e.atoms(MatrixSymbol) | e.atoms(Symbol)}
    return sorted(found, key=lambda s: (str(s.name), str(type(s))))


def _dimensions(a: Any, b: Any, symbols: list[Any]) -> list[str]:
    shapes = [m.shape for e in (a, b) for m in e.atoms(MatrixSymbol, Identity, ZeroMatrix)]
    return sorted({str(s.name) for shape in shapes for n in shape for s in n.atoms(Symbol)})


def _combinations(sizes: Sequence[int], unknown: int, seed: int) -> list[tuple[int, ...]]:
    """Return every combination of sizes, or a random choice of them where they are many."""
    if len(sizes) ** unknown <= _COMBINATIONS:
        return list(product(sizes, repeat=unknown))
    generator = random.Random(seed)
    return [tuple(generator.choice(sizes) for _ in range(unknown)) for _ in range(_COMBINATIONS)]


def _draw_regular(
    a: Any,
    b: Any,
    symbols: list[Any],
    dims: dict[str, int],
    seed: str,
    symmetric: Sequence[Any],
    psd: Sequence[Any],
) -> tuple[dict[str, Any], Any, Any]:
    for attempt in range(_REDRAWS):
        number = random.Random(f"{seed}/{attempt}").getrandbits(48)
        values = draw(symbols, dims, number, symmetric, psd)
        try:
            return values, _sampled(a, values, dims), _sampled(b, values, dims)
        except SingularPoint:
            continue
    raise SingularPoint(
        f"each of {_REDRAWS} points drawn at {_text(dims)} was singular; no inverse exists there"
    )


def _sampled(expr: Any, values: Mapping[str, Any], dims: Mapping[str, int]) -> Any:
    scalars = {n: v for n, v in values.items() if not isinstance(v, list)}
    result = _value(expr, _Point({n: v for n, v in values.items() if n not in scalars}, scalars, dims))
    is_single = isinstance(result, list) and len(result) == len(result[0]) == 1
    return result[0][0] if is_single else result


def _draw_entry(generator: random.Random) -> Fraction:
    return Fraction(generator.randint(-9, 9), generator.randint(1, 4))


def _draw_scalar(generator: random.Random, positive: bool, negative: bool) -> Fraction:
    size = Fraction(generator.randint(1, 9), generator.randint(1, 4))
    sign = 1 if positive else -1 if negative else generator.choice((-1, 1))
    return size * sign


# --- reading values ------------------------------------------------------------------------------------


def _name(key: Any) -> str:
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


def _read_matrix(symbol: Any, value: Any, sizes: dict[str, int]) -> Matrix:
    rows = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(rows, list | tuple) or not all(isinstance(r, list | tuple) for r in rows):
        raise InputError(f"the value of {symbol.name} must be a list of rows, got {value!r}")
    read = [[_fraction(v, f"{symbol.name}[{i},{j}]") for j, v in enumerate(r)] for i, r in enumerate(rows)]
    shape = (len(read), len(read[0]) if read else 0)
    if any(len(r) != shape[1] for r in read):
        raise InputError(f"the rows of {symbol.name} have different lengths")
    for declared, given in zip(symbol.shape, shape, strict=True):
        if isinstance(declared, Symbol):
            sizes.setdefault(str(declared.name), given)
        size = _size(declared, sizes)
        if size != given:
            raise InputError(f"{symbol.name} has shape {shape}, but {declared} is {size}")
    return read


def _size(size: Any, sizes: Mapping[str, int]) -> int:
    if isinstance(size, Symbol) and size.name in sizes:
        return sizes[str(size.name)]
    unknown = sorted({str(s.name) for s in size.atoms(Symbol)} - sizes.keys())
    if unknown:
        raise InputError(f"dims has no entry for the size {unknown[0]}")
    number = size.xreplace({s: Rational(sizes[str(s.name)]) for s in size.atoms(Symbol)})
    if not number.is_Integer or number < 1:
        raise InputError(f"the size {size} is {number}, not a positive integer")
    return int(number)


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_show(value)}" for name, value in values.items())


def _show(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_show(v) for v in value) + "]"
    return str(value)


# --- evaluation ----------------------------------------------------------------------------------------


@singledispatch
def _value(expr: Any, point: _Point) -> Any:
    kind = type(expr).__name__
    raise InputError(f"{kind} in {expr} has no exact rational value; compare its derivative instead")


@_value.register(Rational)
def _(expr: Any, point: _Point) -> Any:
    return Fraction(int(expr.p), int(expr.q))


@_value.register(Float)
def _(expr: Any, point: _Point) -> Any:
    return Fraction(*float(expr).as_integer_ratio())


@_value.register(Symbol)
def _(expr: Any, point: _Point) -> Any:
    if expr.name in point.scalars:
        return point.scalars[expr.name]
    if expr.name in point.dims:
        return Fraction(point.dims[expr.name])
    raise InputError(f"values has no entry for the scalar {expr.name}; it has {sorted(point.scalars)}")


@_value.register(MatrixSymbol)
def _(expr: Any, point: _Point) -> Any:
    return point.matrices[expr.name]


@_value.register(Identity)
def _(expr: Any, point: _Point) -> Any:
    return identity(_size(expr.rows, point.dims))


@_value.register(ZeroMatrix)
def _(expr: Any, point: _Point) -> Any:
    rows, cols = (_size(n, point.dims) for n in expr.shape)
    return [[Fraction(0)] * cols for _ in range(rows)]


@_value.register(Add)
@_value.register(MatAdd)
def _(expr: Any, point: _Point) -> Any:
    total, *rest = (_value(a, point) for a in expr.args)
    for term in rest:
        total = add(total, term)
    return total


@_value.register(Mul)
@_value.register(MatMul)
def _(expr: Any, point: _Point) -> Any:
    total, *rest = (_value(a, point) for a in expr.args)
    for factor in rest:
        total = multiply(total, factor)
    return total


@_value.register(Transpose)
@_value.register(Adjoint)
def _(expr: Any, point: _Point) -> Any:
    return transpose(_value(expr.arg, point))


@_value.register(Inverse)
def _(expr: Any, point: _Point) -> Any:
    return eliminate(_value(expr.arg, point))[0]


@_value.register(MatPow)
def _(expr: Any, point: _Point) -> Any:
    if not expr.exp.is_Integer:
        raise InputError(f"the power {expr} has no exact rational value")
    base = _value(expr.base, point)
    factor = base if expr.exp >= 0 else eliminate(base)[0]
    result = identity(len(base))
    for _ in range(abs(int(expr.exp))):
        result = multiply(result, factor)
    return result


@_value.register(Trace)
def _(expr: Any, point: _Point) -> Any:
    matrix = _value(expr.arg, point)
    return sum((matrix[i][i] for i in range(len(matrix))), Fraction(0))


@_value.register(Determinant)
def _(expr: Any, point: _Point) -> Any:
    try:
        return eliminate(_value(expr.arg, point))[1]
    except SingularPoint:
        return Fraction(0)


@_value.register(Pow)
def _(expr: Any, point: _Point) -> Any:
    base, exponent = _value(expr.base, point), _value(expr.exp, point)
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


@_value.register(Max)
@_value.register(Min)
def _(expr: Any, point: _Point) -> Any:
    args = [_value(a, point) for a in expr.args]
    if not all(isinstance(a, Fraction) for a in args):
        raise InputError(f"{expr} compares irrational numbers")
    return max(args) if isinstance(expr, Max) else min(args)


def _reciprocal(value: Any, expr: Any) -> Any:
    if value == 0:
        raise SingularPoint(f"{expr} divides by zero at this point")
    return 1 / value
