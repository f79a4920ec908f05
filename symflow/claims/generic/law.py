"""What becomes of a given Gaussian law: blow-up in finite time, rank of a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import ZeroMatrix

from symflow.algebra.affine import affine_parts
from symflow.algebra.exact.rational import (
    RationalMatrix,
    fmpq,
    fraction,
    fractions,
    identity,
    inertia,
    rational_matrix,
    symmetric_part,
)
from symflow.algebra.grammar import to_text
from symflow.algebra.quadratic import quadratic_form
from symflow.certify.certificate import Certificate
from symflow.certify.search.law import CLOCK, LawStatement, curve_proof, texts
from symflow.certify.verdict import Verdict
from symflow.claims.cacp25 import long_time as theorems
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.claims.gaussian import closure_certificate
from symflow.derive.closure import gaussian_closure
from symflow.errors import ClosureUndecided, InputError, NotAffine, NotGaussianPreserving, NotQuadratic
from symflow.integrate.gaussian import Gaussian
from symflow.longtime.curve import ClosedForm
from symflow.longtime.entry import long_time
from symflow.longtime.reading import ExactProblem, read_exactly
from symflow.longtime.result import LongTime
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement
from symflow.spec import Spec, load_spec

METHOD = "solution-curve"


@dataclass(frozen=True)
class _Question:
    """A law, what is known of it, and what is asked."""

    claim: str
    exact: ExactProblem
    statement: Statement
    known: LongTime
    law: LawStatement
    rank: int | None

    @property
    def status(self) -> str | None:
        """What the exact long-time theory says; None where it is silent."""
        if self.known.global_in_time is None:
            return None
        if self.claim == "blow-up":
            return "refuted" if self.known.global_in_time else "proved"
        if not self.known.global_in_time:
            return "refuted"
        if self.known.limit is None or self.known.limit_rank is None:
            return None
        return "proved" if self.known.limit_rank == self.rank else "refuted"

    def certificate(self, kind: str, proof: Mapping[str, Any], assumes: tuple[str, ...]) -> Certificate:
        """Return a certificate of the status."""
        extra = {} if self.claim == "blow-up" else {"rank": self.rank}
        return self.law.certificate(self.claim, str(self.status), kind, proof, assumes, **extra)


def _decide(
    claim: str, target: Any, initial: Any, params: Any, rank: int | None, deadline: Deadline
) -> Verdict:
    model, start, values = law_of(claim, target, initial, params)
    try:
        known = long_time(model, start, values)
        exact = read_exactly(model, start, values)
        deadline.check()
        derivation = gaussian_closure(exact.problem.model, exact.problem.given)
        closure = closure_certificate(derivation)
    except (NotGaussianPreserving, ClosureUndecided) as error:
        return undecided(claim, str(error), METHOD)
    if rank is None and known.limit_rank is not None and known.global_in_time:
        rank = known.limit_rank
    law = _statement(exact, closure)
    question = _Question(claim, exact, derivation.statement, known, law, 0 if rank is None else rank)
    if question.status is None:
        return undecided(claim, known.reason or "nothing is known of this law at long times", METHOD)
    deadline.check()
    reasons = []
    for write in (_by_curve, _by_theorem):
        for certificate in write(question):
            verdict = replayed(certificate, deadline)
            if verdict.certificate is not None:
                return verdict
            reasons.append(verdict.reason)
    found = known.criterion.name if known.criterion else "a criterion"
    why = (
        f"{found} says that it is {question.status}, for which there is no certificate of one of these kinds"
    )
    return undecided(claim, "; ".join([why, *reasons]), METHOD)


def law_of(claim: str, target: Any, initial: Any, params: Any) -> tuple[AttentionModel, Gaussian, Any]:
    """Return model, law and parameters of a spec, or of arguments."""
    if isinstance(target, Spec):
        if initial is not None or params is not None:
            raise InputError(f"{claim}: a spec gives law and parameters already; give the spec alone")
        return target.model, target.gaussian(), target.parameters
    if not isinstance(target, AttentionModel):
        raise InputError(f"{claim}: a spec or a model is needed, got {type(target).__name__}")
    if not isinstance(initial, Gaussian) or params is None:
        raise InputError(
            f"{claim} is about one law: give check({claim!r}, model, Gaussian(mean, cov), parameters), "
            "or a spec file with [initial] mean and cov and [parameters]"
        )
    return target, initial, params


def _statement(exact: ExactProblem, closure: Certificate) -> LawStatement:
    return LawStatement(
        model=closure.statement,
        parameters={name: exact.values[name] for name in closure.statement["symbols"]},
        sizes=used_sizes(exact, closure.statement),
        mean=fractions(exact.alpha),
        covariance=fractions(exact.sigma),
        closure=closure,
    )


def used_sizes(exact: ExactProblem, model: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes that the statement of a model uses."""
    counts = {head["count"] for head in model["heads"] if head["count"] is not None}
    named = {"d", *(size for shape in model["symbols"].values() for size in shape), *counts}
    return {name: size for name, size in exact.sizes.items() if name in named}


def _by_curve(question: _Question) -> Iterator[Certificate]:
    """Yield the certificate that the closed form is, if there is one."""
    form = question.known.closed_form
    if not isinstance(form, ClosedForm):
        return
    symbolic = form.curve.to_sympy(CLOCK)
    rate = [fraction(coefficient) for coefficient in form.clock.rate]
    found = curve_proof(symbolic.tolist(), rate)
    yield question.certificate("solution-curve", found.proof, found.assumes)


