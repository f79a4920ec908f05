"""Facts about averages against a Gaussian, and about affine flows."""

from __future__ import annotations

from typing import Any

from sympy import Rational

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, as_scalar, multiply, quadratic, shape_of, total, transposed

_HALF = Rational(1, 2)


def _gaussian_integral(line: Inference) -> None:
    line.require("tilted-mean")
    line.count(4)
    names, given = line.variables, line.arguments
    noise, key = line.symbol(names.noise), line.symbol(names.key)
    token = total([line.symbol(names.mean), multiply(line.symbol(names.factor), noise)])
    covariance, square = line.premise(0, "equal"), line.premise(1, "equal")
    line.same(covariance["left"], line.symbol(names.covariance), "premise 1 is not about the covariance")
    factor = line.symbol(names.factor)
    line.same(covariance["right"], multiply(factor, transposed(factor)), "premise 1 is not a factorisation")
    precision = line.premise(2, "definite")["matrix"]
    for term in (precision, given["centre"], given["rest"]):
        line.terms.require_free(term, [names.noise, names.key], "what stands beside the square")
    score = line.conclusion["score"].xreplace({key: token})
    exponent = total([as_scalar(score), -_HALF * as_scalar(multiply(transposed(noise), noise))])
    line.same(square["left"], exponent, "premise 2 is not about the exponent")
    shifted = total([noise, multiply(-1, given["centre"])])
    completed = total([-_HALF * quadratic(shifted, precision), as_scalar(given["rest"])])
    line.same(square["right"], completed, "premise 2 does not complete the square")
    _check_affine_value(line, token)


def _check_affine_value(line: Inference, token: Any) -> None:
    names, given = line.variables, line.arguments
    slope, offset, value = given["slope"], given["offset"], line.premise(3, "equal")
    for term in (slope, offset):
        line.terms.require_free(term, [names.key, names.noise], "the coefficients of the value")
    line.same(value["left"], line.conclusion["value"], "premise 4 is not about the value")
    affine = total([multiply(slope, line.symbol(names.key)), offset])
    line.same(value["right"], affine, "premise 4 is not affine in the key")
    centre = total([line.symbol(names.mean), multiply(line.symbol(names.factor), given["centre"])])
    line.same(line.conclusion["mean"], total([multiply(slope, centre), offset]), "not the tilted mean")


def _linear_in_covariance(line: Inference, equation: Any, gradient: Any) -> None:
    """The premise says ``cov_rhs = LΣ + ΣLᵀ`` with L a function of the state and the parameters."""
    line.terms.require_free(gradient, line.variables.outside_state, "the velocity gradient")
    covariance = line.symbol(line.variables.covariance)
    lyapunov = total([multiply(gradient, covariance), multiply(covariance, transposed(gradient))])
    line.same(equation["right"], lyapunov, "the premise is not of the form LΣ + ΣLᵀ")


def _cauchy_lipschitz(line: Inference) -> None:
    line.require("local-flow")
    line.count(1)
    equation = line.premise(0, "equal")
    line.same(
        equation["left"], line.conclusion["cov_rhs"], "the premise is not about the covariance equation"
    )
    _linear_in_covariance(line, equation, line.arguments["gradient"])
    for field in ("mean_rhs", "cov_rhs"):
        term = line.conclusion[field]
        line.terms.require_free(term, line.variables.outside_state, f"{field}")
    if shape_of(line.conclusion["mean_rhs"]) != shape_of(line.symbol(line.variables.mean)):
        raise Rejected("mean_rhs does not have the shape of the mean")


def _liouville(line: Inference) -> None:
    line.require("congruence")
    line.count(2)
    flow, equation = line.premise(0, "local-flow"), line.premise(1, "equal")
    line.same(flow["cov_rhs"], line.conclusion["cov_rhs"], "premise 1 is about another equation")
    line.same(equation["left"], line.conclusion["cov_rhs"], "premise 2 is about another equation")
    _linear_in_covariance(line, equation, line.conclusion["gradient"])


