"""What the arguments about common noise are about, in the form that documents ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from symflow.derive.noise.symbols import SIZE
from symflow.models.noise.statement import NoiseStatement


@dataclass(frozen=True)
class SphereNoise:
    """Tokens on the sphere in common isotropic noise; by default with any covariance κ."""

    name: str = "pair-generator"
    title: str = "Two tokens in common noise"
    space: str = "sphere"
    reference: str = "ABGSR26"
    parameters: tuple[Any, ...] = ()
    dimensions: tuple[Any, ...] = (SIZE,)
    stacked: dict[str, Any] = field(default_factory=dict)


def subject_of(statement: NoiseStatement, title: str) -> SphereNoise:
    """Return the subject of an argument about one random layer."""
    parameters = tuple(s for s in (statement.sigma_w, statement.sigma_u) if s.is_Symbol)
    return SphereNoise(statement.name, title, reference=statement.reference, parameters=parameters)


SPHERE_NOISE = SphereNoise()
