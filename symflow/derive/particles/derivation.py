r"""The system of n interacting tokens that a model means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symflow.derive.derivation import Argument
from symflow.derive.particles.reduction import token_system
from symflow.derive.particles.steps import steps_of
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
    r"""Derive the system of n tokens that a model means.

    .. math:: \dot x_i = P_{x_i}\Gamma_{\mu}(x_i), \qquad \mu = \frac1n\sum_{j=1}^n \delta_{x_j}

    with P_x = I − xxᵀ on the sphere and the identity on ℝᵈ. The score of each head is split into pairings of
    a vector of x with one of y, which is what a pair of tokens costs, and numbers of one token.

    Parameters
    ----------
    model : AttentionModel
        A shipped variant, a user's own mechanism or a combination, on ℝᵈ or the sphere.
    given : iterable of str, optional
        Names of the parameters in use, e.g. ``{"Q", "K", "V"}``; ``()`` on the sphere for none of them.

    Returns
    -------
    TokenDerivation
        Its ``flow`` is what token kernels are made from.

    Raises
    ------
    NoTokenFlow
        With noise, for a masked coupling, or where the score couples tokens by something that is neither an
        inner product nor a squared distance.
    InputError
        If it is not a model, two symbols have one name, or a parameter is unknown or missing.

    References
    ----------
    CACP25; GLPR23.

    Examples
    --------
    >>> from symflow.models.attention.l2 import L2
    >>> (term,) = token_flow(L2()).flow.terms
    >>> term.score, term.pairings[0].left, term.pairings[0].right, term.symmetric_if
    (-u_1, Q*x, K*y, ((K, Q),))
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {model!r}")
    statement = model.statement(given)
    flow = token_system(statement)
    return TokenDerivation(model, statement, steps_of(model, statement, flow), flow)
