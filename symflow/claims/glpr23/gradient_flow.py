"""GLPR23: attention on the sphere as the ascent of the interaction energy."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Symbol

from symflow.certify.certificate import Certificate
from symflow.certify.search.closure import join_parts
from symflow.certify.search.gradient_flow import PairFlow, prove_energy_growth, prove_gradient_flow
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.claims.gradient_flow import derived_flow
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.energies.interaction import Interaction

_USA, _SA = "GLPR23/usa-gradient-flow", "GLPR23/sa-gradient-flow"
_DISSIPATION = "GLPR23/energy-dissipation"


def _flow(model: type[Any], beta: Expr) -> PairFlow:
    found = derived_flow(model(space="sphere", beta=Symbol("beta", positive=True)), Interaction(), ())
    return found.replaced({symbol: beta for symbol in found.pair.free_symbols if symbol.name == "beta"})


_POSITIVE = Symbol("beta", positive=True)
_NEGATIVE = -Symbol("b", positive=True)
_CASES: dict[str, tuple[type[Any], Expr]] = {
    "softmax": (Softmax, _POSITIVE),
    "unnormalised": (Unnormalised, _POSITIVE),
    "softmax, negative beta": (Softmax, _NEGATIVE),
    "unnormalised, negative beta": (Unnormalised, _NEGATIVE),
}


def _usa(*, deadline: Deadline) -> Verdict:
    return replayed(prove_gradient_flow(_USA, _flow(Unnormalised, _POSITIVE)), deadline)


def _sa(*, deadline: Deadline) -> Verdict:
    return replayed(prove_gradient_flow(_SA, _flow(Softmax, _POSITIVE)), deadline)


def _dissipation(*, deadline: Deadline) -> Verdict:
    parts: dict[str, Certificate] = {}
    for part, case in _CASES.items():
        deadline.check()
        parts[part] = prove_energy_growth(_DISSIPATION, _flow(*case), part)
    return replayed(join_parts(_DISSIPATION, parts), deadline)


_HYPOTHESES = r"$Q = K = V = I$, $\beta > 0$ (over the temperature), laws on the sphere, any $d$."
CLAIMS = (
    Claim(
        id=_USA,
        title="Attention without normaliser ascends the interaction energy",
        quoted=r"Unnormalised attention on the sphere is the Wasserstein gradient flow that increases "
        r"$E_\beta$.",
        holds=r"$P_x\Gamma_\mu(x) = P_x\nabla\frac{\delta E_\beta}{\delta\mu}(x)$ for every law, "
        r"$E_\beta(\mu) = \frac1{2\beta}\iint e^{\beta\langle x, y\rangle}d\mu\,d\mu$: the ascent for "
        r"$W_2$ on the sphere. For $n$ tokens $\dot x_i = n\,P_{x_i}\nabla_{x_i}E_\beta$, with $E_\beta = "
        r"\frac1{2\beta n^2}\sum_{i,j}e^{\beta\langle x_i, x_j\rangle}$. For other $Q$, $K$, $V$ the "
        r"velocity is the ascent of $\frac12\iint e^{\langle Qx, Ky\rangle}d\mu\,d\mu$ where $V = K^\top "
        r"Q = Q^\top K$; that some equation is needed is shown by laws of three tokens for $V = I$, "
        r"$K^\top Q = \bigl(\begin{smallmatrix}1&2\\0&1\end{smallmatrix}\bigr)$.",
        hypotheses=_HYPOTHESES,
        method="identity-chain",
        documented="proved",
        reference="GLPR23",
        decide=_usa,
    ),
    Claim(
        id=_SA,
        title="Softmax attention on the sphere is an ascent for a weighted metric",
        quoted=r"Self-attention is a gradient flow of $E_\beta$ for a modified metric.",
        holds=r"$Z_\mu(x)P_x\Gamma_\mu(x) = P_x\nabla\frac{\delta E_\beta}{\delta\mu}(x)$, $Z_\mu(x) = "
        r"\int e^{\beta\langle x, y\rangle}d\mu(y)$: the ascent for the metric $\int\langle v, w\rangle "
        r"Z_\mu\,d\mu$. For $n$ tokens $\dot x = \operatorname{grad}E_\beta$ "
        r"for the metric $n^{-2}\sum_iZ_i\langle v_i, w_i\rangle$, $Z_i = \sum_je^{\beta\langle x_i, "
        r"x_j\rangle}$ without $\frac1n$.",
        hypotheses=_HYPOTHESES,
        method="identity-chain",
        documented="proved",
        reference="GLPR23",
        decide=_sa,
    ),
    Claim(
        id=_DISSIPATION,
        title="The interaction energy never decreases",
        quoted=r"Along attention on the sphere $E_\beta$ increases.",
        holds=r"$\frac{d}{dt}E_\beta = \int|P_x\Gamma_\mu|^2g\,d\mu \ge 0$, $g = Z_\mu$ with and $g = 1$ "
        r"without normaliser, zero only at equilibria. The same for $\beta < 0$, where $E_\beta = "
        r"\frac1{2\beta}\iint e^{\beta\langle x, y\rangle}d\mu\,d\mu$ is negative and $\iint "
        r"e^{\beta\langle x, y\rangle}d\mu\,d\mu$ decreases.",
        hypotheses=r"$Q = K = V = I$, $\beta \ne 0$ (over the temperature), laws on the sphere, any $d$.",
        method="cases",
        documented="proved",
        reference="GLPR23",
        decide=_dissipation,
    ),
)
