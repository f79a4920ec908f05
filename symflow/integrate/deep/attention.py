"""Attention of tokens on the sphere before it is projected: the same mechanism on ℝᵈ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sympy import ZeroMatrix

from symflow.errors import InputError
from symflow.integrate.backends import compiled_for, runtime
from symflow.integrate.problem import Problem, read_problem
from symflow.integrate.scheduled import bound_call
from symflow.integrate.tokens.run import token_dims
from symflow.integrate.tokens.state import Tokens
from symflow.models.attention.model import FAMILY, IDENTITIES, AttentionModel
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.combinators.unlike import UnlikeHeads


@dataclass(frozen=True, eq=False)
class Attention:
    """Attn(X) of a model for n tokens.

    Attributes
    ----------
    problem : Problem
        The model on ℝᵈ with its parameters.
    tokens : Tokens
    present : bool
        False where it is zero: nothing is evaluated then.
    name : str
        Of the model on the sphere.
    """

    problem: Problem
    tokens: Tokens
    present: bool
    name: str

    def bound(self, backend: str) -> tuple[Any, str]:
        """Return ``call(t, x, out) -> status``, None where there is none, and the backend."""
        if not self.present:
            return None, "numpy" if backend == "numpy" or runtime() is None else "compiled"
        kernel = compiled_for(self.problem.model, backend, self.problem.parametrisation, True, "tokens")
        dims = token_dims(self.problem, self.tokens)
        return bound_call(kernel, self.problem, "tokens", dims), kernel.backend


def read_attention(model: Any, tokens: Tokens, params: Mapping[str, Any], horizon: float) -> Attention:
    """Match a model on the sphere with its parameters.

    Raises
    ------
    InputError
        If the model does not live on the sphere, has noise of its own, or a parameter does not fit.
    """
    if model.space != "sphere":
        raise InputError(
            f"model {model.name} lives on ℝᵈ; tokens of a network are on the sphere: space='sphere'"
        )
    if not model.noise.is_zero:
        raise InputError(f"diffusion of {model.name} is no part of a network; drop it")
    on_sphere = read_problem(model, tokens, params, (0.0, horizon))  # what does not fit is refused by name
    ambient = in_ambient_space(model)
    given = {**params, **identities(ambient, params, tokens.dim)}
    problem = read_problem(ambient, Tokens(tokens.x, on_sphere=False), given, (0.0, horizon))
    statement = problem.statement
    silent = all(head.prefactor == 0 for head in statement.heads)
    present = not (silent and statement.background == ZeroMatrix(*statement.background.shape))
    return Attention(problem, tokens, present, on_sphere.statement.name)


@singledispatch
def in_ambient_space(model: AttentionModel) -> AttentionModel:
    """Return the same mechanism for tokens on ℝᵈ, whose velocity is Attn itself."""
    return replace(model, space="euclidean")


@in_ambient_space.register
def _(model: Masked) -> AttentionModel:
    return replace(model, model=in_ambient_space(model.model), space="euclidean")


@in_ambient_space.register
def _(model: MultiHead | UnlikeHeads) -> AttentionModel:
    heads = model.heads
    one = isinstance(heads, AttentionModel)
    ambient = in_ambient_space(heads) if one else tuple(in_ambient_space(head) for head in heads)
    return replace(model, heads=ambient, space="euclidean")


@singledispatch
def identities(model: AttentionModel, given: Mapping[str, Any], dim: int) -> dict[str, Any]:
    """Return I for every Q, K and V that is not given: on the sphere they need not be."""
    shapes = {
        name: shape
        for name, shape in model.parameters.items()
        if name in IDENTITIES and sum(size != FAMILY for size in shape) == 2
    }
    missing = {name: shape for name, shape in shapes.items() if name not in given}
    if "A" in given and "A" not in model.parameters:
        missing = {name: shape for name, shape in missing.items() if name not in ("Q", "K")}
    elif {"Q", "K"} <= missing.keys() and model.accepts_product():
        missing = {"A": missing["Q"], **{name: shape for name, shape in missing.items() if name == "V"}}
    heads = _heads(model, given)
    return {
        name: np.broadcast_to(np.eye(dim), (heads, dim, dim)) if FAMILY in shape else np.eye(dim)
        for name, shape in missing.items()
    }


@identities.register
def _(model: Masked, given: Mapping[str, Any], dim: int) -> dict[str, Any]:
    return identities(model.model, given, dim)


@identities.register
def _(model: UnlikeHeads, given: Mapping[str, Any], dim: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i, head in enumerate(model.heads, 1):
        end = f"_{i}"
        own = {name.removesuffix(end): value for name, value in given.items() if name.endswith(end)}
        found |= {name + end: value for name, value in identities(head, own, dim).items()}
    return found


def _heads(model: AttentionModel, given: Mapping[str, Any]) -> int:
    """Return how many heads the parameters have."""
    stacked = ("A", *(name for name, shape in model.parameters.items() if FAMILY in shape))
    counts = [len(given[name]) for name in stacked if name in given and hasattr(given[name], "__len__")]
    return int(getattr(model, "count", None) or (counts[0] if counts else 1))
