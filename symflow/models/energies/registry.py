"""The shipped energies, found by scanning ``symflow/models/energies``."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
from dataclasses import fields

from symflow.errors import InputError
from symflow.models import energies
from symflow.models.energies.model import EnergyModel


@functools.cache
def energy_models() -> dict[str, type[EnergyModel]]:
    """Return every shipped energy by name, sorted; a user's own is none of them.

    Examples
    --------
    >>> [name for name in energy_models() if name.startswith("e")]
    ['entropy', 'exponential']
    """
    found: dict[str, type[EnergyModel]] = {}
    for module_info in pkgutil.iter_modules(energies.__path__, energies.__name__ + "."):
        module = importlib.import_module(module_info.name)
        for _, member in inspect.getmembers(module, inspect.isclass):
            declared_here = member.__module__ == module.__name__
            if declared_here and issubclass(member, EnergyModel) and _is_shipped(member):
                found[member.name] = member
    return dict(sorted(found.items()))


def _is_shipped(model: type[EnergyModel]) -> bool:
    """Whether a class states an energy of its own: the base class has no name, a user's own has fields."""
    return bool(vars(model).get("name")) and not fields(model)


def energy_model(name: str) -> EnergyModel:
    """Return the shipped energy called ``name``.

    Raises
    ------
    InputError
        If there is none; the message names the nearest one and all that exist.
    """
    models = energy_models()
    if name not in models:
        hint = difflib.get_close_matches(name, models, 1)
        suggestion = f" Did you mean {hint[0]!r}?" if hint else ""
        raise InputError(f"energy {name!r} is unknown.{suggestion} Shipped energies: {', '.join(models)}")
    return models[name]()
