r"""Lowering: from a flow to the programs of its generated functions.

``moments``
    :math:`(\alpha, \Sigma) \mapsto (\alpha', \Sigma')` with :math:`\Sigma' = M + M^\top`,
    :math:`M = L\Sigma`.
``factor``
    :math:`(\alpha, F) \mapsto (\alpha', LF)` for :math:`\Sigma = FF^\top`, which is never formed.
``tangent``
    :math:`(\alpha, \Sigma, \delta\alpha, \delta\Sigma)` to the derivative of ``moments`` in that direction,
    exact for every :math:`\delta\Sigma`, symmetric or not.
``domain``
    :math:`(\alpha, F)` to nothing: only the check that the normaliser is finite there.

With a noise √(2ε)dW the moments have + 2εI, and no factor flows by itself: there is no ``factor``. At ordered
positions every state is an array of as many matrices, and the function is one loop over the positions.
"""

from __future__ import annotations

from typing import Any

from symflow.codegen.emit import Emitter
from symflow.codegen.frame import Frame, array_like, expanded_factor, factored, fresh, running_sums
from symflow.codegen.program import Array, Program
from symflow.codegen.rewrite import Weights, push_through
from symflow.codegen.turned import turned
from symflow.codegen.words import (
    Sum,
    add,
    derivative,
    expand,
    identity,
    multiply,
    scale,
    symbol,
)
from symflow.errors import InputError
from symflow.flow import Flow


def lower(flow: Flow) -> dict[str, Program]:
    """Return the programs of a flow by name.

    Parameters
    ----------
    flow : Flow
        A matrix ODE of symbolic size.

    Returns
    -------
    dict of str to Program
        ``"moments"`` and ``"tangent"``; where one of the states is a covariance, ``"factor"`` too, or
        with noise ``"domain"`` where the normaliser may diverge.

    Raises
    ------
    InputError
        If an expression has no matrix program, or a symbol of the drift is neither state nor parameter, or
        two symbols have one name.
    """
    _refuse_names(flow)
    programs = {"moments": _moments(flow)}
    cov = flow.covariance
    if cov is not None and cov.diffusion == 0:
        programs["factor"] = _factor(flow)
    elif cov is not None and cov.tilt is not None:
        programs["domain"] = _domain_only(flow)
    programs["tangent"] = _tangent(flow)
    return programs


def programs_of(model: Any, names: frozenset[str]) -> dict[str, Program]:
    """Return the programs of a model for the parameter ``names``; beta and temperature are arguments.

    Those of :func:`lower`, and ``"turned"`` where the identity as a parameter makes one.
    """
    from symflow.derive.closure import gaussian_closure

    flow = gaussian_closure(model.with_symbolic_scale(), names).flow
    programs, found = lower(flow), turned(flow)
    return programs if found is None else {**programs, found.name: found}


def _refuse_names(flow: Flow) -> None:
    """Refuse two symbols of one name, which SymPy tells apart by assumptions, and symbols nobody sets."""
    running = [] if flow.chain is None else [symbol for symbol, _ in flow.chain.running]
    names = [s.name for s in (*flow.states, *running, *flow.parameters, *flow.dimensions)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{flow.name} has two symbols called {twice[0]!r}; rename the one in score or value")
    for drift in flow.drift:
        unknown = sorted({s.name for s in drift.free_symbols} - set(names))
        if unknown:
            raise InputError(f"{unknown[0]!r} in the drift of {flow.name} is neither a state nor a parameter")


def _moments(flow: Flow) -> Program:
    frame = Frame(flow)
    inputs = tuple(array_like(s.name, s) for s in flow.states)
    outputs = frame.states("drift_")
    halves = _half_drifts(flow, frame.weights)
    running = running_sums(flow, frame.weights)
    return frame.finished(
        "moments", inputs, outputs, lambda emitter: _emit_all(emitter, halves, outputs, flow), running
    )


def _half_drifts(flow: Flow, weights: Weights) -> list[Sum]:
    """Return the drifts in words, with M = LΣ + εI in place of Σ' = M + Mᵀ."""
    cov = flow.covariance
    halves = []
    for state, drift in zip(flow.states, flow.drift, strict=True):
        if cov is None or state != cov.state:
            halves.append(push_through(expand(drift), weights))
            continue
        half = push_through(expand(cov.velocity_gradient * cov.state), weights)
        halves.append(add(half, scale(cov.diffusion, identity(half.rows))))
    return halves


def _emit_all(emitter: Emitter, halves: list[Sum], outputs: tuple[Array, ...], flow: Flow) -> None:
    """Emit every drift, the covariance first: what it computes is then there for the mean."""
    covariance = None if flow.covariance is None else flow.covariance.state
    jobs = sorted(zip(flow.states, halves, outputs, strict=True), key=lambda job: job[0] != covariance)
    for state, half, out in jobs:
        if state == covariance:
            emitter.symmetrised(half, out.name)
        else:
            emitter.output(half, out.name)


def _tangent(flow: Flow) -> Program:
    frame = Frame(flow)
    inputs = tuple(array_like(s.name, s) for s in flow.states)
    deltas = frame.states("delta_")
    outputs = frame.states("delta_drift_")
    directions = {s.name: symbol(d.name, d.rows, d.cols) for s, d in zip(flow.states, deltas, strict=True)}
    running = running_sums(flow, frame.weights)
    moved = []
    for name, summand in running:
        delta = fresh(f"delta_{name}", frame.taken)
        moved.append((delta, derivative(summand, directions)))
        directions[name] = symbol(delta, summand.rows, summand.cols)
    varied = [derivative(half, directions) for half in _half_drifts(flow, frame.weights)]
    return frame.finished(
        "tangent",
        (*inputs, *deltas),
        outputs,
        lambda emitter: _emit_all(emitter, varied, outputs, flow),
        (*running, *moved),
    )


def _factor(flow: Flow) -> Program:
    frame, (inputs, factor, bindings), outputs = expanded_factor(flow)
    cov = flow.covariance
    assert cov is not None
    velocity = multiply(expand(cov.velocity_gradient, bindings), factor)
    drifts = [
        velocity if state == cov.state else expand(drift, bindings)
        for state, drift in zip(flow.states, flow.drift, strict=True)
    ]

    def emit(emitter: Emitter) -> None:  # the factor first: its products serve the mean, too
        frame.require_domain(emitter, factor, bindings)
        for value, out in sorted(zip(drifts, outputs, strict=True), key=lambda job: job[0] is not velocity):
            emitter.output(push_through(value, frame.weights), out.name)

    return frame.finished("factor", inputs, outputs, emit, running_sums(flow, frame.weights, bindings))


def _domain_only(flow: Flow) -> Program:
    frame = Frame(flow, rank=True)
    inputs, factor, bindings = factored(frame)
    return frame.finished("domain", inputs, (), lambda e: frame.require_domain(e, factor, bindings))
