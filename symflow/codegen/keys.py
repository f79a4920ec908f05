"""Keys of models: a text that determines the equations, made without deriving or even parsing anything."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from symflow.codegen.versions import digest, generator_hash

#: Factor of the score: kernels keep both as arguments, whatever numbers the model has.
SCALE = ("beta", "temperature")

_DECLARED = ("name", "score", "value", "output", "normalise", "parameters", "biases", "space")
_ONLY_SHOWN = ("title", "reference")


def model_key(model: Any, names: frozenset[str] | None = None) -> str:
    """Return a key of everything in the model that its kernel depends on.

    Parameters
    ----------
    model : AttentionModel
        Any model.
    names : frozenset of str, optional
        Parameters that select one parametrisation.
    """
    described = json.dumps(_declared(model), sort_keys=True, ensure_ascii=False)
    return digest(described, generator_hash(), *(() if names is None else sorted(names)))


def _declared(model: Any) -> dict[str, Any]:
    """Return the declared lines of the model; of a class that overrides methods, the derived statement too."""
    from symflow.models.attention.model import AttentionModel

    names = [f.name for f in dataclasses.fields(model)] if dataclasses.is_dataclass(model) else []
    shown = {*SCALE, *_ONLY_SHOWN}
    declared = {name: _plain(getattr(model, name)) for name in (*names, *_DECLARED) if name not in shown}
    inherited = all(getattr(type(model), name, None) is getattr(AttentionModel, name) for name in _deciding())
    if not inherited:
        symbolic = model.with_symbolic_scale()
        declared["statements"] = [str(symbolic.statement(given)) for given in symbolic.parametrisations()]
    return declared


def _deciding() -> tuple[str, ...]:
    """Return the methods by which a model's declared lines become a statement."""
    return ("statement", "parametrisations", "accepts_product", "_symbols")


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return [[name, _plain(item)] for name, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)
