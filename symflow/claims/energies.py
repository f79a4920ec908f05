"""What a claim about an energy is about: an energy, a spec, or a model, as the statement of a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Rational, Trace

from symflow.algebra.words import identical
from symflow.certify.propositions.convexity import METRICS, read_energy
from symflow.certify.taylor.geodesics import check_twist
from symflow.certify.terms import Rejected
from symflow.energies import Energy
from symflow.energies.exact import exact_value
from symflow.errors import InputError
from symflow.models.attention.model import AttentionModel
from symflow.spec import Spec

#: What may be said about the question beside the energy.
OPTIONS = ("metric", "V", "A", "domain", "modulus", "dimension")


@dataclass(frozen=True)
class _Question:
    """An energy by its texts and exact parameters, and what was said about the metric and the domain."""

    pair: str
    potential: str
    parameters: Mapping[str, Any]
    space: str
    dimension: int | None
    options: Mapping[str, Any]


def energy_statement(subject: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statement of a certificate.

    Parameters
    ----------
    subject : Energy, Spec or AttentionModel
        A model stands for the energy that softmax attention increases or decreases, with the twisted metric;
        V = I and A = −I where a spec gives no parameters.
    options : dict
        ``metric`` (with ``V`` and ``A`` for ``"twisted"``, matrices or multiples of I), ``domain``
        (``{"box": [[low, high], ...]}`` or ``{"radius": r}``), ``modulus``, ``dimension``.

    Raises
    ------
    InputError
        If something does not fit; the message names it.
    """
    question = _question(subject, options)
    chosen = question.options
    dimension, domain = _domain(chosen.get("domain"), question.dimension)
    statement = {
        "pair": question.pair,
        "potential": question.potential,
        "parameters": dict(question.parameters),
        "space": question.space,
        "dimension": "d" if dimension is None else str(dimension),
        "metric": _metric(chosen),
        "domain": domain,
        "modulus": _token(_number(chosen.get("modulus", 0), "modulus")),
    }
    stated = read_energy(statement)
    try:
        check_twist(stated)
    except Rejected as error:
        raise InputError(str(error)) from error
    return statement


def _question(subject: Any, options: Mapping[str, Any]) -> _Question:
    if isinstance(subject, Spec):
        task = subject.energy
        if task is None:
            return _of_model(subject.model, subject.parameters, options)
        said = {"metric": task.metric, "domain": task.domain, **task.metric_parameters}
        chosen = {key: value for key, value in said.items() if value is not None} | dict(options)
        return _of_energy(task.energy, chosen)
    if isinstance(subject, Energy):
        return _of_energy(subject, options)
    if isinstance(subject, AttentionModel):
        return _of_model(subject, {}, options)
    raise InputError(
        f"an energy of symflow.energies, a spec or a model is needed, got {type(subject).__name__}"
    )


def _of_energy(energy: Energy, options: Mapping[str, Any]) -> _Question:
    model, statement = energy.model, energy.statement()
    if statement.rest != 0:
        raise InputError(
            f"{statement.name} is no sum of ½∬W dμdμ and ∫U dμ; convexity is decided for such energies only"
        )
    values = energy.exact()
    sizes = {
        int(count)
        for symbol in statement.parameters
        for name, count in zip(getattr(symbol, "shape", ()), _counts(values[str(symbol.name)]), strict=True)
        if str(name) == "d"
    }
    dimension = options.get("dimension", sizes.pop() if sizes else None)
    parameters = {name: _written(value) for name, value in values.items()}
    return _Question(model.pair, model.potential, parameters, model.space, _size(dimension), options)


def _counts(value: Any) -> tuple[int, ...]:
    return (len(value), len(value[0])) if isinstance(value, list) else ()


def _of_model(model: Any, parameters: Mapping[str, Any], options: Mapping[str, Any]) -> _Question:
    """Return the energy ½∬exp(score) of softmax attention with the score of one matrix A."""
    if not isinstance(model, AttentionModel):
        raise InputError("the spec states neither an energy nor a model")
    statement = model.statement({"A", "V"})
    names = {str(symbol.name): symbol for symbol in statement.parameters}
    scale = _number(model.beta, "beta") / _number(model.temperature, "temperature")
    plain = statement.positions is None and statement.diffusion == 0 and statement.background.is_ZeroMatrix
    attends = len(statement.heads) == 1 and statement.normalise == "softmax"
    if plain and attends and statement.space == "euclidean":
        score = Rational(scale.numerator, scale.denominator) * Trace(statement.y.T * names["A"] * statement.x)
        if identical(statement.score, score):
            return _softmax(_values_of(parameters), scale, options)
    raise InputError(
        f"no energy is known of which {statement.name} is a gradient flow in the twisted metric; give an "
        "energy of symflow.energies, or a spec with [energy]"
    )


