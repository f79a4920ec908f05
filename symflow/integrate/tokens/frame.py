r"""The frame z = e^{−tV}x, in which tokens stay bounded while x grows.

With weights that sum to one, z is moved by the same model with parameters that depend on time: the score of
x = e^{tV}z is that of z with Qe^{tV} and Ke^{tV}, and

.. math:: \dot z_i = \sum_j w_{ij} V z_j - V z_i

is the layer of the model with the feed-forward matrix −V.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symflow.algebra.words import identical
from symflow.checking import Array
from symflow.errors import InputError
from symflow.integrate.problem import Problem, read_problem
from symflow.integrate.schedule import TimeDependent
from symflow.integrate.tokens.state import Tokens

#: Parameters that turn with the frame, and whether from both sides: Q ↦ QG, K ↦ KG, A ↦ GᵀAG.
_TURNING = {"Q": False, "K": False, "A": True}


@dataclass(frozen=True, eq=False)
class Turned(TimeDependent):
    """``matrix e^{tV}``, or ``e^{tVᵀ} matrix e^{tV}`` where it turns from both sides."""

    matrix: Array
    generator: Array
    both: bool

    def at(self, t: float) -> Array:
        """Return the value at t."""
        from scipy.linalg import expm

        flow = expm(t * self.generator)
        turned = self.matrix @ flow
        return np.asarray(flow.T @ turned if self.both else turned)

    def source(self) -> Any:
        """Return what evaluates it without Python."""
        from symflow.integrate.backends import runtime

        return runtime().Exponential(self.matrix, self.generator, self.both)


def in_rescaled_frame(problem: Problem, tokens: Tokens, t0: float) -> tuple[Problem, Tokens]:
    """Return the problem and the tokens in the frame z = e^{−tV}x.

    Raises
    ------
    InputError
        If the weights do not sum to one, the value is not Vy with a constant V, the model has a layer or
        lives on the sphere, or its score depends on more than Qx and Ky.
    """
    from scipy.linalg import expm

    _refuse_unscalable(problem)
    value = problem.values["V"]
    z = np.ascontiguousarray(tokens.x @ expm(-t0 * value).T)
    moved = replace(problem.model, feed_forward=True)
    params = {name: problem.values[name] for name in problem.parametrisation}
    params |= {"W": -value, "c": np.zeros(tokens.dim)}
    framed = read_problem(moved, Tokens(z, on_sphere=False), params)
    turning = {
        name: Turned(name, framed.values[name], value, both)
        for name, both in _TURNING.items()
        if name in framed.values
    }
    values = framed.values | {name: source.at(t0) for name, source in turning.items()}
    return replace(framed, values=values, schedule=turning), Tokens(z, on_sphere=False)


def _refuse_unscalable(problem: Problem) -> None:
    statement, model = problem.statement, problem.model
    why = None
    if model.space != "euclidean":
        why = "tokens on the sphere stay bounded by themselves"
    elif model.feed_forward or statement.positions is not None:
        why = "there is a feed-forward layer or a mask"
    elif len(statement.heads) != 1 or statement.heads[0].family is not None:
        why = "there are several heads"
    elif statement.heads[0].normalise != "softmax" or statement.heads[0].prefactor != 1:
        why = "the weights do not sum to one"
    elif problem.schedule:
        why = f"{next(iter(problem.schedule))} depends on time"
    elif not _turns(statement):
        why = "its value is not V*y, or its score depends on more than Q*x and K*y"
    if why is not None:
        raise InputError(f"frame = 'rescaled' is not available for {model.name}: {why}")


def _turns(statement: Any) -> bool:
    """Whether the score of Gx, Gy is that of x, y with Q, K (or A) turned, for every matrix G."""
    from symflow.algebra.symbols import matrix

    x, y, d = statement.x, statement.y, statement.dimensions[0]
    named = {symbol.name: symbol for symbol in statement.parameters}
    turn = matrix("Gturn", d, d)
    if "V" not in named or not identical(statement.head.value, named["V"] * y):
        return False
    inside = {
        symbol: (turn.T * symbol * turn if _TURNING[name] else symbol * turn)
        for name, symbol in named.items()
        if name in _TURNING
    }
    score = statement.head.score
    moved = score.xreplace({x: turn * x, y: turn * y})
    return bool(identical(moved, score.xreplace(inside)))
