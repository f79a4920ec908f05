"""The section ``[energy]``: a shipped energy or one's own, a metric, and the domain of a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symflow.algebra.grammar import parse
from symflow.checking import entry
from symflow.errors import InputError
from symflow.spec.values import at, read_number

if TYPE_CHECKING:
    from symflow.energies import Energy

METRICS = ("wasserstein", "bures", "twisted")
ENERGY_KEYS = ("density", "potential", "metric", "domain", "space", "name", "beta", "epsilon")
_SCALARS = ("beta", "epsilon")
_OF_METRIC = ("V", "A")
_OWN = ("density", "potential", "space")


@dataclass(frozen=True)
class Domain:
    """Where a question is asked: a box of coordinates, or a ball around the origin.

    Attributes
    ----------
    box : tuple of (Fraction, Fraction) or None
        Lower and upper end of every coordinate; one pair stands for all coordinates alike.
    radius : Fraction or None
        Of the ball.
    """

    box: tuple[tuple[Fraction, Fraction], ...] | None = None
    radius: Fraction | None = None


@dataclass(frozen=True, eq=False)
class EnergyTask:
    """What ``[energy]`` states.

    Attributes
    ----------
    energy : Energy
        Of :mod:`symflow.energies`, with its parameters.
    metric : str or None
        ``"wasserstein"``, ``"bures"`` or ``"twisted"``.
    metric_parameters : dict
        V and A of the twisted metric, as they are written: nested lists of numbers, exact where they are. A
        is KᵀQ where the energy takes Q and K.
    domain : Domain or None
    """

    energy: Energy
    metric: str | None = None
    metric_parameters: Mapping[str, Any] = field(default_factory=dict)
    domain: Domain | None = None


def read_energy(table: Mapping[str, Any], parameters: Mapping[str, Any]) -> tuple[EnergyTask, frozenset[str]]:
    """Return what the section states, and the names of the parameters that belong to it.

    Parameters
    ----------
    table : dict
        The section; its keys are known.
    parameters : dict
        The section ``[parameters]``: nested lists of numbers and of text such as ``"1/3"``, or arrays.

    Raises
    ------
    InputError
        If keys contradict each other, or a value does not fit; the message names it.

    Examples
    --------
    >>> task, used = read_energy({"density": "c*dot(x, y)", "domain": {"box": [-1, 1]}}, {"c": "1/3"})
    >>> task.energy.exact(), task.domain.box, sorted(used)
    ({'c': Fraction(1, 3)}, ((Fraction(-1, 1), Fraction(1, 1)),), ['c'])
    """
    for key in ("density", "potential", "metric", "space", "name"):
        if key in table and not isinstance(table[key], str):
            raise InputError(f"[energy] {key} = {table[key]!r} must be text in quotation marks")
    metric = table.get("metric")
    if metric not in (None, *METRICS):
        raise InputError(f"[energy] metric = {metric!r} is unknown; use {', '.join(map(repr, METRICS))}")
    given = {key: exact_entries(f"[parameters] {key}", value) for key, value in parameters.items()}
    scalars = {key: exact_entries(f"[energy] {key}", table[key]) for key in _SCALARS if key in table}
    for key in scalars.keys() & given.keys():
        raise InputError(f"{key} stands in [energy] and in [parameters]; keep one of them")
    energy, used = _energy(table, {**given, **scalars})
    own = {key: given[key] for key in _OF_METRIC if key in given} if metric == "twisted" else {}
    about_metric = {**own, "A": _product(given)} if own and "A" not in own and {"Q", "K"} <= used else own
    task = EnergyTask(energy, metric, about_metric, _domain(table.get("domain")))
    return task, frozenset(used) - scalars.keys() | own.keys()


def _product(given: Mapping[str, Any]) -> list[list[Fraction]]:
    """Return A = KᵀQ in exact numbers."""
    from symflow.energies.exact import exact_value

    queries, keys = (exact_value(given[name], f"[parameters] {name}") for name in ("Q", "K"))
    rows = range(len(keys))
    return [
        [sum((keys[k][i] * queries[k][j] for k in rows), Fraction(0)) for j in range(len(queries[0]))]
        for i in range(len(keys[0]))
    ]


def _energy(table: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[Energy, set[str]]:
    """Return the energy, and the parameters that it takes."""
    from symflow.energies import Pairwise
    from symflow.energies.registry import parameters_of, shipped_energy
    from symflow.models.energies.user import Pairwise as Definition

    scalars = [key for key in _SCALARS if key in table]
    if "density" in table or "potential" in table:
        own: dict[str, Any] = {key: table[key] for key in ("space", "name") if key in table}
        texts = table.get("density", ""), table.get("potential", "")
        with at("[energy]"):
            definition = Definition(*texts, space=table.get("space", "euclidean"))
            wanted = {str(s.name) for s in definition.statement().parameters}
            _refuse(scalars, wanted)
            values = {key: given[key] for key in given.keys() & wanted}
            return Pairwise(*texts, **{**own, **values}), wanted
    if "name" not in table:
        raise InputError('[energy] states no energy; write density = "dot(x, A*y)" or name = "exponential"')
    for key in _OWN:
        if key in table:
            raise InputError(
                f"[energy] {key} belongs to density = …; the energy {table['name']!r} has its own"
            )
    with at("[energy]"):
        wanted = parameters_of(table["name"], given)
        _refuse(scalars, wanted)
        return shipped_energy(table["name"], {key: given[key] for key in given.keys() & wanted}), wanted


def _refuse(scalars: list[str], wanted: set[str]) -> None:
    for key in scalars:
        if key not in wanted:
            raise InputError(
                f"{key} is no parameter of this energy, which takes {', '.join(sorted(wanted)) or 'none'}"
            )


def exact_entries(where: str, value: Any) -> Any:
    """Return nested lists of numbers, with exact ones where text such as ``"1/3"`` stands.

    Raises
    ------
    InputError
        If an entry is neither a finite number nor such a text.
    """
    return _entries(where, value.tolist() if hasattr(value, "tolist") else value, ())


def _entries(where: str, value: Any, index: tuple[int, ...]) -> Any:
    if isinstance(value, list):
        return [_entries(where, item, (*index, i)) for i, item in enumerate(value)]
    if isinstance(value, str):
        with at(f"{entry(where, index)}:"):
            return parse(value, {})
    if isinstance(value, Mapping):
        raise InputError(f"{entry(where, index)} depends on time; an energy has fixed parameters")
    read_number(entry(where, index), value)
    return value


def _domain(table: Any) -> Domain | None:
    if table is None:
        return None
    if not isinstance(table, Mapping) or len(table) != 1 or next(iter(table)) not in ("box", "radius"):
        raise InputError("[energy] domain must be {box = [lo, hi]} or {radius = r}")
    if "radius" in table:
        radius = _rational("[energy] domain radius", table["radius"])
        if radius <= 0:
            raise InputError(f"[energy] domain radius = {table['radius']} must be > 0")
        return Domain(radius=radius)
    ends = table["box"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise InputError(f"[energy] domain box = {ends!r} must be [lo, hi], two numbers or two lists of them")
    lower, upper = (end if isinstance(end, list) else [end] for end in ends)
    if len(lower) != len(upper) or not lower:
        raise InputError(f"[energy] domain box has {len(lower)} lower and {len(upper)} upper ends")
    pairs = [
        tuple(_rational(f"[energy] domain box[{side}, {i}]", end) for side, end in enumerate(both))
        for i, both in enumerate(zip(lower, upper, strict=True))
    ]
    for i, (low, high) in enumerate(pairs):
        if low >= high:
            raise InputError(f"[energy] domain box: lower end {low} of coordinate {i} is not below {high}")
    return Domain(box=tuple((low, high) for low, high in pairs))


def _rational(where: str, value: Any) -> Fraction:
    from symflow.energies.exact import exact_value

    number = exact_value(exact_entries(where, value), where)
    if not isinstance(number, Fraction):
        raise InputError(f"{where} must be one number")
    return number
