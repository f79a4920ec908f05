"""Numbers of an energy that are made from the symbols of its definition, once per definition."""

from __future__ import annotations

import functools
from abc import ABC
from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import MatrixSymbol

from symflow.algebra.functionals.average import fresh
from symflow.algebra.functionals.variation import first_variation, spatial_gradient
from symflow.checking import Array, real_array, real_number
from symflow.clustering.pairs import tokens
from symflow.energies.atoms import Law, Numbers, scalar_function, vector_function
from symflow.energies.energy import Energy
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement


class SymbolicEnergy(Energy, ABC):
    """An energy whose values and gradients are computed from its definition."""

    def _log_magnitude(self, x: Array) -> tuple[Array, Array]:
        functions, values = functions_of(self.statement()), self.values_by_name()
        found = np.array([float(functions.value(law(self.statement(), values, one), {})) for one in x])
        require_finite(found)
        with np.errstate(divide="ignore"):
            return np.sign(found), np.log(np.abs(found))

    def _scaled_gradient(self, x: Array) -> tuple[Array, Array]:
        functions, values = functions_of(self.statement()), self.values_by_name()
        found = []
        for one in x:
            at = law(self.statement(), values, one)
            found.append(functions.gradient(at, {functions.point: at.atoms})[..., 0] / len(one))
        gradient = np.stack(found)
        require_finite(gradient)
        return np.zeros(len(x)), gradient


class Functions:
    """What is computed from one definition; each function is made when it is first needed."""

    def __init__(self, statement: EnergyStatement) -> None:
        self._functional = statement.functional
        self.point: Any = fresh(statement.x.shape, (self._functional,))

    @functools.cached_property
    def value(self) -> Numbers:
        """The energy of a law."""
        return scalar_function(self._functional)

    @functools.cached_property
    def _variation(self) -> Any:
        return first_variation(self._functional, self.point)

    @functools.cached_property
    def variation(self) -> Numbers:
        """δF/δμ at tokens."""
        return scalar_function(self._variation, (self.point,))

    @functools.cached_property
    def gradient(self) -> Numbers:
        """∇δF/δμ at tokens."""
        return vector_function(spatial_gradient(self._variation, self.point), (self.point,))


@functools.lru_cache(maxsize=64)
def functions_of(statement: EnergyStatement) -> Functions:
    """Return the functions of a definition, the same for every energy that has it."""
    return Functions(statement)


def variation_at(energy: Energy, x: Any, at: Any, weights: Any = None) -> tuple[Array, Array]:
    """Return δF/δμ and its gradient at points, for the law of weighted tokens.

    Parameters and errors are those of :meth:`symflow.energies.energy.Energy.first_variation`.
    """
    functions, statement = functions_of(energy.statement()), energy.statement()
    atoms, points = points_and_atoms(x, at)
    one = law(statement, energy.values_by_name(), atoms, law_weights(weights, len(atoms)))
    env = {functions.point: points[..., None]}
    values = np.broadcast_to(functions.variation(one, env), len(points)).copy()
    gradient = np.broadcast_to(functions.gradient(one, env)[..., 0], points.shape).copy()
    require_finite(values)
    require_finite(gradient)
    return values, gradient


def points_and_atoms(x: Any, at: Any) -> tuple[Array, Array]:
    """Return tokens (n, d) and points (m, d).

    Raises
    ------
    InputError
        If they are not of these shapes.
    """
    atoms, points = tokens(x), tokens(at, "at")
    if atoms.ndim != 2 or points.ndim != 2 or atoms.shape[1] != points.shape[1]:
        raise InputError(f"x of shape {atoms.shape} and at of shape {points.shape} must be (n, d) and (m, d)")
    return atoms, points


def law(
    statement: EnergyStatement, values: Mapping[str, Any], atoms: Array, weights: Array | None = None
) -> Law:
    """Return the law of tokens (n, d) with the sizes that tokens and parameters have.

    Raises
    ------
    InputError
        If a parameter does not fit to the tokens or to another one.
    """
    n, d = atoms.shape
    sizes: dict[str, tuple[int, str]] = {"d": (d, f"there are {d} coordinates")}
    for symbol in statement.parameters:
        if isinstance(symbol, MatrixSymbol):
            _fit(symbol, values[symbol.name], sizes)
    found = {**values, **{name: size for name, (size, _) in sizes.items()}}
    return Law(atoms[..., None], law_weights(None, n) if weights is None else weights, found)


def _fit(symbol: Any, value: Array, sizes: dict[str, tuple[int, str]]) -> None:
    """Take the sizes of a parameter, or compare them with those that are known."""
    name = str(symbol.name)
    for axis, (declared, size) in enumerate(zip(symbol.shape, value.shape, strict=True)):
        here = (int(declared), "its definition says so") if declared.is_Integer else None
        known, reason = here or sizes.setdefault(str(declared), (size, f"{name} has shape {value.shape}"))
        if known != size:
            what = "rows" if axis == 0 else "columns"
            raise InputError(f"{name} has {size} {what}, but {reason}; give it {known}")


def parameter_values(statement: EnergyStatement, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as arrays with two axes, or floats, having compared names and axes.

    Raises
    ------
    InputError
        If one is missing, unknown, of other axes, or not finite.
    """
    symbols = {str(s.name): s for s in statement.parameters}
    known = ", ".join(symbols) or "none"
    for name in given:
        if name not in symbols:
            raise InputError(f"parameter {name!r} is unknown; the parameters of {statement.name} are {known}")
    for name in symbols:
        if name not in given:
            raise InputError(f"parameter {name!r} is missing; the parameters of {statement.name} are {known}")
    return {name: _value(symbols[name], value) for name, value in given.items()}


def _value(symbol: Any, value: Any) -> Any:
    name = str(symbol.name)
    if not isinstance(symbol, MatrixSymbol):
        return real_number(value, name)
    array = real_array(value, name)
    if array.ndim == 1 and symbol.shape[1] == 1:
        array = array[:, None]
    if array.ndim != 2:
        axes = "(rows,)" if symbol.shape[1] == 1 else "(rows, columns)"
        raise InputError(f"{name} has shape {array.shape}, but has to be an array {axes}")
    return array


def law_weights(weights: Any, n: int) -> Array:
    """Return weights of n tokens, equal ones where none are given.

    Raises
    ------
    InputError
        If they are not positive with the sum 1.
    """
    if weights is None:
        return np.full(n, 1.0 / n)
    array = real_array(weights, "weights")
    if array.shape != (n,) or (array <= 0).any() or abs(array.sum() - 1.0) > 1e-12:
        raise InputError(f"weights must be {n} positive numbers whose sum is 1")
    normalised: Array = array / array.sum()
    return normalised


def require_finite(values: Array) -> None:
    """Refuse what exceeds the range of doubles.

    Raises
    ------
    InputError
        Naming the remedy.
    """
    if not np.isfinite(values).all():
        raise InputError(
            "the energy or its gradient exceeds the range of doubles; scale tokens or parameters"
        )
