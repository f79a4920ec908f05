"""A model with numbers: parameters by name, sizes inferred, right-hand side bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, singledispatch
from typing import Any

import numpy as np
from sympy import Expr, Identity, MatAdd, MatMul, MatrixSymbol, Transpose, ZeroMatrix

from symflow.checking import Array, real_array
from symflow.errors import InputError, NormaliserDiverges
from symflow.integrate.gaussian import Gaussian as Gaussian
from symflow.integrate.schedule import TimeDependent, depends_on_time, read_time_dependent
from symflow.integrate.tokens.state import Tokens
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement

#: What every model carries itself, as numbers.
_SCALARS = ("beta", "temperature", "diffusion")


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, an initial law or tokens, and values for every parameter.

    Attributes
    ----------
    model : AttentionModel
    initial : Gaussian or Tokens
    given : frozenset of str
        Names of the parameters the caller gave; they select the parametrisation.
    statement : Statement
        The definition at symbolic size.
    values : dict
        Every parameter by name, in call order, as a contiguous float64 array (scalars: of one number).
        Those that depend on time have their value at the first time.
    dims : tuple of int
        Sizes in the order of ``statement.dimensions``.
    schedule : dict
        Parameters that depend on time, by name.
    """

    model: AttentionModel
    initial: Any
    given: frozenset[str]
    statement: Statement
    values: dict[str, Array]
    dims: tuple[int, ...]
    schedule: Mapping[str, TimeDependent] = field(default_factory=dict)

    @property
    def parametrisation(self) -> frozenset[str]:
        """Names of all parameters of the kernel but those that the model fills in itself."""
        positions = self.statement.positions
        own = set(_SCALARS) if positions is None else {*_SCALARS, positions.weights.name}
        return frozenset(self.values) - own

    @property
    def kernel_values(self) -> dict[str, Any]:
        """Every parameter as the kernel takes it, at the first time."""
        return self.kernel_values_of(self.values)

    def kernel_values_of(self, values: Mapping[str, Array]) -> dict[str, Any]:
        """Return values as the kernel takes them."""
        scalar = {s.name for s in self.statement.parameters if not isinstance(s, MatrixSymbol)}
        return {name: float(v.reshape(-1)[0]) if name in scalar else v for name, v in values.items()}

    def values_at(self, t: float) -> dict[str, Array]:
        """Return every parameter at time t, in call order."""
        moving = {
            name: source.at(t).reshape(self.values[name].shape) for name, source in self.schedule.items()
        }
        return self.values | moving

    @property
    def is_noisy(self) -> bool:
        """Whether there is idiosyncratic noise: the covariance then has no factor that flows by itself."""
        return not self.statement.diffusion.is_zero

    def tilt(self) -> Any:
        """Return the part C of the score that can make the normaliser diverge, or None."""
        return _tilt(self.model, self.given)


