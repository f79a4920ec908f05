"""Numbers for the constants, rounded upwards: norms of exact matrices, formulas in ball arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from sympy import Abs, Add, E, Max, Min, Mul, Pow, Symbol, Trace, exp, log, pi

from symflow.algebra.exact.balls import spectral_norm, upper
from symflow.algebra.exact.numbers import Ball
from symflow.algebra.exact.rational import fmpq
from symflow.algebra.families import FamilySum
from symflow.algebra.norms import SpectralNorm
from symflow.algebra.sampling import evaluate
from symflow.errors import InputError
from symflow.models.statement import Statement

BITS = 128


@dataclass(frozen=True)
class Numbers:
    """Exact values of parameters by name: nested lists, numbers, and lists of nested lists for families."""

    values: Mapping[str, Any]
    sizes: Mapping[str, int]
    scalars: Mapping[str, Any]

    def member(self, names: Iterable[str], index: int) -> Numbers:
        """Return the same for one head."""
        own = {name: self.values[name][index] for name in names}
        return replace(self, values={**self.values, **own})


def read(statement: Statement, given: Mapping[str, Any]) -> Numbers:
    """Return the parameters of a statement as exact numbers.

    Raises
    ------
    InputError
        If one is missing, unknown, not finite, or has the wrong shape.
    """
    from flint import arb

    own = [p for p in statement.parameters if statement.positions is None or p != statement.positions.weights]
    wanted = {p.name: p for p in own}
    for name in given:
        if name not in wanted:
            raise InputError(f"parameter {name!r} is unknown; the constants need {', '.join(wanted)}")
    missing = [name for name in wanted if name not in given]
    if missing:
        raise InputError(f"parameter {missing[0]!r} is missing; the constants need {', '.join(wanted)}")
    sizes: dict[str, int] = {}
    values: dict[str, Any] = {}
    scalars: dict[str, Any] = {}
    for name, symbol in wanted.items():
        value = _exact(given[name], name)
        if not hasattr(symbol, "shape"):
            if isinstance(value, list):
                raise InputError(f"parameter {name!r} must be a number")
            scalars[name] = arb(fmpq(value))
            continue
        count = statement.stacked.get(name)
        values[name] = _array(value, name, symbol.shape, sizes, None if count is None else count.name)
    return Numbers(values, sizes, scalars)


def _exact(value: Any, name: str) -> Any:
    listed = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(listed, (list, tuple)):
        return [_exact(part, name) for part in listed]
    try:
        return Fraction(int(listed.p), int(listed.q)) if hasattr(listed, "p") else Fraction(listed)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"parameter {name!r} has the entry {listed!r}; give finite real numbers") from error


def _array(value: Any, name: str, shape: Any, sizes: dict[str, int], count: str | None) -> Any:
    """Return nested lists of the shape, and note the sizes that they fix."""
    if count is not None:
        _size(value, name, count, sizes)
        return [_array(part, f"{name}[{h}]", shape, sizes, None) for h, part in enumerate(value)]
    if shape[1] == 1 and isinstance(value, list) and not any(isinstance(entry, list) for entry in value):
        value = [[entry] for entry in value]
    _size(value, name, str(shape[0]), sizes)
    for index, row in enumerate(value):
        _size(row, f"{name}[{index}]", str(shape[1]), sizes)
        if any(isinstance(entry, list) for entry in row):
            raise InputError(f"parameter {name!r} has too many axes; its shape is {tuple(map(str, shape))}")
    return value


def _size(value: Any, name: str, size: str, sizes: dict[str, int]) -> None:
    if not isinstance(value, list) or not value:
        raise InputError(f"parameter {name!r} must be an array with an axis of size {size}")
    expected = int(size) if size.isdigit() else sizes.setdefault(size, len(value))
    if len(value) != expected:
        raise InputError(
            f"parameter {name!r} has an axis of length {len(value)}, expected {size} = {expected}"
        )


@dataclass(frozen=True)
class Settled:
    """Formulas in which norms and sums over heads have become scalars, with the values of these."""

    formulas: tuple[Any, ...]
    scalars: Mapping[str, Any]


def settle(formulas: Iterable[Any], numbers: Numbers, **scalars: Any) -> Settled:
    """Compute every norm once and write sums over heads out; ``scalars`` are further values."""
    found = {**numbers.scalars, **{name: arb_of(size) for name, size in numbers.sizes.items()}, **scalars}
    written = tuple(_settled(formula, numbers, found) for formula in formulas)
    return Settled(written, found)


def _settled(expression: Any, numbers: Numbers, found: dict[str, Any]) -> Any:
    """Return the expression with a symbol for every norm, whose value is put into ``found``."""
    if isinstance(expression, SpectralNorm):
        return _named_scalar(_norm(expression.matrix, numbers), found)
    if isinstance(expression, Trace):
        family = expression.arg
        if not isinstance(family, FamilySum):
            value = evaluate(expression, _named(expression, numbers), dict(numbers.sizes))
            return _named_scalar(arb_of(value), found)
        names = [member.name for member in family.members]
        summand = family.body.as_coeff_mmul()[0]
        count = numbers.sizes[family.count.name]
        return Add(*(_settled(summand, numbers.member(names, h), found) for h in range(count)))
    if not expression.args:
        return expression
    return expression.func(*(_settled(part, numbers, found) for part in expression.args))


def _named_scalar(value: Any, found: dict[str, Any]) -> Symbol:
    """Return a new symbol and note its value."""
    name = f"value {len(found)}"
    found[name] = value
    return Symbol(name, nonnegative=True)


def ball_of(expression: Any, scalars: Mapping[str, Any]) -> Any:
    """Return a ``flint.arb`` that holds the value of a formula in scalars."""
    from flint import arb

    if expression.is_Rational:
        return arb(fmpq(expression))
    if expression == pi:
        return arb.pi()
    if expression == E:
        return arb(1).exp()
    if isinstance(expression, Symbol):
        if expression.name not in scalars:
            raise InputError(f"{expression.name} has no value")
        return scalars[expression.name]
    if expression.func not in _OPERATIONS:
        raise InputError(f"{expression.func.__name__} has no value in ball arithmetic")
    return _OPERATIONS[expression.func](*(ball_of(part, scalars) for part in expression.args))


def _norm(matrix: Any, numbers: Numbers) -> Any:
    from flint import arb, arb_mat

    rows = evaluate(matrix, _named(matrix, numbers), dict(numbers.sizes))
    return spectral_norm(arb_mat([[arb(fmpq(entry)) for entry in row] for row in rows]))


def _named(expression: Any, numbers: Numbers) -> dict[str, Any]:
    """Return the values of the matrices that occur, scalars inside a norm included."""
    names = {symbol.name for symbol in expression.free_symbols}
    inside = {name: value for name, value in numbers.scalars.items() if name in names}
    exact = {name: Ball.of(value).midpoint for name, value in inside.items()}
    return {name: value for name, value in numbers.values.items() if name in names} | exact


def _power(base: Any, exponent: Any) -> Any:
    return base**exponent


_OPERATIONS: dict[Any, Any] = {
    Add: lambda *parts: reduce(lambda a, b: a + b, parts),
    Mul: lambda *parts: reduce(lambda a, b: a * b, parts),
    Pow: _power,
    Max: lambda *parts: reduce(lambda a, b: a.max(b), parts),
    Min: lambda *parts: reduce(lambda a, b: a.min(b), parts),
    Abs: abs,
    exp: lambda part: part.exp(),
    log: lambda part: part.log(),
}


def float_up(value: Any) -> float:
    """Return the smallest double that is known to be at least a ``flint.arb``; infinite beyond them."""
    exact = upper(value)
    if not exact.is_finite():
        return math.inf
    number = float(Ball.of(exact).midpoint) if exact < arb_of(1e308) else math.inf
    return number if math.isinf(number) or arb_of(number) >= exact else math.nextafter(number, math.inf)


def arb_of(number: Any) -> Any:
    """Return a double, or a fraction, as the exact number that it is."""
    from flint import arb

    return arb(fmpq(number))
