r"""Lowering: from a flow to the programs of its generated functions.

``moments``
    :math:`(\alpha, \Sigma) \mapsto (\alpha', \Sigma')` with :math:`\Sigma' = M + M^\top`,
    :math:`M = L\Sigma`.
``factor``
    :math:`(\alpha, F) \mapsto (\alpha', LF)` for :math:`\Sigma = FF^\top`, which is never formed.
``tangent``
    :math:`(\alpha, \Sigma, \delta\alpha, \delta\Sigma)` to the derivative of ``moments`` in that direction,
    exact for every :math:`\delta\Sigma`, symmetric or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sympy import MatrixSymbol

from symflow.codegen.emit import Emitter
from symflow.codegen.program import ONE, Array, Program
from symflow.codegen.rewrite import Weights, push_through, typical
from symflow.codegen.words import Sum, add, derivative, expand, identity, multiply, scale, size_of, symbol
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
        ``"moments"`` and ``"tangent"``; ``"factor"`` too where one of the states is a covariance.

    Raises
    ------
    InputError
        If an expression has no matrix program, or a symbol of the drift is neither state nor parameter, or
        two symbols have one name.
    """
    _refuse_names(flow)
    programs = {"moments": _moments(flow)}
    if flow.covariance is not None:
        programs["factor"] = _factor(flow)
    programs["tangent"] = _tangent(flow)
    return programs


def programs_of(model: Any, names: frozenset[str]) -> dict[str, Program]:
    """Return the programs of a model for the parameter ``names``; beta and temperature are arguments."""
    from symflow.derive.closure import gaussian_closure

    return lower(gaussian_closure(model.with_symbolic_scale(), names).flow)


def _refuse_names(flow: Flow) -> None:
    """Refuse two symbols of one name, which SymPy tells apart by assumptions, and symbols nobody sets."""
    names = [s.name for s in (*flow.states, *flow.parameters, *flow.dimensions)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{flow.name} has two symbols called {twice[0]!r}; rename the one in score or value")
    for drift in flow.drift:
        unknown = sorted({s.name for s in drift.free_symbols} - set(names))
        if unknown:
            raise InputError(f"{unknown[0]!r} in the drift of {flow.name} is neither a state nor a parameter")


def _array(name: str, like: Any) -> Array:
    """Return an array shaped like a symbol; a scalar is 1 × 1."""
    rows, cols = getattr(like, "shape", (ONE, ONE))
    return Array(name, size_of(rows), size_of(cols))


def _fresh(name: str, taken: set[str]) -> str:
    """Return ``name``, with underscores until no one has it, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


class _Frame:
    """What the programs of one flow share: names, arrays, weights."""

    def __init__(self, flow: Flow, rank: bool = False) -> None:
        self.flow = flow
        self.taken = {s.name for s in (*flow.states, *flow.parameters, *flow.dimensions)}
        self.parameters = tuple(_array(p.name, p) for p in flow.parameters)
        self.scalars = tuple(p.name for p in flow.parameters if not isinstance(p, MatrixSymbol))
        dimensions = tuple(s.name for s in flow.dimensions)
        self.rank = _fresh("r", self.taken) if rank else None
        self.weights: Weights = typical(dimensions, self.rank)
        self.dimensions = dimensions if self.rank is None else (*dimensions, self.rank)

    def states(self, prefix: str) -> tuple[Array, ...]:
        """Return arrays shaped like the states, named by prefix and state."""
        return tuple(_array(_fresh(prefix + s.name, self.taken), s) for s in self.flow.states)

    def emitter(self, inputs: Iterable[Array]) -> Emitter:
        """Return an emitter that reads ``inputs`` and the matrix parameters."""
        matrices = (p for p in self.parameters if p.name not in self.scalars)
        return Emitter((*inputs, *matrices), self.weights, reserved=self.taken)

    def program(
        self, name: str, inputs: tuple[Array, ...], outputs: tuple[Array, ...], emitter: Emitter
    ) -> Program:
        """Return the finished program."""
        ops = tuple(emitter.ops)
        args = (inputs, outputs, self.parameters, self.scalars, self.dimensions, ops)
        return Program(name, self.flow.name, *args)


def _moments(flow: Flow) -> Program:
    frame = _Frame(flow)
    inputs = tuple(_array(s.name, s) for s in flow.states)
    outputs = frame.states("drift_")
    emitter = frame.emitter(inputs)
    _emit_all(emitter, _half_drifts(flow, frame.weights), outputs, flow)
    return frame.program("moments", inputs, outputs, emitter)


def _half_drifts(flow: Flow, weights: Weights) -> list[Sum]:
    """Return the drifts in words, with M = LΣ in place of Σ' = M + Mᵀ."""
    cov = flow.covariance
    halves = (
        cov.velocity_gradient * cov.state if cov is not None and state == cov.state else drift
        for state, drift in zip(flow.states, flow.drift, strict=True)
    )
    return [push_through(expand(half), weights) for half in halves]


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
    frame = _Frame(flow)
    inputs = tuple(_array(s.name, s) for s in flow.states)
    deltas = frame.states("delta_")
    outputs = frame.states("delta_drift_")
    emitter = frame.emitter((*inputs, *deltas))
    directions = {s.name: symbol(d.name, d.rows, d.cols) for s, d in zip(flow.states, deltas, strict=True)}
    varied = [derivative(half, directions) for half in _half_drifts(flow, frame.weights)]
    _emit_all(emitter, varied, outputs, flow)
    return frame.program("tangent", (*inputs, *deltas), outputs, emitter)


def _factor(flow: Flow) -> Program:
    frame = _Frame(flow, rank=True)
    cov = flow.covariance
    assert cov is not None and frame.rank is not None
    size = size_of(cov.state.rows)
    root = Array(_fresh("F", frame.taken), size, frame.rank)
    inputs = tuple(root if s == cov.state else _array(s.name, s) for s in flow.states)
    outputs = tuple(Array(_fresh(f"drift_{a.name}", frame.taken), a.rows, a.cols) for a in inputs)
    emitter = frame.emitter(inputs)
    f = symbol(root.name, root.rows, root.cols)
    bindings = {cov.state.name: multiply(f, f.T)}
    if cov.tilt is not None:
        emitter.require_positive(_domain(f, expand(cov.tilt, bindings), frame.rank))
    velocity = multiply(expand(cov.velocity_gradient, bindings), f)
    for state, drift, out in zip(flow.states, flow.drift, outputs, strict=True):
        value = velocity if state == cov.state else expand(drift, bindings)
        emitter.output(push_through(value, frame.weights), out.name)
    return frame.program("factor", inputs, outputs, emitter)


def _domain(f: Sum, tilt: Sum, rank: str) -> Sum:
    """Return I − FᵀCF, which has to be positive definite."""
    return add(identity(rank), scale(-ONE, multiply(f.T, tilt, f)))
