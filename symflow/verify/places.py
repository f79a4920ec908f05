"""Where a token is: the laws that it sees, and the drift of a flow there.

Without a causal mask there is one place, and it sees the one law. With a mask there is one per position s,
which sees the laws of the positions τ ≤ s with their weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.derive.definition import active_heads
from symflow.flow import Flow
from symflow.models.statement import Head, Statement
from symflow.verify.evaluate import Exact, Magnitude, Values
from symflow.verify.points import Point

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Law:
    """A weighted Gaussian: ``weight`` · N(``mean``, ``cov``)."""

    weight: float
    mean: Array
    cov: Array


@dataclass(frozen=True, eq=False)
class Place:
    """One position of a point: the laws that a token sees there; its own law is the last."""

    laws: tuple[Law, ...]

    @property
    def own(self) -> Law:
        """The law of the tokens at this place."""
        return self.laws[-1]


def places(statement: Statement, point: Point) -> tuple[Place, ...]:
    """Return the places of a point in order."""
    mean, cov = point.state
    if statement.positions is None:
        return (Place((Law(1.0, mean, cov),)),)
    weights = point.params[statement.positions.weights.name]
    laws = [Law(float(w), a, s) for w, a, s in zip(weights, mean, cov, strict=True)]
    return tuple(Place(tuple(laws[: s + 1])) for s in range(len(laws)))


def gathered(statement: Statement, values: list[Any]) -> Any:
    """Return what was found at every place in the shape of a state: a leading axis where there is a mask."""
    return values[0] if statement.positions is None else np.stack(values)


@dataclass(frozen=True, eq=False)
class Term:
    """One integral of the definition, a single head, with the values of its own parameters."""

    head: Head
    values: Values


def integrals(statement: Statement, values: Values, sizes: Mapping[str, int]) -> tuple[Term, ...]:
    """Return every integral that is added up: a family of heads one by one, in order."""
    terms = []
    for head in active_heads(statement):
        if head.family is None:
            terms.append(Term(head, values))
            continue
        members = {member.name for member in head.family.members}
        terms += [
            Term(head, {name: v[h] if name in members else v for name, v in values.items()})
            for h in range(sizes[head.family.count.name])
        ]
    return tuple(terms)


def evaluators(flow: Flow, point: Point, ctx: Any) -> Iterator[tuple[Exact, Magnitude]]:
    """Yield, place by place, what evaluates the drift there and its natural scale; sums run along the way."""
    if flow.chain is None:
        exact = Exact(point.values(flow), point.sizes, ctx)
        yield exact, Magnitude(exact)
        return
    running: dict[str, Any] = {}
    scales: dict[str, Any] = {}
    condition = 0.0
    for s, weight in enumerate(point.params[flow.chain.weights.name]):
        states = {symbol.name: v[s] for symbol, v in zip(flow.states, point.state, strict=True)}
        values = dict(point.params) | states | {flow.chain.weight.name: np.asarray(weight)}
        own = Exact(values, point.sizes, ctx)
        size = Magnitude(own)
        for symbol, added in flow.chain.running:
            name = symbol.name
            running[name] = own(added) + running[name] if name in running else own(added)
            scales[name] = size(added) + scales[name] if name in scales else size(added)
        condition = max(condition, size.condition)
        exact = Exact(values, point.sizes, ctx, dict(running))
        magnitude = Magnitude(exact, dict(scales))
        magnitude.condition = condition
        yield exact, magnitude
