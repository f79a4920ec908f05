"""CACP25: theorems about the long time of the covariance."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from sympy import Identity, Symbol

from symflow.algebra.affine import affine_parts
from symflow.algebra.symbols import dimension, matrix
from symflow.certify.certificate import Certificate
from symflow.certify.search.closure import join_parts
from symflow.certify.search.long_time import (
    Moments,
    prove_bounded_adjoint,
    prove_bounded_positive,
    prove_decay,
    prove_escape,
    prove_exponential_bound,
    prove_resolvent,
    prove_shorted_limit,
)
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.derive.closure import gaussian_closure
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax

METHOD = "identity-chain"
_STRENGTH = Symbol("a", positive=True)


def derived_moments(model: Any, given: Iterable[str] | None = None) -> tuple[Moments, dict[str, Any]]:
    """Return the derived moment equations and the parameters by name."""
    flow = gaussian_closure(model, given).flow
    (mean, covariance), (mean_rhs, cov_rhs) = flow.states, flow.drift
    if flow.covariance is None:
        raise InputError(f"{flow.name}: the derivation has no velocity gradient")
    gain, _ = affine_parts(mean_rhs, mean)
    system = Moments(mean, covariance, mean_rhs, cov_rhs, flow.covariance.velocity_gradient, gain)
    return system, {symbol.name: symbol for symbol in flow.parameters}


@functools.cache
def bounded_positive() -> Certificate:
    """Return the proof that V ≻ 0 and A + Aᵀ ⪯ 0 keep the covariance bounded."""
    system, given = derived_moments(Softmax())
    return prove_bounded_positive("CACP25/bounded-positive", system, given["V"], given["A"])


@functools.cache
def limit_zero_positive() -> Certificate:
    """Return the proof that V ≻ 0 and A + Aᵀ ⪯ −aI make the covariance vanish."""
    system, given = derived_moments(Softmax())
    return prove_decay("CACP25/limit-zero-positive", system, given["V"], given["A"], _STRENGTH)


@functools.cache
def blow_up_positive() -> Certificate:
    """Return the proof that V ≻ 0 and A + Aᵀ ⪰ aI make the covariance blow up."""
    system, given = derived_moments(Softmax())
    return prove_escape("CACP25/blow-up-positive", system, given["V"], given["A"], _STRENGTH)


def _bounded_adjoint() -> Certificate:
    system, given = derived_moments(Softmax())
    weight = matrix("P", system.size, system.size)
    adjoint = system.replaced({given["A"]: -1 * given["V"].T * weight})
    return prove_bounded_adjoint("CACP25/bounded-adjoint", adjoint, given["V"], weight)


def _resolvent(claim: str, *, limit: bool) -> Certificate:
    system, given = derived_moments(Softmax())
    root = matrix("R", system.size, dimension("r"))
    return prove_resolvent(claim, system, given["V"], given["A"], root, limit=limit)


def _blow_up_time() -> Certificate:
    return _resolvent("CACP25/blow-up-time", limit=False)


def _low_rank_limit_commuting() -> Certificate:
    return _resolvent("CACP25/low-rank-limit-commuting", limit=True)


@functools.cache
def l2_no_blow_up() -> Certificate:
    """Return the proof that an injective K keeps the growth exponential."""
    system, given = derived_moments(L2())
    left = matrix("P", system.size, given["K"].shape[0])
    bounds = tuple(Symbol(name, nonnegative=True) for name in "vqp")
    matrices = (given["V"], given["Q"], given["K"], left)
    return prove_exponential_bound("CACP25/l2-no-blow-up", system, matrices, bounds)


def _same_limit(claim: str, part: str, system: Moments, given: dict[str, Any]) -> Certificate:
    """V = I and K = −Q; the covariance equation is −ΣKᵀW(KΣKᵀ)KΣ with a W for each model."""
    keys = given["K"]
    values = {given["V"]: Identity(system.size), given["Q"]: -1 * keys}
    return prove_shorted_limit(claim, part, system.replaced(values), keys)


def _l2_same_limit(*, deadline: Deadline) -> Verdict:
    claim, given = "CACP25/l2-same-limit", frozenset(("Q", "K", "V"))
    parts = {}
    for part, model in (("softmax", Softmax()), ("l2", L2())):
        deadline.check()
        parts[part] = _same_limit(claim, part, *derived_moments(model, given))
    return replayed(join_parts(claim, parts), deadline)


def _claim(prove: Any, reference: str = "CACP25", **texts: Any) -> Claim:
    def decide(*, deadline: Deadline) -> Verdict:
        deadline.check()
        return replayed(prove(), deadline)

    return Claim(**texts, method=METHOD, documented="proved", reference=reference, decide=decide)


_SCALE = r"Softmax attention, $A := (\beta/\tau)K^\top Q$, parameters constant in time. "
_COMMUTES = _SCALE + (
    r"$V$ commutes with $\Sigma_0 \succeq 0$ and with $S := VA + A^\top V^\top$, for example $V = I$."
)

CLAIMS = (
    _claim(
        bounded_positive,
        id="CACP25/bounded-positive",
        title="Positive values and negative scores stay bounded",
        quoted=r"If $V \succ 0$ and $A + A^\top \preceq 0$, the covariance does not blow up.",
        holds=r"$\frac{d}{dt}\operatorname{tr}(V^{-1}\Sigma) = \operatorname{tr}(\Sigma(A + A^\top)\Sigma) "
        r"\le 0$: from every start the solution exists for all $t \ge 0$ and $\Sigma$ stays bounded. Whether "
        r"it converges is not claimed; $A = 0$ keeps every rank.",
        hypotheses=_SCALE + r"$V = V^\top \succ 0$, $A + A^\top \preceq 0$.",
    ),
    _claim(
        limit_zero_positive,
        id="CACP25/limit-zero-positive",
        title="Positive values and definite scores: the covariance vanishes",
        quoted=r"If $V \succ 0$ and $A + A^\top \prec 0$, then $\Sigma(t) \to 0$.",
        holds=r"With $f = \operatorname{tr}(V^{-1}\Sigma)$ and $A + A^\top \preceq -aI$, $f(t) \le f(0)/(1 + "
        r"cf(0)t)$ with $c = a/\operatorname{tr}(V^{-2})$: $\Sigma(t) \to 0$ like $1/t$.",
        hypotheses=_SCALE + r"$V = V^\top \succ 0$, $A + A^\top \preceq -aI$, $a > 0$.",
    ),
    _claim(
        blow_up_positive,
        reference="directly from the covariance equation of CACP25",
        id="CACP25/blow-up-positive",
        title="Positive values and positive scores blow up",
        quoted=r"If $V \succ 0$ and $A + A^\top \succ 0$, the covariance blows up.",
        holds=r"With $f = \operatorname{tr}(V^{-1}\Sigma)$, $A + A^\top \succeq aI$ and $c = "
        r"a/\operatorname{tr}(V^{-2})$, every solution with $\Sigma_0 \ne 0$ blows up no later than at "
        r"$1/(cf(0))$.",
        hypotheses=_SCALE + r"$V = V^\top \succ 0$, $A + A^\top \succeq aI$, $a > 0$.",
    ),
    _claim(
        _bounded_adjoint,
        reference="directly from the covariance equation of CACP25",
        id="CACP25/bounded-adjoint",
        title="Scores opposite to the values stay bounded",
        quoted=r"If $A = -V^\top P$ with $P \succ 0$, the covariance does not blow up, for any $V$.",
        holds=r"$\frac{d}{dt}\operatorname{tr}(P\Sigma) = -2\,|\Sigma^{1/2}V^\top P\Sigma^{1/2}|^2 \le 0$ "
        r"(Frobenius norm), although $VA + A^\top V^\top$ may have positive eigenvalues.",
        hypotheses=_SCALE + r"Any $V$, $P = P^\top \succ 0$.",
    ),
    _claim(
        _blow_up_time,
        id="CACP25/blow-up-time",
        title="Closed form and blow-up time",
        quoted=r"$\Sigma(t) = \Sigma_0^{1/2}(I - t\Sigma_0^{1/2}S\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2}$, which "
        r"blows up at $1/\lambda_{\max}(\Sigma_0^{1/2}S\Sigma_0^{1/2})$.",
        holds=r"With any $R$, $\Sigma_0 = RR^\top$, and $N = R^\top SR$: $\Sigma(t) = R(I - tN)^{-1}R^\top$ "
        r"is the maximal solution. It ends at $t^* = 1/\lambda_{\max}(N)$ if that is positive, where it is "
        r"unbounded and $\Sigma/\operatorname{tr}\Sigma$ tends to a matrix whose rank is the multiplicity of "
        r"$\lambda_{\max}(N)$; otherwise it exists for all $t \ge 0$.",
        hypotheses=_COMMUTES,
    ),
    _claim(
        _low_rank_limit_commuting,
        id="CACP25/low-rank-limit-commuting",
        title="Low-rank limit where V commutes",
        quoted=r"If $VA + A^\top V^\top \preceq 0$, then $\Sigma(t)$ converges to a limit of low rank.",
        holds=r"$\Sigma(t) \to R\Pi R^\top$, $\Sigma_0 = RR^\top$, $\Pi$ the projector on $\ker(R^\top SR)$; "
        r"the error is at most $|R|^2/(t\mu)$ with $-\mu$ the largest negative eigenvalue of $R^\top SR$. "
        r"For $\Sigma_0 \succ 0$ the rank of the limit is $\dim\ker S$.",
        hypotheses=_COMMUTES + r" $S \preceq 0$.",
    ),
    _claim(
        l2_no_blow_up,
        id="CACP25/l2-no-blow-up",
        title="L2 attention with injective K does not blow up",
        quoted=r"L2 attention does not blow up.",
        holds=r"$|2\Sigma K^\top(I + 2K\Sigma K^\top)^{-1}| \le |K^+|$, hence $|\Sigma(t)| \le "
        r"e^{2|V||Q||K^+||t|}|\Sigma_0|$ for all times. For $K$ with a kernel it is false "
        r"(CACP25/l2-no-blow-up-any-k).",
        hypotheses=r"L2 attention, $K$ injective; $Q$ and $K$ with the scale $\sqrt{\beta/\tau}$, parameters "
        "constant in time.",
    ),
    Claim(
        id="CACP25/l2-same-limit",
        title="L2 and softmax attention have the same limit",
        quoted=r"For $V = I$ and $K = -Q$, L2 attention has the same limit as softmax attention.",
        holds=r"Both covariances decrease to the shorted operator of $\Sigma_0$, the largest $X$ with $0 "
        r"\preceq X \preceq \Sigma_0$ and $KX = 0$: $N(N^\top\Sigma_0^{-1}N)^{-1}N^\top$ for $\Sigma_0 \succ "
        r"0$ and a basis $N$ of $\ker K$; the rank of the limit is then $\dim\ker K$.",
        hypotheses=r"$V = I$, $Q = -K$ of any shape and rank with the scale $\sqrt{\beta/\tau}$, "
        r"$\Sigma_0 \succeq 0$.",
        method="cases",
        documented="proved",
        reference="CACP25",
        decide=_l2_same_limit,
    ),
)
