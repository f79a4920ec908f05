"""Propositions: what a claim says, computed from the statement that a certificate stores.

A module of this folder lists its propositions in ``PROPOSITIONS``; the folder is scanned.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from symflow.certify.certificate import Certificate
from symflow.certify.propositions.proposition import Conjunction, Goal, Proposition, Theorem
from symflow.errors import CertificateError

__all__ = [
    "Conjunction",
    "Goal",
    "Proposition",
    "Theorem",
    "proposition",
    "propositions",
    "stated_proposition",
]


@functools.cache
def propositions() -> dict[str, Proposition]:
    """Return every proposition by claim id.

    Examples
    --------
    >>> "gaussian-preservation" in propositions()
    True
    """
    found: dict[str, Proposition] = {}
    for info in pkgutil.iter_modules(__path__, __name__ + "."):
        for entry in getattr(importlib.import_module(info.name), "PROPOSITIONS", ()):
            found[entry.claim] = entry
    return found


def proposition(claim: str) -> Proposition:
    """Return what the claim called ``claim`` says.

    Raises
    ------
    CertificateError
        If no proposition has that id.
    """
    if claim not in propositions():
        raise CertificateError(
            f"claim {claim!r} is unknown; certificates exist for {', '.join(propositions())}"
        )
    return propositions()[claim]


def stated_proposition(certificate: Certificate) -> Proposition:
    """Return the proposition of a certificate of its truth.

    Raises
    ------
    CertificateError
        If the certificate is not for *proved*, the claim is unknown, the statement is malformed, or the scope
        is not the one that follows from them.
    """
    if certificate.status != "proved":
        raise CertificateError(f"a proof cannot show that a claim is {certificate.status}")
    claim = proposition(certificate.claim)
    require_scope(certificate, claim.scope(certificate.statement))
    return claim


def require_scope(certificate: Certificate, scope: str) -> None:
    """Refuse a certificate whose scope is not the one that follows from its claim and statement.

    Raises
    ------
    CertificateError
        With both.
    """
    if certificate.scope != scope:
        raise CertificateError(f"the scope is '{scope}', but the certificate states '{certificate.scope}'")
