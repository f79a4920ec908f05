"""The interface between the statement of a claim and the proof objects that establish it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.judgement import Judgement
from symflow.certify.rules.rule import Variables
from symflow.certify.terms import Terms
from symflow.errors import CertificateError


@dataclass(frozen=True)
class Goal:
    """What a proof must reach and what it may start from.

    Attributes
    ----------
    terms : Terms
        The symbols of the statement.
    variables : Variables
        The bound names.
    hypotheses : Mapping of str to Judgement
        What the statement assumes, by the ids that lines may cite.
    conclusion : Judgement
        What the last line must say.
    """

    terms: Terms
    variables: Variables
    hypotheses: Mapping[str, Judgement]
    conclusion: Judgement


def require_keys(statement: Any, keys: Collection[str]) -> None:
    """Refuse a stored statement that is no record with exactly these keys.

    Raises
    ------
    CertificateError
        Naming them.
    """
    if not isinstance(statement, Mapping) or set(statement) != set(keys):
        raise CertificateError(f"the statement must have exactly the keys {', '.join(sorted(keys))}")


class Proposition(ABC):
    """The meaning of one claim id."""

    claim: str

    @abstractmethod
    def scope(self, statement: Any) -> str:
        """Return in words for which sizes, states and parameters the claim is made.

        Raises
        ------
        CertificateError
            If the statement is malformed.
        """

    def require_statement(self, statement: Any, stated: Any) -> None:
        """Refuse a stored statement that is not ``stated``.

        Raises
        ------
        CertificateError
            Naming the claim.
        """
        if statement != stated:
            raise CertificateError(f"the statement is not that of {self.claim}")


class Theorem(Proposition):
    """A proposition with hypotheses and a conclusion."""

    @abstractmethod
    def goal(self, statement: Any, names: Mapping[str, str]) -> Goal:
        """Return what must be proved for ``statement``; ``names`` are the proof's own bound names.

        Raises
        ------
        CertificateError
            If the statement is malformed or is not an instance of the claim.
        """


@dataclass(frozen=True)
class Conjunction(Proposition):
    """A proposition that is several others at once.

    Attributes
    ----------
    claim : str
        Id.
    parts : Mapping of str to Theorem
        By the name that statement and proof use for each.
    """

    claim: str
    parts: Mapping[str, Theorem]

    def statements(self, statement: Any) -> dict[str, Any]:
        """Return the statement of each part.

        Raises
        ------
        CertificateError
            If the statement does not have exactly the parts of the claim.
        """
        if not isinstance(statement, Mapping) or set(statement) != set(self.parts):
            raise CertificateError(f"{self.claim} has the parts {', '.join(self.parts)}")
        return {name: statement[name] for name in self.parts}

    def scope(self, statement: Any) -> str:
        """Return the scope of each part."""
        stated = self.statements(statement)
        return " | ".join(f"{name}: {part.scope(stated[name])}" for name, part in self.parts.items())
