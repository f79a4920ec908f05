"""ABGSR26: signs of exponents, for all fields or for given ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symflow.certify.propositions.common_noise import Instance
from symflow.certify.search.common_noise import decide_signs, prove_theorem
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed

_RELU, _RATE = "ABGSR26/relu-unbiased-dissipation", "ABGSR26/dissipation-rate"
_ODD, _FRACTIONAL = "ABGSR26/odd-two-point", "ABGSR26/fractional-energy"
_BIAS = Fraction(1, 10)
#: φ, σ, d and q < −λ₁/(κ(1) + κ'(1)): the first four have λ̄ > 0, where the energy itself need not decay.
_FIELDS = (
    ("Max(z, 0)", _BIAS, 5, "3/10"),
    ("Max(z, 0)", Fraction(0), 5, "1/4"),
    ("Max(z, 0)", Fraction(0), 3, "1/4"),
    ("tanh(z)", _BIAS, 5, "1/4"),
    ("z*sigmoid(z)", _BIAS, 3, "1/4"),
    ("sigmoid(z)", Fraction(0), 3, "1/2"),
)


def _theorem(name: str, proof: dict[str, list[str]]) -> Callable[..., Verdict]:
    def decide(*, deadline: Deadline) -> Verdict:
        return replayed(prove_theorem(name, proof), deadline)

    return decide


def _fractional(*, deadline: Deadline) -> Verdict:
    instances = tuple(
        Instance(phi, bias, bias, dim, "fractional", Fraction(power), "negative")
        for phi, bias, dim, power in _FIELDS
    )
    return replayed(decide_signs(_FRACTIONAL, instances, deadline.check), deadline)


CLAIMS = (
    Claim(
        id=_RELU,
        title="ReLU without bias does not dissipate",
        quoted=r"$\bar\lambda$ is negative for typical choices once $d > 3$.",
        holds=r"For ReLU without biases $\bar\lambda = 1/d > 0$ in every dimension, although $\lambda_1 = "
        r"-1/(2d) < 0$: the mean of the dissipation energy is not shown to decay, whatever $\beta$.",
        hypotheses=r"$\phi(z) = \max(z, 0)$, $\sigma_W = \sigma_U = 0$, $d \ge 2$.",
        method="noise-theorem",
        documented="proved",
        reference="ABGSR26",
        decide=_theorem(_RELU, {"rate": ["1/d"]}),
    ),
    Claim(
        id=_RATE,
        title="When the dissipation energy decays in mean",
        quoted=r"$\bar\lambda' < 0$ if and only if $\bar\lambda < 0$ and $G$ is not almost surely odd.",
        holds=r"$\bar\lambda' \ge \bar\lambda$, and $\bar\lambda < 0$ gives $\bar\lambda' \le "
        r"2\beta(e^{2\beta} - 1)^{-1}\bar\lambda < 0$. So $\bar\lambda' < 0$ if and only if $\bar\lambda < "
        r"0$; that $G$ is not odd follows, since an odd $G$ has $\bar\lambda \ge 2\kappa(1) > 0$.",
        hypotheses=r"$d \ge 2$, $\beta > 0$, $E\phi^2$ and $E\phi'^2$ finite, $\kappa(1) > 0$.",
        method="noise-theorem",
        documented="proved",
        reference="ABGSR26",
        decide=_theorem(
            _RATE,
            {
                "drift": ["1 - u", "(d - 1)*(k - s)", "(1 - u**2)*s"],
                "diffusion": ["(1 + u)*(1 + u*s)"],
                "odd": ["2", "(d - 1)*(k - 1)"],
            },
        ),
    ),
    Claim(
        id=_ODD,
        title="Odd activations lead to two opposite points",
        quoted=r"For odd activations without attention and $\lambda_1 < 0$ tokens tend to $\{x, -x\}$, "
        r"together with probability $\int_{-1}^{u_0}s'/\int_{-1}^1s'$.",
        holds=r"So it is for every pair: the scale function of the cosine is finite at both ends exactly "
        r"because $1 + \gamma = -\lambda_1/(\kappa(1) + \kappa'(1)) > 0$ for $s' \sim (1 - u^2)^\gamma$, and "
        r"Feller's test says where the cosine ends.",
        hypotheses=r"$\phi$ odd, $\sigma_W = \sigma_U = 0$, no attention, $\lambda_1 < 0$, $-1 < u_0 < 1$.",
        method="noise-theorem",
        documented="proved",
        reference="ABGSR26",
        decide=_theorem(_ODD, {}),
    ),
    Claim(
        id=_FRACTIONAL,
        title="Fractional energies decay in mean where the energy does not",
        quoted=r"For $\lambda_1 < 0$ and $0 < q < -\lambda_1/(\kappa(1) + \kappa'(1))$ the energy $\iint(1 - "
        r"\langle x, y\rangle)^q$ decays in mean without attention, unless $G$ is odd.",
        holds=r"$\sup_u Lf/f < 0$ for $f = (1 - u)^q$, shown on a covering of $[-1, 1]$ in ball arithmetic, "
        r"for the fields in the scope: ReLU, tanh and SiLU with $\bar\lambda > 0$ or $d \le 3$ among them. "
        r"For odd $G$, $Lf = 0$ at $u = -1$. The sign for any other field is decided by "
        r"\texttt{exponent-sign}.",
        hypotheses=r"The fields and powers of the scope; no attention.",
        method="field-signs",
        documented="proved",
        reference="ABGSR26",
        decide=_fractional,
    ),
)
