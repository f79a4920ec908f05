"""Clouds of tokens at which kernels are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symflow.flow import TokenFlow
from symflow.verify.points import HEADS, numbers_of, of_order_one, stream
from symflow.verify.subject import Array


@dataclass(frozen=True, eq=False)
class Cloud:
    """Tokens x (n, d) and parameters by name."""

    name: str
    sizes: Mapping[str, int]
    x: Array
    params: Mapping[str, Array]


def random_cloud(flow: TokenFlow, n: int, d: int, seed: int, index: int = 0) -> Cloud:
    """Return tokens and parameters of order one; on the sphere the tokens have norm 1."""
    rng = stream(flow.name, seed, 1000 * n + 10 * d + index)
    sizes = {s.name: max(1, d - 1) for s in flow.dimensions} | {"d": d, flow.count.name: n}
    sizes |= {count.name: HEADS for count in flow.stacked.values()}
    x = _placed(flow, rng.normal(size=(n, d)))
    params = {p.name: _parameter(flow, p, rng, sizes) for p in flow.parameters}
    return Cloud(f"n = {n}, d = {d}", sizes, x, params)


def edges(flow: TokenFlow, normalised: bool, scaled: bool, seed: int) -> Iterator[Cloud]:
    """Yield clouds at which bad arithmetic shows.

    Parameters
    ----------
    flow : TokenFlow
    normalised : bool
        Whether weights are normalised: only then any score is admissible.
    scaled : bool
        Whether weights are scaled, which needs scores of moderate size.
    seed : int
    """
    one = random_cloud(flow, 1, 3, seed, 1)
    yield replace(one, name="one token")
    yield replace(random_cloud(flow, 4, 1, seed, 1), name="d = 1")
    four = random_cloud(flow, 4, 3, seed, 2)
    yield replace(four, name="coincident", x=np.repeat(four.x[:1], 4, axis=0))
    yield replace(four, name="antipodal", x=four.x[:1] * np.array([[1.0], [-1.0], [1.0], [-1.0]]))
    if not normalised or scaled:
        return
    if "beta" in four.params:
        for beta in (1e3, 1e5):
            params = dict(four.params) | {"beta": np.asarray(beta)}
            yield replace(four, name=f"beta = {beta:.0e}", params=params)
    if flow.space == "euclidean":
        yield replace(four, name="one token of norm 1e4", x=four.x * np.array([[1e4], [1.0], [1.0], [1.0]]))
        yield replace(four, name="tiny tokens", x=1e-9 * four.x)


def turned(flow: TokenFlow, cloud: Cloud, rotation: Array) -> Cloud:
    """Return the cloud with tokens and every parameter turned: each axis of size d by the rotation."""
    d = flow.dimensions[0]

    def turn(symbol: Any, value: Array) -> Array:
        shape = getattr(symbol, "shape", ())
        if not shape:
            return value
        as_matrix = value[..., None] if shape[1] == 1 else value
        if shape[0] == d:
            as_matrix = rotation @ as_matrix
        if shape[1] == d:
            as_matrix = as_matrix @ rotation.T
        return as_matrix[..., 0] if shape[1] == 1 else as_matrix

    params = {symbol.name: turn(symbol, cloud.params[symbol.name]) for symbol in flow.parameters}
    return replace(cloud, x=np.ascontiguousarray(cloud.x @ rotation.T), params=params)


def _placed(flow: TokenFlow, x: Array) -> Array:
    return x / np.linalg.norm(x, axis=1, keepdims=True) if flow.space == "sphere" else x


def _parameter(flow: TokenFlow, symbol: Any, rng: Any, sizes: Mapping[str, int]) -> Array:
    if not hasattr(symbol, "shape"):
        return np.asarray(0.5 + rng.random())  # scalars are scales: positive, of order one
    if flow.weights is not None and symbol == flow.weights:
        law = 0.5 + rng.random(sizes[flow.count.name])
        return np.asarray(law / law.sum())
    if symbol.name in flow.stacked:
        count = sizes[flow.stacked[symbol.name].name]
        return np.stack([of_order_one(numbers_of(rng, symbol, sizes)) for _ in range(count)])
    return of_order_one(numbers_of(rng, symbol, sizes))