def read_problem(model: Any, initial: Any, params: Any, t_span: tuple[float, float] | None = None) -> Problem:
    """Match parameters with what the model states.

    Parameters
    ----------
    model : AttentionModel
    initial : Gaussian or Tokens
    params : mapping of str to array_like
        Values by name; matrices as arrays, nested lists or SymPy matrices. Along a run also functions of
        time: expressions in ``t``, callables, or ``(times, samples)``.
    t_span : (float, float), optional
        First and last time of the run; without it every parameter must be constant.

    Raises
    ------
    InputError
        If a parameter is missing, unknown, of the wrong shape or not finite; named with its index.
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {type(model).__name__}")
    if not isinstance(initial, Tokens):
        require_gaussian(initial, model)
    if not isinstance(params, Mapping):
        raise InputError(f"params must be a mapping from names to values, got {type(params).__name__}")
    given = frozenset(params)
    statement = symbolic_statement(model, given)
    known = (
        {name: getattr(model, name) for name in _SCALARS} | dict(params) | _weights(model, statement, initial)
    )
    schedule = _schedule(statement, known, t_span)
    at_start = {name: source.at(t_span[0]) for name, source in schedule.items() if t_span is not None}
    sizes = _known_sizes(model, statement, initial)
    shapes = {s.name: _shape(s, statement) for s in statement.parameters}
    values = {
        name: _value(name, shape, (known | at_start)[name], sizes)
        for name, shape in shapes.items()
        if name in known
    }
    dims = {name: size for name, (size, _) in sizes.items()}
    absent = {  # a bias that was not given is zero
        name: np.zeros([_length(n, dims) for n in shape])
        for name, shape in shapes.items()
        if name not in known
    }
    ordered = {s.name: (values | absent)[s.name] for s in statement.parameters}
    sized = tuple(dims[s.name] for s in statement.dimensions)
    return Problem(model, initial, given, statement, ordered, sized, schedule)


def require_gaussian(initial: Any, model: AttentionModel | None = None) -> None:
    """Refuse what is not a Gaussian law, and a model that has none."""
    if not isinstance(initial, Gaussian):
        raise InputError(f"initial must be a Gaussian(mean, cov), got {type(initial).__name__}")
    if model is not None and model.space != "euclidean":
        raise InputError(f"a Gaussian law does not live on the {model.space}; give tokens (n, d) of norm 1")


def _weights(model: Any, statement: Statement, initial: Any) -> dict[str, Any]:
    """Return the law of the positions, which the model knows, by the name of its parameter."""
    if isinstance(initial, Tokens):
        positions = statement.positions
        return {} if positions is None else {positions.weights.name: model.weights(initial.count)}
    if statement.positions is None:
        if initial.positions is not None:
            raise InputError(
                f"initial has {initial.positions} positions, but {model.name} has none; "
                "give mean (d,) and cov (d, d), or mask the model"
            )
        return {}
    if initial.positions is None:
        raise InputError(
            f"{model.name} needs one law per position: give a Gaussian with mean (n, d) and cov (n, d, d)"
        )
    return {statement.positions.weights.name: model.weights(initial.positions)}


def _known_sizes(model: Any, statement: Statement, initial: Any) -> dict[str, tuple[int, str]]:
    """Return the sizes that are known before any parameter is read, and who fixed them."""
    who = "the tokens" if isinstance(initial, Tokens) else "the initial law"
    sizes = {statement.dimensions[0].name: (initial.dim, who)}
    positions = initial.count if isinstance(initial, Tokens) else initial.positions
    if statement.positions is not None and positions is not None:
        sizes[statement.positions.count.name] = (positions, who)
    count = getattr(model, "count", None)
    if count is not None:
        sizes |= {size.name: (count, "the list of heads") for size in statement.stacked.values()}
    return sizes


def _schedule(
    statement: Statement, known: Mapping[str, Any], t_span: tuple[float, float] | None
) -> dict[str, TimeDependent]:
    """Return the parameters that depend on time."""
    found: dict[str, TimeDependent] = {}
    for symbol in statement.parameters:
        raw = known.get(symbol.name)
        axes = sum(size != 1 for size in _shape(symbol, statement))
        if raw is None or symbol.name in _SCALARS or not depends_on_time(raw, axes):
            continue
        if t_span is None:
            raise InputError(f"{symbol.name} depends on time; give a constant value here")
        found[symbol.name] = read_time_dependent(symbol.name, raw, t_span[0])
        found[symbol.name].refuse_outside(*t_span)
    return found


def _shape(symbol: Any, statement: Statement) -> tuple[Any, ...]:
    """Return the symbolic shape of a parameter as an array: heads first, then rows and columns."""
    leading = (statement.stacked[symbol.name],) if symbol.name in statement.stacked else ()
    return (*leading, *symbol.shape) if isinstance(symbol, MatrixSymbol) else ()


def symbolic_statement(model: AttentionModel, given: frozenset[str]) -> Statement:
    """Return the statement of a model with symbols for its scalars; all their values share one."""
    return _statement(model.with_symbolic_scale(), given)


@lru_cache(maxsize=64)
def _statement(model: AttentionModel, given: frozenset[str]) -> Statement:
    """Return the statement; reading it takes longer than a small run."""
    return model.statement(given)


@lru_cache(maxsize=64)
def _tilt(model: AttentionModel, given: frozenset[str]) -> Any:
    from symflow.derive.closure import gaussian_closure

    covariance = gaussian_closure(model.with_symbolic_scale(), given).flow.covariance
    return None if covariance is None else covariance.tilt


def _value(name: str, shape: tuple[Any, ...], raw: Any, sizes: dict[str, tuple[int, str]]) -> Array:
    """Return a parameter in its symbolic shape and record the sizes that it fixes."""
    if isinstance(raw, MatrixSymbol):
        raise InputError(f"{name} is the symbol {raw}; give numbers")
    scalar = isinstance(raw, Expr)
    array = real_array(float(raw) if scalar and raw.is_number else raw, name)
    if not shape:
        if array.size != 1:
            raise InputError(f"{name} must be one number, got an array of shape {array.shape}")
        return array.reshape(1)
    if shape[-1] == 1 and array.ndim == len(shape) - 1:
        array = array[..., None]
    wanted = " x ".join(str(n) for n in shape if n != 1)
    if array.ndim != len(shape):
        raise InputError(f"{name} must have shape {wanted}, got {array.shape}")
    for size, actual in zip(shape, array.shape, strict=True):
        _fit(name, wanted, size, actual, sizes)
    return np.ascontiguousarray(array)


def _fit(name: str, wanted: str, size: Any, actual: int, sizes: dict[str, tuple[int, str]]) -> None:
    if size.is_Integer:
        if actual != int(size):
            raise InputError(f"{name} must have shape {wanted}, got {actual} where {size} is needed")
        return
    expected, source = sizes.setdefault(size.name, (actual, name))
    if expected != actual:
        raise InputError(
            f"{name} must have shape {wanted}: {size.name} = {expected} from {source}, "
            f"but {name} has {actual}"
        )


# ------------------------------------------------------------------------------------------ the normaliser


def refuse_divergent(problem: Problem, tilt: Any) -> None:
    r"""Refuse an initial law for which the normaliser is infinite.

    .. math:: \int e^{s(x,y)}\,d\mu(y) < \infty \iff \lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1

    Parameters
    ----------
    problem : Problem
    tilt : SymPy matrix expression or None
        C, the quadratic part of the score in y; None where its sign alone proves convergence.

    Raises
    ------
    NormaliserDiverges
        With the eigenvalue.
    """
    if tilt is None:
        return
    value = largest_tilt(problem, tilt, problem.initial.factor())
    if value >= 1.0:
        raise NormaliserDiverges(
            f"the normaliser of {problem.model.name} diverges at the initial law: the largest eigenvalue of "
            f"Σ^(1/2) C Σ^(1/2) is {value:.6g}, it must be below 1; reduce cov, or beta/temperature, or C",
            value,
        )


def largest_tilt(problem: Problem, tilt: Any, factor: Array, t: float | None = None) -> float:
    """Return λ_max(FᵀCF), which is λ_max(Σ^{1/2}CΣ^{1/2}) up to zeros, at time t (by default the first)."""
    sizes = dict(zip((s.name for s in problem.statement.dimensions), problem.dims, strict=True))
    values = problem.values if t is None or not problem.schedule else problem.values_at(t)
    tilted = factor.T @ _number(tilt, values, sizes) @ factor
    return float(np.linalg.eigvalsh(0.5 * (tilted + tilted.T)).max(initial=0.0))


@singledispatch
def _number(expression: Any, values: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    """Return the value of a matrix expression."""
    raise InputError(f"cannot evaluate {type(expression).__name__} in {expression}")


@_number.register
def _(expression: MatrixSymbol, values: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    return values[expression.name]


@_number.register
def _(expression: Transpose, values: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    return _number(expression.arg, values, sizes).T


@_number.register
def _(expression: MatAdd, values: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    return np.sum([_number(term, values, sizes) for term in expression.args], axis=0)  # type: ignore[no-any-return]


@_number.register
def _(expression: MatMul, values: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    coefficient, factors = expression.as_coeff_matrices()
    product = _number(factors[0], values, sizes)
    for factor in factors[1:]:
        product = product @ _number(factor, values, sizes)
    return _scalar(coefficient, values, sizes) * product


@_number.register
def _(expression: Identity, values: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    return np.eye(_length(expression.shape[0], sizes))


@_number.register
def _(expression: ZeroMatrix, values: Mapping[str, Array], sizes: Mapping[str, int]) -> Array:
    rows, cols = expression.shape
    return np.zeros((_length(rows, sizes), _length(cols, sizes)))


def _length(size: Any, sizes: Mapping[str, int]) -> int:
    return int(size) if size.is_Integer else sizes[size.name]


def _scalar(expression: Any, values: Mapping[str, Array], sizes: Mapping[str, int]) -> float:
    scalars = {s: s.name for s in expression.free_symbols}
    known = {s: sizes[name] if name in sizes else float(values[name][0]) for s, name in scalars.items()}
    return float(expression.subs(known))
