"""Points at which kernels are compared: random ones and those at which bad arithmetic shows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import MatrixSymbol

from symflow.flow import Flow
from symflow.verify.evaluate import Batched

Array = NDArray[np.float64]

#: The normaliser must stay finite: a positive tilt keeps λ_max(Σ^{1/2}CΣ^{1/2}) at or below this share of 1.
_DOMAIN = 0.5
#: How many heads a family has, and how many positions a chain.
HEADS, POSITIONS = 2, 3


@dataclass(frozen=True, eq=False)
class Point:
    """One evaluation point: sizes, states and parameters by name; positions are a leading axis of states."""

    name: str
    sizes: Mapping[str, int]
    state: tuple[Array, ...]
    params: Mapping[str, Array]

    def values(self, flow: Flow) -> dict[str, Array]:
        """Return every array of the point by the name of its symbol."""
        return dict(self.params) | {s.name: v for s, v in zip(flow.states, self.state, strict=True)}


def random_points(flow: Flow, d: int, count: int, seed: int) -> Iterator[Point]:
    """Yield points of order one with well-conditioned covariances.

    Parameters
    ----------
    flow : Flow
        Whose states and parameters get values.
    d : int
        Size of a token; every other dimension of a matrix gets ``max(1, d - 1)``, a family :data:`HEADS`
        members and a chain :data:`POSITIONS` positions.
    count, seed : int
    """
    for index in range(count):
        yield _draw(flow, d, stream(flow.name, seed, index), f"random, d = {d}", _well_conditioned)


def adversarial_points(flow: Flow, d: int, seed: int) -> Iterator[Point]:
    """Yield points at the edges: extreme scales, singular covariances, sharp attention.

    Parameters
    ----------
    flow : Flow
    d, seed : int
        As for :func:`random_points`.
    """
    kinds: tuple[tuple[str, Callable[[Any, int], Array], float], ...] = (
        ("tiny state", _well_conditioned, 1e-60),
        ("huge state", _well_conditioned, 1e12),
        ("nearly singular covariance", _nearly_singular, 1.0),
        ("zero covariance", _zero, 1.0),
        ("covariance of rank one", _rank_one, 1.0),
    )
    for index, (name, covariance, size) in enumerate(kinds):
        yield _draw(flow, d, stream(flow.name, seed, 100 + index), name, covariance, size)
    known = {p.name for p in flow.parameters}
    for index, (scalar, value) in enumerate((("beta", 1e6), ("temperature", 1e-6))):
        if scalar in known:
            name = f"{scalar} = {value:.0e}"
            point = _draw(flow, d, stream(flow.name, seed, 200 + index), name, _well_conditioned)
            params = dict(point.params) | {scalar: np.asarray(value)}
            yield within_domain(flow, Point(name, point.sizes, point.state, params))


def within_domain(flow: Flow, point: Point) -> Point:
    """Return the point with its covariance shrunk, if need be, to where the normaliser is finite."""
    structure = flow.covariance
    if structure is None or structure.tilt is None:
        return point
    tilt = Batched(point.values(flow), point.sizes)(structure.tilt)
    index = [s.name for s in flow.states].index(structure.state.name)
    weights, axes = np.linalg.eigh(point.state[index])
    root = axes * np.sqrt(np.maximum(weights, 0.0))
    top = float(np.linalg.eigvalsh(root.T @ tilt @ root)[-1])
    if top <= _DOMAIN:
        return point
    state = list(point.state)
    state[index] = state[index] * (_DOMAIN / top)
    return Point(point.name, point.sizes, tuple(state), point.params)


def _draw(
    flow: Flow, d: int, rng: Any, name: str, covariance: Callable[[Any, int], Array], size: float = 1.0
) -> Point:
    sizes = _sizes(flow, d)
    held = flow.covariance.state.name if flow.covariance else ""

    def state(symbol: MatrixSymbol) -> Array:
        if symbol.name == held:
            return covariance(rng, d) * size
        return numbers_of(rng, symbol, sizes) * min(size, 1e6)

    def states(symbol: MatrixSymbol) -> Array:
        if flow.chain is None:
            return state(symbol)
        return np.stack([state(symbol) for _ in range(sizes[flow.chain.count.name])])

    params = {p.name: _parameter(flow, p, rng, sizes) for p in flow.parameters}
    return within_domain(flow, Point(name, sizes, tuple(states(s) for s in flow.states), params))


def _sizes(flow: Flow, d: int) -> dict[str, int]:
    sizes = {s.name: max(1, d - 1) for s in flow.dimensions} | {"d": d}
    sizes |= {count.name: HEADS for count in flow.stacked.values()}
    return sizes | ({flow.chain.count.name: POSITIONS} if flow.chain else {})


def _parameter(flow: Flow, symbol: Any, rng: Any, sizes: Mapping[str, int]) -> Array:
    if not isinstance(symbol, MatrixSymbol):
        return np.asarray(0.5 + rng.random())  # scalars are scales: positive, of order one
    if flow.chain is not None and symbol == flow.chain.weights:
        law = 0.5 + rng.random(sizes[flow.chain.count.name])
        return np.asarray(law / law.sum())
    if symbol.name in flow.stacked:
        count = sizes[flow.stacked[symbol.name].name]
        return np.stack([of_order_one(numbers_of(rng, symbol, sizes)) for _ in range(count)])
    return of_order_one(numbers_of(rng, symbol, sizes))


def of_order_one(drawn: Array) -> Array:
    """Return a matrix scaled so that its products stay of order one; a vector as it is."""
    return drawn / np.sqrt(drawn.shape[-1]) if drawn.ndim == 2 else drawn


def numbers_of(rng: Any, symbol: MatrixSymbol, sizes: Mapping[str, int]) -> Array:
    """Return standard normal numbers in the symbol's shape; a vector has one axis."""
    rows, cols = (sizes[n.name] if n.is_Symbol else int(n) for n in symbol.shape)
    is_vector = symbol.shape[1] == 1
    return np.asarray(rng.normal(size=rows if is_vector else (rows, cols)))


def _well_conditioned(rng: Any, d: int) -> Array:
    root = rng.normal(size=(d, d)) / np.sqrt(d)
    return _symmetric(root @ root.T + 0.1 * np.eye(d))


def _nearly_singular(rng: Any, d: int) -> Array:
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return _symmetric(axes * np.logspace(0, -14, d) @ axes.T)


def _rank_one(rng: Any, d: int) -> Array:
    u = rng.normal(size=d)
    return np.outer(u, u)


def _zero(_rng: Any, d: int) -> Array:
    return np.zeros((d, d))


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


def stream(name: str, seed: int, index: int) -> Any:
    """A stream that depends on the flow's name and not on the order of calls."""
    digest = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    return np.random.default_rng([seed, index, digest])
