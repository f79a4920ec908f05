"""Propositions about common noise: signs of exponents of given fields, and theorems for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.certify.propositions.proposition import Proposition
from symflow.errors import CertificateError

QUANTITIES = {
    "lyapunov": "the Lyapunov exponent λ₁ of two tokens that meet",
    "dissipation": "the rate λ̄ of the mean squared distance of two tokens that meet",
    "moment": "the rate Λ(p) of the mean p-th power of the distance of two tokens that meet, p = {parameter}",
    "rate": "λ̄' = sup Lf/f over [−1, 1), f = exp(beta) − exp(beta*u), beta = {parameter}",
    "fractional": "sup Lf/f over [−1, 1), f = (1 − u)^q, q = {parameter}",
}
SIGNS = ("negative", "positive")
WITH_PARAMETER = frozenset(("moment", "rate", "fractional"))
_FIELD = ("phi", "sigma_w", "sigma_u", "dim")
_KEYS = frozenset((*_FIELD, "quantity", "parameter", "sign"))
MAX_INSTANCES = 24


@dataclass(frozen=True)
class Instance:
    """The sign of one quantity of one field.

    Attributes
    ----------
    phi : str
        φ(z), text of the small grammar.
    sigma_w, sigma_u : Fraction
    dim : int
    quantity : str
        A key of :data:`QUANTITIES`.
    parameter : Fraction or None
        p, β or q.
    sign : str
        ``"negative"`` or ``"positive"``.
    """

    phi: str
    sigma_w: Fraction
    sigma_u: Fraction
    dim: int
    quantity: str
    parameter: Fraction | None
    sign: str

    def __str__(self) -> str:
        what = QUANTITIES[self.quantity].format(parameter=self.parameter)
        field = f"phi = {self.phi}, sigma_W = {self.sigma_w}, sigma_U = {self.sigma_u}, d = {self.dim}"
        return f"{what}, is {self.sign} for {field}, without attention"

    def record(self) -> dict[str, str]:
        """Return the instance as stored in a certificate."""
        shown = "" if self.parameter is None else str(self.parameter)
        own = {"quantity": self.quantity, "parameter": shown, "sign": self.sign}
        return {name: str(getattr(self, name)) for name in _FIELD} | own

    @classmethod
    def read(cls, record: Any) -> Instance:
        """Read an instance from a certificate.

        Raises
        ------
        CertificateError
            If it does not follow the schema.
        """
        if not isinstance(record, Mapping) or set(record) != _KEYS:
            raise CertificateError(f"a field and its sign have the keys {', '.join(sorted(_KEYS))}")
        if not all(isinstance(text, str) and len(text) <= 2000 for text in record.values()):
            raise CertificateError("a field and its sign are texts")
        if record["quantity"] not in QUANTITIES or record["sign"] not in SIGNS:
            raise CertificateError(
                f"quantity must be one of {', '.join(QUANTITIES)}; sign one of {', '.join(SIGNS)}"
            )
        if bool(record["parameter"]) != (record["quantity"] in WITH_PARAMETER):
            raise CertificateError(f"{record['quantity']}: parameter = {record['parameter']!r} does not fit")
        try:
            numbers = {name: Fraction(record[name]) for name in ("sigma_w", "sigma_u")}
            parameter = Fraction(record["parameter"]) if record["parameter"] else None
            dim = int(record["dim"])
        except (ValueError, ZeroDivisionError) as error:
            raise CertificateError(f"a number cannot be read: {error}") from error
        if parameter is not None and parameter <= 0 and record["quantity"] != "moment":
            raise CertificateError(f"parameter = {parameter} must be positive")
        return cls(
            record["phi"],
            **numbers,
            dim=dim,
            quantity=record["quantity"],
            parameter=parameter,
            sign=record["sign"],
        )


@dataclass(frozen=True)
class FieldSigns(Proposition):
    """Signs of quantities of given fields.

    Attributes
    ----------
    claim : str
        Id.
    quantity : str
        The only one that is admitted; empty for any.
    """

    claim: str
    quantity: str = ""

    def read(self, statement: Any) -> tuple[Instance, ...]:
        """Return the instances of a statement.

        Raises
        ------
        CertificateError
            If it is malformed.
        """
        if not isinstance(statement, Mapping) or set(statement) != {"instances"}:
            raise CertificateError("signs of fields have the key instances")
        records = statement["instances"]
        if not isinstance(records, (list, tuple)) or not 0 < len(records) <= MAX_INSTANCES:
            raise CertificateError(f"instances must be a list of at most {MAX_INSTANCES}")
        found = tuple(Instance.read(record) for record in records)
        if self.quantity and any(item.quantity != self.quantity for item in found):
            raise CertificateError(f"{self.claim} is about the quantity {self.quantity!r}")
        return found

    def scope(self, statement: Any) -> str:
        """Return the fields and what is said of them."""
        return " | ".join(map(str, self.read(statement)))


@dataclass(frozen=True)
class NoiseTheorem(Proposition):
    """A statement about all fields of a class.

    Attributes
    ----------
    claim : str
        Id.
    theorem : str
        What the replay has to show: a key of ``certify.kinds.noise_theorem``.
    scope_text : str
        For what it is claimed.
    """

    claim: str
    theorem: str
    scope_text: str

    def record(self) -> dict[str, str]:
        """Return the statement as stored in a certificate."""
        return {"theorem": self.theorem}

    def scope(self, statement: Any) -> str:
        """Return for what the claim is made."""
        if statement != self.record():
            raise CertificateError(f"the statement is not that of {self.claim}")
        return self.scope_text


PROPOSITIONS = (
    FieldSigns("exponent-sign"),
    FieldSigns("ABGSR26/fractional-energy", "fractional"),
    NoiseTheorem(
        "ABGSR26/relu-unbiased-dissipation",
        "relu-unbiased",
        "every d ≥ 2: φ = max(z, 0), σ_W = σ_U = 0 has λ̄ = 1/d > 0, and so λ̄' ≥ λ̄ > 0 for every β > 0",
    ),
    NoiseTheorem(
        "ABGSR26/dissipation-rate",
        "rate-criterion",
        "every d ≥ 2, β > 0, σ_W, σ_U ≥ 0 and every locally absolutely continuous φ with E φ² and E φ'² "
        "finite, κ(1) > 0: λ̄' ≥ λ̄; λ̄ < 0 gives λ̄' ≤ 2β/(exp(2β) − 1)·λ̄ < 0; an odd G without biases has "
        "λ̄ > 0, so that λ̄' < 0 if and only if λ̄ < 0, and G is then not odd",
    ),
    NoiseTheorem(
        "ABGSR26/odd-two-point",
        "odd-two-point",
        "every d ≥ 2, odd φ that is locally absolutely continuous with E φ² and E φ'² finite, κ(1) > 0, σ_W "
        "= σ_U = 0, no attention, λ₁ < 0: for two tokens with −1 < u₀ < 1 almost surely u_t → 1 or u_t → −1, "
        "and P(u_t → 1) = ∫ s' over [−1, u₀] / ∫ s' over [−1, 1], s' = exp(−∫G₀/G₁); every pair of N tokens "
        "does so, so that they tend to two opposite points x and −x, which move",
    ),
)