def _affine_pushforward(line: Inference) -> None:
    line.require("gaussian-solution")
    line.count(4)
    done = line.conclusion
    tilted, velocity = line.premise(0, "tilted-mean"), line.premise(1, "equal")
    flow, congruence = line.premise(2, "local-flow"), line.premise(3, "congruence")
    line.same(tilted["score"], done["score"], "premise 1 is about another score")
    line.same(tilted["value"], done["value"], "premise 1 is about another value")
    line.same(
        velocity["left"], total([done["output"], tilted["mean"]]), "premise 2 is not about the velocity"
    )
    query, mean = (line.symbol(name) for name in (line.variables.query, line.variables.mean))
    gradient = congruence["gradient"]
    line.terms.require_free(done["mean_rhs"], line.variables.outside_state, "mean_rhs")
    line.terms.require_free(gradient, line.variables.outside_state, "the velocity gradient")
    line.terms.require_free(done["output"], line.variables.outside_state, "the output")
    affine = total([done["mean_rhs"], multiply(gradient, total([query, multiply(-1, mean)]))])
    line.same(velocity["right"], affine, "premise 2 is not affine in the query")
    for field in ("mean_rhs", "cov_rhs"):
        line.same(flow[field], done[field], f"premise 3 has another {field}")
    line.same(congruence["cov_rhs"], done["cov_rhs"], "premise 4 has another cov_rhs")


FACTS = (
    lemma(
        "gaussian-integral",
        "Gaussian integral",
        r"Let $\Sigma = FF^\top$ and $\mu = \mathcal{N}(\alpha, \Sigma)$, the law of $\alpha + Fz$ with "
        r"$z \sim \mathcal{N}(0, I)$. If $s(x, \alpha + Fz) - \tfrac12 |z|^2 = -\tfrac12 (z - "
        r"\zeta)^\top T (z - \zeta) + \kappa$ with $T \succ 0$ and $T, \zeta, \kappa$ free of $z$, then "
        r"$e^{s(x,\cdot)}$ is $\mu$-integrable, under the normalised weight $z$ has law "
        r"$\mathcal{N}(\zeta, T^{-1})$, and $y \mapsto Wy + w$ has the average $W(\alpha + F\zeta) + w$.",
        ("Σ = FFᵀ", "the completed square", "T ≻ 0", "the value is affine in the key"),
        "Anderson, An Introduction to Multivariate Statistical Analysis, 3rd ed. (2003), Section 2.3",
        _gaussian_integral,
        ("centre", "rest", "slope", "offset"),
    ),
    lemma(
        "cauchy-lipschitz",
        "Cauchy–Lipschitz",
        "A vector field that is continuous in time and smooth on an open set has from every start one "
        "maximal solution. The inverses in the field were shown to exist on the domain of the claim; "
        "invertibility is an open condition, so the field is smooth on a neighbourhood of it, and a "
        r"right-hand side $L\Sigma + \Sigma L^\top$ keeps symmetric matrices symmetric.",
        ("covariance' = LΣ + ΣLᵀ",),
        "Hartman, Ordinary Differential Equations (1964), Theorems II.1.1 and II.3.1",
        _cauchy_lipschitz,
        ("gradient",),
    ),
    lemma(
        "liouville",
        "Linear flows and Liouville's formula",
        r"Let $\Sigma' = L(t)\Sigma + \Sigma L(t)^\top$ with $L$ continuous on an interval, and $\Phi' "
        r"= L\Phi$, $\Phi(0) = I$. Then $\Sigma(t) = \Phi(t)\Sigma(0)\Phi(t)^\top$, and $\det\Phi(t) = "
        r"\exp\int_0^t \operatorname{tr} L \neq 0$.",
        ("a maximal solution", "covariance' = LΣ + ΣLᵀ"),
        "Hartman, Ordinary Differential Equations (1964), Theorem IV.1.2",
        _liouville,
    ),
    lemma(
        "affine-pushforward",
        "Affine velocities transport Gaussians",
        r"Let $\alpha' = b$ and $\Sigma' = L\Sigma + \Sigma L^\top$ with $b$, $L$ continuous in time. "
        r"The flow of the velocity $x \mapsto b + L(x - \alpha)$ is affine and carries "
        r"$\mathcal{N}(\alpha(0), \Sigma(0))$ to $\mathcal{N}(\alpha(t), \Sigma(t))$, which therefore "
        r"solves $\partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = 0$ weakly wherever $\Gamma_\mu$ "
        "is that velocity.",
        ("the average of the value", "the velocity is affine", "a maximal solution", "Σ(t) = ΦΣ(0)Φᵀ"),
        "Ambrosio, Gigli, Savaré, Gradient Flows (2008), Lemma 8.1.6",
        _affine_pushforward,
    ),
)
