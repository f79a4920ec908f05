r"""Finds the proof that a model keeps Gaussians Gaussian.

The average of every head under a Gaussian law is affine in the query (:mod:`.averages`); heads of a family
are summed, layer and biases added, and an affine velocity carries Gaussians to Gaussians.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, Identity, MatrixExpr, S

from symflow.algebra.assembly import product, total
from symflow.algebra.families import FamilySum
from symflow.algebra.grammar import to_text
from symflow.algebra.symbols import matrix, vector
from symflow.algebra.words import identical
from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions import proposition
from symflow.certify.search.averages import ONE, AverageSetting, write_average
from symflow.certify.search.chain import ChainWriter
from symflow.errors import ClosureUndecided
from symflow.flow import Chain
from symflow.models.statement import Head, Statement

_MOMENT_NAMES = {"second": "M2", "first": "M1", "mass": "M0"}


@dataclass(frozen=True)
class System:
    """The claimed moment equations: ``α' = mean_rhs``, ``Σ' = cov_rhs = LΣ + ΣLᵀ + 2εI``."""

    mean: Any
    covariance: Any
    mean_rhs: Any
    cov_rhs: Any
    gradient: Any
    diffusion: Expr = S.Zero
    chain: Chain | None = None


def prove_gaussian_preservation(
    statement: Statement, system: System, claim: str = "gaussian-preservation", rank: bool = False
) -> Certificate:
    """Return a certificate for the closure of ``statement`` with the given moment equations.

    Parameters
    ----------
    statement : Statement
        A model whose heads have affine values, and quadratic scores or kernels that are affine in the key.
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
    if rank and not system.diffusion.is_zero:
        raise ClosureUndecided(f"{statement.name}: with noise the rank of the covariance is not constant")
    chain = ChainWriter()
    _write_proof(chain, setting)
    if rank:
        fields = {name: term for name, term in setting.solution.items() if name != "diffusion"}
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
    factor: Any
    noise: Any
    averages: tuple[AverageSetting, ...]
    moments: Mapping[str, Any]
    signs: Mapping[Any, str] = field(default_factory=dict)

    @classmethod
    def of(cls, statement: Statement, system: System) -> _Setting:
        """Choose names that are not taken for the factor, the noise, and what belongs to a head."""
        d = statement.dimensions[0]
        taken = {symbol.name for symbol in (*statement.parameters, *statement.dimensions)}
        taken |= {symbol.name for symbol in (statement.x, statement.y, system.mean, system.covariance)}
        if system.chain is not None:
            taken |= {symbol.name for symbol, _ in system.chain.running}
        factor, noise = matrix(_fresh("F", taken), d, d), vector(_fresh("z", taken), d)
        moments = _running_moments(system, taken)
        own = _own_moments(system) if not moments else tuple(moments.values())
        signs = _signs(statement.parameters)
        averages = tuple(
            AverageSetting(
                head, vector(_fresh("m", taken), d), vector(_fresh("zeta", taken), d),
                statement.x, statement.y, system.mean, system.covariance, factor, noise, own, signs,
            )
            for head in statement.heads if not head.prefactor.is_zero
        )  # fmt: skip
        return cls(statement, system, factor, noise, averages, moments, signs)

    @property
    def velocity(self) -> Any:
        """The velocity in the averages of the heads."""
        parts = (_summed(s.head, product(s.head.prefactor * s.average), s.average) for s in self.averages)
        return total(self.statement.background, *parts)

    @property
    def solution(self) -> dict[str, Any]:
        """The fields of a ``gaussian-solution`` judgement."""
        moments = {"mean_rhs": self.system.mean_rhs, "cov_rhs": self.system.cov_rhs}
        return {"velocity": self.velocity, "diffusion": self.system.diffusion, **moments}

    def record(self) -> dict[str, Any]:
        """Return the statement as stored in a certificate."""
        names = {"query": self.statement.x, "key": self.statement.y}
        names |= {"mean": self.system.mean, "covariance": self.system.covariance}
        texts = {field: term for field, term in self.solution.items() if field != "velocity"}
        tilts = [s.tilt for s in self.averages if s.tilt is not None]
        positions = self.statement.positions
        hidden = () if positions is None else (positions.weights,)
        return {
            **{role: symbol.name for role, symbol in names.items()},
            "heads": [_head_record(s) for s in self.averages],
            "output": to_text(self.statement.background),
            **{field: to_text(term) for field, term in texts.items()},
            "positions": {role: symbol.name for role, symbol in self.moments.items()} or None,
            "symbols": {p.name: _shape(p) for p in self.statement.parameters if p not in hidden},
            "signs": {symbol.name: sign for symbol, sign in self.signs.items()},
            "domain": to_text(tilts[0]) if tilts else None,
        }


