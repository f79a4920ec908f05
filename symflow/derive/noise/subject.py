"""What the arguments about common noise are about, in the form that documents ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from symflow.derive.noise.symbols import SIZE


@dataclass(frozen=True)
class SphereNoise:
    """Tokens on the sphere in common isotropic noise, with any covariance κ."""

    name: str = "pair-generator"
    title: str = "Two tokens in common noise"
    space: str = "sphere"
    reference: str = "ABGSR26"
    parameters: tuple[Any, ...] = ()
    dimensions: tuple[Any, ...] = (SIZE,)
    stacked: dict[str, Any] = field(default_factory=dict)


SPHERE_NOISE = SphereNoise()