# ---- theorems that say how a law ends, with what their symbols stand for


def _by_theorem(question: _Question) -> Iterator[Certificate]:
    """Yield an instance of every theorem whose system is that of the model."""
    for theorem, symbols in _instances(question.exact, question.statement):
        proof = {"theorem": theorem.claim, "chain": theorem.proof, "symbols": symbols}
        yield question.certificate("instance", proof, theorem.assumes)


def _instances(exact: ExactProblem, statement: Statement) -> Iterator[tuple[Certificate, dict[str, Any]]]:
    """Yield theorems with texts or values for their symbols; the replay decides the hypotheses."""
    heads = statement.heads
    if len(heads) != 1 or heads[0].family is not None or heads[0].normalise != "softmax":
        return
    try:
        form = quadratic_form(heads[0].score, statement.x, statement.y)
        value, _ = affine_parts(heads[0].value, statement.y)
    except (NotQuadratic, NotAffine):
        return
    head = exact.heads[0]
    if ZeroMatrix(*form.C.shape) == form.C:
        yield from _softmax(head.M, head.B, to_text(heads[0].prefactor * value), to_text(form.B))
    elif "K" in exact.values and exact.problem.model.scale == 1:
        yield from _distances(exact)


def _softmax(
    V: RationalMatrix, A: RationalMatrix, value: str, scores: str
) -> Iterator[tuple[Certificate, dict[str, Any]]]:
    signs = inertia(V) if V.transpose() == V else None
    growth = symmetric_part(A)
    own = {"V": value, "A": scores}
    if signs is not None and signs.positive == V.nrows():
        down, up = (_strength(growth * fmpq(sign)) for sign in (-1, 1))
        if down is not None:
            yield theorems.limit_zero_positive(), {**own, "a": down}
        if inertia(growth).positive == 0:
            yield theorems.bounded_positive(), own
        if up is not None:
            yield theorems.blow_up_positive(), {**own, "a": up}


def _strength(matrix: RationalMatrix) -> str | None:
    """Return a rational a > 0 with ``matrix ⪰ aI``; None where the matrix is not positive definite."""
    size = matrix.nrows()
    if inertia(matrix).positive < size:
        return None
    bound = Fraction(1)
    while inertia(matrix - identity(size) * fmpq(bound)).positive < size:
        bound /= 2
    return str(bound)


def _distances(exact: ExactProblem) -> Iterator[tuple[Certificate, dict[str, Any]]]:
    """L2 attention with an injective K: a left inverse, and bounds of the three norms."""
    matrices = {name: rational_matrix(exact.values[name]) for name in ("V", "Q", "K")}
    gram = matrices["K"].transpose() * matrices["K"]
    if gram.det() == 0:
        return
    left = gram.inv() * matrices["K"].transpose()
    bounds = {name: _norm_bound(M) for name, M in {"v": matrices["V"], "q": matrices["Q"], "p": left}.items()}
    yield theorems.l2_no_blow_up(), {name: name for name in "VQK"} | {"P": texts(fractions(left)), **bounds}


def _norm_bound(matrix: RationalMatrix) -> str:
    """Return a whole number that the Frobenius norm does not exceed."""
    square = sum(fraction(entry) ** 2 for entry in matrix.entries())
    bound = 0
    while bound * bound < square:
        bound += 1
    return str(bound)


# ---- the claims


def _blow_up(target: Any, initial: Any = None, params: Any = None, *, deadline: Deadline) -> Verdict:
    return _decide("blow-up", target, initial, params, None, deadline)


def _limit_rank(
    target: Any, initial: Any = None, params: Any = None, rank: int | None = None, *, deadline: Deadline
) -> Verdict:
    return _decide("limit-rank", target, initial, params, rank, deadline)


def _from_text(claim: str) -> Callable[[str], tuple[Any, ...]]:
    def read(text: str) -> tuple[Any, ...]:
        if not text.endswith(".toml"):
            raise InputError(
                f"{claim} is about one law: give a spec file (.toml) with [initial] and [parameters]"
            )
        return (load_spec(text),)

    return read


_HYPOTHESES = (
    "The numbers are read as the rationals that they are; parameters are constant. Laws whose covariance has "
    "a closed form, rational in a clock, and laws to which one of the theorems on boundedness, decay and "
    "growth applies; the verdict is undecided for others."
)

CLAIMS = (
    Claim(
        id="blow-up",
        title="Blow-up in finite time",
        quoted="The covariance of this law becomes unbounded in finite time.",
        holds="Decided for the given law: proved with the solution and its singularity or a lower bound that "
        r"becomes infinite, refuted where the solution exists for all $t \ge 0$.",
        hypotheses=_HYPOTHESES,
        method=METHOD,
        documented="proved",
        reference="",
        decide=_blow_up,
        arguments=("spec", "initial?", "parameters?"),
        from_text=_from_text("blow-up"),
    ),
    Claim(
        id="limit-rank",
        title="Rank of a limit",
        quoted="The covariance of this law has a limit of this rank.",
        holds="Decided for the given law and the given rank, by default the one that is found: proved where "
        r"$\Sigma(t)$ converges for $t \to \infty$ to a matrix of that rank, refuted where it converges to "
        "one of another rank or does not converge.",
        hypotheses=_HYPOTHESES,
        method=METHOD,
        documented="proved",
        reference="",
        decide=_limit_rank,
        arguments=("spec", "initial?", "parameters?", "rank?"),
        from_text=_from_text("limit-rank"),
    ),
)
