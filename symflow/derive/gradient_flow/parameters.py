r"""Exact parameters put into the conditions of a structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Matrix, Rational, Symbol, Transpose

from symflow.derive.components import Draw, explicit
from symflow.derive.gradient_flow.matching import Averages, Joined
from symflow.errors import InputError
from symflow.models.statement import Statement


@dataclass(frozen=True)
class Parameters:
    """Values of every parameter, and the size d that they fix.

    Attributes
    ----------
    values : dict
        Symbol to explicit matrix or rational number.
    size : int
        d.
    """

    values: dict[Any, Any]
    size: int

    @property
    def named(self) -> tuple[tuple[str, Any], ...]:
        """Values by name, in order of the names."""
        return tuple(sorted((symbol.name, value) for symbol, value in self.values.items()))


def read_parameters(statement: Statement, found: Averages, params: Mapping[str, Any]) -> Parameters:
    """Return exact values; floats are the rationals that they are.

    Raises
    ------
    InputError
        If a name is unknown or missing, or a value does not have its shape or is not finite.
    """
    wanted = {symbol.name: symbol for symbol in symbols_of(statement, found)}
    for name in sorted(set(params) - set(wanted)):
        raise InputError(f"parameter {name!r} is unknown; the parameters are {', '.join(wanted) or 'none'}")
    for name in sorted(set(wanted) - set(params)):
        raise InputError(f"parameter {name!r} is missing; give {', '.join(wanted)}")
    values: dict[Any, Any] = {}
    size = 0
    for name, symbol in wanted.items():
        if not getattr(symbol, "is_Matrix", False):
            values[symbol] = _number(name, params[name])
            continue
        values[symbol] = _matrix(name, params[name], column=symbol.cols == 1)
        size = size or values[symbol].rows
        if values[symbol].shape != (size, 1 if symbol.cols == 1 else size):
            raise InputError(f"{name} has shape {values[symbol].shape}; every size must be d = {size}")
    return Parameters(values, size or 2)


def draw_parameters(statement: Statement, found: Averages) -> Parameters:
    """Return rational values without any relation between them, with every size 2, on the sphere 3.

    On the circle a velocity has one direction, and a weight fits more.
    """
    size = 3 if found.space == "sphere" else 2
    draw, values = Draw(size, seed=5), {}
    for symbol in symbols_of(statement, found):
        if not getattr(symbol, "is_Matrix", False):
            values[symbol] = Rational(3, 4)
            continue
        drawn = draw.matrix(size, 1 if symbol.cols == 1 else size)
        values[symbol] = drawn if drawn.cols == 1 else drawn + 2 * Matrix.eye(size)
    return Parameters(values, size)


def symbols_of(statement: Statement, found: Averages) -> tuple[Any, ...]:
    """Return the parameters of model and energy, without tokens and sizes."""
    texts = (found.velocity, found.slope)
    sizes = set(statement.dimensions)
    free = {s for text in texts for s in text.free_symbols} - {found.x, found.y} - sizes
    return tuple(sorted(free, key=lambda s: str(s.name)))


def _number(name: str, value: Any) -> Rational:
    try:
        exact = Fraction(str(value)) if isinstance(value, (Rational, Symbol)) else Fraction(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} = {value!r} must be a finite rational number or float") from error
    return Rational(exact.numerator, exact.denominator)


def _matrix(name: str, value: Any, *, column: bool) -> Any:
    rows = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(rows, (list, tuple)) or not rows:
        raise InputError(f"{name} must be a {'vector' if column else 'matrix'} of numbers, got {value!r}")
    listed = [row if isinstance(row, (list, tuple)) else [row] for row in rows]
    if len({len(row) for row in listed}) != 1:
        raise InputError(f"the rows of {name} have different lengths")
    return Matrix([[_number(name, entry) for entry in row] for row in listed])


def metric_at(joined: Joined, parameters: Parameters, sizes: Mapping[Any, int]) -> Any:
    """Return M at the parameters; None where a condition fails, other than that M is definite."""
    values = dict(parameters.values)
    for symbol, image in joined.equations:
        if isinstance(image, Transpose):
            if values[symbol] != values[symbol].T:
                return None
            continue
        factor = _multiple(values, symbol, image, sizes)
        if factor is None:
            return None
        values |= factor
    if any(explicit(matrix, values, sizes).det() == 0 for matrix in joined.invertible):
        return None
    return explicit(joined.metric, values, sizes)


def _multiple(
    values: Mapping[Any, Any], symbol: Any, image: Any, sizes: Mapping[Any, int]
) -> dict[Any, Any] | None:
    """Return the factor with ``symbol = factor·image``, as a value of its name; None where there is none."""
    factor = next(iter(image.free_symbols - set(values) - set(sizes)), None)
    right = explicit(image, {**values, **({factor: Rational(1)} if factor else {})}, sizes)
    left = values[symbol]
    if factor is None:
        return {} if left == right else None
    place = next((i for i, entry in enumerate(right) if entry != 0), None)
    if place is None or left[place] == 0:
        return None
    ratio = left[place] / right[place]
    return {factor: ratio} if left == ratio * right else None


def definite_sign(metric: Any) -> int:
    """Return 1 or −1 for a symmetric definite matrix of rational numbers, else 0."""
    if metric != metric.T:
        return 0
    return 1 if _minors_positive(metric) else -1 if _minors_positive(-metric) else 0


def _minors_positive(metric: Any) -> bool:
    return all(metric[:k, :k].det() > 0 for k in range(1, metric.rows + 1))
