"""An energy at every time of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from symflow.checking import Array, real_array
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
    return np.asarray(_energy(which).value(x))


def energy_of_laws(which: Any, mean: Any, cov: Any) -> Array:
    """Return an energy of a Gaussian law at every time.

    Parameters
    ----------
    which : Energy or number
        A number stands for the interaction energy with that beta.
    mean : array_like, (T, d)
    cov : array_like, (T, d, d)

    Raises
    ------
    NotQuadratic, NotPolynomial
        If the energy has no closed form at Gaussian laws.
    InputError
        If it is infinite at some time, naming its index.

    Examples
    --------
    >>> from symflow.energies import Exponential
    >>> energy_of_laws(Exponential([[1.0]], [[1.0]]), [[0.0], [0.0]], [[[0.0]], [[0.6]]]).round(12)
    array([0.5  , 0.625])
    """
    energy, values = _energy(which), []
    for k, (alpha, sigma) in enumerate(zip(real_array(mean, "mean"), real_array(cov, "cov"), strict=True)):
        try:
            values.append(energy.on_gaussian(alpha, sigma).value)
        except InputError as error:
            error.args = (f"at t[{k}]: {error}",)
            raise
    return np.array(values)


def _energy(which: Any) -> Energy:
    if isinstance(which, (int, float, np.number)) and not isinstance(which, bool):
        return Interaction(float(which))
    if not isinstance(which, Energy):
        raise InputError(
            f"an energy of symflow.energies, or a number for beta, is needed, got {type(which).__name__}"
        )
    return which
