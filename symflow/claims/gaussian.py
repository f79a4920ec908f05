"""Deciding that a model keeps Gaussians Gaussian: derive, prove, replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symflow.certify.certificate import Certificate
from symflow.certify.search.closure import System, join_parts, prove_gaussian_preservation
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.claims.nonclosure import witnessed
from symflow.derive.closure import gaussian_closure
from symflow.derive.derivation import Derivation
from symflow.errors import ClosureUndecided, InputError, NotGaussianPreserving
from symflow.models.attention.model import AttentionModel

METHOD = "identity-chain"


def decide_preservation(
    claim: str, model: Any, given: Iterable[str] | None, deadline: Deadline, *, rank: bool = False
) -> Verdict:
    """Return *proved* or *refuted* with a replayed certificate, or *undecided* with the reason.

    Parameters
    ----------
    claim : str
        Id that the verdict is for.
    model : AttentionModel or Derivation
        What is asked about.
    given : iterable of str or None
        Names of the parameters in use; by default the model's own choice.
    deadline : Deadline
        Limit on wall time.
    rank : bool
        Ask for the constancy of the rank as well.
    """
    names = None if given is None else frozenset(given)
    try:
        derivation = _derivation(model, names)
    except ClosureUndecided as error:
        return undecided(claim, str(error), METHOD)
    except NotGaussianPreserving as error:
        if rank:
            return undecided(claim, f"there is no Gaussian solution to speak of: {error}", METHOD)
        return witnessed(claim, model.statement(names), error.witness, deadline)
    deadline.check()
    try:
        certificate = _prove(derivation, claim, rank)
    except InputError as error:  # the derivation is fine, but no proof of this kind can be written down
        return undecided(claim, str(error), METHOD)
    return replayed(certificate, deadline)


def decide_parts(
    claim: str, models: Mapping[str, AttentionModel], given: Iterable[str], deadline: Deadline
) -> Verdict:
    """Decide that every one of ``models`` keeps the rank of its covariance, in one certificate."""
    names = frozenset(given)
    parts = {}
    for name, model in models.items():
        deadline.check()
        try:
            parts[name] = _prove(gaussian_closure(model, names), "rank-invariance", rank=True)
        except InputError as error:
            return undecided(claim, f"{name}: {error}", "cases")
    return replayed(join_parts(claim, parts), deadline)


def closure_certificate(derivation: Derivation) -> Certificate:
    """Return the certificate that the moments of a derivation are those of Gaussian solutions.

    Raises
    ------
    ClosureUndecided
        If it cannot be written down.
    """
    try:
        return _prove(derivation, "gaussian-preservation", rank=False)
    except InputError as error:
        raise ClosureUndecided(str(error)) from error


def _derivation(model: Any, given: frozenset[str] | None) -> Derivation:
    if isinstance(model, Derivation):
        if given is not None:
            raise InputError("a derivation already fixes the parameters; give their names with a model only")
        return model
    if not isinstance(model, AttentionModel):
        raise InputError(f"a model or a derivation is needed, got {type(model).__name__}")
    return gaussian_closure(model, given)


def _prove(derivation: Derivation, claim: str, rank: bool) -> Certificate:
    flow = derivation.flow
    if flow.covariance is None:
        raise ClosureUndecided(f"{flow.name}: the derivation has no velocity gradient")
    (mean, covariance), (mean_rhs, cov_rhs) = flow.states, flow.drift
    structure = flow.covariance
    system = System(
        mean, covariance, mean_rhs, cov_rhs, structure.velocity_gradient, structure.diffusion, flow.chain
    )
    return prove_gaussian_preservation(derivation.statement, system, claim, rank=rank)
