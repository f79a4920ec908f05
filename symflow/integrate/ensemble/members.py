"""What enters an ensemble: laws and parameters of every member, refused by name and index before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Basic, MatrixSymbol

from symflow.checking import Array, real_array
from symflow.errors import InputError
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.problem import Problem, read_problem, symbolic_statement
from symflow.integrate.schedule import depends_on_time
from symflow.integrate.tokens.state import Tokens, read_tokens
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement

_SCALARS = ("beta", "temperature", "diffusion")


@dataclass(frozen=True, eq=False)
class Members:
    """An ensemble with numbers.

    Attributes
    ----------
    problem : Problem
        That of the first member.
    initials : tuple of Gaussian or Tokens
        One per member.
    shared : dict
        Parameters that all members share, as given.
    own : dict of str to ndarray
        Parameters with a leading axis of members, as float64 arrays.
    """

    problem: Problem
    initials: tuple[Any, ...]
    shared: dict[str, Any]
    own: dict[str, Array]

    @property
    def count(self) -> int:
        """How many members there are."""
        return len(self.initials)

    def params(self, member: int) -> dict[str, Any]:
        """Return the parameters of one member for :func:`symflow.solve`: its model has the scalars."""
        return self.shared | {
            name: values[member] for name, values in self.own.items() if name not in _SCALARS
        }

    def model(self, member: int) -> Any:
        """Return the model of one member: it carries the scalars that are its own."""
        own: dict[str, Any] = {
            name: float(values[member]) for name, values in self.own.items() if name in _SCALARS
        }
        return self.problem.model.with_scalars(**own) if own else self.problem.model


def read_members(
    model: Any, laws: Gaussian | Tokens | tuple[Any, ...], params: Any, t_span: tuple[float, float]
) -> Members:
    """Match laws and parameters of every member with what the model states.

    Parameters
    ----------
    model : AttentionModel
    laws : Gaussian, Tokens or tuple of them
        What :func:`read_laws` or :func:`read_clouds` returned.
    params : mapping
        Each value is shared, or has a leading axis of members; so have ``beta``, ``temperature`` and
        ``diffusion``.
    t_span : (float, float)

    Raises
    ------
    InputError
        Naming the argument, the index and what to give instead.
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {type(model).__name__}")
    if not isinstance(params, Mapping):
        raise InputError(f"params must be a mapping from names to values, got {type(params).__name__}")
    names = frozenset(params) - (frozenset(_SCALARS) - frozenset(model.parameters))
    own = _own(symbolic_statement(model, names), params)
    count = _count(laws, own)
    if not isinstance(laws, tuple):
        laws = (laws,) * count
    shared = {name: value for name, value in params.items() if name not in own}
    first = {name: values[0] for name, values in own.items()}
    scalars: dict[str, Any] = {name: float(v) for name, v in (shared | first).items() if name in _SCALARS}
    shared = {name: value for name, value in shared.items() if name not in scalars}
    if "diffusion" in own:  # one member with noise is enough for the equations to have it
        scalars["diffusion"] = float(own["diffusion"].max())
    carried = model.with_scalars(**scalars) if scalars else model
    _refuse_scalars(carried, own)
    given = {name: value for name, value in (shared | first).items() if name not in scalars}
    problem = read_problem(carried, laws[0], given, t_span)
    return Members(problem, laws, shared, own)


def read_laws(initials: Any) -> Gaussian | tuple[Gaussian, ...]:
    """Return one law for all members, or one for each.

    Raises
    ------
    InputError
        Naming the index of what is not a law, or is one in another dimension.
    """
    if isinstance(initials, Gaussian):
        return initials
    if not isinstance(initials, Sequence) or isinstance(initials, str):
        raise InputError(
            "initials must be a Gaussian(mean, cov) or a list of them, or tokens (B, n, d), "
            f"got {type(initials).__name__}"
        )
    laws = tuple(initials)
    if not laws:
        raise InputError("initials is empty; give at least one Gaussian(mean, cov)")
    for i, law in enumerate(laws):
        if not isinstance(law, Gaussian):
            raise InputError(f"initials[{i}] must be a Gaussian(mean, cov), got {type(law).__name__}")
        if law.mean.shape != laws[0].mean.shape:
            raise InputError(
                f"initials[{i}] has a mean of shape {law.mean.shape}, but initials[0] has "
                f"{laws[0].mean.shape}; run ensembles of one dimension at a time"
            )
    return laws


