"""Parameters that depend on time: expressions in t, functions of t, or samples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from sympy import Expr, MatrixBase, Symbol

from symflow.checking import Array, real_array
from symflow.errors import InputError
from symflow.integrate.backends import runtime

#: How many axes of an entry a matrix parameter may have: heads, rows, columns.
_MOST_AXES = 3


@dataclass(frozen=True, eq=False)
class TimeDependent(ABC):
    """A parameter as a function of time.

    Attributes
    ----------
    name : str
    """

    name: str

    @abstractmethod
    def at(self, t: float) -> Array:
        """Return the value at t."""

    @abstractmethod
    def source(self) -> Any:
        """Return what refreshes the parameter of a compiled call."""

    @property
    def span(self) -> tuple[float, float]:
        """The times at which the parameter is known."""
        return -math.inf, math.inf

    def refuse_outside(self, t0: float, t1: float) -> None:
        """Refuse a run that leaves the times at which the parameter is known."""
        first, last = self.span
        if min(t0, t1) < first or max(t0, t1) > last:
            raise InputError(
                f"{self.name} has samples on [{first:g}, {last:g}], t_span = ({t0:g}, {t1:g}) leaves them; "
                "give samples that cover t_span"
            )


@dataclass(frozen=True, eq=False)
class Sampled(TimeDependent):
    """Values at increasing times, joined by the cubic spline with continuous third derivative at its ends.

    Attributes
    ----------
    times : ndarray, (m,)
    samples : ndarray, (m, ...)
    """

    times: Array
    samples: Array

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.times, self.samples)

    def at(self, t: float) -> Array:
        """Return the spline at t."""
        return np.asarray(self._spline(t), dtype=np.float64)

    def source(self) -> Any:
        """Return the spline as pieces."""
        c = self._spline.c
        pieces = np.ascontiguousarray(c.reshape(c.shape[0], c.shape[1], -1))
        return runtime().Spline(np.ascontiguousarray(self._spline.x), pieces)

    @property
    def span(self) -> tuple[float, float]:
        """From the first to the last sample."""
        return float(self.times[0]), float(self.times[-1])


@dataclass(frozen=True, eq=False)
class Given(TimeDependent):
    """A function ``f(t)`` of the caller; every evaluation of the right-hand side calls it."""

    function: Callable[[float], Any]
    start: float

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """The shape at the first time, which no later value may change."""
        return real_array(self.function(self.start), f"{self.name}(t = {self.start:.17g})").shape

    def at(self, t: float) -> Array:
        """Return the value at t, refused by name where it is not an array of finite numbers of one shape."""
        found = real_array(self.function(t), f"{self.name}(t = {t:.17g})")
        if found.shape != self._shape:
            raise InputError(
                f"{self.name}(t = {t:.17g}) has shape {found.shape}, but {self._shape} at the first time"
            )
        return found

    def source(self) -> Any:
        """Return a callback."""
        return runtime().Function(self.at, int(np.prod(self._shape)))


@dataclass(frozen=True, eq=False)
class Symbolic(TimeDependent):
    """Expressions in the symbol t, one per entry.

    Attributes
    ----------
    entries : tuple of Expr
        Row by row.
    shape : tuple of int
    """

    entries: tuple[Expr, ...]
    shape: tuple[int, ...]

    @cached_property
    def _evaluate(self) -> Callable[[float], list[float]]:
        return sympy.lambdify(Symbol("t"), [_in_t(entry) for entry in self.entries], "scipy")  # type: ignore[no-any-return]

    def at(self, t: float) -> Array:
        """Return the value at t."""
        with np.errstate(all="ignore"):  # what is not finite is refused by name
            entries = self._evaluate(np.float64(t))
        values = np.reshape([float(v) for v in entries], self.shape)
        return real_array(values, f"{self.name}(t = {t:.17g})")

    def source(self) -> Any:
        """Return the expressions as a tape."""
        columns = instructions(self.entries, self.name)
        return runtime().Tape(*columns, len(self.entries), columns[0].size)


def depends_on_time(raw: Any, axes: int) -> bool:
    """Whether ``raw`` is an expression in t, a function, or (times, samples) for ``axes`` axes."""
    if isinstance(raw, (Expr, MatrixBase)) and not getattr(raw, "is_MatrixExpr", False):
        return bool(raw.free_symbols)
    if isinstance(raw, tuple) and len(raw) == 2:
        return _axes(raw[0]) == 1 and _axes(raw[1]) == axes + 1
    if isinstance(raw, (list, tuple)):
        return any(depends_on_time(item, -2) for item in raw)
    return callable(raw) and not hasattr(raw, "__array__") and not getattr(raw, "is_MatrixExpr", False)


def read_time_dependent(name: str, raw: Any, start: float) -> TimeDependent:
    """Return a parameter as a function of time.

    Parameters
    ----------
    name : str
    raw : SymPy expression or matrix in ``t``, nested list of such, callable, or (times, samples)
    start : float
        First time of the run.

    Raises
    ------
    InputError
        If another symbol than t occurs, or times are not strictly increasing, or an entry is not finite.
    """
    if isinstance(raw, MatrixBase):
        return _symbolic(name, raw.tolist())
    if isinstance(raw, Expr) or (isinstance(raw, (list, tuple)) and not _is_samples(raw)):
        return _symbolic(name, raw)
    if callable(raw):
        return Given(name, raw, start)
    times, samples = real_array(raw[0], f"{name} times"), real_array(raw[1], f"{name} samples")
    if times.size < 2 or samples.shape[0] != times.size:
        raise InputError(
            f"{name}: {times.size} times and {samples.shape[0]} samples; give one sample per time, "
            "two at least"
        )
    wrong = np.flatnonzero(np.diff(times) <= 0.0)
    if wrong.size:
        i = int(wrong[0])
        raise InputError(
            f"{name} times must be strictly increasing: times[{i + 1}] = {float(times[i + 1])!r}"
        )
    return Sampled(name, times, samples)


def _is_samples(raw: Any) -> bool:
    return isinstance(raw, tuple) and len(raw) == 2 and _axes(raw[0]) == 1 and _axes(raw[1]) >= 1


def _axes(value: Any) -> int:
    """Return the number of axes of nested sequences or of an array, −1 where it holds expressions."""
    if hasattr(value, "ndim"):
        return int(value.ndim)
    depth = 0
    while isinstance(value, (list, tuple)) and value and depth <= _MOST_AXES:
        value, depth = value[0], depth + 1 + int(getattr(value[0], "ndim", 0))
    return -1 if isinstance(value, Expr) and value.free_symbols else depth


def _symbolic(name: str, raw: Any) -> Symbolic:
    shaped = np.array(raw, dtype=object)
    entries = []
    for index, item in np.ndenumerate(shaped):
        where = f"{name}[{', '.join(map(str, index))}]" if index else name
        try:
            entry = sympy.sympify(item, strict=True)
        except (sympy.SympifyError, TypeError) as error:
            raise InputError(f"{where} = {item!r} is neither a number nor an expression in t") from error
        others = sorted(s.name for s in entry.free_symbols if s.name != "t")
        if others:
            raise InputError(f"{where} contains {others[0]!r}; a parameter is an expression in t alone")
        entries.append(entry)
    return Symbolic(name, tuple(entries), shaped.shape)


def _in_t(entry: Expr) -> Expr:
    """Return the expression in one symbol t, whatever assumptions the caller's t had."""
    return entry.subs({s: Symbol("t") for s in entry.free_symbols})


