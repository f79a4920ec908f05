"""Leaky rectified linear unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symflow.errors import InputError
from symflow.models.noise.activation import Activation
from symflow.models.scalars import exact_scalar


@dataclass(frozen=True)
class LeakyReLU(Activation):
    r"""Leaky rectified linear unit.

    .. math:: \phi(z) = \max(z, s z), \qquad 0 \le s < 1

    Parameters
    ----------
    slope : number, default 1/100
        s; a float stands for its decimal literal.

    Raises
    ------
    InputError
        If the slope is no number in [0, 1).

    References
    ----------
    ABGSR26.
    """

    slope: Any = "1/100"

    name = "leaky_relu"
    title = "Leaky rectified linear unit"
    reference = "ABGSR26"

    def __post_init__(self) -> None:
        exact = exact_scalar("slope", self.slope, allow_zero=True)
        if not (exact.is_Rational and exact < 1):
            raise InputError(f"slope = {self.slope} is no rational number in [0, 1): give one, e.g. 1/100")
        object.__setattr__(self, "slope", str(exact))
        object.__setattr__(self, "phi", f"Max(z, ({exact})*z)")
