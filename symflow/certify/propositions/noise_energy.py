r"""The proposition that an energy of pairs decays in mean under common noise.

Tokens on the sphere, or a law μ of them, move by

.. math:: dX = P_X\Gamma_\mu(X)\,dt - \tfrac12(d-1)\kappa(1)X\,dt + P_X\,dW(X)

(Itô) with one Gaussian field W of the covariance :math:`\kappa(\langle x, y\rangle)I` at points x and y. In
the texts of a statement ``k`` is κ(u) and ``k1`` is κ(1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.propositions.proposition import Proposition
from symflow.certify.terms import Terms
from symflow.errors import CertificateError

COSINE, HERE, AT_ONE, SIZE = "u", "k", "k1", "d"


@dataclass(frozen=True)
class MeanDecay(Proposition):
    r"""The mean of :math:`\tfrac12\iint f(\langle x, y\rangle)\,d\mu\,d\mu` grows at most like e^{(ε + r)t}.

    Attributes
    ----------
    claim : str
        Id.
    profile : str
        f(u), not negative on [−1, 1] and 0 at u = 1.
    ratio : str
        F(u) with −Lf = Ff; r is any number with F ≥ −r on [−1, 1).
    signs : Mapping of str to str
        Of the parameters, all of them scalars.
    """

    claim: str
    profile: str
    ratio: str
    signs: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        return {"profile": self.profile, "ratio": self.ratio, "signs": dict(self.signs)}

    def terms(self) -> Terms:
        """Return the symbols of the statement: two tokens, the cosine, both covariances, the parameters."""
        scalars: dict[str, tuple[str, ...]] = dict.fromkeys((COSINE, HERE, AT_ONE, *self.signs), ())
        return Terms({**dict.fromkeys("xy", (SIZE,)), **scalars}, self.signs)

    def scope(self, statement: Any) -> str:
        """Return for what the claim is made, in words.

        Raises
        ------
        CertificateError
            If the statement is not the one of the claim.
        """
        if statement != self.record():
            raise CertificateError(f"the statement is not that of {self.claim}")
        assumed = ", ".join(f"{name} {sign}" for name, sign in self.signs.items())
        return (
            f"every d ≥ 2, every isotropic Gaussian field with Lipschitz covariance κ, f = {self.profile}, "
            f"{assumed}; every bounded and Lipschitz attention with dE/dt ≤ εE without noise; finitely many "
            "tokens, or their mean-field limit; r is any number with F ≥ −r on [−1, 1)"
        )


PROPOSITIONS = (
    MeanDecay(
        "ABGSR26/energy-decay",
        "exp(beta) - exp(beta*u)",
        "beta*exp(beta*u)*(k*(d - 2 + u**2) - k1*(d - 1)*u + beta*(1 - u**2)*(k1 - u*k))"
        "/(exp(beta) - exp(beta*u))",
        {"beta": "positive"},
    ),
)
