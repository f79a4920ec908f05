"""The energies with numbers, found by scanning ``symflow/energies``."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Collection, Mapping
from typing import Any

from symflow.codegen.arrays import listed
from symflow.energies.energy import Energy
from symflow.errors import InputError
from symflow.models.scanning import classes_of, one_of


@functools.cache
def shipped_energies() -> dict[str, type[Energy]]:
    """Return every shipped energy by the name of its definition, sorted; a user's own is none of them.

    Examples
    --------
    >>> [name for name in shipped_energies() if name.startswith("i")]
    ['interaction']
    """
    package = importlib.import_module("symflow.energies")
    return classes_of(package, Energy, lambda kind: bool(vars(kind).get("name")))


def shipped_energy(name: str, parameters: Mapping[str, Any]) -> Energy:
    """Return the shipped energy of this name with the values of its parameters.

    Parameters
    ----------
    name : str
    parameters : dict
        By name; for a score ⟨Qx, Ky⟩ A alone stands for Q = A, K = I.

    Raises
    ------
    InputError
        If there is none, or a parameter is missing or unknown.

    Examples
    --------
    >>> shipped_energy("interaction", {"beta": 2})
    Interaction(beta=2.0)
    """
    kind: Any = _kind(name)
    wanted = parameters_of(name, parameters)
    for key in sorted(wanted ^ parameters.keys()):
        what = "missing" if key in wanted else "unknown"
        takes = ", ".join(inspect.signature(kind).parameters) or "none"
        raise InputError(f"parameter {key!r} of the energy {name!r} is {what}; it takes {takes}")
    if wanted == {"A"} and "A" not in inspect.signature(kind).parameters:
        score = listed(parameters["A"], "A")
        parameters = {"Q": score, "K": [[int(i == j) for j in range(len(score))] for i in range(len(score))]}
    energy: Energy = kind(**parameters)
    return energy


def parameters_of(name: str, given: Collection[str]) -> set[str]:
    """Return the names of the parameters that an energy takes; A instead of Q and K where it is given alone.

    Raises
    ------
    InputError
        If there is no such energy.
    """
    wanted = set(inspect.signature(_kind(name)).parameters)
    return {"A"} if wanted == {"Q", "K"} and "A" in given and not wanted & set(given) else wanted


def _kind(name: str) -> type[Energy]:
    return one_of(shipped_energies(), name, "energy", "energies")
