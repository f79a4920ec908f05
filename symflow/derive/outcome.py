"""What there is to derive about a model: closed equations, or the argument that there are none."""

from __future__ import annotations

from collections.abc import Iterable

from symflow.derive.closure import gaussian_closure
from symflow.derive.derivation import Derivation
from symflow.derive.nonclosure import Refutation, refutation
from symflow.errors import ClosureUndecided, NotGaussianPreserving
from symflow.models.attention.model import AttentionModel

CLOSED, NOT_CLOSED, UNDECIDED = "closed", "not closed", "undecided"


def derive_or_refute(model: AttentionModel, given: Iterable[str] | None = None) -> Derivation | Refutation:
    """Return the closed equations of a model, or the checked argument that there are none.

    Parameters
    ----------
    model : AttentionModel
    given : iterable of str, optional
        Names of the parameters in use.

    Raises
    ------
    ClosureUndecided
        If neither was found.
    InputError
        As :func:`gaussian_closure`.

    Examples
    --------
    >>> from symflow.models.attention.sigmoid import Sigmoid
    >>> derive_or_refute(Sigmoid()).witness.order
    3
    """
    names = None if given is None else frozenset(given)
    try:
        return gaussian_closure(model, names)
    except NotGaussianPreserving as error:
        return refutation(model, model.statement(names), error.witness)


def closure_status(model: AttentionModel, given: Iterable[str] | None = None) -> str:
    """Return ``"closed"``, ``"not closed"`` where that is proved, or ``"undecided"``; no check is run."""
    try:
        found = derive_or_refute(model, given)
    except ClosureUndecided:
        return UNDECIDED
    return NOT_CLOSED if isinstance(found, Refutation) else CLOSED