def read_clouds(model: Any, initials: Any) -> Tokens | tuple[Tokens, ...]:
    """Return the tokens of all members, or those of each.

    Parameters
    ----------
    model : AttentionModel
    initials : array_like (n, d) or (B, n, d), or sequence of (n, d)

    Raises
    ------
    InputError
        Naming the member and the token that cannot be used.
    """
    if isinstance(initials, Sequence) and initials and isinstance(initials[0], np.ndarray):
        shapes = [np.shape(cloud) for cloud in initials]
        for i, shape in enumerate(shapes):
            if shape != shapes[0]:
                raise InputError(
                    f"initials[{i}] has shape {shape}, but initials[0] has {shapes[0]}; "
                    "run ensembles of one size at a time"
                )
    clouds = real_array(initials, "initials")
    if clouds.ndim == 3 and clouds.shape[0]:
        return tuple(read_tokens(model, cloud, f"initials[{i}]") for i, cloud in enumerate(clouds))
    return read_tokens(model, clouds, "initials")


def _own(statement: Statement, params: Mapping[str, Any]) -> dict[str, Array]:
    """Return the parameters that have a leading axis of members."""
    axes = {s.name: _axes(s, statement) for s in statement.parameters}
    found = {}
    for name, value in params.items():
        if isinstance(value, Basic) or (name not in axes and name not in _SCALARS):
            continue  # an expression is shared, and an unknown name is refused with the others
        if depends_on_time(value, axes.get(name, 0)):
            continue
        array = real_array(value, name)
        if array.ndim == axes.get(name, 0) + 1 and not _is_column(name, array, statement):
            found[name] = array
    return found


def _axes(symbol: Any, statement: Statement) -> int:
    """Return how many axes a parameter has that all members share."""
    if not isinstance(symbol, MatrixSymbol):
        return 0
    return sum(int(n != 1) for n in symbol.shape) + int(symbol.name in statement.stacked)


def _is_column(name: str, array: Array, statement: Statement) -> bool:
    """Whether an array of one axis too many is a vector written as a column, (d, 1)."""
    symbol = next((s for s in statement.parameters if s.name == name), None)
    is_vector = isinstance(symbol, MatrixSymbol) and symbol.shape[1] == 1
    return is_vector and array.shape[-1] == 1 and array.shape[0] > 1


def _refuse_scalars(model: AttentionModel, own: Mapping[str, Array]) -> None:
    """Refuse a number of one member that the model does not accept."""
    for name in sorted(own.keys() & set(_SCALARS)):
        for m, value in enumerate(own[name].tolist()):
            try:
                model.with_scalars(**{name: value})
            except InputError as error:
                raise InputError(f"{name}[{m}] = {value!r} cannot be used: {error}") from None


def _count(laws: Gaussian | Tokens | tuple[Any, ...], own: Mapping[str, Array]) -> int:
    """Return the number of members, on which all must agree."""
    sources = {"initials": len(laws)} if isinstance(laws, tuple) else {}
    sources |= {name: len(values) for name, values in own.items()}
    if not sources:
        return 1
    (source, count), *rest = sources.items()
    for name, other in rest:
        if other != count:
            raise InputError(
                f"{name} has {other} members on its leading axis, but {source} has {count}; "
                "give one per member"
            )
    if count == 0:
        raise InputError(f"{source} has no members; give at least one")
    return count
