"""Verdicts: the four-valued answer to a claim."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from symflow.certify.certificate import VERDICT_KEYS, Certificate, load_json
from symflow.certify.measurement import Measurement
from symflow.certify.recheck import Replay, replay
from symflow.errors import CertificateError, Undecided

STATUSES = ("proved", "refuted", "undecided", "supported")
_KEYS = ("claim", "status", "scope", "assumes", "method", "reason", "witness", "certificate", "measurement")
#: Repeats an experiment from the seed and the sizes of its measurement.
Rerun = Callable[[Measurement], Measurement]


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
        The proof object; present for *proved* and *refuted*. For *supported* it may prove what the
        measurement compares with, under an id of its own.
    measurement : Measurement or None
        Present for *supported*; for *undecided* where an experiment did not find what the claim says.
    rerun : callable or None
        Repeats the experiment of a measurement. It is not part of the text of a verdict; what
        :func:`symflow.check` returns has it, and :func:`symflow.claims.read_verdict` attaches it.

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
    measurement: Measurement | None = None
    rerun: Rerun | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise CertificateError(f"status {self.status!r} is unknown; use {', '.join(STATUSES)}")
        decided = self.status in ("proved", "refuted")
        if decided and self.certificate is None:
            raise CertificateError(f"a verdict that is {self.status} needs a certificate")
        if self.certificate is not None and self.status == "undecided":
            raise CertificateError("a verdict that is undecided has no certificate")
        for key in VERDICT_KEYS if decided else ():
            if getattr(self, key) != getattr(self.certificate, key):
                raise CertificateError(f"the verdict has another {key!r} than its certificate")
        self._check_measurement()

    def _check_measurement(self) -> None:
        """Refuse a measurement where there can be none, one that is missing, and one that says otherwise."""
        if self.measurement is None:
            if self.status == "supported":
                raise CertificateError("a verdict that is supported needs a measurement")
            return
        if self.status not in ("supported", "undecided"):
            raise CertificateError(f"a verdict that is {self.status} has no measurement")
        for key in ("claim", "scope"):
            if getattr(self, key) != getattr(self.measurement, key):
                raise CertificateError(f"the verdict has another {key!r} than its measurement")
        if self.measurement.met != (self.status == "supported"):
            raise CertificateError(f"the verdict is {self.status}, but its measurement says otherwise")
        if self.assumes != (self.certificate.assumes if self.certificate else ()):
            raise CertificateError("the verdict has another 'assumes' than its certificate")

    @classmethod
    def from_measurement(
        cls,
        measurement: Measurement,
        rerun: Rerun | None = None,
        *,
        method: str = "measurement",
        certificate: Certificate | None = None,
    ) -> Verdict:
        """Return *supported*, or *undecided* where the measurement does not meet its criteria.

        Parameters
        ----------
        measurement : Measurement
        rerun : callable, optional
            Repeats the experiment.
        method : str
            How it was measured.
        certificate : Certificate, optional
            Proof of what the measurement compares with (it is not replayed here).
        """
        unmet = [str(estimate) for estimate in measurement.estimates if not estimate.met]
        held = None if unmet else certificate
        return cls(
            claim=measurement.claim,
            status="undecided" if unmet else "supported",
            scope=measurement.scope,
            assumes=held.assumes if held else (),
            method=method,
            reason="; ".join(unmet),
            certificate=held,
            measurement=measurement,
            rerun=rerun,
        )

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
        """Whether the certificate proves exactly this verdict, or the experiment gives it again.

        A *supported* verdict repeats its experiment from the seed and compares each estimate with the
        standard error; a certificate that comes with it is re-derived too.

        Raises
        ------
        Undecided
            If there is neither a certificate nor a measurement, or nobody who can repeat the experiment.
        """
        outcome = self.recheck()
        if self.measurement is not None:
            return outcome.accepted and self == Verdict.from_measurement(
                self.measurement, method=self.method, certificate=self.certificate
            )
        if self.certificate is None:
            return outcome.accepted
        return outcome.accepted and self == Verdict.from_certificate(self.certificate, outcome.witness)

    def recheck(self) -> Replay:
        """Return what a replay saw, line by line; raises `Undecided` as :meth:`replay`."""
        if self.certificate is None and self.measurement is None:
            raise Undecided(f"{self.claim} is {self.status}: there is no certificate to replay")
        proof = replay(self.certificate) if self.certificate else Replay(True)
        if self.measurement is None or not proof.accepted:
            return proof
        if self.rerun is None:
            raise Undecided(
                f"{self.claim} rests on a measurement, and how to repeat it is not part of the text; "
                "read the verdict with symflow.claims.read_verdict"
            )
        outcome = self.measurement.replay(self.rerun)
        return replace(outcome, lines=(*proof.lines, *outcome.lines), assumes=proof.assumes)

    def to_record(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        record = {key: getattr(self, key) for key in _KEYS} | {"assumes": list(self.assumes)}
        stored = {"certificate": self.certificate, "measurement": self.measurement}
        return record | {key: value and value.to_record() for key, value in stored.items()}

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
        return cls.from_record(load_json(text))

    @classmethod
    def from_record(cls, record: Any) -> Verdict:
        """Read a verdict from plain data; raises `CertificateError` as :meth:`from_json`."""
        if not isinstance(record, Mapping) or set(record) != set(_KEYS):
            raise CertificateError(f"a verdict is an object with the keys {', '.join(_KEYS)}")
        for key in ("claim", "status", "scope", "method", "reason"):
            if not isinstance(record[key], str):
                raise CertificateError(f"verdict: {key!r} must be text")
        assumes = record["assumes"]
        if not isinstance(assumes, list) or not all(isinstance(name, str) for name in assumes):
            raise CertificateError("verdict: 'assumes' must be a list of names of lemmas")
        proof, measured = record["certificate"], record["measurement"]
        read: dict[str, Any] = {
            "assumes": tuple(assumes),
            "certificate": None if proof is None else Certificate.from_record(proof),
            "measurement": None if measured is None else Measurement.from_record(measured),
        }
        return cls(**{**record, **read})

    def to_latex(self) -> str:
        """Return a LaTeX fragment: the claim, what it holds for, measured numbers, the lemmas it rests on."""
        from symflow.certify.latex import verdict_latex

        return verdict_latex(self)
