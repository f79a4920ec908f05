"""An energy at every time of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.energies.energy import Energy
from symflow.energies.interaction import Interaction
from symflow.errors import InputError


def energy_along(which: Any, x: Any) -> Array:
    """Return an energy of the tokens at every time.

    Parameters
    ----------
    which : Energy or number
        A number stands for the interaction energy with that beta.
    x : array_like, (T, n, d)
        Tokens.

    Raises
    ------
    InputError
        If ``which`` is neither, or if the energy exceeds the range of doubles.

    Examples
    --------
    >>> from symflow.energies import Dissipation
    >>> energy_along(Dissipation(1.0), [[[1.0, 0.0], [1.0, 0.0]]])
    array([0.])
    """
    if isinstance(which, (int, float, np.number)) and not isinstance(which, bool):
        which = Interaction(float(which))
    if not isinstance(which, Energy):
        raise InputError(
            f"an energy of symflow.energies, or a number for beta, is needed, got {type(which).__name__}"
        )
    return np.asarray(which.value(x))
