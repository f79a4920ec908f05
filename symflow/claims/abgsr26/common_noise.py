"""ABGSR26: the field of a random layer, the cosine of two tokens, and the exponents where they meet."""

from __future__ import annotations

from collections.abc import Callable

from symflow.algebra.grammar import parse
from symflow.certify.certificate import Certificate
from symflow.certify.propositions import proposition
from symflow.certify.search.noise_field import (
    prove_field_covariance,
    prove_layer_exponents,
    prove_lyapunov_formula,
    prove_pair_generator,
)
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.errors import Undecided
from symflow.models.noise.activation import UserActivation
from symflow.models.noise.relu import ReLU
from symflow.models.noise.statement import DIMENSION, SIGMA_U, SIGMA_W

_COVARIANCE, _GENERATOR = "ABGSR26/field-covariance", "ABGSR26/pair-generator"
_LYAPUNOV, _RELU = "ABGSR26/lyapunov-formula", "ABGSR26/relu-exponents"
_SYMBOLS = {"d": DIMENSION, "sigma_W": SIGMA_W, "sigma_U": SIGMA_U}


def _require_stated(claim: str) -> None:
    """Compare the texts of a claim with the layer that is shipped.

    Raises
    ------
    Undecided
        If the layer says something else.
    """
    texts = proposition(claim).texts  # type: ignore[attr-defined]
    layer = ReLU().statement()
    if "variance" in texts:
        stated = parse(texts["variance"], _SYMBOLS), layer.variance
    else:
        stated = UserActivation(texts["activation"]).expression, layer.phi
    if stated[0] != stated[1]:
        raise Undecided(f"the layer of {claim} is not the one that is shipped")


def _decided(claim: str, prove: Callable[[str], Certificate], *, layer: bool) -> Callable[..., Verdict]:
    def decide(*, deadline: Deadline) -> Verdict:
        if layer:
            _require_stated(claim)
        deadline.check()
        return replayed(prove(claim), deadline)

    return decide


CLAIMS = (
    Claim(
        id=_COVARIANCE,
        title="The covariance of a random layer",
        quoted=r"$\operatorname{Cov}(G(x), G(y)) = \kappa(\langle x, y\rangle)I_d$ and $\kappa'(1) = "
        r"\frac1{d^2}E[\phi'(Z)^2]$.",
        holds=r"For every width $m$, not in a limit alone, $\operatorname{Cov}(G(x), G(y)) = \kappa(\langle "
        r"x, y\rangle)I_d$ with $\kappa = E[\phi(Z_1)\phi(Z_2)] + \sigma_W^2$, $\operatorname{Var}Z = "
        r"\frac1d + \sigma_U^2$, $\operatorname{Cov} = \frac ud + \sigma_U^2$. The derivative is "
        r"$\kappa'(u) = \frac1dE[\phi'(Z_1)\phi'(Z_2)]$ and $\kappa'(1) = \frac1dE[\phi'(Z)^2]$: one factor "
        r"$\frac1d$.",
        hypotheses=r"Unit vectors; $\phi$ locally absolutely continuous, $\phi'$ of polynomial growth.",
        method="common-noise",
        documented="proved",
        reference="ABGSR26",
        decide=_decided(_COVARIANCE, prove_field_covariance, layer=True),
    ),
    Claim(
        id=_GENERATOR,
        title="The generator of the cosine of two tokens",
        quoted=r"The cosine of two tokens in common noise is a diffusion on $[-1, 1]$.",
        holds=r"$dX = -\frac12\kappa(1)(d-1)X\,dt + P_X\,dW(X)$ (Itô) keeps tokens on the sphere, and no "
        r"other multiple of $X$ does. $u = \langle X, Y\rangle$ has the generator $Lf = G_0f' + G_1f''$, "
        r"$G_0 = \kappa(u)(d - 2 + u^2) - \kappa(1)(d-1)u$, $G_1 = (1 - u^2)(\kappa(1) - u\kappa(u))$.",
        hypotheses=r"Every $d \ge 2$; $d\langle W_a(x), W_b(y)\rangle = \kappa(\langle x, y\rangle)"
        r"\delta_{ab}\,dt$; attention adds its derivative of $u$ to $G_0$.",
        method="common-noise",
        documented="proved",
        reference="ABGSR26",
        decide=_decided(_GENERATOR, prove_pair_generator, layer=False),
    ),
    Claim(
        id=_LYAPUNOV,
        title="The Lyapunov exponent, and the exponents of moments",
        quoted=r"$\lambda_1 = \frac12(d-3)\kappa'(1) - \frac12(d-1)\kappa(1)$.",
        holds=r"$\lambda_1$ is the limit of $L(\frac12\log(1-u))$ at $u \to 1$, the top Lyapunov exponent "
        r"of the flow of the noise by a theorem of Raimond. $L(1-u)^{p/2}/(1-u)^{p/2}$ tends to $\Lambda(p) "
        r"= p\lambda_1 + \frac12p^2(\kappa(1) + \kappa'(1))$, and $\bar\lambda = \Lambda(2) = "
        r"(d-1)\kappa'(1) - (d-3)\kappa(1)$, so that $\lambda_1 = \frac12\bar\lambda - \kappa(1) - "
        r"\kappa'(1)$.",
        hypotheses=r"Every $d \ge 2$ and $p$; $\kappa$ differentiable at $1$.",
        method="common-noise",
        documented="proved",
        reference="ABGSR26",
        decide=_decided(_LYAPUNOV, prove_lyapunov_formula, layer=False),
    ),
    Claim(
        id=_RELU,
        title="The exponents of random layers with rectified linear units",
        quoted=r"For ReLU $\lambda_1 < 0$ and $\bar\lambda$ are explicit.",
        holds=r"$\kappa(1) = \frac1{2d} + \frac12\sigma_U^2 + \sigma_W^2$, $\kappa'(1) = \frac1{2d}$, "
        r"$\lambda_1 = -\frac1{2d} - \frac14(\sigma_U^2 + 2\sigma_W^2)(d-1)$ and $\bar\lambda = \frac1d - "
        r"\frac12(\sigma_U^2 + 2\sigma_W^2)(d-3)$.",
        hypotheses=r"$\phi(z) = \max(z, 0)$; every $d \ge 2$, $\sigma_W, \sigma_U \ge 0$ and width.",
        method="common-noise",
        documented="proved",
        reference="ABGSR26",
        decide=_decided(_RELU, prove_layer_exponents, layer=True),
    ),
)
