"""Facts about averages against a Gaussian, and about affine flows."""

from __future__ import annotations

from typing import Any

from sympy import Identity, Integer, Rational

from symflow.certify.judgement import Judgement
from symflow.certify.lemmas.lemma import lemma
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import (
    Rejected,
    as_scalar,
    multiply,
    quadratic,
    shape_of,
    substitute,
    total,
    transposed,
)

_HALF = Rational(1, 2)


def _gaussian_integral(line: Inference) -> None:
    line.require("equal")
    line.count(5)
    average, given = line.premise(0, "softmax-average"), line.arguments
    noise, key = line.symbol(line.variables.noise), line.symbol(line.variables.key)
    token = total([line.symbol(line.variables.mean), multiply(line.symbol(line.variables.factor), noise)])
    _check_factorisation(line, 1)
    square, precision = line.premise(2, "equal"), line.premise(3, "definite")["matrix"]
    for term in (precision, given["centre"], given["rest"]):
        _require_free_of_key(line, term, "what stands beside the square")
    score = substitute(average["score"], [(key, token)])
    exponent = total([as_scalar(score), -_HALF * as_scalar(multiply(transposed(noise), noise))])
    line.same(square["left"], exponent, "premise 3 is not about the exponent")
    shifted = total([noise, multiply(-1, given["centre"])])
    completed = total([-_HALF * quadratic(shifted, precision), as_scalar(given["rest"])])
    line.same(square["right"], completed, "premise 3 does not complete the square")
    centre = total(
        [line.symbol(line.variables.mean), multiply(line.symbol(line.variables.factor), given["centre"])]
    )
    _check_average(line, average, 4, centre)


def _gaussian_moments(line: Inference) -> None:
    """``(Wy + w)(pᵀy + q)`` has the average ``(WM₂ + wM₁ᵀ)p + (WM₁ + wM₀)q``."""
    line.require("equal")
    line.count(3)
    average, given = line.premise(0, "kernel-average"), line.arguments
    key, push, rest = line.symbol(line.variables.key), given["push"], given["rest"]
    for term in (push, rest):
        _require_free_of_key(line, term, "the coefficients of the kernel")
    weight = line.premise(2, "equal")
    line.same(weight["left"], average["weight"], "premise 3 is not about the kernel")
    affine = total([as_scalar(multiply(transposed(push), key)), as_scalar(rest)])
    line.same(weight["right"], affine, "premise 3 is not affine in the key")
    slope, offset = _affine_value(line, average, 1)
    second, first, mass = _moments(line)
    left = total([multiply(slope, second), multiply(offset, transposed(first))])
    right = total([multiply(slope, first), multiply(offset, mass)])
    line.same(line.conclusion["left"], average["average"], "not the average of premise 1")
    moment = total([multiply(left, push), multiply(right, as_scalar(rest))])
    line.same(line.conclusion["right"], moment, "not the moments of the law")


def _moments(line: Inference) -> tuple[Any, Any, Any]:
    """Return second and first moment and mass: of the law, or of all positions up to the own one."""
    if line.variables.moments:
        second, first, mass = (line.symbol(name) for name in line.variables.moments)
        return second, first, as_scalar(mass)
    mean, covariance = line.symbol(line.variables.mean), line.symbol(line.variables.covariance)
    return total([covariance, multiply(mean, transposed(mean))]), mean, Integer(1)


