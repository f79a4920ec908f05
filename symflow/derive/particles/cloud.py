"""A few tokens with rational coordinates, and the velocity of each by the definition of the model.

Matrices are explicit and every number is exact; nothing here knows how the system of tokens was derived.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Float, Matrix, Rational, S, zeros

from symflow.derive.components import ROOT_DIGITS, Draw, explicit
from symflow.models.statement import Head, Statement

#: Sizes d and numbers n of tokens that are tried.
SIZES = ((1, 3), (2, 2), (3, 2))
#: Members of a family that are tried.
HEADS = 2


@dataclass(frozen=True)
class Cloud:
    """n tokens in dimension d, with values for every parameter.

    Attributes
    ----------
    tokens : tuple of Matrix
    law : tuple of Rational
        θ of each token.
    causal : bool
        Whether a token sees itself and those before it only.
    shared : dict
        Values of the parameters that all heads share.
    own : tuple of dict
        Values of the members of families, head by head.
    sizes : dict
        Dimension symbol to integer.
    """

    tokens: tuple[Any, ...]
    law: tuple[Any, ...]
    causal: bool
    shared: dict[Any, Any]
    own: tuple[dict[Any, Any], ...]
    sizes: dict[Any, int]

    def seen(self, i: int) -> range:
        """Return the tokens that token i sees."""
        return range(i + 1 if self.causal else len(self.tokens))

    def heads(self, family: Any) -> tuple[dict[Any, Any], ...]:
        """Return the values of the parameters of each head of a term."""
        return tuple({**self.shared, **own} for own in (self.own if family is not None else self.own[:1]))

    def of(self, expression: Any, values: dict[Any, Any]) -> Any:
        """Return the expression with explicit matrices."""
        return explicit(expression, values, self.sizes)


def clouds(statement: Statement, seed: int, sizes: Any = SIZES) -> Iterator[Cloud]:
    """Yield tokens for every size that is tried; on the sphere they lie on it."""
    for d, n in sizes:
        draw = Draw(d, seed=seed * (10 * d + n))
        values = draw.values(list(_expressions(statement)), skip=_given_apart(statement))
        members = {m for head in statement.heads if head.family is not None for m in head.family.members}
        own = [{m: values[m] for m in values if m in members}]
        while len(own) < HEADS:
            own.append({m: draw.matrix(*value.shape) for m, value in own[0].items()})
        yield Cloud(
            tokens=tuple(_token(draw, d, statement.space) for _ in range(n)),
            law=_law(n, statement.positions is not None),
            causal=statement.positions is not None,
            shared={s: value for s, value in values.items() if s not in members},
            own=tuple(own),
            sizes={**draw.sizes, statement.dimensions[0]: d},
        )


def _expressions(statement: Statement) -> Iterator[Any]:
    yield statement.background
    for head in statement.heads:
        yield from (head.score, head.kernel, head.value, head.prefactor)


def _given_apart(statement: Statement) -> tuple[Any, ...]:
    weights = () if statement.positions is None else (statement.positions.weights,)
    return (statement.x, statement.y, *weights)


def _law(count: int, causal: bool) -> tuple[Any, ...]:
    """Return 1/n each; under a mask, unequal weights."""
    if not causal:
        return (Rational(1, count),) * count
    return tuple(Rational(2 * j + 1, count**2) for j in range(count))


def _token(draw: Draw, d: int, space: str) -> Any:
    """Draw a rational point; on the sphere by the stereographic projection of one."""
    if space == "euclidean":
        return draw.matrix(d, 1)
    if d == 1:
        return Matrix([1 if draw.matrix(1, 1)[0] > 0 else -1])
    flat = draw.matrix(d - 1, 1)
    square = (flat.T * flat)[0]
    return Matrix([*(2 * flat), square - 1]) / (square + 1)


# ---- the velocity by definition ---------------------------------------------------------------------


def defined_velocities(statement: Statement, cloud: Cloud) -> list[Any]:
    """Return the velocity of every token: integrals against the empirical law as sums over tokens."""
    count = len(cloud.tokens)
    found = [cloud.of(statement.background, {**cloud.shared, statement.x: token}) for token in cloud.tokens]
    for head in statement.heads:
        for values in cloud.heads(head.family):
            weights = normalised(kernels_of(head, statement, cloud, values), head.normalise, cloud)
            keys = [cloud.of(head.value, {**values, statement.y: token}) for token in cloud.tokens]
            factor = cloud.of(head.prefactor, values)
            for i in range(count):
                pairs = zip(weights[i], keys, strict=True)
                found[i] += factor * sum((w * key for w, key in pairs), zeros(*keys[0].shape))
    return [projected(v, x, statement.space) for v, x in zip(found, cloud.tokens, strict=True)]


def projected(velocity: Any, token: Any, space: str) -> Any:
    """Return P_x v on the sphere, v on ℝᵈ."""
    return velocity if space == "euclidean" else velocity - token * (token.T * velocity)[0]


def kernels_of(head: Head, statement: Statement, cloud: Cloud, values: dict[Any, Any]) -> list[list[Any]]:
    """Return k(x_i, x_j)."""
    x, y = statement.x, statement.y
    places = [[{**values, x: query, y: key} for key in cloud.tokens] for query in cloud.tokens]
    return [[cloud.of(head.kernel, place) for place in line] for line in places]


def normalised(kernels: list[list[Any]], how: str, cloud: Cloud) -> list[list[Any]]:
    """Return θ_j w_ij/N_i, zero for tokens that are not seen."""
    rows = range(len(kernels))
    seen = [[cloud.law[j] * kernels[i][j] if j in cloud.seen(i) else S.Zero for j in rows] for i in rows]
    if how == "none":
        return seen
    if how == "softmax":
        return [[weight / sum(row) for weight in row] for row in seen]
    return _doubly_stochastic(kernels, cloud.law)


def _doubly_stochastic(kernels: list[list[Any]], law: tuple[Any, ...]) -> list[list[Any]]:
    """Scale e^{s_ij} until both marginals are one, to the digits of :data:`ROOT_DIGITS`."""
    with mpmath.workdps(ROOT_DIGITS + 10):
        weights = [mpmath.mpf(p.p) / p.q for p in law]
        matrix = [[mpmath.mpmathify(k.evalf(ROOT_DIGITS + 10)) for k in row] for row in kernels]
        rows, columns = [mpmath.mpf(1)] * len(law), [mpmath.mpf(1)] * len(law)
        for _ in itertools.repeat(None, 400):
            rows = [1 / _inner(line, weights, columns) for line in matrix]
            columns = [1 / _inner(line, weights, rows) for line in zip(*matrix, strict=True)]
        return [
            [Float(w * r * k * c, ROOT_DIGITS) for w, k, c in zip(weights, line, columns, strict=True)]
            for r, line in zip(rows, matrix, strict=True)
        ]


def _inner(line: Any, weights: Any, scaling: Any) -> Any:
    return sum(k * w * c for k, w, c in zip(line, weights, scaling, strict=True))
