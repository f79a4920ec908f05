"""What the programs of one flow share: names, arrays, a factor of the covariance, the loop over positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sympy import MatrixSymbol, Symbol

from symflow.codegen.emit import Emitter
from symflow.codegen.program import ONE, Array, Loop, Op, Program, Slice, renamed
from symflow.codegen.rewrite import Weights, push_through, typical
from symflow.codegen.words import Family, Sum, add, expand, identity, multiply, scale, size_of, symbol
from symflow.flow import Flow

#: Names of running matrices, each with what one position adds.
Running = tuple[tuple[str, Sum], ...]


def array_like(name: str, like: Any, lead: Symbol | None = None) -> Array:
    """Return an array shaped like a symbol; a scalar is 1 × 1."""
    rows, cols = getattr(like, "shape", (ONE, ONE))
    return Array(name, size_of(rows), size_of(cols), None if lead is None else size_of(lead))


def fresh(name: str, taken: set[str]) -> str:
    """Return ``name``, with underscores until no one has it, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


class Frame:
    """What the programs of one flow share: names, arrays, weights."""

    def __init__(self, flow: Flow, rank: bool = False) -> None:
        self.flow = flow
        self.taken = {s.name for s in (*flow.states, *flow.parameters, *flow.dimensions)}
        self.parameters = tuple(array_like(p.name, p, flow.stacked.get(p.name)) for p in flow.parameters)
        self.scalars = tuple(p.name for p in flow.parameters if not isinstance(p, MatrixSymbol))
        dimensions = tuple(s.name for s in flow.dimensions)
        self.rank = fresh("r", self.taken) if rank else None
        counts = {str(size) for size in flow.stacked.values()}
        self.weights: Weights = typical(dimensions, self.rank, counts)
        self.dimensions = dimensions if self.rank is None else (*dimensions, self.rank)
        self.lead = None if flow.chain is None else size_of(flow.chain.count)
        if flow.chain is not None:
            self.taken |= {flow.chain.weight.name, *(symbol.name for symbol, _ in flow.chain.running)}

    def states(self, prefix: str) -> tuple[Array, ...]:
        """Return arrays shaped like the states, named by prefix and state."""
        return tuple(array_like(fresh(prefix + s.name, self.taken), s) for s in self.flow.states)

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
        """Emit the check that I − FᵀCF is positive definite, for each head where C differs."""
        cov = self.flow.covariance
        assert cov is not None and self.rank is not None
        if cov.tilt is None:
            return
        tilt = expand(cov.tilt, bindings)
        positive = add(identity(self.rank), scale(-ONE, multiply(factor.T, tilt, factor)))
        own = sorted(positive.names & set(self.flow.stacked))
        if own:
            count = size_of(self.flow.stacked[own[0]])
            emitter.require_positive_each(Family(positive, frozenset(own), count))
        else:
            emitter.require_positive(positive)

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
        parts = {a: Array(fresh(f"{a.name}_s", self.taken), a.rows, a.cols) for a in whole}
        ops = [renamed(op, parts) for op in inner.ops]
        slices = tuple(Slice(parts[a], whole[a]) for a in whole)
        weights = next(p for p in self.parameters if p.name == self.flow.chain.weights.name)
        loop = Loop(self.lead, slices, tuple(ops), ((weight.name, weights),))
        stacked_inputs, stacked_outputs = (tuple(whole[a] for a in arrays) for arrays in (inputs, outputs))
        return self.program(name, stacked_inputs, stacked_outputs, [*emitter.ops, loop])


def running_sums(flow: Flow, weights: Weights, bindings: Mapping[str, Sum] | None = None) -> Running:
    """Return the running matrices of a chain and what each position adds, in words."""
    chain = flow.chain
    if chain is None:
        return ()
    found = ((symbol.name, push_through(expand(each, bindings), weights)) for symbol, each in chain.running)
    return tuple(found)


class Factored(NamedTuple):
    """The states with F in place of Σ, and Σ = FFᵀ in words."""

    inputs: tuple[Array, ...]
    factor: Sum
    bindings: dict[str, Sum]


def factored(frame: Frame) -> Factored:
    """Return the states of a frame with a rank, F in place of Σ."""
    cov = frame.flow.covariance
    assert cov is not None and frame.rank is not None
    root = Array(fresh("F", frame.taken), size_of(cov.state.rows), frame.rank)
    inputs = tuple(root if s == cov.state else array_like(s.name, s) for s in frame.flow.states)
    f = symbol(root.name, root.rows, root.cols)
    return Factored(inputs, f, {cov.state.name: multiply(f, f.T)})


def expanded_factor(flow: Flow) -> tuple[Frame, Factored, tuple[Array, ...]]:
    """Return what functions of (α, F) share: frame, states, outputs."""
    frame = Frame(flow, rank=True)
    found = factored(frame)
    named = [(fresh(f"drift_{a.name}", frame.taken), a) for a in found.inputs]
    return frame, found, tuple(Array(name, a.rows, a.cols) for name, a in named)
