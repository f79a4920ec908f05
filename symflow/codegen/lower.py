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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sympy import MatrixSymbol, Symbol

from symflow.codegen.emit import Emitter
from symflow.codegen.program import ONE, Array, Loop, Op, Program, Slice, renamed
from symflow.codegen.rewrite import Weights, push_through, typical
from symflow.codegen.words import (
    Family,
    Sum,
    add,
    derivative,
    expand,
    identity,
    multiply,
    scale,
    size_of,
    symbol,
)
from symflow.errors import InputError
from symflow.flow import Flow

#: Names of running matrices, each with what one position adds.
Running = tuple[tuple[str, Sum], ...]


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
    from symflow.codegen.turned import turned
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


def _array(name: str, like: Any, lead: Symbol | None = None) -> Array:
    """Return an array shaped like a symbol; a scalar is 1 × 1."""
    rows, cols = getattr(like, "shape", (ONE, ONE))
    return Array(name, size_of(rows), size_of(cols), None if lead is None else size_of(lead))


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
        self.parameters = tuple(_array(p.name, p, flow.stacked.get(p.name)) for p in flow.parameters)
        self.scalars = tuple(p.name for p in flow.parameters if not isinstance(p, MatrixSymbol))
        dimensions = tuple(s.name for s in flow.dimensions)
        self.rank = _fresh("r", self.taken) if rank else None
        counts = {str(size) for size in flow.stacked.values()}
        self.weights: Weights = typical(dimensions, self.rank, counts)
        self.dimensions = dimensions if self.rank is None else (*dimensions, self.rank)
        self.lead = None if flow.chain is None else size_of(flow.chain.count)
        if flow.chain is not None:
            self.taken |= {flow.chain.weight.name, *(symbol.name for symbol, _ in flow.chain.running)}

    def states(self, prefix: str) -> tuple[Array, ...]:
        """Return arrays shaped like the states, named by prefix and state."""
        return tuple(_array(_fresh(prefix + s.name, self.taken), s) for s in self.flow.states)

    def emitter(self, inputs: Iterable[Array]) -> Emitter:
        """Return an emitter that reads ``inputs`` and the matrix parameters."""
        matrices = [p for p in self.parameters if p.name not in self.scalars]
        single = tuple(p for p in matrices if p.lead is None)
        stacked = tuple(p for p in matrices if p.lead is not None)
        return Emitter((*inputs, *single), self.weights, reserved=self.taken, stacked=stacked)

    def program(
        self,
        name: str,
        inputs: tuple[Array, ...],
        outputs: tuple[Array, ...],
        ops: Iterable[Op],
        identity: str | None = None,
    ) -> Program:
        """Return the finished program."""
        args = (inputs, outputs, self.parameters, self.scalars, self.dimensions, tuple(ops))
        return Program(name, self.flow.name, *args, identity)

    def require_domain(self, emitter: Emitter, factor: Sum, bindings: Mapping[str, Sum]) -> None:
        """Emit the check that the normaliser is finite."""
        _emit_domain(emitter, self, factor, bindings)

    def finished(
        self,
        name: str,
        inputs: tuple[Array, ...],
        outputs: tuple[Array, ...],
        emit: Callable[[Emitter], None],
        running: Running = (),
        identity: str | None = None,
    ) -> Program:
        """Return the program whose operations ``emit`` adds: for one system, or for each position.

        ``running`` has the matrices that are summed over the positions before and including each.
        """
        if self.lead is None:
            emitter = self.emitter(inputs)
            emit(emitter)
            return self.program(name, inputs, outputs, emitter.ops, identity)
        assert self.flow.chain is not None
        whole = {a: replace(a, lead=self.lead) for a in (*inputs, *outputs)}
        emitter, weight = self.emitter(()), self.flow.chain.weight
        totals = [emitter.zeros(s.rows, s.cols) for _, s in running]
        inner = emitter.inside(inputs, [weight.name])
        for total, (matrix, summand) in zip(totals, running, strict=True):
            inner.bind(matrix, total)
            inner.add_to(total, weight, scale(1 / weight, summand))
        emit(inner)
        parts = {a: Array(_fresh(f"{a.name}_s", self.taken), a.rows, a.cols) for a in whole}
        ops = [renamed(op, parts) for op in inner.ops]
        slices = tuple(Slice(parts[a], whole[a]) for a in whole)
        weights = next(p for p in self.parameters if p.name == self.flow.chain.weights.name)
        loop = Loop(self.lead, slices, tuple(ops), ((weight.name, weights),))
        stacked_inputs, stacked_outputs = (tuple(whole[a] for a in arrays) for arrays in (inputs, outputs))
        return self.program(name, stacked_inputs, stacked_outputs, [*emitter.ops, loop])


