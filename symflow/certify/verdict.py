"""Verdicts: the four-valued answer to a claim."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.certificate import VERDICT_KEYS, Certificate, load_json
from symflow.certify.recheck import replay
from symflow.errors import CertificateError, Undecided

STATUSES = ("proved", "refuted", "undecided", "supported")
_KEYS = ("claim", "status", "scope", "assumes", "method", "reason", "witness", "certificate")


@dataclass(frozen=True)
class Verdict:
    """The answer to a claim: proved, refuted, undecided, or supported by measurement.

    ``bool(verdict)`` is True for *proved* and False for *refuted*. It raises for *undecided*, and for
    *supported* too: a measurement is evidence, and code that branches on it should say so by comparing
    ``status``. A verdict says of claim, status, scope and lemmas exactly what its certificate says; whether
    that proof is one, only :meth:`replay` knows, so replay a verdict that was read from a file.

    Attributes
    ----------
    claim : str
        Id of the claim.
    status : str
        ``"proved"``, ``"refuted"``, ``"undecided"`` or ``"supported"``.
    scope : str
        Sizes, states, parameters and times for which the answer holds.
    assumes : tuple of str
        The named lemmas that a proof uses (see :data:`symflow.certify.lemmas.LEMMAS` for their statements
        and sources).
    method : str
        How the answer was reached.
    reason : str
        Why nothing was decided; empty otherwise.
    witness : object
        The exact evidence of a refutation, or None.
    certificate : Certificate or None
        The proof object; present for *proved* and *refuted*.

    Examples
    --------
    >>> verdict = Verdict("gaussian-preservation", "undecided", reason="the score is not quadratic")
    >>> verdict
    <Verdict gaussian-preservation: undecided, the score is not quadratic>
    >>> bool(verdict)
    Traceback (most recent call last):
        ...
    symflow.errors.Undecided: gaussian-preservation is undecided: the score is not quadratic
    """

    claim: str
    status: str
    scope: str = ""
    assumes: tuple[str, ...] = ()
    method: str = ""
    reason: str = ""
    witness: Any = None
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise CertificateError(f"status {self.status!r} is unknown; use {', '.join(STATUSES)}")
        if (self.certificate is None) == (self.status in ("proved", "refuted")):
            need = "needs a certificate" if self.certificate is None else "has no certificate"
            raise CertificateError(f"a verdict that is {self.status} {need}")
        for key in VERDICT_KEYS if self.certificate else ():
            if getattr(self, key) != getattr(self.certificate, key):
                raise CertificateError(f"the verdict has another {key!r} than its certificate")

    @classmethod
    def from_certificate(cls, certificate: Certificate, witness: Any = None) -> Verdict:
        """Return the verdict that a certificate states (the certificate is not replayed)."""
        return cls(
            claim=certificate.claim,
            status=certificate.status,
            scope=certificate.scope,
            assumes=certificate.assumes,
            method=certificate.kind,
            witness=witness,
            certificate=certificate,
        )

    def __bool__(self) -> bool:
        if self.status in ("proved", "refuted"):
            return self.status == "proved"
        why = f": {self.reason}" if self.reason else ""
        hint = "" if self.status == "undecided" else "; compare its status with 'supported'"
        raise Undecided(f"{self.claim} is {self.status}{why}{hint}")

    def __repr__(self) -> str:
        detail = self.reason or self.scope
        shown = textwrap.shorten(detail, 100, placeholder=" …")
        return f"<Verdict {self.claim}: {self.status}{', ' + shown if shown else ''}>"

    def replay(self) -> bool:
        """Whether the certificate proves exactly this verdict, re-derived from nothing else.

        Raises
        ------
        Undecided
            If there is no certificate.
        """
        if self.certificate is None:
            raise Undecided(f"{self.claim} is {self.status}: there is no certificate to replay")
        outcome = replay(self.certificate)
        return outcome.accepted and self == Verdict.from_certificate(self.certificate, outcome.witness)

    def to_record(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        record = {key: getattr(self, key) for key in _KEYS}
        stored = self.certificate.to_record() if self.certificate else None
        return record | {"assumes": list(self.assumes), "certificate": stored}

    def to_json(self, indent: int | None = 1) -> str:
        """Return the verdict with its certificate as JSON text."""
        return json.dumps(self.to_record(), indent=indent, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Verdict:
        """Read a verdict from JSON text; nothing is believed before :meth:`replay`.

        Raises
        ------
        CertificateError
            If the text is not JSON, does not follow the schema, or disagrees with its certificate.
        """
        record = load_json(text)
        if not isinstance(record, Mapping) or set(record) != set(_KEYS):
            raise CertificateError(f"a verdict is an object with the keys {', '.join(_KEYS)}")
        for key in ("claim", "status", "scope", "method", "reason"):
            if not isinstance(record[key], str):
                raise CertificateError(f"verdict: {key!r} must be text")
        assumes, stored = record["assumes"], record["certificate"]
        if not isinstance(assumes, list) or not all(isinstance(name, str) for name in assumes):
            raise CertificateError("verdict: 'assumes' must be a list of names of lemmas")
        certificate = None if stored is None else Certificate.from_record(stored)
        return cls(**{**record, "assumes": tuple(assumes), "certificate": certificate})

    def to_latex(self) -> str:
        """Return a LaTeX fragment: the claim, what it holds for, and the lemmas it rests on."""
        from symflow.certify.latex import verdict_latex

        return verdict_latex(self)
