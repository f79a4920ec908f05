"""The shipped energies, found by scanning ``symflow/models/energies``."""

from __future__ import annotations

import functools
from dataclasses import fields

from symflow.models import energies
from symflow.models.energies.model import EnergyModel
from symflow.models.scanning import classes_of, one_of


@functools.cache
def energy_models() -> dict[str, type[EnergyModel]]:
    """Return every shipped energy by name, sorted; a user's own is none of them.

    Examples
    --------
    >>> [name for name in energy_models() if name.startswith("e")]
    ['entropy', 'exponential']
    """
    return classes_of(energies, EnergyModel, _is_shipped)


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
    return one_of(energy_models(), name, "energy", "energies")()