def _head_record(s: AverageSetting) -> dict[str, Any]:
    family = s.head.family
    return {
        "average": s.average.name,
        "kernel": s.kernel_text,
        "value": to_text(s.head.value),
        "normalise": s.head.normalise,
        "prefactor": to_text(s.head.prefactor),
        "members": [] if family is None else [member.name for member in family.members],
        "count": None if family is None else family.count.name,
    }


def _own_moments(system: System) -> tuple[Any, Any, Any]:
    return system.covariance + system.mean * system.mean.T, system.mean, Identity(1)


def _running_moments(system: System, taken: set[str]) -> dict[str, Any]:
    """Return the names of the moments of all positions, found by what one position adds to them."""
    if system.chain is None:
        return {}
    chain = system.chain
    found = {}
    for (role, name), part in zip(_MOMENT_NAMES.items(), _own_moments(system), strict=True):
        same = (s for s, own in chain.running if own.shape == part.shape
                and identical(own, chain.weight * part, (system.covariance,)))  # fmt: skip
        known = next(same, None)
        found[role] = matrix(_fresh(name, taken), *part.shape) if known is None else known
    unknown = [symbol for symbol, _ in chain.running if symbol not in found.values()]
    if unknown:
        raise ClosureUndecided(f"{unknown[0]} is no moment of the positions, so that there is no rule for it")
    return found


def _summed(head: Head, body: Any, *own: Any) -> Any:
    """Return the sum over the family of a head, with ``own`` among its members."""
    if head.family is None:
        return body
    return FamilySum(body, (*head.family.members, *own), head.family.count)


def _write_proof(chain: ChainWriter, s: _Setting) -> None:
    """Write the averages, that the velocity is affine in the query, and what follows for the flow."""
    written = [step for average in s.averages for step in _write_head(chain, average)]
    affine = total(s.system.mean_rhs, product(s.system.gradient, s.statement.x - s.system.mean))
    if written:
        premises, factors = zip(*written, strict=True)
        velocity = chain.equal(
            "combination", s.velocity, affine, premises, before=list(factors), after=[ONE] * len(factors)
        )
    else:
        velocity = chain.equal("normal-form", s.velocity, affine)
    _write_flow(chain, s, velocity)


def _write_head(chain: ChainWriter, s: AverageSetting) -> list[tuple[str, Any]]:
    """Write what a head adds to the velocity; return the ids of the lines to combine, with their factors."""
    averaged = write_average(chain, s)
    head, factor, shift = s.head, s.head.prefactor, s.query - s.mean
    if head.family is None:
        return [(averaged.line, factor)]
    scaled, constant, slope = (
        product(factor * term) for term in (s.average, averaged.constant, averaged.slope)
    )
    right, line = total(constant, product(slope, shift)), averaged.line
    if factor != 1:
        line = chain.equal("combination", scaled, right, (line,), before=[factor], after=[ONE])
    left, right = (_summed(head, side, s.average) for side in (scaled, right))
    summed = chain.equal("family-sum", left, right, (line,), member=s.average)
    whole, outside = _summed(head, product(slope, shift)), product(_summed(head, slope), shift)
    factored = chain.equal("family-factor", whole, outside, member=s.average, body=slope, after=shift)
    return [(summed, ONE), (factored, ONE)]


def _write_flow(chain: ChainWriter, s: _Setting, velocity: str) -> None:
    """Write the moment equations and the Gaussian solution."""
    sigma, gradient, diffusion = s.system.covariance, s.system.gradient, s.system.diffusion
    moments = {"mean_rhs": s.system.mean_rhs, "cov_rhs": s.system.cov_rhs}
    lyapunov = total(product(gradient, sigma), product(sigma, gradient.T))
    if not diffusion.is_zero:
        noisy = total(lyapunov, 2 * diffusion * Identity(sigma.shape[0]))
        equation = chain.equal("normal-form", s.system.cov_rhs, noisy)
        known = [
            f"sign of {symbol.name}" for symbol in sorted(diffusion.free_symbols & s.signs.keys(), key=str)
        ]
        sign = chain.add("scalar-sign", "nonnegative", {"scalar": diffusion}, tuple(known))
        premises = (velocity, equation, sign)
        chain.lemma("linear-diffusion", "gaussian-solution", s.solution, premises, gradient=gradient)
        return
    equation = chain.equal("normal-form", s.system.cov_rhs, lyapunov)
    flow = chain.lemma("cauchy-lipschitz", "local-flow", moments, (equation,), gradient=gradient)
    congruence = chain.lemma(
        "liouville", "congruence", {"cov_rhs": s.system.cov_rhs, "gradient": gradient}, (flow, equation)
    )
    chain.lemma("affine-pushforward", "gaussian-solution", s.solution, (velocity, flow, congruence))


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
