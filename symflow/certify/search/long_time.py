r"""Proofs of theorems about the long time, written for moment equations that were derived from a model.

The functions take the system of a derivation; nothing is assumed of its text, the equalities are written and
left to the replay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sympy import Identity, Integer, Inverse, MatMul, Symbol, Trace

from symflow.algebra.symbols import matrix
from symflow.algebra.variation import gateaux
from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions import proposition
from symflow.certify.search.chain import ChainWriter

ONE = Integer(1)


@dataclass(frozen=True)
class Moments:
    """The moment equations of a model, with ``mean_rhs = gain·mean``."""

    mean: Any
    covariance: Any
    mean_rhs: Any
    cov_rhs: Any
    gradient: Any
    gain: Any

    @property
    def size(self) -> Any:
        """d."""
        return self.covariance.shape[0]

    def replaced(self, values: dict[Any, Any]) -> Moments:
        """Return the equations with expressions for parameters."""
        parts = (self.mean_rhs, self.cov_rhs, self.gradient, self.gain)
        return Moments(self.mean, self.covariance, *(part.xreplace(values) for part in parts))


def stated_certificate(claim: str, chain: ChainWriter, part: str = "") -> Certificate:
    """Return a certificate for a theorem whose statement is fixed, or for a part of it."""
    stated_in: Any = proposition(claim)
    theorem = stated_in.parts[part] if part else stated_in
    stated = theorem.record()
    return Certificate(
        claim=claim,
        status="proved",
        kind="identity-chain",
        statement=stated,
        scope=theorem.scope(stated),
        assumes=tuple(sorted(chain.lemmas)),
        proof={"factor": "F", "noise": "z", "lines": chain.lines},
        versions=software(),
    )


@dataclass
class Proof:
    """An identity chain about the long time of a system."""

    system: Moments
    chain: ChainWriter = field(default_factory=ChainWriter)

    @property
    def factor(self) -> Any:
        """F with Σ = FFᵀ."""
        return matrix("F", self.system.size, self.system.size)

    @property
    def both(self) -> dict[str, Any]:
        """The fields of a judgement about the system."""
        return {"mean_rhs": self.system.mean_rhs, "cov_rhs": self.system.cov_rhs}

    def certificate(self, claim: str, part: str = "") -> Certificate:
        """Return the certificate of a claim, or of a part of it; it is not replayed here."""
        return stated_certificate(claim, self.chain, part)

    def flow(self) -> tuple[str, str]:
        """Write that there is a maximal solution and that it is ΦΣ(0)Φᵀ; return the ids."""
        sigma, gradient = self.system.covariance, self.system.gradient
        lyapunov = self.chain.equal("normal-form", self.system.cov_rhs, gradient * sigma + sigma * gradient.T)
        local = self.chain.lemma("cauchy-lipschitz", "local-flow", self.both, (lyapunov,), gradient=gradient)
        fields = {"cov_rhs": self.system.cov_rhs, "gradient": gradient}
        return local, self.chain.lemma("liouville", "congruence", fields, (local, lyapunov))

    def derivative(self, functional: Any) -> tuple[str, Any]:
        """Write the derivative of a function of Σ along the flow; return the id and the derivative."""
        change = gateaux(functional, {self.system.covariance: self.system.cov_rhs})
        fields = {"functional": functional, "derivative": change, "cov_rhs": self.system.cov_rhs}
        return self.chain.add("along-flow", "flow-derivative", fields), change

    def trace_sign(self, sign_line: str, middle: Any, factor: Any) -> tuple[str, Any]:
        """Write ``tr(FᵀMF) ≥ 0`` from the line M ⪰ 0; return the id and the scalar."""
        image = factor.T * middle * factor
        line = self.chain.add("congruence", "semidefinite", {"matrix": image}, (sign_line,), factor=factor)
        return self.chain.add("trace-sign", "nonnegative", {"scalar": Trace(image)}, (line,)), Trace(image)


def prove_bounded_positive(claim: str, system: Moments, value: Any, scores: Any) -> Certificate:
    """Prove that tr(V⁻¹Σ) never increases for V ≻ 0 and A + Aᵀ ⪯ 0."""
    proof = Proof(system)
    weight = _positive_inverse(proof, value)
    local, congruence = proof.flow()
    functional = Trace(Inverse(value) * system.covariance)
    derivative, change = proof.derivative(functional)
    opposite = -1 * (scores + scores.T)
    negative = proof.chain.add("negative", "semidefinite", {"matrix": opposite}, ("scores",))
    drop, _ = proof.trace_sign(negative, opposite, system.covariance)
    drop = proof.chain.add("rewrite", "nonnegative", {"scalar": -change}, (drop,))
    _bounded(proof, functional, (local, congruence, weight, derivative, drop))
    return proof.certificate(claim)


def _positive_inverse(proof: Proof, value: Any) -> str:
    """Write that V is invertible and V⁻¹ ≻ 0."""
    proof.chain.add("definite-invertible", "invertible", {"matrix": value}, ("value",))
    return proof.chain.add("inverse-definite", "definite", {"matrix": Inverse(value)}, ("value",))


def _bounded(proof: Proof, functional: Any, premises: tuple[str, ...]) -> str:
    fields = {"functional": functional, **proof.both}
    return proof.chain.lemma("trace-lyapunov", "bounded-flow", fields, premises, gain=proof.system.gain)


def prove_bounded_adjoint(claim: str, system: Moments, value: Any, weight: Any) -> Certificate:
    """Prove that tr(PΣ) never increases for A = −VᵀP."""
    proof = Proof(system)
    local, congruence = proof.flow()
    functional = Trace(weight * system.covariance)
    derivative, change = proof.derivative(functional)
    root = proof.factor.T * value.T * weight * proof.factor
    gram = proof.chain.add("gram", "semidefinite", {"matrix": root.T * root}, factor=root)
    square = proof.chain.add("trace-sign", "nonnegative", {"scalar": Trace(root.T * root)}, (gram,))
    double = proof.chain.add(
        "scalar-sum", "nonnegative", {"scalar": 2 * Trace(root.T * root)}, (square, square)
    )
    drop = proof.chain.add("rewrite", "nonnegative", {"scalar": -change}, (double, "covariance"))
    _bounded(proof, functional, (local, congruence, "weight", derivative, drop))
    return proof.certificate(claim)


def prove_decay(claim: str, system: Moments, value: Any, scores: Any, strength: Any) -> Certificate:
    """Prove f(t) ≤ f(0)/(1 + cf(0)t) for f = tr(V⁻¹Σ), V ≻ 0 and A + Aᵀ ⪯ −aI."""
    proof, sigma = Proof(system), system.covariance
    weight = _positive_inverse(proof, value)
    local, congruence = proof.flow()
    functional = Trace(Inverse(value) * sigma)
    derivative, change = proof.derivative(functional)
    margin = -1 * (scores + scores.T) - strength * Identity(system.size)
    negative = proof.chain.add("negative", "semidefinite", {"matrix": margin}, ("scores",))
    rest, rest_value = proof.trace_sign(negative, margin, sigma)
    drop = _with_square(proof, strength, rest, -change)
    bounded = _bounded(proof, functional, (local, congruence, weight, derivative, drop))
    gap, scale = _riccati_gap(proof, value, strength, (rest, rest_value))
    scale_line, scale_value = scale
    wanted = -scale_value * change - strength * functional**2
    gap = proof.chain.add("rewrite", "nonnegative", {"scalar": wanted}, (gap,))
    fields = {"functional": functional, "strength": strength, "scale": scale_value, **proof.both}
    premises = (bounded, weight, derivative, scale_line, _sign(strength), gap)
    proof.chain.lemma("riccati-decay", "decay", fields, premises)
    return proof.certificate(claim)


def prove_escape(claim: str, system: Moments, value: Any, scores: Any, strength: Any) -> Certificate:
    """Prove f(t) ≥ f(0)/(1 − cf(0)t) for f = tr(V⁻¹Σ), V ≻ 0 and A + Aᵀ ⪰ aI."""
    proof, sigma = Proof(system), system.covariance
    weight = _positive_inverse(proof, value)
    local, congruence = proof.flow()
    functional = Trace(Inverse(value) * sigma)
    derivative, change = proof.derivative(functional)
    margin = scores + scores.T - strength * Identity(system.size)
    rest = proof.trace_sign("scores", margin, sigma)
    gap, (scale_line, scale) = _riccati_gap(proof, value, strength, rest)
    wanted = scale * change - strength * functional**2
    gap = proof.chain.add("rewrite", "nonnegative", {"scalar": wanted}, (gap,))
    fields = {"functional": functional, "strength": strength, "scale": scale, "cov_rhs": system.cov_rhs}
    premises = (local, congruence, weight, derivative, scale_line, _sign(strength), gap)
    proof.chain.lemma("riccati-escape", "escape", fields, premises)
    return proof.certificate(claim)


def _sign(symbol: Any) -> str:
    return f"sign of {symbol.name}"


def _with_square(proof: Proof, strength: Any, rest: str, wanted: Any) -> str:
    """Write ``wanted = rest + a tr(Σ²) ≥ 0``."""
    sigma = proof.system.covariance
    gram = proof.chain.add("gram", "semidefinite", {"matrix": sigma.T * sigma}, factor=sigma)
    square = proof.chain.add("trace-sign", "nonnegative", {"scalar": Trace(sigma.T * sigma)}, (gram,))
    scaled = strength * Trace(sigma.T * sigma)
    line = proof.chain.add("scalar-product", "nonnegative", {"scalar": scaled}, (_sign(strength), square))
    return proof.chain.add("scalar-sum", "nonnegative", {"scalar": wanted}, (rest, line))


def _riccati_gap(
    proof: Proof, value: Any, strength: Any, rest: tuple[str, Any]
) -> tuple[str, tuple[str, Any]]:
    """Write τ > 0 for τ = tr(V⁻²) and ``τ·rest + a(τ tr(Σ²) − tr(V⁻¹Σ)²) ≥ 0``."""
    chain, sigma, inverse = proof.chain, proof.system.covariance, Inverse(value)
    regular = chain.add(
        "definite-invertible", "invertible", {"matrix": inverse}, (_find(chain, "inverse-definite"),)
    )
    definite = chain.add("gram-definite", "definite", {"matrix": MatMul(inverse, inverse)}, (regular,))
    scale = Trace(MatMul(inverse, inverse))
    positive = chain.add("trace-sign", "positive", {"scalar": scale}, (definite,))
    spread = scale * Trace(sigma * sigma) - Trace(inverse * sigma) ** 2
    schwarz = chain.add("cauchy-schwarz", "nonnegative", {"scalar": spread}, first=inverse, second=sigma)
    rest_line, rest_value = rest
    first = chain.add("scalar-product", "nonnegative", {"scalar": scale * rest_value}, (positive, rest_line))
    second = chain.add(
        "scalar-product", "nonnegative", {"scalar": strength * spread}, (_sign(strength), schwarz)
    )
    both = scale * rest_value + strength * spread
    return chain.add("scalar-sum", "nonnegative", {"scalar": both}, (first, second)), (positive, scale)


def _find(chain: ChainWriter, rule: str) -> str:
    return next(str(line["id"]) for line in chain.lines if line["rule"] == rule)


# --- closed forms -------------------------------------------------------------------------------------------


def prove_resolvent(
    claim: str, system: Moments, value: Any, scores: Any, root: Any, *, limit: bool = False
) -> Certificate:
    """Prove Σ(t) = R(I − tRᵀSR)⁻¹Rᵀ, and for ``limit`` its limit where S ⪯ 0."""
    proof, time = Proof(system), Symbol("t", nonnegative=True)
    chain = proof.chain
    core = value * scores + scores.T * value.T
    kernel = root.T * core * root
    gap = Identity(root.shape[1]) - time * kernel
    chain.add("definite-invertible", "invertible", {"matrix": gap}, ("domain",))
    local, _ = proof.flow()
    curve = root * Inverse(gap) * root.T
    slope = curve * core * curve
    in_time = chain.add("in-time", "time-derivative", {"curve": curve, "derivative_matrix": slope})
    equation = _write_equation(proof, (value, scores, root, core, time), curve, slope)
    fields = {"curve": curve, "cov_rhs": system.cov_rhs}
    solves = chain.add("solves", "solution-curve", fields, (in_time, equation))
    ends = {"root": root, "kernel": kernel, **proof.both}
    flow = chain.lemma(
        "symmetric-resolvent", "resolvent-flow", ends, (local, solves, "domain"), core=core, gain=system.gain
    )
    if limit:
        below = chain.add(
            "congruence", "negative-semidefinite", {"matrix": kernel}, ("strength",), factor=root
        )
        chain.lemma("spectral-limit", "projected-limit", ends, (flow, below))
    return proof.certificate(claim)


def _write_equation(proof: Proof, names: tuple[Any, ...], curve: Any, slope: Any) -> str:
    """Write that V commutes with the curve X, and that the equation at X is XSX."""
    value, scores, root, core, time = names
    chain, start = proof.chain, root * root.T
    pencil = Identity(start.shape[0]) - time * start * core
    # I − tR(RᵀS) is invertible because I − t(RᵀS)R is
    chain.add(
        "exchange",
        "invertible",
        {"matrix": pencil},
        (chain.lines[0]["id"],),
        first=time * root,
        second=root.T * core,
    )
    pencils = chain.equal(
        "combination",
        value * pencil,
        pencil * value,
        ("commutes with the start", "commutes with the strength"),
        before=[-time * ONE, -time * start],
        after=[core, ONE],
    )
    inverse = Inverse(pencil)
    inverses = chain.equal(
        "combination", inverse * value, value * inverse, (pencils,), before=[inverse], after=[inverse]
    )
    # X = (I − tRRᵀS)⁻¹RRᵀ
    commuting = chain.equal(
        "combination",
        value * curve,
        curve * value,
        (inverses, "commutes with the start"),
        before=[-1 * ONE, inverse],
        after=[start, ONE],
    )
    mirrored = chain.equal("transpose", curve * value.T, value.T * curve, (commuting,))
    image = proof.system.cov_rhs.xreplace({proof.system.covariance: curve})
    return chain.equal(
        "combination",
        slope,
        image,
        (commuting, mirrored),
        before=[-1 * ONE, -1 * curve * scores.T],
        after=[scores * curve, ONE],
    )


# --- L2 attention -------------------------------------------------------------------------------------------


def write_section(proof: Proof, keys: Any) -> tuple[str, str]:
    """Write KΣKᵀ ⪰ 0 and I + 2KΣKᵀ ≻ 0, and that this and I + 2ΣKᵀK are invertible; return both signs."""
    chain, F, sigma = proof.chain, proof.factor, proof.system.covariance
    half = F.T * keys.T
    gram = chain.add("gram", "semidefinite", {"matrix": half.T * half}, factor=half)
    section = keys * sigma * keys.T
    sign = chain.add("rewrite", "semidefinite", {"matrix": section}, (gram, "covariance"))
    shifted = write_shifted(chain, section, sign, 2)
    size, rank = Identity(keys.shape[1]), Identity(keys.shape[0])
    regular = chain.add("definite-invertible", "invertible", {"matrix": rank + 2 * section}, (shifted,))
    chain.add(
        "exchange",
        "invertible",
        {"matrix": size + 2 * sigma * keys.T * keys},
        (regular,),
        first=-2 * sigma * keys.T,
        second=keys,
    )
    return sign, shifted


def write_shifted(chain: ChainWriter, matrix_: Any, sign: str, multiple: int) -> str:
    """Write I + cX ≻ 0 from X ⪰ 0."""
    identity = Identity(matrix_.shape[0])
    one = chain.add("identity", "definite", {"matrix": identity})
    number = chain.add("scalar-sign", "nonnegative", {"scalar": Integer(multiple)})
    scaled = chain.add("scale", "semidefinite", {"matrix": multiple * matrix_}, (sign, number))
    return chain.add("sum", "definite", {"matrix": identity + multiple * matrix_}, (one, scaled))


def prove_exponential_bound(
    claim: str, system: Moments, matrices: tuple[Any, Any, Any, Any], bounds: tuple[Any, Any, Any]
) -> Certificate:
    """Prove |2ΣKᵀ(I + 2KΣKᵀ)⁻¹| ≤ |P| for PK = I, and what follows for the growth.

    ``matrices`` are V, Q, K, P, ``bounds`` those of V, Q, P.
    """
    proof, (value, query, keys, left) = Proof(system), matrices
    chain, sigma = proof.chain, system.covariance
    sign, _ = write_section(proof, keys)
    rank, section = Identity(keys.shape[0]), keys * sigma * keys.T
    inverse = Inverse(rank + 2 * section)
    # I − (2T(I + 2T)⁻¹)² = (I + 2T)⁻¹(I + 4T)(I + 2T)⁻¹ with T = KΣKᵀ
    larger = write_shifted(chain, section, sign, 4)
    larger = chain.add("weaken", "semidefinite", {"matrix": rank + 4 * section}, (larger,))
    image = inverse.T * (rank + 4 * section) * inverse
    gap = chain.add("congruence", "semidefinite", {"matrix": image}, (larger,), factor=inverse)
    one = chain.add("scalar-sign", "nonnegative", {"scalar": ONE})
    squeeze = 2 * section * inverse
    contraction = chain.add("norm-from-sign", "norm", {"matrix": squeeze, "bound": ONE}, (gap, one))
    v, q, p = bounds
    shrunk = chain.add(
        "norm-product", "norm", {"matrix": left * squeeze, "bound": p * ONE}, ("inverse", contraction)
    )
    gain = 2 * sigma * keys.T * inverse
    cancelled = chain.equal(
        "combination", left * squeeze, gain, ("left inverse",), before=[ONE], after=[gain]
    )
    bounded = chain.add("replace", "norm", {"matrix": gain, "bound": p}, (shrunk, cancelled))
    first = chain.add("norm-product", "norm", {"matrix": value * gain, "bound": v * p}, ("value", bounded))
    fields = {"matrix": value * gain * query, "bound": v * p * q}
    norm = chain.add("norm-product", "norm", fields, (first, "query"))
    local, congruence = proof.flow()
    ends = {"rate": p * q * v, **proof.both}
    chain.lemma("gronwall", "exponential-bound", ends, (local, congruence, norm), gain=system.gain)
    return proof.certificate(claim)


def prove_shorted_limit(claim: str, part: str, system: Moments, keys: Any) -> Certificate:
    """Prove the limit of Σ' = −ΣKᵀW(KΣKᵀ)KΣ, W(T) = 2I or, where Σ' has an inverse, 4(I + 2T)⁻¹."""
    proof = Proof(system)
    chain, sigma = proof.chain, system.covariance
    argument = matrix("T", keys.shape[0], keys.shape[0])
    if system.cov_rhs.has(Inverse):
        write_section(proof, keys)
        weight, definite = _tilted_weight(chain, argument)
    else:
        weight = 2 * Identity(argument.shape[0])
        one = chain.add("identity", "definite", {"matrix": Identity(argument.shape[0])})
        definite = chain.add("sum", "definite", {"matrix": weight}, (one, one))
    local, congruence = proof.flow()
    there = weight.xreplace({argument: keys * sigma * keys.T})
    form = chain.equal("normal-form", system.cov_rhs, -1 * sigma * keys.T * there * keys * sigma)
    chain.lemma(
        "shorted-operator",
        "shorted-limit",
        {"directions": keys, **proof.both},
        (local, congruence, form, definite),
        weight=weight,
        argument=argument,
        gain=system.gain,
    )
    return proof.certificate(claim, part)


def _tilted_weight(chain: ChainWriter, argument: Any) -> tuple[Any, str]:
    """Write 4(I + 2T)⁻¹ ≻ 0 for T ⪰ 0; return it and the id."""
    shifted = write_shifted(chain, argument, "section", 2)
    inverse = Inverse(Identity(argument.shape[0]) + 2 * argument)
    chain.add("definite-invertible", "invertible", {"matrix": inverse.arg}, (shifted,))
    positive = chain.add("inverse-definite", "definite", {"matrix": inverse}, (shifted,))
    return 4 * inverse, chain.add("sum", "definite", {"matrix": 4 * inverse}, (positive,) * 4)
