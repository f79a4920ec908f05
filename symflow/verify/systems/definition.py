r"""The velocity of tokens with 50 digits, straight from the definition of the model.

.. math:: P_{x_i}\Big(b(x_i) + \sum_{\text{heads}} c \sum_j \theta_j\,w_\mu(x_i, x_j)\,v(x_j)\Big)

Nothing here knows how scores are split into pairings: the numbers of one pair are traces of the statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import Expr, Float, Symbol, Trace

from symflow.errors import SymflowError
from symflow.models.statement import Statement
from symflow.verify.evaluate import Exact, Magnitude, context, to_float
from symflow.verify.places import Term, integrals
from symflow.verify.systems.clouds import Cloud

#: Distance of the marginals of a scaling from one, and how many rounds it may take.
_MARGINALS, _ROUNDS = 1e-25, 20000


@dataclass(frozen=True, eq=False)
class Reference:
    """The velocity at a cloud.

    Attributes
    ----------
    velocity : list of matrix
        One column per token, in the arithmetic of ``ctx``.
    natural : float
        The largest sum of absolute values that a token's velocity is made of.
    score : float
        The largest sum of absolute values that a score is made of: an error of one unit in the last place of
        it is a relative error of this many units of a weight.
    """

    velocity: list[Any]
    natural: float
    score: float
    ctx: Any

    def ulps(self, computed: Any) -> float:
        """Return the largest error in units of ulp × (1 + score) of the natural scale."""
        found = np.asarray(computed)
        if not np.isfinite(found).all():
            return float("inf")
        worst = max(
            float(abs(exact[k] - self.ctx.mpf(float(row[k]))))
            for exact, row in zip(self.velocity, found, strict=True)
            for k in range(len(row))
        )
        unit = float(np.finfo(float).eps) * (1.0 + self.score) * self.natural
        return worst / unit if worst else 0.0


def reference(statement: Statement, cloud: Cloud) -> Reference:
    """Return the velocity of every token with 50 digits.

    Raises
    ------
    SymflowError
        If the scaling of the weights does not converge.
    """
    ctx = context()
    tokens = [ctx.matrix([[float(v)] for v in row]) for row in cloud.x]
    law = _law(statement, cloud, ctx)
    sums = [ctx.zeros(cloud.x.shape[1], 1) for _ in tokens]
    natural = [0.0] * len(tokens)
    largest = 0.0
    for term in integrals(statement, cloud.params, cloud.sizes):
        weights, score = _weights(statement, term, cloud, tokens, law, ctx)
        largest = max(largest, score)
        factor = _exact(statement, term.values, cloud, ctx, {})(term.head.prefactor)
        values = [
            _exact(statement, term.values, cloud, ctx, {statement.y.name: y})(term.head.value) for y in tokens
        ]
        for i, row in enumerate(weights):
            for w, value in zip(row, values, strict=False):
                sums[i] += factor * w * value
                natural[i] += float(abs(factor * w)) * float(np.abs(to_float(value)).max())
    for i, x in enumerate(tokens):
        own = _exact(statement, cloud.params, cloud, ctx, {statement.x.name: x})(statement.background)
        sums[i] += own
        natural[i] += float(np.abs(to_float(own)).max())
        if statement.space == "sphere":
            sums[i] -= (x.T * sums[i])[0] * x
    return Reference(sums, max(natural), largest, ctx)


def _law(statement: Statement, cloud: Cloud, ctx: Any) -> list[list[Any]]:
    """Return for every token the weights of those that it sees."""
    n = len(cloud.x)
    if statement.positions is None:
        return [[ctx.mpf(1) / n] * n] * n
    theta = [ctx.mpf(float(w)) for w in cloud.params[statement.positions.weights.name]]
    return [theta[: i + 1] for i in range(n)]


def _weights(
    statement: Statement, term: Term, cloud: Cloud, tokens: list[Any], law: list[list[Any]], ctx: Any
) -> tuple[list[list[Any]], float]:
    """Return θ_j w(x_i, x_j) for every token and those it sees, and the natural scale of the scores."""
    head = term.head
    kernel = Symbol("score", real=True)
    shape = head.kernel.subs(head.score, kernel) if head.normalise == "none" else kernel
    if head.normalise == "none" and shape.has(Trace):  # the kernel is not written in the score
        shape = head.kernel
    atoms = sorted(
        (head.score if shape == kernel else shape).atoms(Trace) or head.score.atoms(Trace), key=str
    )
    names = [Symbol(f"atom{k}", real=True) for k in range(len(atoms))]
    inside = head.score.xreplace(dict(zip(atoms, names, strict=True)))
    slopes = [inside.diff(name) for name in names]
    table, largest = [], 0.0
    for i, x in enumerate(tokens):
        row = []
        for y in tokens[: len(law[i])]:
            at = _exact(statement, term.values, cloud, ctx, {statement.x.name: x, statement.y.name: y})
            numbers = [at(atom) for atom in atoms]
            known = _known(names, numbers, term.values, cloud, ctx)
            s = _number(inside, known, ctx)
            size = Magnitude(at, {name: value.apply(abs) for name, value in at.known.items()})
            scale = [
                abs(_number(slope, known, ctx)) * size(atom)
                for slope, atom in zip(slopes, atoms, strict=True)
            ]
            largest = max(largest, float(sum(scale, abs(s))))
            value = s if shape == kernel else _number(shape.xreplace({kernel: inside}), known, ctx)
            row.append(value)
        table.append(row)
    return _normalised(head.normalise, table, law, ctx), largest


def _normalised(kind: str, table: list[list[Any]], law: list[list[Any]], ctx: Any) -> list[list[Any]]:
    if kind == "none":
        return [[p * w for p, w in zip(m, row, strict=True)] for m, row in zip(law, table, strict=True)]
    if kind == "sinkhorn":
        return _scaled(table, law, ctx)
    found = []
    for masses, row in zip(law, table, strict=True):
        top = max(row)
        raw = [p * ctx.exp(s - top) for p, s in zip(masses, row, strict=True)]
        total = ctx.fsum(raw)
        found.append([w / total for w in raw])
    return found


def _scaled(table: list[list[Any]], law: list[list[Any]], ctx: Any) -> list[list[Any]]:
    """Return the doubly stochastic scaling by alternating sums."""
    n, mass = len(table), law[0]
    top = max(max(row) for row in table)
    raw = [[ctx.exp(s - top) for s in row] for row in table]
    right = [ctx.mpf(1)] * n
    for _ in range(_ROUNDS):
        left = [1 / ctx.fsum(mass[j] * raw[i][j] * right[j] for j in range(n)) for i in range(n)]
        columns = [ctx.fsum(mass[i] * raw[i][j] * left[i] for i in range(n)) for j in range(n)]
        gap = max(abs(c * r - 1) for c, r in zip(columns, right, strict=True))
        right = [1 / c for c in columns]
        if gap < _MARGINALS:
            return [[mass[j] * left[i] * raw[i][j] * right[j] for j in range(n)] for i in range(n)]
    raise SymflowError(f"the scaling of the weights did not converge in {_ROUNDS} rounds")


def _exact(
    statement: Statement, values: Mapping[str, Any], cloud: Cloud, ctx: Any, known: Mapping[str, Any]
) -> Exact:
    return Exact(values, cloud.sizes, ctx, dict(known))


def _known(
    names: Sequence[Symbol], numbers: Sequence[Any], values: Mapping[str, Any], cloud: Cloud, ctx: Any
) -> dict[str, Any]:
    """Return what stands for the symbols of a score: its traces, scalar parameters, sizes."""
    scalars = {name: ctx.mpf(float(v)) for name, v in values.items() if np.ndim(v) == 0}
    sizes = {name: ctx.mpf(size) for name, size in cloud.sizes.items()}
    return sizes | scalars | {symbol.name: number for symbol, number in zip(names, numbers, strict=True)}


def _number(expression: Expr, known: Mapping[str, Any], ctx: Any) -> Any:
    """Return the value of a scalar expression with the digits of the context."""
    digits = ctx.dps
    table = {s: Float(str(known[s.name]), digits + 5) for s in expression.free_symbols}
    return ctx.mpf(str(expression.subs(table).evalf(digits + 5)))
