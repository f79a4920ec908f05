"""Facts about doubly stochastic scalings and entropic transport."""

from __future__ import annotations

from sympy import ZeroMatrix

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, as_scalar, is_symbol, multiply, shape_of, total


def _decoupled(line: Inference) -> None:
    line.require("decoupled")
    line.count(2)
    done, names, given = line.conclusion, line.variables, line.arguments
    query, key, step = line.symbol(names.query), line.symbol(names.key), given["step"]
    outside = {names.query, names.key, *line.terms.definitions}
    if not is_symbol(step) or step.name in outside or shape_of(step) != shape_of(query):
        raise Rejected("'step' must be a vector of its own")
    moments = [names.mean, names.covariance, names.factor, names.noise]
    for field in ("score", "value", "slope"):
        line.terms.require_free(done[field], [step.name, *moments], field)
        if line.terms.depends_on(done[field]) & set(line.terms.definitions):
            raise Rejected(f"write the abbreviations in the {field} out")
    shift = line.premise(0, "equal")
    moved = {token: total([token, step]) for token in (query, key)}
    line.same(shift["left"], done["score"].xreplace(moved), "premise 1 is not about the translated score")
    line.terms.require_free(given["query_part"], [names.key, *moments], "the part of the query")
    line.terms.require_free(given["key_part"], [names.query, *moments], "the part of the key")
    parts = [as_scalar(part) for part in (done["score"], given["query_part"], given["key_part"])]
    line.same(shift["right"], total(parts), "premise 1 is not score + f(x) + g(y)")
    value, offset = line.premise(1, "equal"), given["offset"]
    for term in (done["slope"], offset):
        line.terms.require_free(term, [names.query, names.key, *moments], "the coefficients of the value")
    line.same(value["left"], done["value"], "premise 2 is not about the value")
    line.same(
        value["right"], total([multiply(done["slope"], key), offset]), "premise 2 is not affine in the key"
    )
    mean = total([multiply(done["slope"], line.symbol(names.mean)), offset])
    line.same(done["mean_rhs"], mean, "not the mean of the value")


def _bures(line: Inference) -> None:
    line.require("bures-flow")
    line.count(5)
    done, cost, stationary = line.conclusion, line.premise(0, "cost-gradient"), line.premise(1, "equal")
    for field in ("coupling", "scores", "gradient"):
        line.same(cost[field], done[field], f"premise 1 has another {field}")
    line.same(stationary["left"], cost["stationarity"], "premise 2 is not about the derivative in C")
    line.same(stationary["right"], ZeroMatrix(*shape_of(cost["stationarity"])), "premise 2 does not say zero")
    covariance, gradient = line.symbol(line.variables.covariance), done["gradient"]
    line.same(line.premise(2, "definite")["matrix"], covariance, "premise 3 is not Σ ≻ 0")
    residual = total([covariance, multiply(-1, done["coupling"], covariance.inverse(), done["coupling"])])
    line.same(line.premise(3, "definite")["matrix"], residual, "premise 4 is not Σ − CΣ⁻¹C ≻ 0")
    velocity = total([multiply(done["scores"], done["coupling"]), multiply(done["coupling"], done["scores"])])
    line.same(done["cov_rhs"], velocity, "not the covariance equation MC + CM")
    flow = line.premise(4, "equal")
    line.same(flow["left"], done["cov_rhs"], "premise 5 is about another equation")
    descent = total([multiply(-2, covariance, gradient), multiply(-2, gradient, covariance)])
    line.same(flow["right"], descent, "premise 5 is not −2(ΣG + GΣ)")


FACTS = (
    lemma(
        "doubly-stochastic-scaling",
        "Translation of doubly stochastic scalings",
        r"Let $\mu$ have finite second moments and $s$ be $\mu\otimes\mu$-integrable. The doubly "
        r"stochastic scaling $k_\infty$ of $e^s$ is unique, and $e^{s + f(x) + g(y)}$ has the same one. "
        r"If $s(x + h, y + h) = s(x, y) + f(x) + g(y)$, the coupling $k_\infty\,\mu\otimes\mu$ of the law "
        r"translated by $h$ is the translated coupling. Its marginals are $\mu$, so that $\Gamma_\mu(x) = "
        r"\int (Wy + w)\,k_\infty(x, y)\,d\mu(y)$ has the average $W\alpha + w$, and $\frac{d}{dt}\Sigma = "
        r"WC^\top + CW^\top$ with the cross-covariance $C$ of $x$ and $y$.",
        ("s(x + h, y + h) = s(x, y) + f(x) + g(y)", "the value is affine in the key"),
        "Rüschendorf and Thomsen, Note on the Schrödinger equation and I-projections, Statist. Probab. Lett. "
        "17 (1993), 369–375",
        _decoupled,
        ("step", "query_part", "key_part", "offset"),
    ),
    lemma(
        "entropic-gaussian",
        "Entropic transport between Gaussians, and the envelope theorem",
        r"Let $\mu = \mathcal{N}(\alpha, \Sigma)$, $\Sigma \succ 0$, $M = A/\varepsilon$ symmetric. Among "
        r"the couplings of $\mu$ with itself that have cross-covariance $C$, the Gaussian one has the least "
        r"relative entropy, $-\frac12\log\det(I - \Sigma^{-1}C\Sigma^{-1}C^\top)$. So for the cost "
        r"$-x^\top Ay$, $F_S = \mathrm{OT}_\varepsilon(\mu, \mu)/(2\varepsilon)$ is the minimum over $C$ of "
        r"the strictly convex $\Phi(\Sigma, C)$, up to $-\frac12\alpha^\top M\alpha$. It is attained where "
        r"$\partial_C\Phi = 0$, by a symmetric $C$ because $C^\top$ is as good, and depends smoothly on "
        r"$\Sigma$; hence $\partial_\Sigma F_S = \partial_\Sigma\Phi = G$. The descent of a function with "
        r"gradient $G$ in the Bures–Wasserstein metric is $\dot\Sigma = -2(\Sigma G + G\Sigma)$.",
        ("the gradient of Φ", "∂Φ/∂C = 0", "Σ ≻ 0", "Σ − CΣ⁻¹C ≻ 0", "MC + CM = −2(ΣG + GΣ)"),
        "Janati, Muzellec, Peyré, Cuturi, Entropic optimal transport between unbalanced Gaussian measures "
        "has a closed form (2020), Section 2; Takatsu, Wasserstein geometry of Gaussian measures, Osaka J. "
        "Math. 48 (2011)",
        _bures,
    ),
)
