r"""Propositions about energies of laws on the sphere that see cosines: :math:`\frac12\iint W\,d\mu\,d\mu`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.propositions.proposition import Proposition
from symflow.certify.terms import Terms

#: The name of the cosine in a profile.
COSINE = "c"


@dataclass(frozen=True)
class UniformMinimum(Proposition):
    """The uniform law on the sphere is the only minimiser of an energy.

    Attributes
    ----------
    claim : str
        Id.
    pair : str
        W(x, y).
    profile : str
        The same as a function of the cosine ``c``.
    signs : Mapping of str to str
        Of the parameters, all of them scalars.
    """

    claim: str
    pair: str
    profile: str
    signs: Mapping[str, str]

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        return {"pair": self.pair, "profile": self.profile, "signs": dict(self.signs)}

    def terms(self) -> Terms:
        """Return the symbols of the statement: two tokens, the cosine, the parameters."""
        scalars: dict[str, tuple[str, ...]] = dict.fromkeys((COSINE, *self.signs), ())
        return Terms({**dict.fromkeys("xy", ("d",)), **scalars}, self.signs)

    def scope(self, statement: Any) -> str:
        """Return for what the claim is made, in words.

        Raises
        ------
        CertificateError
            If the statement is not the one of the claim.
        """
        self.require_statement(statement, self.record())
        assumed = ", ".join(f"{name} {sign}" for name, sign in self.signs.items())
        return f"every d ≥ 2, all probability laws on the sphere, W = {self.pair}, {assumed}"


PROPOSITIONS = (
    UniformMinimum(
        "GLPR23/uniform-minimiser", "exp(beta*dot(x, y))/beta", "exp(beta*c)/beta", {"beta": "positive"}
    ),
)