_FUNCTIONS: dict[Any, str] = {
    sympy.exp: "exp",
    sympy.log: "log",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.tan: "tan",
    sympy.sinh: "sinh",
    sympy.cosh: "cosh",
    sympy.tanh: "tanh",
    sympy.erf: "erf",
    sympy.Abs: "abs",
    sympy.Heaviside: "step",
}
_FOLDS: Sequence[tuple[Any, str]] = (
    (sympy.Add, "add"),
    (sympy.Mul, "multiply"),
    (sympy.Max, "max"),
    (sympy.Min, "min"),
)


def instructions(entries: Sequence[Expr], name: str) -> tuple[Array, Array]:
    """Return codes and numbers of the instructions that store expressions in one symbol, on a stack.

    Raises
    ------
    InputError
        If a function is not available; the message calls the parameter ``name``.
    """
    codes = runtime().OPCODES
    program: list[tuple[float, float]] = []
    for entry in entries:
        _write(entry, program, codes, name)
        program.append((codes["store"], 0.0))
    listed = np.array(program, dtype=np.float64)
    return np.ascontiguousarray(listed[:, 0]), np.ascontiguousarray(listed[:, 1])


def _write(entry: Any, program: list[tuple[float, float]], codes: dict[str, int], name: str) -> None:
    """Append the instructions that leave the value of ``entry`` on the stack."""
    if entry.is_number:
        program.append((codes["const"], float(entry)))
        return
    if entry.is_Symbol:
        program.append((codes["time"], 0.0))
        return
    fold = next((code for kind, code in _FOLDS if isinstance(entry, kind)), None)
    if fold is not None:
        for index, argument in enumerate(entry.args):
            _write(argument, program, codes, name)
            program.extend([(codes[fold], 0.0)] * (index > 0))
        return
    if entry.is_Pow:
        _write(entry.base, program, codes, name)
        if entry.exp.is_number:
            program.append((codes["power"], float(entry.exp)))
            return
        _write(entry.exp, program, codes, name)
        program.append((codes["pow"], 0.0))
        return
    if entry.func not in _FUNCTIONS:
        raise InputError(
            f"{name}: {entry.func} is not available in a parameter; give a function of t instead"
        )
    _write(entry.args[0], program, codes, name)
    program.append((codes[_FUNCTIONS[entry.func]], 0.0))