def _gaussian_scaling(line: Inference) -> None:
    """With ``N = FᵀBF``: ``T + TNNᵀT = I``, T ≻ 0, gives the conditional mean ``α + FTFᵀB(x − α)``."""
    line.require("equal")
    line.count(6)
    average, given, names = line.premise(0, "sinkhorn-average"), line.arguments, line.variables
    query, key, factor = (line.symbol(name) for name in (names.query, names.key, names.factor))
    _check_factorisation(line, 1)
    bilinear, spread = given["bilinear"], line.premise(3, "definite")["matrix"]
    for term in (bilinear, spread):
        line.terms.require_free(term, names.universal, "the coupling")
    line.terms.require_free(given["query_part"], [names.key, names.noise], "the part of the query")
    line.terms.require_free(given["key_part"], [names.query, names.noise], "the part of the key")
    split = line.premise(2, "equal")
    line.same(split["left"], average["score"], "premise 3 is not about the score")
    mixed = as_scalar(multiply(transposed(key), bilinear, query))
    parts = [mixed, as_scalar(given["query_part"]), as_scalar(given["key_part"])]
    line.same(split["right"], total(parts), "premise 3 is not yᵀBx + f(x) + g(y)")
    optimality, inner = line.premise(4, "equal"), multiply(transposed(factor), bilinear, factor)
    residual = total([spread, multiply(spread, inner, transposed(inner), spread)])
    line.same(optimality["left"], residual, "premise 5 is not about T + TNNᵀT")
    line.same(optimality["right"], Identity(shape_of(spread)[0]), "premise 5 does not say that it is I")
    mean = line.symbol(names.mean)
    gain = multiply(factor, spread, transposed(factor), bilinear)
    centre = total([mean, multiply(gain, total([query, multiply(-1, mean)]))])
    _check_average(line, average, 5, centre)


def _require_free_of_key(line: Inference, term: Any, what: str) -> None:
    line.terms.require_free(term, [line.variables.key, line.variables.noise], what)


def _check_factorisation(line: Inference, index: int) -> None:
    covariance, factor = line.premise(index, "equal"), line.symbol(line.variables.factor)
    where = f"premise {index + 1}"
    line.same(
        covariance["left"], line.symbol(line.variables.covariance), f"{where} is not about the covariance"
    )
    line.same(covariance["right"], multiply(factor, transposed(factor)), f"{where} is not a factorisation")


def _affine_value(line: Inference, average: Judgement, index: int) -> tuple[Any, Any]:
    """Return W and w after checking that the premise at ``index`` says ``value = Wy + w``."""
    slope, offset, value = line.arguments["slope"], line.arguments["offset"], line.premise(index, "equal")
    for term in (slope, offset):
        _require_free_of_key(line, term, "the coefficients of the value")
    line.same(value["left"], average["value"], f"premise {index + 1} is not about the value")
    affine = total([multiply(slope, line.symbol(line.variables.key)), offset])
    line.same(value["right"], affine, f"premise {index + 1} is not affine in the key")
    return slope, offset


def _check_average(line: Inference, average: Judgement, index: int, centre: Any) -> None:
    """The conclusion says that the average is ``W·centre + w``."""
    slope, offset = _affine_value(line, average, index)
    line.same(line.conclusion["left"], average["average"], "not the average of premise 1")
    line.same(line.conclusion["right"], total([multiply(slope, centre), offset]), "not the average value")


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
    line.count(3)
    done, flow, congruence = line.conclusion, line.premise(1, "local-flow"), line.premise(2, "congruence")
    _check_velocity(line, congruence["gradient"])
    for field in ("mean_rhs", "cov_rhs"):
        line.same(flow[field], done[field], f"premise 2 has another {field}")
    line.same(congruence["cov_rhs"], done["cov_rhs"], "premise 3 has another cov_rhs")
    line.same(done["diffusion"], Integer(0), "the lemma is for velocities without noise")


def _check_velocity(line: Inference, gradient: Any) -> None:
    """Premise 1 says ``velocity = mean_rhs + L(x − mean)``."""
    done, velocity = line.conclusion, line.premise(0, "equal")
    query, mean = (line.symbol(name) for name in (line.variables.query, line.variables.mean))
    line.same(velocity["left"], done["velocity"], "premise 1 is not about the velocity")
    line.terms.require_free(done["mean_rhs"], line.variables.outside_state, "mean_rhs")
    line.terms.require_free(gradient, line.variables.outside_state, "the velocity gradient")
    if shape_of(done["mean_rhs"]) != shape_of(mean):
        raise Rejected("mean_rhs does not have the shape of the mean")
    affine = total([done["mean_rhs"], multiply(gradient, total([query, multiply(-1, mean)]))])
    line.same(velocity["right"], affine, "premise 1 is not affine in the query")


