r"""Finds the proof that a quadratic softmax-normalised attention keeps Gaussians Gaussian.

With :math:`\Sigma = FF^\top` and :math:`y = \alpha + Fz` the exponent :math:`s(x, y) - \frac12|z|^2` is a
square in z around :math:`\zeta = T^{-1}F^\top(Bx + c + C\alpha)` with precision :math:`T = I - F^\top CF`,
whatever the rank of Σ. The tilted mean :math:`m = \alpha + F\zeta` then solves
:math:`(I - \Sigma C)m = \alpha + \Sigma(Bx + c)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Add, Identity, Integer, Inverse, MatrixExpr, Rational, Trace, ZeroMatrix

from symflow.algebra.affine import affine_parts
from symflow.algebra.grammar import to_text
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.symbols import matrix, vector
from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions import proposition
from symflow.certify.search.chain import ChainWriter
from symflow.certify.search.sign import gram_terms, write_definite
from symflow.models.statement import Statement

_HALF = Rational(1, 2)
ONE = Integer(1)


@dataclass(frozen=True)
class System:
    """The claimed moment equations: ``α' = mean_rhs``, ``Σ' = cov_rhs = LΣ + ΣLᵀ``."""

    mean: Any
    covariance: Any
    mean_rhs: Any
    cov_rhs: Any
    gradient: Any


def prove_gaussian_preservation(
    statement: Statement, system: System, claim: str = "gaussian-preservation", rank: bool = False
) -> Certificate:
    """Return a certificate for the closure of ``statement`` with the given moment equations.

    Parameters
    ----------
    statement : Statement
        A softmax-normalised model with quadratic score and affine value.
    system : System
        The moment equations, from a derivation.
    claim : str
        Id that the certificate is for.
    rank : bool
        End with the constancy of the rank instead of the Gaussian solution.

    Raises
    ------
    NotQuadratic, NotAffine, InputError
        If the model is outside the method. The certificate is not replayed here.
    """
    setting = _Setting.of(statement, system)
    chain = ChainWriter()
    _write_proof(chain, setting)
    if rank:
        fields = setting.model_terms
        solution, congruence = chain.lines[-1]["id"], chain.lines[-2]["id"]
        chain.add("rank-of-congruence", "constant-rank", fields, (solution, congruence))
    stored = setting.record()
    return Certificate(
        claim=claim,
        status="proved",
        kind="identity-chain",
        statement=stored,
        scope=proposition(claim).scope(stored),
        assumes=tuple(sorted(chain.lemmas)),
        proof={"factor": setting.factor.name, "noise": setting.noise.name, "lines": chain.lines},
        versions=software(),
    )


def join_parts(claim: str, parts: Mapping[str, Certificate]) -> Certificate:
    """Return the certificate of a claim that consists of the claims of ``parts``."""
    statement = {name: part.statement for name, part in parts.items()}
    return Certificate(
        claim=claim,
        status="proved",
        kind="cases",
        statement=statement,
        scope=proposition(claim).scope(statement),
        assumes=tuple(sorted({lemma for part in parts.values() for lemma in part.assumes})),
        proof={name: part.proof for name, part in parts.items()},
        versions=software(),
    )


@dataclass(frozen=True)
class _Setting:
    """Everything that the proof talks about."""

    statement: Statement
    system: System
    form: Any
    slope: Any
    offset: Any
    factor: Any
    noise: Any
    centre: Any
    signs: Mapping[Any, str]
    gram: list[tuple[Any, Any]] | None

    @classmethod
    def of(cls, statement: Statement, system: System) -> _Setting:
        """Decompose the score and the value, and choose names that are not taken."""
        d = statement.dimensions[0]
        form = quadratic_form(statement.score, statement.x, statement.y)
        slope, offset = affine_parts(statement.value, statement.y)
        taken = {symbol.name for symbol in (*statement.parameters, *statement.dimensions)}
        taken |= {symbol.name for symbol in (statement.x, statement.y, system.mean, system.covariance)}
        factor, noise, centre = (_fresh(name, taken) for name in ("F", "z", "zeta"))
        signs = _signs(statement.parameters)
        gram = [] if form.C.is_ZeroMatrix else gram_terms(form.C, signs)
        return cls(
            statement, system, form, slope, offset,
            factor=matrix(factor, d, d), noise=vector(noise, d), centre=vector(centre, d),
            signs=signs, gram=gram,
        )  # fmt: skip

    @property
    def model_terms(self) -> dict[str, Any]:
        """The fields of a ``gaussian-solution`` judgement."""
        own = {
            "score": self.statement.score,
            "value": self.statement.value,
            "output": self.statement.background,
        }
        return {**own, "mean_rhs": self.system.mean_rhs, "cov_rhs": self.system.cov_rhs}

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        names = {"query": self.statement.x, "key": self.statement.y}
        names |= {"mean": self.system.mean, "covariance": self.system.covariance}
        return {
            **{role: symbol.name for role, symbol in names.items()},
            **{field: to_text(term) for field, term in self.model_terms.items()},
            "normalise": self.statement.normalise,
            "symbols": {symbol.name: _shape(symbol) for symbol in self.statement.parameters},
            "signs": {symbol.name: sign for symbol, sign in self.signs.items()},
            "domain": to_text(self.form.C) if self.gram is None else None,
        }


def _write_proof(chain: ChainWriter, s: _Setting) -> None:
    """Write the tilted mean, that the velocity is affine in the query, and what follows for the flow."""
    average = _sum(s.slope * (s.system.mean + s.factor * s.centre), s.offset)
    tilted_mean, centred = _write_tilted_mean(chain, s, average)
    mean_line = _write_mean(chain, s, centred)
    velocity = chain.equal(
        "combination",
        _sum(s.statement.background, average),
        _sum(s.system.mean_rhs, s.system.gradient * (s.statement.x - s.system.mean)),
        (mean_line,),
        before=[s.slope],
        after=[ONE],
    )
    _write_flow(chain, s, tilted_mean, velocity)


def _write_tilted_mean(chain: ChainWriter, s: _Setting, average: Any) -> tuple[str, str]:
    """Write the completed square and the average of the value; return its id and that of T ζ = Fᵀ(…)."""
    form, x, y = s.form, s.statement.x, s.statement.y
    alpha, F, z, zeta = s.system.mean, s.factor, s.noise, s.centre
    precision = _sum(Identity(F.shape[0]), -1 * F.T * form.C * F)
    # the score is a quadratic form in the key
    polynomial = _polynomial(form, y, x)
    split = chain.equal("normal-form", s.statement.score, polynomial)
    token = alpha + F * z
    score, expanded = (term.xreplace({y: token}) for term in (s.statement.score, polynomial))
    moved = chain.equal("instance", score, expanded, (split,), variable=y, value=token)
    # the precision is definite, the centre of the square solves T ζ = Fᵀ(Bx + c + Cα)
    definite, centred = _write_centre(chain, s, precision, _sum(form.B * x, form.c, form.C * alpha))
    rest = _polynomial(form, alpha, x) + _HALF * Trace(zeta.T * precision * zeta)
    square = chain.equal(
        "combination",
        score - _HALF * Trace(z.T * z),
        -_HALF * Trace((z - zeta).T * precision * (z - zeta)) + rest,
        (moved, centred),
        before=[ONE, -1 * z.T],
        after=[ONE, ONE],
    )
    affine_value = chain.equal("normal-form", s.statement.value, _sum(s.slope * y, s.offset))
    tilted_mean = chain.lemma(
        "gaussian-integral",
        "tilted-mean",
        {"value": s.statement.value, "score": s.statement.score, "mean": average},
        ("covariance", square, definite, affine_value),
        centre=zeta,
        rest=rest,
        slope=s.slope,
        offset=s.offset,
    )
    return tilted_mean, centred


def _polynomial(form: Any, y: Any, x: Any) -> Any:
    """Return ``yᵀBx + ½yᵀCy + cᵀy + r(x)`` without terms that vanish."""
    parts = ((1, form.B, y.T * form.B * x), (_HALF, form.C, y.T * form.C * y), (1, form.c, form.c.T * y))
    kept = [factor * Trace(term) for factor, coefficient, term in parts if not coefficient.is_ZeroMatrix]
    return Add(*kept) + form.rest


def _write_centre(chain: ChainWriter, s: _Setting, precision: Any, push: Any) -> tuple[str, str]:
    """Write T ≻ 0 and T ζ = Fᵀ(Bx + c + Cα); return the ids."""
    F, zeta, C, signs = s.factor, s.centre, s.form.C, s.signs
    target = F.T * push
    if C.is_ZeroMatrix:
        definite = chain.add("identity", "definite", {"matrix": precision})
        return definite, _define(chain, zeta, target)
    definite = "domain" if s.gram is None else write_definite(chain, precision, F, s.gram, signs)
    regular = chain.add("definite-invertible", "invertible", {"matrix": precision}, (definite,))
    defined = _define(chain, zeta, Inverse(precision) * target)
    solved = chain.equal(
        "combination",
        precision * zeta,
        target,
        (defined,),
        before=[precision],
        after=[ONE],
    )
    # I − ΣC is invertible too; the claimed equations use its inverse
    chain.add(
        "exchange",
        "invertible",
        {"matrix": _sum(Identity(F.shape[0]), -1 * s.system.covariance * C)},
        (regular, "covariance"),
        first=F,
        second=F.T * C,
    )
    return definite, solved


def _define(chain: ChainWriter, symbol: Any, value: Any) -> str:
    return chain.equal("definition", symbol, value)


def _write_mean(chain: ChainWriter, s: _Setting, centred: str) -> str:
    """Write ``α + Fζ = (I − ΣC)⁻¹(α + Σ(Bx + c))`` and return its id."""
    x, alpha, sigma, F, zeta = s.statement.x, s.system.mean, s.system.covariance, s.factor, s.centre
    C, push = s.form.C, _sum(s.form.B * x, s.form.c)
    mean, target = alpha + F * zeta, alpha + sigma * push
    if C.is_ZeroMatrix:
        return chain.equal("combination", mean, target, (centred, "covariance"), before=[F], after=[ONE])
    gain = _sum(Identity(F.shape[0]), -1 * sigma * C)
    product = chain.equal(
        "combination", gain * mean, target, (centred, "covariance"), before=[F], after=[ONE]
    )
    return chain.equal(
        "combination",
        mean,
        Inverse(gain) * target,
        (product,),
        before=[Inverse(gain)],
        after=[ONE],
    )


def _write_flow(chain: ChainWriter, s: _Setting, tilted_mean: str, velocity: str) -> None:
    """Write the moment equations and the Gaussian solution."""
    sigma, gradient = s.system.covariance, s.system.gradient
    moments = {"mean_rhs": s.system.mean_rhs, "cov_rhs": s.system.cov_rhs}
    lyapunov = chain.equal("normal-form", s.system.cov_rhs, gradient * sigma + sigma * gradient.T)
    flow = chain.lemma("cauchy-lipschitz", "local-flow", moments, (lyapunov,), gradient=gradient)
    congruence = chain.lemma(
        "liouville", "congruence", {"cov_rhs": s.system.cov_rhs, "gradient": gradient}, (flow, lyapunov)
    )
    chain.lemma(
        "affine-pushforward", "gaussian-solution", s.model_terms, (tilted_mean, velocity, flow, congruence)
    )


def _sum(*terms: Any) -> Any:
    """Add without zeros."""
    kept = [term for term in terms if not (isinstance(term, MatrixExpr) and term.doit().is_ZeroMatrix)]
    result = kept[0] if kept else ZeroMatrix(*terms[0].shape)
    for term in kept[1:]:
        result = result + term
    return result


def _signs(parameters: Iterable[Any]) -> dict[Any, str]:
    scalars = [symbol for symbol in parameters if not isinstance(symbol, MatrixExpr)]
    found = {s: "positive" if s.is_positive else "nonnegative" if s.is_nonnegative else "" for s in scalars}
    return {symbol: sign for symbol, sign in found.items() if sign}


def _shape(symbol: Any) -> list[str]:
    rows, cols = getattr(symbol, "shape", (1, 1))
    if not isinstance(symbol, MatrixExpr):
        return []
    return [str(rows)] if cols == 1 else [str(rows), str(cols)]


def _fresh(name: str, taken: set[str]) -> str:
    candidate, index = name, 1
    while candidate in taken:
        index += 1
        candidate = f"{name}{index}"
    taken.add(candidate)
    return candidate