def _running(flow: Flow, weights: Weights, bindings: Mapping[str, Sum] | None = None) -> Running:
    """Return the running matrices of a chain and what each position adds, in words."""
    chain = flow.chain
    if chain is None:
        return ()
    found = ((symbol.name, push_through(expand(each, bindings), weights)) for symbol, each in chain.running)
    return tuple(found)


def _moments(flow: Flow) -> Program:
    frame = _Frame(flow)
    inputs = tuple(_array(s.name, s) for s in flow.states)
    outputs = frame.states("drift_")
    halves = _half_drifts(flow, frame.weights)
    running = _running(flow, frame.weights)
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
    frame = _Frame(flow)
    inputs = tuple(_array(s.name, s) for s in flow.states)
    deltas = frame.states("delta_")
    outputs = frame.states("delta_drift_")
    directions = {s.name: symbol(d.name, d.rows, d.cols) for s, d in zip(flow.states, deltas, strict=True)}
    running = _running(flow, frame.weights)
    moved = []
    for name, summand in running:
        delta = _fresh(f"delta_{name}", frame.taken)
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


class _Factored(NamedTuple):
    """The states with F in place of Σ, and Σ = FFᵀ in words."""

    inputs: tuple[Array, ...]
    factor: Sum
    bindings: dict[str, Sum]


def _factored(frame: _Frame) -> _Factored:
    cov = frame.flow.covariance
    assert cov is not None and frame.rank is not None
    root = Array(_fresh("F", frame.taken), size_of(cov.state.rows), frame.rank)
    inputs = tuple(root if s == cov.state else _array(s.name, s) for s in frame.flow.states)
    f = symbol(root.name, root.rows, root.cols)
    return _Factored(inputs, f, {cov.state.name: multiply(f, f.T)})


def expanded_factor(flow: Flow) -> tuple[_Frame, _Factored, tuple[Array, ...]]:
    """Return what functions of (α, F) share: frame, states, outputs."""
    frame = _Frame(flow, rank=True)
    factored = _factored(frame)
    named = [(_fresh(f"drift_{a.name}", frame.taken), a) for a in factored.inputs]
    return frame, factored, tuple(Array(name, a.rows, a.cols) for name, a in named)


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
        _emit_domain(emitter, frame, factor, bindings)
        for value, out in sorted(zip(drifts, outputs, strict=True), key=lambda job: job[0] is not velocity):
            emitter.output(push_through(value, frame.weights), out.name)

    return frame.finished("factor", inputs, outputs, emit, _running(flow, frame.weights, bindings))


def _domain_only(flow: Flow) -> Program:
    frame = _Frame(flow, rank=True)
    inputs, factor, bindings = _factored(frame)
    return frame.finished("domain", inputs, (), lambda e: _emit_domain(e, frame, factor, bindings))


def _emit_domain(emitter: Emitter, frame: _Frame, f: Sum, bindings: Mapping[str, Sum]) -> None:
    """Emit the check that I − FᵀCF is positive definite, for each head where C differs."""
    cov = frame.flow.covariance
    assert cov is not None and frame.rank is not None
    if cov.tilt is None:
        return
    tilt = expand(cov.tilt, bindings)
    positive = add(identity(frame.rank), scale(-ONE, multiply(f.T, tilt, f)))
    own = sorted(positive.names & set(frame.flow.stacked))
    if own:
        count = size_of(frame.flow.stacked[own[0]])
        emitter.require_positive_each(Family(positive, frozenset(own), count))
    else:
        emitter.require_positive(positive)