def _linear_diffusion(line: Inference) -> None:
    """``cov_rhs = LΣ + ΣLᵀ + 2εI`` with ε ≥ 0 free of the state."""
    line.require("gaussian-solution")
    line.count(3)
    done, gradient, equation = line.conclusion, line.arguments["gradient"], line.premise(1, "equal")
    _check_velocity(line, gradient)
    names = line.variables
    state = [names.mean, names.covariance, *names.moments, *names.outside_state]
    line.terms.require_free(done["diffusion"], state, "the diffusion")
    strength = line.premise(2, "nonnegative")["scalar"]
    line.same(strength, done["diffusion"], "premise 3 is not about the diffusion")
    line.same(equation["left"], done["cov_rhs"], "premise 2 is not about the covariance equation")
    covariance = line.symbol(names.covariance)
    parts = [multiply(gradient, covariance), multiply(covariance, transposed(gradient))]
    parts.append(multiply(2 * strength, Identity(shape_of(covariance)[0])))
    line.same(equation["right"], total(parts), "premise 2 is not of the form LΣ + ΣLᵀ + 2εI")


FACTS = (
    lemma(
        "gaussian-integral",
        "Gaussian integral",
        r"Let $\Sigma = FF^\top$ and $\mu = \mathcal{N}(\alpha, \Sigma)$, the law of $\alpha + Fz$ with "
        r"$z \sim \mathcal{N}(0, I)$. If $s(x, \alpha + Fz) - \tfrac12 |z|^2 = -\tfrac12 (z - "
        r"\zeta)^\top T (z - \zeta) + \kappa$ with $T \succ 0$ and $T, \zeta, \kappa$ free of $z$, then "
        r"$e^{s(x,\cdot)}$ is $\mu$-integrable, under the normalised weight $z$ has law "
        r"$\mathcal{N}(\zeta, T^{-1})$, and $y \mapsto Wy + w$ has the average $W(\alpha + F\zeta) + w$.",
        ("the average", "Σ = FFᵀ", "the completed square", "T ≻ 0", "the value is affine in the key"),
        "Anderson, An Introduction to Multivariate Statistical Analysis, 3rd ed. (2003), Section 2.3",
        _gaussian_integral,
        ("centre", "rest", "slope", "offset"),
    ),
    lemma(
        "gaussian-moments",
        "First two moments of a Gaussian",
        r"Let $\mu = \mathcal{N}(\alpha, \Sigma)$, $M_0 = 1$, $M_1 = \mathbb{E}[y] = \alpha$ and $M_2 = "
        r"\mathbb{E}[yy^\top] = \Sigma + \alpha\alpha^\top$. Then $(Wy + w)(p^\top y + q)$ has the integral "
        r"$(WM_2 + wM_1^\top)p + (WM_1 + wM_0)q$. Under a causal mask $M_0$, $M_1$, $M_2$ are the sums over "
        r"$\tau \le s$ of $\theta_\tau$ times those of $\mathcal{N}(\alpha_\tau, \Sigma_\tau)$.",
        ("the average", "the value is affine in the key", "the kernel is affine in the key"),
        "Anderson, An Introduction to Multivariate Statistical Analysis, 3rd ed. (2003), Section 2.3",
        _gaussian_moments,
        ("push", "rest", "slope", "offset"),
    ),
    lemma(
        "gaussian-scaling",
        "Doubly stochastic scaling of a Gaussian kernel",
        r"Let $\Sigma = FF^\top$, $\mu = \mathcal{N}(\alpha, \Sigma)$, $s(x, y) = y^\top Bx + f(x) + g(y)$, "
        r"$N = F^\top BF$, and $T \succ 0$ with $T + TNN^\top T = I$. For standard Gaussian $z$ and $w \mid "
        r"z \sim \mathcal{N}(TNz, T)$ both marginals are standard, because $(TN)(TN)^\top + T = I$, and the "
        r"density with respect to their product is a constant times $e^{w^\top Nz}$ times $e^{-\frac12 "
        r"z^\top N^\top TNz}$ times $e^{-\frac12 w^\top NN^\top Tw}$, which are functions of $Fz$ and of "
        r"$Fw$. Hence the law of $(\alpha + Fz, \alpha + Fw)$ has the density $a(x)e^{s(x,y)}b(y)$ with "
        r"respect to $\mu\otimes\mu$ and the marginals $\mu$. A density of this form with these marginals is "
        r"unique, so it is the doubly stochastic scaling $k_\infty$ of $e^s$; under it $y$ given $x$ has the "
        r"mean $\alpha + FTF^\top B(x - \alpha)$, for $\mu$-almost every $x$.",
        (
            "the average",
            "Σ = FFᵀ",
            "the score is yᵀBx + f(x) + g(y)",
            "T ≻ 0",
            "T + TNNᵀT = I",
            "the value is affine in the key",
        ),
        "Rüschendorf and Thomsen, Note on the Schrödinger equation and I-projections, Statist. Probab. Lett. "
        "17 (1993), 369–375 (uniqueness); the rest as stated",
        _gaussian_scaling,
        ("bilinear", "query_part", "key_part", "slope", "offset"),
    ),
    lemma(
        "cauchy-lipschitz",
        "Cauchy–Lipschitz",
        "A vector field that is continuous in time and smooth on an open set has from every start one "
        "maximal solution. The inverses and principal roots in the field were shown to exist on the domain "
        "of the claim; both conditions are open, and a principal root is an analytic function of its matrix, "
        r"so the field is smooth on a neighbourhood of the domain. A right-hand side $L\Sigma + \Sigma "
        r"L^\top$ keeps symmetric matrices symmetric.",
        ("covariance' = LΣ + ΣLᵀ",),
        "Hartman, Ordinary Differential Equations (1964), Theorems II.1.1 and II.3.1; Higham, Functions of "
        "Matrices (2008), Theorems 1.29 and 3.8",
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
        ("the velocity is affine", "a maximal solution", "Σ(t) = ΦΣ(0)Φᵀ"),
        "Ambrosio, Gigli, Savaré, Gradient Flows (2008), Lemma 8.1.6",
        _affine_pushforward,
    ),
    lemma(
        "linear-diffusion",
        "Linear equations with additive noise have Gaussian solutions",
        r"Let $b$, $L$ be smooth functions of the state. The system $\alpha' = b$, $\Sigma' = L\Sigma + "
        r"\Sigma L^\top + 2\varepsilon I$, $\varepsilon \ge 0$, has from every start one maximal solution; "
        r"with $\partial_t\Phi(t, s) = L(t)\Phi(t, s)$, $\Phi(s, s) = I$, it satisfies $\Sigma(t) = \Phi(t, "
        r"0)\Sigma(0)\Phi(t, 0)^\top + \int_0^t 2\varepsilon(s)\Phi(t, s)\Phi(t, s)^\top ds \succeq 0$. The "
        r"solution of $dX = (b + L(X - \alpha))\,dt + \sqrt{2\varepsilon}\,dW$ from $\mathcal{N}(\alpha(0), "
        r"\Sigma(0))$ has the law $\mathcal{N}(\alpha(t), \Sigma(t))$, which therefore solves "
        r"$\partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = \varepsilon\,\Delta\mu$ weakly wherever "
        r"$\Gamma_\mu$ is that velocity.",
        ("the velocity is affine", "covariance' = LΣ + ΣLᵀ + 2εI", "ε ≥ 0"),
        "Karatzas and Shreve, Brownian Motion and Stochastic Calculus, 2nd ed. (1991), Section 5.6; Hartman, "
        "Ordinary Differential Equations (1964), Theorems II.1.1 and II.3.1",
        _linear_diffusion,
        ("gradient",),
    ),
)
