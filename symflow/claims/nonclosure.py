"""Deciding that a model does not keep Gaussians Gaussian: search a witness, write it down, replay."""

from __future__ import annotations

from collections.abc import Iterable

from symflow.certify.search.counterexample import refute_preservation
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.derive.nonclosure import Witness, refute_closure
from symflow.errors import InputError
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement

METHOD = "counterexample"


def decide_nonpreservation(
    claim: str, model: AttentionModel, given: Iterable[str] | None, deadline: Deadline
) -> Verdict:
    """Return *proved* that Gaussians are not preserved, or *undecided* where no witness is found.

    Parameters
    ----------
    claim : str
        Id of a claim that Gaussians are not preserved.
    model : AttentionModel
        What is asked about.
    given : iterable of str or None
        Names of the parameters in use; by default the model's own choice.
    deadline : Deadline
        Limit on wall time.
    """
    statement = model.statement(given)
    refutation = refute_closure(model, statement)
    if refutation is None:
        return undecided(claim, f"no witness was found that {statement.name} does not keep Gaussians", METHOD)
    return witnessed(claim, statement, refutation.witness, deadline)


def witnessed(claim: str, statement: Statement, witness: Witness, deadline: Deadline) -> Verdict:
    """Return what a witness shows of a claim, once its certificate replays."""
    deadline.check()
    try:
        certificate = refute_preservation(statement, witness, claim)
    except InputError as error:  # the statement has a part that the grammar cannot write
        return undecided(claim, str(error), METHOD)
    return replayed(certificate, deadline)
