"""The shipped activations, found by scanning ``symflow/models/noise``."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import re
from typing import Any

from symflow.errors import InputError
from symflow.models import noise
from symflow.models.noise.activation import Activation, UserActivation


@functools.cache
def activations() -> dict[str, type[Activation]]:
    """Return every shipped activation by name, sorted.

    Examples
    --------
    >>> list(activations())
    ['erf', 'leaky_relu', 'linear', 'relu', 'sigmoid', 'silu', 'tanh']
    """
    found: dict[str, type[Activation]] = {}
    for module_info in pkgutil.iter_modules(noise.__path__, noise.__name__ + "."):
        module = importlib.import_module(module_info.name)
        for _, member in inspect.getmembers(module, inspect.isclass):
            declared_here = member.__module__ == module.__name__
            if declared_here and issubclass(member, Activation) and _is_shipped(member):
                found[member.name] = member
    return dict(sorted(found.items()))


def _is_shipped(member: type[Activation]) -> bool:
    """Whether a class states an activation of its own: the base class has no name, a user's own a text."""
    return bool(vars(member).get("name")) and member is not UserActivation


def activation(given: Any) -> Activation:
    """Return the activation that is meant: an instance, a shipped name, or an expression in z.

    Raises
    ------
    InputError
        If it is a word that names none; the message has the nearest one and all that exist.
    GrammarError
        If it is an expression that cannot be read.

    Examples
    --------
    >>> activation("relu").phi, activation("Max(z, z/10)").phi
    ('Max(z, 0)', 'Max(z, z/10)')
    """
    if isinstance(given, Activation):
        return given
    shipped = activations()
    if isinstance(given, str):
        name = given.strip()
        if name in shipped:
            return shipped[name]()
        if re.fullmatch(r"[A-Za-z_]\w*", name) and name != "z":
            hint = difflib.get_close_matches(name, shipped, 1)
            suggestion = f" Did you mean {hint[0]!r}?" if hint else ""
            raise InputError(
                f"activation {name!r} is unknown.{suggestion} Shipped: {', '.join(shipped)}; "
                "or an expression in z"
            )
    return UserActivation(given)
