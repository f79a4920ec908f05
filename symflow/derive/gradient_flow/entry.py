r"""From a model and an energy to a gradient-flow structure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sympy import Dummy

from symflow.derive.gradient_flow import steps
from symflow.derive.gradient_flow.matching import Averages, Joined, averages, joins
from symflow.derive.gradient_flow.necessity import necessity
from symflow.derive.gradient_flow.parameters import (
    Parameters,
    definite_sign,
    draw_parameters,
    metric_at,
    read_parameters,
)
from symflow.derive.gradient_flow.refutation import refutation
from symflow.derive.gradient_flow.structure import (
    GradientFlow,
    NoGradientFlow,
    is_multiple_of_identity,
    number_of,
)
from symflow.derive.gradient_flow.witness import find_witness
from symflow.errors import InputError, Undecided
from symflow.models.attention.model import AttentionModel
from symflow.models.energies.model import EnergyModel
from symflow.models.energies.registry import energy_models
from symflow.models.energies.statement import EnergyStatement
from symflow.models.statement import Statement


def gradient_flow(
    model: AttentionModel,
    energy: Any,
    given: Iterable[str] | None = None,
    params: Mapping[str, Any] | None = None,
) -> GradientFlow | NoGradientFlow:
    r"""Decide whether a velocity is the gradient of an energy for a weighted metric, and on which conditions.

    .. math:: \Gamma_\mu(x) = M^{-1}g_\mu(x)^{-1}\,\nabla\frac{\delta F}{\delta\mu}(x), \qquad
              \langle v, w\rangle_\mu = \int\langle v, |M|w\rangle\,g_\mu\,d\mu

    with one symmetric definite matrix M and numbers g > 0; on the sphere both sides are projected by P_x and
    M is a multiple of I. Found are equations between parameters, which matrices have to be invertible, and M.

    Parameters
    ----------
    model : AttentionModel
        One head, without mask and noise.
    energy : EnergyModel, or an energy of symflow.energies
        F, of which only the definition counts. Its parameters are those of the model with the same name;
        its ``beta`` is the scale of the score, and an energy without it has the scale in Q.
    given : iterable of str, optional
        Names of the parameters in use; Q and K count as A = KᵀQ.
    params : mapping of str to array_like, optional
        Exact values of all parameters; floats are the rationals that they are.

    Returns
    -------
    GradientFlow
        With symbols: the structure and its conditions. With ``params``: they satisfy the conditions.
    NoGradientFlow
        With laws of a few atoms that no such metric fits, at ``params``, or at drawn values where no
        equations between the parameters were found.

    Raises
    ------
    Undecided
        If neither was found.
    InputError
        If the model is of another kind, or a parameter is unknown or missing.

    References
    ----------
    CACP25; GLPR23.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> from symflow.models.energies.exponential import Exponential
    >>> found = gradient_flow(Softmax(), Exponential())
    >>> found.equations, found.metric
    (((A, A.T),), A*V**(-1))
    >>> at = {"A": [[1, 1], [0, 1]], "V": [[1, 0], [0, 1]]}
    >>> gradient_flow(Softmax(), Exponential(), params=at).witness.reason
    'the velocity is no multiple of the mobility times the gradient'
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {model!r}")
    energy = getattr(energy, "model", energy)
    if not isinstance(energy, EnergyModel):
        raise InputError(f"energy must be an energy such as Interaction(1.0), got {energy!r}")
    statement, stated = model.statement(_product(model, given)), energy.statement()
    found = averages(statement, stated, model.scale)
    candidates = list(joins(found))
    if candidates and params is None:
        joined = candidates[0]
        return _structure(model, statement, stated, found, joined, sign_of(joined.metric))
    if params is None:
        values = draw_parameters(statement, found)
    else:
        values = read_parameters(statement, found, params)
    sizes = dict.fromkeys(statement.dimensions, values.size)
    for joined in candidates:
        metric = metric_at(joined, values, sizes)
        sign = 0 if metric is None else definite_sign(metric)
        if sign:
            flow = _structure(model, statement, stated, found, joined, sign)
            step = steps.at_parameters(statement, joined, metric, sign, values)
            return replace(flow, steps=(*flow.steps, step), parameters=values.named)
    return _excluded(model, statement, stated, found, values)


def _excluded(
    model: AttentionModel,
    statement: Statement,
    energy: EnergyStatement,
    found: Averages,
    values: Parameters,
) -> NoGradientFlow:
    """Return the argument that no metric fits; potentials of a coupling have no exact values."""
    exact = found.functional is None
    witness = find_witness(statement, found, values.values, values.size) if exact else None
    if witness is None:
        raise Undecided(
            f"{statement.name} and the {energy.name} energy: no conditions were found that hold, and no "
            "law of a few atoms that excludes every metric"
        )
    return refutation(model, statement, energy, found, witness, values.values)


def gradient_flows(model: AttentionModel, given: Iterable[str] | None = None) -> tuple[GradientFlow, ...]:
    """Return the structures of a model for the shipped energies, each with its conditions.

    Parameters
    ----------
    model, given
        As for :func:`gradient_flow`; for a model of another kind there are none.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> gradient_flows(Softmax())
    (GradientFlow(softmax-A of exponential: M = A*V**(-1), needs A = A.T),)
    """
    statement = model.statement(_product(model, given))
    found = []
    for kind in energy_models().values():
        stated = kind().statement()
        try:
            both = averages(statement, stated, model.scale)
            joined = next(joins(both), None)
        except InputError:  # the message would say why the two do not go together
            continue
        if joined is not None:
            sign = sign_of(joined.metric)
            found.append(_structure(model, statement, stated, both, joined, sign))
    return tuple(found)


def _structure(
    model: AttentionModel,
    statement: Statement,
    energy: EnergyStatement,
    found: Averages,
    joined: Joined,
    sign: int,
) -> GradientFlow:
    why = necessity(found, joined)
    listed = [*steps.opening(model, statement, energy, found)]
    if why is not None:
        listed.append(steps.needed(statement, found, joined, why))
    listed += [
        steps.result(statement, energy, found, joined, sign),
        steps.dissipation(statement, found, joined),
        steps.tokens(statement, found, joined),
    ]
    return GradientFlow(model, statement, tuple(listed), energy, found, joined, sign)


def _product(model: AttentionModel, given: Iterable[str] | None) -> frozenset[str] | None:
    """Return A in place of Q and K, whose product is all that can matter."""
    if given is None:
        return None
    names = frozenset(given)
    if {"Q", "K"} <= names and model.accepts_product() and "A" not in model.parameters:
        return names - {"Q", "K"} | {"A"}
    return names


def sign_of(metric: Any) -> int:
    """Return the sign of a multiple of I at all admitted parameters, or 0."""
    if not is_multiple_of_identity(metric):
        return 0
    number = number_of(metric)
    if not getattr(number, "free_symbols", ()):
        return 1 if number > 0 else -1
    # where a parameter is not negative, a formula that divides by it needs it positive
    inside = {s: Dummy(s.name, positive=True) for s in number.free_symbols if s.is_nonnegative}
    moved = number.xreplace(inside)
    return 1 if moved.is_positive else -1 if moved.is_negative else 0
