r"""Propositions about the field of a random layer, and about two tokens that it moves.

In the texts ``u`` is the cosine, ``k`` = κ(u), ``k1`` = κ(1) and ``s1`` = κ'(1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symflow.certify.propositions.proposition import Proposition
from symflow.certify.terms import Terms
from symflow.errors import CertificateError

_LAYER = "G(y) = m^(-1/2) W phi(d^(-1/2) U y + b_U) + b_W, all weights independent and standard normal, "
_LAYER += "biases normal of variances sigma_W^2 and sigma_U^2"


@dataclass(frozen=True)
class NoiseStatement(Proposition):
    """What all of these have in common: named texts in scalars, and words.

    Attributes
    ----------
    claim : str
        Id.
    words : str
        For what it is claimed.
    texts : Mapping of str to str
        What is claimed, by the names that the kind of proof knows.
    """

    claim: str
    words: str
    texts: Mapping[str, str]

    #: scalars of the texts
    names: ClassVar[tuple[str, ...]] = ()

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        return dict(self.texts)

    def terms(self) -> Terms:
        """Return the symbols of the statement: two tokens, two directions, two random vectors, scalars."""
        scalars: dict[str, tuple[str, ...]] = dict.fromkeys(self.names, ())
        return Terms({**dict.fromkeys(("x", "y", "a", "b", "g", "h"), ("d",)), **scalars}, {})

    def scope(self, statement: Any) -> str:
        """Return for what the claim is made, in words.

        Raises
        ------
        CertificateError
            If the statement is not the one of the claim.
        """
        if statement != self.record():
            raise CertificateError(f"the statement is not that of {self.claim}")
        return self.words


@dataclass(frozen=True)
class LayerCovariance(NoiseStatement):
    """The covariance of the field of a random layer, and its derivative."""

    names: ClassVar[tuple[str, ...]] = ("u", "sigma_W", "sigma_U", "E", "D")


@dataclass(frozen=True)
class CosineGenerator(NoiseStatement):
    """The generator of the cosine of two tokens."""

    names: ClassVar[tuple[str, ...]] = ("u", "k", "k1")


@dataclass(frozen=True)
class MeetingExponents(NoiseStatement):
    """Lyapunov exponent and exponents of moments, where two tokens meet."""

    names: ClassVar[tuple[str, ...]] = ("u", "k", "k1", "s1", "p", "e", "s")


@dataclass(frozen=True)
class LayerExponents(NoiseStatement):
    """The exponents of one activation."""

    names: ClassVar[tuple[str, ...]] = ("u", "k", "k1", "s1", "p", "e", "s", "z", "q", "sigma_W", "sigma_U")


_GENERATOR = {
    "correction": "k1*(d - 1)/2",
    "drift": "k*(d - 2 + u**2) - k1*(d - 1)*u",
    "diffusion": "(1 - u**2)*(k1 - u*k)",
}
_LYAPUNOV = {
    "lyapunov": "(d - 3)*s1/2 - (d - 1)*k1/2",
    "moments": "p*((d - 3)*s1/2 - (d - 1)*k1/2) + p**2*(k1 + s1)/2",
    "dissipation": "(d - 1)*s1 - (d - 3)*k1",
}
_FIELD = "every d ≥ 2, every isotropic Gaussian field on the sphere with covariance κ, Itô's sense"

PROPOSITIONS = (
    LayerCovariance(
        "ABGSR26/field-covariance",
        f"every size d and width m, unit vectors x and y, phi locally absolutely continuous with a "
        f"derivative of polynomial growth; {_LAYER}; E = E[phi(Z1) phi(Z2)], D = E[phi'(Z1) phi'(Z2)] for "
        f"centred "
        "Gaussian Z of the stated variance and covariance, at u = 1 with Z1 = Z2",
        {
            "variance": "1/d + sigma_U**2",
            "covariance": "u/d + sigma_U**2",
            "kappa": "E + sigma_W**2",
            "slope": "D/d",
        },
    ),
    CosineGenerator(
        "ABGSR26/pair-generator",
        f"{_FIELD}; without attention, which adds its own derivative of u to the drift; Lf = drift f' + "
        "diffusion f'' for functions of u, and tokens stay on the sphere with this correction and no other",
        _GENERATOR,
    ),
    MeetingExponents(
        "ABGSR26/lyapunov-formula",
        f"{_FIELD}, κ differentiable at 1; lyapunov = lim L(½ log(1 − u)), moments = lim Lf/f for "
        "f = (1 − u)^(p/2), any p, and dissipation the latter at p = 2, as u → 1",
        {**_GENERATOR, **_LYAPUNOV},
    ),
    LayerExponents(
        "ABGSR26/relu-exponents",
        f"every d ≥ 2, sigma_W, sigma_U ≥ 0, every width; {_LAYER}; exponents as in ABGSR26/lyapunov-formula",
        {
            "activation": "Max(z, 0)",
            "kappa_one": "1/(2*d) + sigma_U**2/2 + sigma_W**2",
            "slope_one": "1/(2*d)",
            "lyapunov": "-1/(2*d) - (sigma_U**2 + 2*sigma_W**2)*(d - 1)/4",
            "dissipation": "1/d - (sigma_U**2 + 2*sigma_W**2)*(d - 3)/2",
        },
    ),
)
