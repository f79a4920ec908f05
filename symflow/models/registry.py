"""The shipped attention variants, found by scanning ``symflow/models/attention``."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil

from symflow.errors import InputError
from symflow.models import attention
from symflow.models.attention.model import AttentionModel


@functools.cache
def attention_models() -> dict[str, type[AttentionModel]]:
    """Return every shipped variant by name, sorted.

    Examples
    --------
    >>> sorted(attention_models())[:2]
    ['l2', 'softmax']
    """
    found: dict[str, type[AttentionModel]] = {}
    for module_info in pkgutil.iter_modules(attention.__path__, attention.__name__ + "."):
        module = importlib.import_module(module_info.name)
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and _is_variant(member):
                found[member.name] = member
    return dict(sorted(found.items()))


def _is_variant(member: type) -> bool:
    """Whether a class states a mechanism of its own: the base class and the user's one name no score."""
    return issubclass(member, AttentionModel) and bool(vars(member).get("name") and member.score)


def attention_model(name: str) -> type[AttentionModel]:
    """Return the shipped variant called ``name``.

    Raises
    ------
    InputError
        If there is none; the message names the nearest one and all that exist.
    """
    models = attention_models()
    if name not in models:
        hint = difflib.get_close_matches(name, models, 1)
        suggestion = f" Did you mean {hint[0]!r}?" if hint else ""
        raise InputError(f"model {name!r} is unknown.{suggestion} Shipped models: {', '.join(models)}")
    return models[name]
