"""CACP25: how far two solutions can separate, as proved constants and as measured distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symflow.certify.certificate import Certificate
from symflow.certify.measurement import Criterion, Estimate
from symflow.certify.search.stability import prove_stability_constants
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed
from symflow.claims.measuring import Experiment, measured
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.combinators.masked import Masked

if TYPE_CHECKING:
    from symflow.derive.stability import Stability

CONSTANTS = "CACP25/stability-constants"
SINK = 0.25
#: Every variant of the certificate, with the tokens of one law at one position each under the mask.
_MODELS: dict[str, AttentionModel] = {
    "softmax": Softmax(),
    "l2": L2(),
    "sinkhorn": Sinkhorn(),
    "sigmoid": Sigmoid(),
    "linear": Linear(),
    "unnormalised": Unnormalised(),
    "masked softmax": Masked(Softmax(), sink=SINK),
}
#: The inequality is for every pair of laws: the largest quotient counts, whatever its error.
_EVERY = Criterion("at most", 1.0, errors=0.0)
_SIZES = {"replicates": 6, "tokens": 24, "dimension": 2, "radius": 0.5, "time": 0.25, "times": 3}


def _prove() -> Certificate:
    return prove_stability_constants(CONSTANTS)


def _constants(*, deadline: Deadline) -> Verdict:
    return replayed(_prove(), deadline)


def _separation(seed: int, sizes: Mapping[str, float], deadline: Deadline) -> list[Estimate]:
    """Return the largest quotient of distance and bound for every variant, W₁ and W₂."""
    from symflow.derive.stability import stability

    estimates = []
    for index, (name, model) in enumerate(_MODELS.items()):
        bounds = stability(model)
        found = [
            _quotients(bounds, [seed, index, r], sizes, deadline) for r in range(int(sizes["replicates"]))
        ]
        for order in (1, 2):
            samples = [quotients[order] for quotients in found]
            mean = Estimate.of_samples(f"{name}: W_{order}(t)/(C(t, R₀) W_{order}(0))", samples, _EVERY)
            largest = f"{name}: largest W_{order}(t)/(C(t, R₀) W_{order}(0)) of all replicates"
            estimates.append(replace(mean, quantity=largest, value=max(samples)))
    return estimates


def _quotients(
    bounds: Stability, seed: list[int], sizes: Mapping[str, float], deadline: Deadline
) -> dict[int, float]:
    """Return the largest quotient over the times, for one pair of clouds, by the order of the distance."""
    import numpy as np

    from symflow.integrate.solve import solve

    deadline.check()
    model = bounds.model
    rng = np.random.default_rng(seed)
    params = _parameters(bounds, int(sizes["dimension"]), rng)
    times = np.linspace(0.0, sizes["time"], int(sizes["times"]) + 1)
    clouds = [_cloud(sizes, rng, share) for share in (1.0, 0.6)]
    runs = [
        solve(model, cloud, params, (0.0, float(times[-1])), t_eval=times, raise_on_failure=True).x
        for cloud in clouds
    ]
    largest = {}
    for order in (1, 2):
        if order == 1 or isinstance(model, Masked):  # else the bound is the same
            exponents = [bounds.exponent(params, sizes["radius"], float(t), order=order) for t in times[1:]]
        apart = [_distance(model, x, y, order) for x, y in zip(*runs, strict=True)]
        largest[order] = float((np.array(apart[1:]) / apart[0] * np.exp(-np.array(exponents))).max())
    return largest


def _parameters(bounds: Stability, d: int, rng: Any) -> dict[str, Any]:
    statement = bounds.statement
    theta = statement.positions and statement.positions.weights
    names = [p.name for p in statement.parameters if getattr(p, "shape", ()) and p != theta]
    return {name: 0.4 * rng.normal(size=(d, d)) for name in names}


def _cloud(sizes: Mapping[str, float], rng: Any, share: float) -> Any:
    """Draw tokens of the ball, within a share of its radius."""
    import numpy as np

    n, d = int(sizes["tokens"]), int(sizes["dimension"])
    raw = rng.normal(size=(n, d))
    radii = share * sizes["radius"] * rng.random((n, 1)) ** (1.0 / d)
    return raw / np.linalg.norm(raw, axis=1, keepdims=True) * radii


def _distance(model: AttentionModel, x: Any, y: Any, order: int) -> float:
    from symflow.distances import conditional_wasserstein, wasserstein

    if isinstance(model, Masked):
        return conditional_wasserstein(x, y, model.weights(len(x)), order=order)
    return wasserstein(x, y, order=order)


EXPERIMENT = Experiment(
    claim="CACP25/stability-estimate",
    scope="softmax, l2, sinkhorn, sigmoid, linear, unnormalised and masked softmax attention with a sink of "
    "mass 1/4; pairs of clouds in a ball, Gaussian random parameters of size 2/5, W₁ and W₂, conditional "
    "under the mask, at several times",
    run=_separation,
    sizes=_SIZES,
    seed=20250118,
    prove=_prove,
)


CLAIMS = (
    Claim(
        id=CONSTANTS,
        title="Bounds of the velocity on balls",
        quoted=r"For laws with compact support the velocity is bounded and Lipschitz, in token and law.",
        holds=r"On the ball of radius $R$, with $S = (\beta/\tau)\|K^\top Q\|R^2$: softmax has $B = "
        r"\|V\|R$, $\Lambda_x = \|V\|S$, $\Lambda_\mu = \|V\|(1 + 2S)e^{2S}$, divided by "
        r"$\theta(\{0\})$ under a mask; sigmoid $\Lambda_x = \|V\|S/4$, $\Lambda_\mu = \|V\|(1 + S/4)$; "
        r"linear $B = \|V\|RS$, $\Lambda_x = \|V\|S$, $\Lambda_\mu = 2\|V\|S$; unnormalised $B = "
        r"\|V\|Re^S$, $\Lambda_x = \|V\|Se^S$, $\Lambda_\mu = \|V\|(1 + S)e^S$; Sinkhorn $\Lambda_\mu = "
        r"\|V\|e^{4S}(1 + 4S + S(1 + e^{2S}))/\tau$. The certificate has $\ell^2$ too.",
        hypotheses=r"Real parameters, laws on the ball; masked: one law $\theta$ of positions for both.",
        method="ball-bounds",
        documented="proved",
        reference="CACP25",
        decide=_constants,
    ),
    measured(
        EXPERIMENT,
        title="Stability in Wasserstein distance",
        quoted=r"$W_p(\mu(t), \nu(t)) \le C(t, R_0)\,W_p(\mu_0, \nu_0)$.",
        hypotheses=r"Laws with support in the ball of radius $R_0$.",
        reference="CACP25",
        holds=r"$W_p(\mu(t), \nu(t)) \le C(t, R_0)\,W_p(\mu_0, \nu_0)$ with $C = \exp\int_0^t(\Lambda_x + "
        r"\Lambda_\mu)(R(s))ds$ and $\dot R = B(R)$, for all times where $B$ is affine (softmax, $\ell^2$, "
        r"Sinkhorn, sigmoid) and as long as $R$ is finite for linear and unnormalised attention. The "
        r"constants are proved (CACP25/stability-constants), the inequality is measured on clouds of tokens; "
        r"under a mask with the conditional distance.",
    ),
)
