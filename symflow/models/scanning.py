"""What is shipped, found by scanning: one file in a folder for each, with a class that has a name."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from symflow.errors import InputError

T = TypeVar("T")


def classes_of(package: ModuleType, base: type, states: Callable[[Any], bool]) -> dict[str, Any]:
    """Return the subclasses of ``base`` declared in the modules of a package, by their name, sorted.

    Parameters
    ----------
    package : module
        Its modules are imported; packages in it are not entered.
    base : type
    states : callable
        Whether a class counts, as one that states something of its own.
    """
    found: dict[str, Any] = {}
    for module_info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = importlib.import_module(module_info.name)
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and issubclass(member, base) and states(member):
                found[vars(member)["name"]] = member
    return dict(sorted(found.items()))


def one_of(known: Mapping[str, T], name: str, kind: str, kinds: str) -> T:
    """Return what is called ``name``.

    Raises
    ------
    InputError
        If there is none; the message names the nearest one and all that exist.
    """
    if name not in known:
        hint = difflib.get_close_matches(name, known, 1)
        suggestion = f" Did you mean {hint[0]!r}?" if hint else ""
        raise InputError(f"{kind} {name!r} is unknown.{suggestion} Shipped {kinds}: {', '.join(known)}")
    return known[name]
