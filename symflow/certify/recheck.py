"""The independent re-check of certificates.

:func:`replay` computes from the claim id and the statement what has to be shown and accepts if and only if
the proof object shows it. Nothing but the certificate is needed, and no code is shared with the search that
found the proof. Kinds of proof object are found by scanning :mod:`symflow.certify.kinds`: a new kind is one
file with one :class:`ProofKind`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.errors import CertificateError


@dataclass(frozen=True)
class ReplayedLine:
    """One line of a proof as the replay saw it: id, statement, how it follows, and why not."""

    id: str
    statement: str
    reason: str
    accepted: bool


@dataclass(frozen=True)
class Replay:
    """The outcome of a re-check.

    Attributes
    ----------
    accepted : bool
        Whether the proof object proves the claim that the certificate states.
    lines : tuple of ReplayedLine
        Every line that was checked.
    reason : str
        Why the certificate was rejected; empty if it was accepted.
    assumes : tuple of str
        The lemmas that were used.
    witness : object
        The evidence of a refutation, re-derived from the proof object; None for a proof.
    """

    accepted: bool
    lines: tuple[ReplayedLine, ...] = ()
    reason: str = ""
    assumes: tuple[str, ...] = ()
    witness: Any = None

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        marks = [f"{line.id:>12}  {line.statement}   [{line.reason}]" for line in self.lines]
        return "\n".join([*marks, "accepted" if self.accepted else f"rejected: {self.reason}"])


class ProofKind(ABC):
    """One kind of proof object."""

    name: str

    @abstractmethod
    def replay(self, certificate: Certificate) -> Replay:
        """Re-derive the claim from the proof object.

        Must not raise for a well-formed certificate: a fault of the proof is a rejection with its reason.
        """

    def to_latex(self, certificate: Certificate, outcome: Replay) -> list[str]:
        """Return the proof object in readable form, as LaTeX; by default the lines that the replay saw.

        Parameters
        ----------
        certificate : Certificate
            One that was accepted.
        outcome : Replay
            Of this certificate.
        """
        from symflow.certify.readable import lines_latex

        return lines_latex(outcome.lines)


@functools.cache
def proof_kinds() -> dict[str, ProofKind]:
    """Return every kind of proof object by name.

    Examples
    --------
    >>> "identity-chain" in proof_kinds()
    True
    """
    package = importlib.import_module("symflow.certify.kinds")
    found: dict[str, ProofKind] = {}
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = importlib.import_module(info.name)
        for _, member in inspect.getmembers(module, inspect.isclass):
            if issubclass(member, ProofKind) and member.__module__ == module.__name__:
                found[member.name] = member()
    return dict(sorted(found.items()))


def replay(certificate: Certificate | Mapping[str, Any] | str | Path) -> Replay:
    """Re-check a certificate, given as object, plain data or file.

    Parameters
    ----------
    certificate : Certificate, mapping, str or Path
        Text is the path of a file.

    Returns
    -------
    Replay
        Accepted if and only if the proof object proves the stated claim, in the stated scope, with the stated
        lemmas.

    Raises
    ------
    CertificateError
        If the certificate is malformed.
    """
    if isinstance(certificate, (str, Path)):
        certificate = Certificate.load(certificate)
    elif not isinstance(certificate, Certificate):
        certificate = Certificate.from_record(certificate)
    if certificate.kind not in proof_kinds():
        raise CertificateError(f"kind {certificate.kind!r} is unknown; known are {', '.join(proof_kinds())}")
    outcome = proof_kinds()[certificate.kind].replay(certificate)
    if outcome.accepted and outcome.assumes != certificate.assumes:
        stated, used = (", ".join(names) or "none" for names in (certificate.assumes, outcome.assumes))
        return Replay(False, outcome.lines, f"the proof assumes {used}, but the certificate states {stated}")
    return outcome
