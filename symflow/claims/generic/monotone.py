"""Monotonicity of a linear functional of the covariance along every Gaussian solution of a model."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from symflow.certify.certificate import Certificate, software
from symflow.certify.kinds.decrease import derivative_at, form_of
from symflow.certify.propositions import proposition
from symflow.certify.propositions.monotone import Decrease, Monotone
from symflow.certify.rational import is_semidefinite, matrix_of, rational
from symflow.certify.search.law import texts
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.claims.gaussian import closure_certificate
from symflow.claims.generic.law import law_of, used_sizes
from symflow.derive.closure import gaussian_closure
from symflow.errors import CertificateError, ClosureUndecided, InputError, NotGaussianPreserving
from symflow.integrate.gaussian import Gaussian
from symflow.longtime.reading import read_exactly
from symflow.models.attention.model import AttentionModel
from symflow.spec import Spec, load_spec

_CLAIM, METHOD = "lyapunov", "decrease"
#: Rounds of the search for a covariance at which the functional grows, from as many starts.
_ROUNDS, _STARTS = 200, 20


def _decide(target: Any, functional: Any = "tr(Sigma)", params: Any = None, *, deadline: Deadline) -> Verdict:
    if not isinstance(functional, str):
        raise InputError(f"functional = {functional!r} must be text, such as 'tr(inv(V)*Sigma)'")
    model, start, values = _law(target, params)
    try:
        exact = read_exactly(model, start, values)
        closure = closure_certificate(gaussian_closure(exact.problem.model, exact.problem.given))
    except (NotGaussianPreserving, ClosureUndecided) as error:
        return undecided(_CLAIM, str(error), METHOD)
    parameters = {name: texts(exact.values[name]) for name in closure.statement["symbols"]}
    stated = {
        "model": closure.statement,
        "parameters": parameters,
        "sizes": used_sizes(exact, closure.statement),
        "functional": functional,
    }
    claim = proposition(_CLAIM)
    assert isinstance(claim, Monotone)
    try:
        read = claim.read(stated)
    except CertificateError as error:
        return undecided(_CLAIM, str(error).removeprefix("statement: "), METHOD)
    deadline.check()
    found = _counterexample(read)
    deadline.check()
    if found is None and not is_semidefinite(-form_of(read)):
        reason = (
            "the derivative is not a negative semidefinite form on all symmetric matrices, but no covariance "
            "was found at which it is positive"
        )
        return undecided(_CLAIM, reason, METHOD)
    return replayed(_certificate(stated, closure, found), deadline)


def _law(target: Any, params: Any) -> tuple[AttentionModel, Gaussian, Any]:
    if isinstance(target, AttentionModel) and params is not None:
        size = next((np.shape(value)[-1] for value in dict(params).values() if np.ndim(value) >= 2), 1)
        return target, Gaussian(np.zeros(size), np.eye(size)), params
    return law_of(_CLAIM, target, None, params)


def _certificate(stated: Any, closure: Certificate, found: Any) -> Certificate:
    proof = {"closure": closure.proof} | ({} if found is None else {"covariance": texts(found)})
    return Certificate(
        claim=_CLAIM,
        status="proved" if found is None else "refuted",
        kind=METHOD,
        statement=stated,
        scope=proposition(_CLAIM).scope(stated),
        assumes=closure.assumes,
        proof=proof,
        versions=software(),
    )


def _counterexample(stated: Decrease) -> list[list[Fraction]] | None:
    """Return a rational covariance FFᵀ at which the functional grows: ascent in F from random starts."""
    d = stated.sizes["d"]
    form = np.array(form_of(stated).to_Matrix().tolist(), dtype=float)
    index = [(i, j) for i in range(d) for j in range(i, d)]
    rng = np.random.default_rng(0)

    def growth(factor: Any) -> float:
        sigma = factor @ factor.T
        entries = np.array([sigma[place] for place in index])
        return float(entries @ form @ entries)

    best = max(
        (_climbed(growth, rng.standard_normal((d, d)), rng) for _ in range(_STARTS)), key=lambda pair: pair[0]
    )
    if best[0] <= 0.0:
        return None
    return next((sigma for sigma in _rounded(best[1]) if derivative_at(stated, _exact(sigma)) > 0), None)


def _exact(rows: list[list[Fraction]]) -> Any:
    return matrix_of(texts(rows), (len(rows), len(rows)), rational, "the covariance")


def _rounded(factor: Any) -> Iterator[list[list[Fraction]]]:
    """Yield FFᵀ for roundings of F, the coarse ones first."""
    largest = np.abs(factor).max()
    for denominator in (2, 5, 10, 100, 1000, 10**6):
        rows = [
            [Fraction(round(float(entry / largest) * denominator), denominator) for entry in row]
            for row in factor
        ]
        yield [[sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0)) for y in rows] for x in rows]


def _climbed(growth: Any, factor: Any, rng: np.random.Generator) -> tuple[float, Any]:
    """Return the largest value found from ``factor`` by random steps on the unit sphere of factors."""
    factor = factor / np.linalg.norm(factor)
    value, size = growth(factor), 0.5
    for _ in range(_ROUNDS):
        step = factor + size * rng.standard_normal(factor.shape)
        step /= np.linalg.norm(step)
        if (new := growth(step)) > value:
            value, factor = new, step
        else:
            size *= 0.97
    return value, factor


def _from_text(text: str) -> tuple[Any, ...]:
    if not text.endswith(".toml"):
        raise InputError(f"{_CLAIM} needs numbers: give a spec file (.toml) with [parameters]")
    spec: Spec = load_spec(text)
    return (spec,)


CLAIMS = (
    Claim(
        id=_CLAIM,
        title="Monotonicity of a functional",
        quoted="This functional never increases along Gaussian solutions.",
        holds="Decided for the given parameters and a functional that is linear in the covariance, by "
        r"default its trace: proved where its derivative is a quadratic form $\preceq 0$ on symmetric "
        "matrices, refuted with a covariance at which it increases.",
        hypotheses="The covariance equation is a homogeneous polynomial of degree two in the covariance, "
        "as for softmax attention without layer and noise; parameters are constant.",
        method=METHOD,
        documented="proved",
        reference="",
        decide=_decide,
        arguments=("spec", "functional?", "parameters?"),
        from_text=_from_text,
    ),
)
