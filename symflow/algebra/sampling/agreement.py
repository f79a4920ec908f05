"""Comparison of two expressions at random rational points of several sizes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from sympy import Identity, MatrixSymbol, Symbol, ZeroMatrix

from symflow.algebra.sampling.evaluation import Point, name_of, size_of, value_at
from symflow.algebra.sampling.rational_matrices import SingularPoint, multiply, transpose

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
    sizes = {name_of(key): int(value) for key, value in dims.items()}
    even, positive = {s.name for s in symmetric}, {s.name for s in psd}
    values: dict[str, Any] = {}
    for symbol in sorted(symbols, key=lambda s: (isinstance(s, MatrixSymbol), str(s.name))):
        if not isinstance(symbol, MatrixSymbol):
            values[symbol.name] = _draw_scalar(generator, bool(symbol.is_positive), bool(symbol.is_negative))
            continue
        rows, cols = (size_of(n, sizes) for n in symbol.shape)
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
    result = value_at(expr, Point({n: v for n, v in values.items() if n not in scalars}, scalars, dims))
    is_single = isinstance(result, list) and len(result) == len(result[0]) == 1
    return result[0][0] if is_single else result


def _draw_entry(generator: random.Random) -> Fraction:
    return Fraction(generator.randint(-9, 9), generator.randint(1, 4))


def _draw_scalar(generator: random.Random, positive: bool, negative: bool) -> Fraction:
    size = Fraction(generator.randint(1, 9), generator.randint(1, 4))
    sign = 1 if positive else -1 if negative else generator.choice((-1, 1))
    return size * sign


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_show(value)}" for name, value in values.items())


def _show(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_show(v) for v in value) + "]"
    return str(value)