def _values_of(parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return V and A of a model; I and −I where nothing is given."""
    if not parameters:
        return Fraction(1), Fraction(-1)
    values = {name: exact_value(value, name) for name, value in parameters.items()}
    if "A" in values:
        return values["V"], values["A"]
    Q, K = values["Q"], values["K"]
    keys, queries = (list(zip(*matrix, strict=True)) for matrix in (K, Q))
    product = [[sum(a * b for a, b in zip(k, q, strict=True)) for q in queries] for k in keys]
    return values["V"], product


def _softmax(values: tuple[Any, Any], scale: Fraction, options: Mapping[str, Any]) -> _Question:
    value, score = values
    scaled = scale * score if isinstance(score, Fraction) else [[scale * c for c in row] for row in score]
    dimension = options.get("dimension", len(score) if isinstance(score, list) else None)
    chosen = {"metric": "twisted", "V": value, "A": scaled, **options}
    written = {"A": _of_matrix(scaled, "A")}
    return _Question("exp(dot(x, A*y))", "", written, "euclidean", _size(dimension), chosen)


def _metric(options: Mapping[str, Any]) -> dict[str, Any]:
    name = options.get("metric", "wasserstein")
    if name not in METRICS:
        raise InputError(f"metric = {name!r} is unknown; use {', '.join(map(repr, METRICS))}")
    if name != "twisted":
        return {"name": name}
    missing = [key for key in ("V", "A") if options.get(key) is None]
    if missing:
        raise InputError(f"the twisted metric needs {' and '.join(missing)}: a matrix, or a number for c·I")
    return {"name": name, **{key: _of_matrix(exact_value(options[key], key), key) for key in ("V", "A")}}


def _of_matrix(value: Any, name: str) -> Any:
    """Return a matrix as it is written; a number stands for a multiple of the identity."""
    if isinstance(value, Fraction):
        return {"identity": _token(value)}
    if not all(isinstance(row, list) for row in value):
        raise InputError(f"{name} must be a matrix, or a number for a multiple of I")
    return _written(value)


def _written(value: Any) -> Any:
    return [_written(part) for part in value] if isinstance(value, list) else _token(value)


def _token(value: Fraction) -> str:
    return str(value)


def _number(value: Any, name: str) -> Fraction:
    found = exact_value(value, name)
    if not isinstance(found, Fraction):
        raise InputError(f"{name} = {value!r} must be a number")
    return found


def _size(dimension: Any) -> int | None:
    if dimension is None or (type(dimension) is int and dimension >= 1):
        return dimension
    raise InputError(f"dimension = {dimension!r} must be a positive whole number")


def _domain(given: Any, dimension: int | None) -> tuple[int | None, dict[str, Any]]:
    """Return the dimension and the domain; one pair of ends stands for all coordinates alike."""
    if given is None:
        return dimension, {}
    box, radius = _ends(given)
    if radius is not None:
        return dimension or 1, {"ball": _token(radius)}
    if len(box) == 1:
        box = box * (dimension or 1)
    if dimension not in (None, len(box)):
        raise InputError(f"the domain has {len(box)} coordinates, the energy {dimension}")
    return len(box), {"box": [[_token(low), _token(high)] for low, high in box]}


def _ends(given: Any) -> tuple[list[Any], Fraction | None]:
    if not isinstance(given, Mapping):  # of a spec
        return list(given.box or ()), given.radius
    if set(given) == {"radius"}:
        return [], _number(given["radius"], "domain radius")
    if set(given) != {"box"}:
        raise InputError("domain must be {'box': [[low, high], ...]} or {'radius': r}")
    box = exact_value(given["box"], "domain box")
    if not isinstance(box, list) or not all(isinstance(side, list) and len(side) == 2 for side in box):
        raise InputError("domain box must be a list of pairs low < high, one for each coordinate")
    return box, None
