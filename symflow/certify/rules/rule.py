"""What a rule is, and what it is shown of the line that it checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from symflow.certify.judgement import Judgement
from symflow.certify.terms import Rejected, Terms


@dataclass(frozen=True)
class Variables:
    """The bound names of a claim: query, key, noise, mean, covariance and its factor, and time if any.

    Under a causal mask ``moments`` are the names of the second and first moment and the mass of all positions
    up to the own one.
    """

    query: str
    key: str
    noise: str
    mean: str
    covariance: str
    factor: str
    time: str = ""
    moments: tuple[str, ...] = ()

    @property
    def universal(self) -> tuple[str, ...]:
        """Names over which every line is quantified without any hypothesis."""
        return (self.query, self.key, self.noise)

    @property
    def outside_state(self) -> tuple[str, ...]:
        """Names that a function of mean, covariance and parameters must not contain."""
        return (*self.universal, self.factor, *([self.time] if self.time else []))


@dataclass(frozen=True)
class Inference:
    """One line as a rule sees it."""

    terms: Terms
    variables: Variables
    conclusion: Judgement
    premises: tuple[Judgement, ...]
    arguments: Mapping[str, Any]

    def require(self, relation: str) -> None:
        """Refuse a conclusion of another relation."""
        if self.conclusion.relation != relation:
            raise Rejected(f"the rule concludes {relation!r}, not {self.conclusion.relation!r}")

    def premise(self, index: int, relation: str) -> Judgement:
        """Return the premise at ``index``, which must have the given relation."""
        if index >= len(self.premises):
            raise Rejected(f"premise {index + 1} is missing: a {relation!r} judgement is needed")
        found = self.premises[index]
        if found.relation != relation:
            raise Rejected(f"premise {index + 1} must be {relation!r}, not {found.relation!r}")
        return found

    def count(self, number: int) -> None:
        """Refuse any other number of premises."""
        if len(self.premises) != number:
            raise Rejected(f"the rule takes {number} premise(s), not {len(self.premises)}")

    def same(self, left: Any, right: Any, what: str) -> None:
        """Refuse two expressions with different normal forms."""
        if not self.terms.same(left, right):
            raise Rejected(f"{what}: {left} and {right} are not identical")

    def symbol(self, name: str) -> Any:
        """Return the symbol called ``name``."""
        return self.terms.symbols[name]


@dataclass(frozen=True)
class Rule:
    """A rule of inference.

    Attributes
    ----------
    name : str
        As written in certificates.
    meaning : str
        One sentence for the reader of a proof.
    check : callable
        Takes an :class:`Inference`; raises :class:`Rejected` unless the conclusion follows.
    arguments : tuple of str
        Names of the terms that a line gives with the rule.
    lists : tuple of str
        Arguments that are lists of terms, one for each premise.
    """

    name: str
    meaning: str
    check: Callable[[Inference], None]
    arguments: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
