"""Keys of models: a text that determines the equations, made without deriving or even parsing anything."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from symflow.codegen.versions import digest, generator_hash

#: Scalars that kernels keep as arguments, whatever numbers the model has.
SCALE = ("beta", "temperature", "diffusion")

#: The law of ordered positions, an argument too: the model states it for each number of positions.
WEIGHTS = "theta"

_DECLARED = (
    "name",
    "score",
    "kernel",
    "value",
    "output",
    "prefactor",
    "normalise",
    "parameters",
    "biases",
    "space",
    "sign",
    "feed_forward",
)
_ONLY_SHOWN = ("title", "reference")

#: Where the classes live whose source is hashed.
_OWN = "symflow.models."

#: Methods by which declared lines become a statement.
_DECIDING = ("statement", "parametrisations", "accepts_product", "_symbols")


def arguments(model: Any) -> frozenset[str]:
    """Return the names that select no parametrisation: scalars, and the law of positions."""
    positions = (WEIGHTS,) if hasattr(model, "weights") else ()
    return frozenset((*SCALE, *positions)) - frozenset(model.parameters)


def model_key(model: Any, names: frozenset[str] | None = None) -> str:
    """Return a key of everything in the model that its kernel depends on.

    Parameters
    ----------
    model : AttentionModel
        Any model.
    names : frozenset of str, optional
        Parameters that select one parametrisation.
    """
    return digest(declared(model), generator_hash(), *(() if names is None else sorted(names)))


def declared(model: Any) -> str:
    """Return the declared lines of the model; of a user's class that overrides methods, its statements too.

    What the package's own classes override is part of :func:`generator_hash`.
    """
    from symflow.models.attention.model import AttentionModel

    names = [f.name for f in dataclasses.fields(model)] if dataclasses.is_dataclass(model) else []
    shown = {*SCALE, *_ONLY_SHOWN}
    lines = {name: _plain(getattr(model, name)) for name in (*names, *_DECLARED) if name not in shown}
    lines["noise"] = not model.noise.is_zero
    kind = type(model)
    if kind.__module__.startswith(_OWN):
        lines["class"] = f"{kind.__module__}.{kind.__qualname__}"
    elif any(getattr(kind, name, None) is not getattr(AttentionModel, name) for name in _DECIDING):
        symbolic = model.with_symbolic_scale()
        lines["statements"] = [str(symbolic.statement(given)) for given in symbolic.parametrisations()]
    return json.dumps(lines, sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return [[name, _plain(item)] for name, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if callable(getattr(value, "statement", None)):
        return declared(value)
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)
