r"""The system of n interacting tokens that a model means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symflow.derive.derivation import Argument
from symflow.derive.particles.reduction import token_system
from symflow.errors import InputError
from symflow.flow import TokenFlow
from symflow.models.attention.model import AttentionModel


@dataclass(frozen=True)
class TokenDerivation(Argument):
    """What follows from a model for n tokens, step by step.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    flow : TokenFlow
        The system, for the kernels.
    """

    flow: TokenFlow

    def __repr__(self) -> str:
        scores = ", ".join(str(term.score) for term in self.flow.terms)
        return f"TokenDerivation({self.flow.name}: scores {scores or 'none'})"


def token_flow(model: AttentionModel, given: Iterable[str] | None = None) -> TokenDerivation:
    """Derive the system of n tokens.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> token_flow(Softmax()).flow.terms[0].pairings[0].left
    A*x
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {model!r}")
    statement = model.statement(given)
    flow = token_system(statement)
    return TokenDerivation(model, statement, (), flow)
