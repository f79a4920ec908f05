"""Comparison of two expressions at random rational points of several sizes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from sympy import Identity, MatrixSymbol, Symbol, ZeroMatrix

from symflow.algebra.families import FamilySum, families_in
from symflow.algebra.sampling.evaluation import Point, name_of, size_of, value_at
from symflow.algebra.sampling.rational_matrices import Matrix, SingularPoint, multiply, transpose
from symflow.algebra.sampling.roots import context

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
    families: Mapping[Any, Any] | None = None,
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
    families : mapping, optional
        From members to the symbolic size of their leading axis; they get a list of matrices.

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
    stacked = {name_of(key): size_of(count, sizes) for key, count in (families or {}).items()}
    values: dict[str, Any] = {}
    for symbol in sorted(symbols, key=lambda s: (isinstance(s, MatrixSymbol), str(s.name))):
        if not isinstance(symbol, MatrixSymbol):
            values[symbol.name] = _draw_scalar(generator, bool(symbol.is_positive), bool(symbol.is_negative))
            continue
        rows, cols = (size_of(n, sizes) for n in symbol.shape)
        sign = "psd" if symbol.name in positive else "symmetric" if symbol.name in even else ""
        slices = [_draw_matrix(generator, rows, cols, sign) for _ in range(stacked.get(symbol.name, 1))]
        values[symbol.name] = slices if symbol.name in stacked else slices[0]
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
    return _compare(a, b, tuple(sizes), points, seed, tuple(symmetric), tuple(psd), None)


def agree_numerically(
    a: Any,
    b: Any,
    sizes: Sequence[int] = (1, 2, 3),
    points: int = 2,
    seed: int = 0,
    symmetric: Sequence[Any] = (),
    psd: Sequence[Any] = (),
    digits: int = 60,
) -> Sampled:
    """Compare two expressions with roots of matrices at rational points, to ``digits/2`` digits.

    The principal square root of a rational matrix has no rational value in general, so this is floating
    point: neither answer is a proof, and ``method`` says so. A point where a matrix under a root has no
    principal root is drawn again. Use :func:`agree_at_rational_points` wherever there is no root.

    Parameters
    ----------
    a, b, sizes, points, seed, symmetric, psd
        As for :func:`agree_at_rational_points`.
    digits : int
        Decimal digits of the arithmetic.

    Returns
    -------
    Sampled
        ``agrees`` is False where the sides differ by more than 10^(−digits/2) relative to the larger one.

    Raises
    ------
    InputError
        When an expression has no value, or no drawn point is regular.

    Examples
    --------
    >>> from sympy import Identity, MatPow, Rational, Symbol
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> d = dimension("d")
    >>> A = matrix("A", d, d)
    >>> root = MatPow(Identity(d) + A * A.T, Rational(1, 2))
    >>> agree_numerically(root * root * root, root + root * A * A.T).agrees
    True
    """
    return _compare(a, b, tuple(sizes), points, seed, tuple(symmetric), tuple(psd), context(digits))


def _compare(
    a: Any,
    b: Any,
    sizes: tuple[int, ...],
    points: int,
    seed: int,
    symmetric: tuple[Any, ...],
    psd: tuple[Any, ...],
    ctx: Any,
) -> Sampled:
    """Compare at every point, exactly where there is no mpmath context."""
    method = "exact evaluation" if ctx is None else f"evaluation with {ctx.dps} digits"
    method += " at rational points"
    families = families_in(a, b)
    symbols = _symbols(a, b)
    unknown = _dimensions(a, b)
    symbols = [s for s in symbols if s.name not in unknown]
    tried = 0
    for combination in _combinations(sizes, len(unknown), seed):
        dims = dict(zip(unknown, combination, strict=True))
        for point in range(points):
            name = f"{seed}/{tried}/{point}"
            drawing = _Drawing(symbols, dims, symmetric, psd, families, ctx)
            values, left, right = drawing.regular(a, b, name)
            if not _same(left, right, ctx):
                evidence = f"at {_text(dims)} {_text(values)}: {_show(left)} against {_show(right)}"
                return Sampled(False, method, evidence)
        tried += 1
    dims_text = ", ".join(unknown) or "no symbolic size"
    evidence = f"{tried * points} rational points, {dims_text} in {sizes}, seed {seed}"
    return Sampled(True, method, evidence)


def _same(left: Any, right: Any, ctx: Any) -> bool:
    if ctx is None:
        return bool(left == right)
    ones, others = ([ctx.convert(entry) for entry in _entries(side)] for side in (left, right))
    if len(ones) != len(others):
        return False
    pairs = list(zip(ones, others, strict=True))
    scale = max(1, *(abs(entry) for pair in pairs for entry in pair))
    return all(abs(one - other) <= scale * ctx.mpf(10) ** (-(ctx.dps // 2)) for one, other in pairs)


def _entries(value: Any) -> list[Any]:
    return [entry for row in value for entry in row] if isinstance(value, list) else [value]


def _symbols(*exprs: Any) -> list[Any]:
    found = {s for e in exprs for s in e.atoms(MatrixSymbol) | e.atoms(Symbol)}
    return sorted(found, key=lambda s: (str(s.name), str(type(s))))


def _dimensions(a: Any, b: Any) -> list[str]:
    sizes = [n for e in (a, b) for m in e.atoms(MatrixSymbol, Identity, ZeroMatrix) for n in m.shape]
    sizes += [node.count for e in (a, b) for node in e.atoms(FamilySum)]
    return sorted({str(s.name) for n in sizes for s in n.atoms(Symbol)})


def _combinations(sizes: Sequence[int], unknown: int, seed: int) -> list[tuple[int, ...]]:
    """Return every combination of sizes, or a random choice of them where they are many."""
    if len(sizes) ** unknown <= _COMBINATIONS:
        return list(product(sizes, repeat=unknown))
    generator = random.Random(seed)
    return [tuple(generator.choice(sizes) for _ in range(unknown)) for _ in range(_COMBINATIONS)]


@dataclass(frozen=True)
class _Drawing:
    """How the points of one comparison are drawn and what is computed at them."""

    symbols: Sequence[Any]
    dims: Mapping[str, int]
    symmetric: Sequence[Any]
    psd: Sequence[Any]
    families: Mapping[Any, Any]
    ctx: Any

    def regular(self, a: Any, b: Any, seed: str) -> tuple[dict[str, Any], Any, Any]:
        """Return the first point at which both sides have values, and these."""
        for attempt in range(_REDRAWS):
            number = random.Random(f"{seed}/{attempt}").getrandbits(48)
            values = draw(self.symbols, self.dims, number, self.symmetric, self.psd, self.families)
            try:
                return values, self._value(a, values), self._value(b, values)
            except SingularPoint:
                continue
        raise SingularPoint(
            f"each of {_REDRAWS} points drawn at {_text(self.dims)} was singular; "
            "no inverse or no principal root exists there"
        )

    def _value(self, expr: Any, values: Mapping[str, Any]) -> Any:
        scalars = {n: v for n, v in values.items() if not isinstance(v, list)}
        stacked = {name_of(m): values[name_of(m)] for m in self.families}
        single = {n: v for n, v in values.items() if n not in scalars and n not in stacked}
        result = value_at(expr, Point(single, scalars, self.dims, stacked, self.ctx))
        is_single = isinstance(result, list) and len(result) == len(result[0]) == 1
        return result[0][0] if is_single else result


def _draw_matrix(generator: random.Random, rows: int, cols: int, sign: str) -> Matrix:
    value = [[_draw_entry(generator) for _ in range(cols)] for _ in range(rows)]
    if sign == "psd":
        return multiply(value, transpose(value))  # type: ignore[no-any-return]
    if sign == "symmetric":
        return [[(value[i][j] + value[j][i]) / 2 for j in range(cols)] for i in range(rows)]
    return value


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
