"""Judgements: what a line of a certificate can say, as text and as SymPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.errors import CertificateError

#: relation -> (fields in order, how a reader writes it). The fields hold text of the small grammar.
RELATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "equal": (("left", "right"), "{left} = {right}"),
    "nonnegative": (("scalar",), "{scalar} ≥ 0"),
    "positive": (("scalar",), "{scalar} > 0"),
    "semidefinite": (("matrix",), "{matrix} ⪰ 0"),
    "negative-semidefinite": (("matrix",), "{matrix} ⪯ 0"),
    "definite": (("matrix",), "{matrix} ≻ 0"),
    "invertible": (("matrix",), "{matrix} is invertible"),
    "norm": (("matrix", "bound"), "|{matrix}| ≤ {bound} (spectral norm)"),
    "principal-root": (("matrix",), "{matrix} has no eigenvalue in (−∞, 0], and so a principal square root"),
    "softmax-average": (
        ("average", "value", "score"),
        (
            "{average} = ∫ ({value}) e^s dμ / ∫ e^s dμ, μ = N(mean, covariance), where both integrals are "
            "finite, s = {score}"
        ),
    ),
    "sinkhorn-average": (
        ("average", "value", "score"),
        (
            "{average} = ∫ ({value}) k dμ for μ-almost every x, μ = N(mean, covariance), k = a(x) e^s b(y) "
            "with ∫ k dμ = 1 in both tokens, s = {score}"
        ),
    ),
    "kernel-average": (
        ("average", "value", "weight"),
        (
            "{average} = ∫ ({value}) ({weight}) dμ, μ = N(mean, covariance); under a causal mask the sum "
            "over the positions up to the own one of their weights times this integral"
        ),
    ),
    "local-flow": (
        ("mean_rhs", "cov_rhs"),
        "the system mean' = {mean_rhs}, covariance' = {cov_rhs} has one maximal solution from every start",
    ),
    "congruence": (
        ("cov_rhs", "gradient"),
        (
            "covariance' = {cov_rhs} gives covariance(t) = Φ covariance(0) Φᵀ, Φ' = ({gradient}) Φ, Φ(t) "
            "invertible"
        ),
    ),
    "gaussian-solution": (
        ("velocity", "diffusion", "mean_rhs", "cov_rhs"),
        (
            "N(mean(t), covariance(t)) with mean' = {mean_rhs}, covariance' = {cov_rhs} solves the transport "
            "equation ∂μ/∂t + div(μ Γ) = ({diffusion}) Δμ of the velocity Γ = {velocity}"
        ),
    ),
    "constant-rank": (
        ("velocity", "mean_rhs", "cov_rhs"),
        (
            "the rank of covariance(t), covariance' = {cov_rhs}, is constant along the Gaussian solution "
            "with mean' = {mean_rhs}, velocity {velocity}"
        ),
    ),
    "flow-derivative": (
        ("functional", "derivative", "cov_rhs"),
        "d/dt ({functional}) = {derivative} along covariance' = {cov_rhs}",
    ),
    "time-derivative": (("curve", "derivative_matrix"), "d/dt ({curve}) = {derivative_matrix}"),
    "solution-curve": (
        ("curve", "cov_rhs"),
        "covariance(t) = {curve} solves covariance' = {cov_rhs} at every t that the hypotheses admit",
    ),
    "bounded-flow": (
        ("functional", "mean_rhs", "cov_rhs"),
        (
            "from every start, mean' = {mean_rhs}, covariance' = {cov_rhs} has a solution for all t ≥ 0; "
            "{functional} never increases along it and the covariance stays bounded"
        ),
    ),
    "decay": (
        ("functional", "strength", "scale", "mean_rhs", "cov_rhs"),
        (
            "along mean' = {mean_rhs}, covariance' = {cov_rhs} the functional f = {functional} satisfies "
            "f(t) ≤ f(0)/(1 + c f(0) t), c = ({strength})/({scale}), for all t ≥ 0, "
            "so that covariance(t) → 0 at least like 1/t"
        ),
    ),
    "escape": (
        ("functional", "strength", "scale", "cov_rhs"),
        (
            "along covariance' = {cov_rhs} the functional f = {functional} satisfies f(t) ≥ f(0)/(1 − "
            "c f(0) t), c = ({strength})/({scale}): from every start but 0 the covariance becomes unbounded "
            "no later than at t = 1/(c f(0))"
        ),
    ),
    "exponential-bound": (
        ("rate", "mean_rhs", "cov_rhs"),
        (
            "mean' = {mean_rhs}, covariance' = {cov_rhs} has a solution for all times, and "
            "|covariance(t)| ≤ exp(2 ({rate}) |t|) |covariance(0)|"
        ),
    ),
    "resolvent-flow": (
        ("root", "kernel", "mean_rhs", "cov_rhs"),
        (
            "the maximal solution of covariance' = {cov_rhs} from R Rᵀ, R = {root}, is "
            "R (I − t N)⁻¹ Rᵀ, N = {kernel}; it ends at t* = 1/λ_max(N) if that is positive, where it is "
            "unbounded and covariance/tr(covariance) tends to a matrix whose rank is the multiplicity of "
            "λ_max(N), and exists for all t ≥ 0 otherwise"
        ),
    ),
    "projected-limit": (
        ("root", "kernel", "mean_rhs", "cov_rhs"),
        (
            "the solution of covariance' = {cov_rhs} from R Rᵀ, R = {root}, exists for all t ≥ 0 and tends "
            "to R Π Rᵀ, Π the projector on the kernel of N = {kernel}, with an error of at most "
            "|R|²/(t μ), −μ the largest negative eigenvalue of N"
        ),
    ),
    "shorted-limit": (
        ("directions", "mean_rhs", "cov_rhs"),
        (
            "from every start the solution of covariance' = {cov_rhs} exists for all t ≥ 0, never increases "
            "and tends to the largest X with 0 ⪯ X ⪯ covariance(0) and ({directions}) X = 0"
        ),
    ),
    "decoupled": (
        ("score", "value", "mean_rhs", "slope"),
        (
            "Sinkhorn attention with score {score} and value {value}: every law with finite second moments "
            "has mean' = {mean_rhs} and covariance' = W Cᵀ + C Wᵀ, W = {slope}, and the cross-covariance C "
            "of query and key under the optimal coupling stays the same when the law is translated"
        ),
    ),
    "cost-gradient": (
        ("coupling", "scores", "gradient", "stationarity"),
        (
            "Φ = −½ tr(M C) − ¼ log det(Σ − C Σ⁻¹ C) + ¼ log det Σ at C = {coupling}, M = {scores} has the "
            "gradient {gradient} in Σ and ½ ({stationarity}) in C"
        ),
    ),
    "bures-flow": (
        ("coupling", "scores", "gradient", "cov_rhs"),
        (
            "covariance' = {cov_rhs} = −2(Σ G + G Σ), G = {gradient} the gradient in Σ of half the entropic "
            "self-transport cost over ε, with M = {scores} = A/ε and optimal cross-covariance {coupling}"
        ),
    ),
    "token-mean": (
        ("normaliser", "weight"),
        "{normaliser} is the mean of {weight} over the tokens y",
    ),
    "cone-collapse": (
        ("weight", "normaliser", "change", "rate"),
        (
            "unit tokens x' = mean over the tokens y of ({weight})/({normaliser}) times {change}, with "
            "dot(w, x) ≥ m at the start: the least dot(w, x) never decreases, the diameter of the points "
            "x/dot(w, x) is at most exp(−({rate}) t) times that at the start, and all tokens tend to one "
            "limit x* with |x − x*| ≤ (2/m) exp(−({rate}) t)"
        ),
    ),
    "common-cosine": (
        ("weight", "normaliser", "change", "rate"),
        (
            "unit tokens x' = mean over the tokens y of ({weight})/({normaliser}) times {change}, all "
            "cosines of different tokens equal to g(0) in [0, 1) at the start: they stay equal, g' = {rate} "
            "> 0, and g(t) → 1 as t → ∞"
        ),
    ),
    "pair-derivative": (
        ("functional", "motion", "partner_motion", "derivative"),
        (
            "the derivative of {functional} along x' = {motion}, y' = {partner_motion} is {derivative}, all "
            "other symbols held fixed"
        ),
    ),
    "basis-sum": (
        ("summand", "over", "total"),
        "the sum of {summand} over an orthonormal basis of vectors {over} is {total}, all else held fixed",
    ),
    "block-variation": (
        ("pair", "total"),
        (
            "rotations exp(tB) of any set S of unit tokens: the second derivatives at t = 0 of "
            "(1/(2n²)) Σ ({pair}) over all pairs of n tokens, summed over an orthonormal basis of skew B "
            "(for ½ tr BᵀB), are n⁻² Σ ({total}), x in S, y not in S"
        ),
    ),
    "block-rotation": (
        ("pair", "excess"),
        (
            "unit tokens at a critical point of Σ ({pair}) over all pairs whose Hessian is ⪯ 0: for every "
            "set S of tokens Σ ({excess}) ≥ 0, x in S, y not in S"
        ),
    ),
    "opposed-token": (
        ("pair", "weight", "change"),
        (
            "unit tokens at a critical point of Σ ({pair}) over all pairs, Σ over y of ({weight}) times "
            "{change} being 0 for every x: they are all equal, or Σ over y of dot(x, y) ≤ 0 for one x"
        ),
    ),
    "saddle-bound": (
        ("pair", "others", "bound"),
        (
            "n = {others} + 1 unit tokens at a critical point of E = (1/(2n²)) Σ ({pair}) over all pairs: "
            "they are all equal, or the Hessian of E has an eigenvalue ≥ {bound} > 0 with respect to the sum "
            "of squares"
        ),
    ),
    "dirac-maximum": (
        ("pair", "gap"),
        (
            "among all probability laws on the unit sphere ½ ∬ ({pair}) dμ dμ is largest exactly at the "
            "Dirac masses; every law is below by at least ½ ({gap}) ∬ |x − y|² dμ dμ"
        ),
    ),
    "hessian-difference": (
        ("pair", "difference"),
        (
            "n tokens on a manifold, E = (1/(2n²)) Σ ({pair}) over all pairs: the second derivatives of E "
            "along the geodesics of two Riemannian metrics from one point with one velocity differ by "
            "(1/(2n²)) Σ ({difference}), a − u and b − w being what the accelerations of x and y differ by; "
            "this is the derivative of E along a tangent vector"
        ),
    ),
    "weighted-geodesics": (
        ("weight", "force"),
        (
            "geodesics of the metric (1/n) Σ G |v|² on tokens, G the mean of {weight} over the tokens y, "
            "have accelerations c with G ⟨r, c⟩ = the mean over the tokens y of {force} for every tangent r "
            "at x, velocities p of x and q of y"
        ),
    ),
    "metric-independence": (
        ("pair", "derivative", "weight", "force"),
        (
            "n unit tokens at a critical point of E = (1/(2n²)) Σ ({pair}) over all pairs: the second "
            "derivatives of E along geodesics are the same for every Riemannian metric. At every point that "
            "of the metric (1/n) Σ G |v|², G the mean of {weight} over y, exceeds that of Σ |v|² by n⁻² "
            "times the sum over x and y of ({derivative}) at r = c(x), where G ⟨r, c⟩ is the mean over y of "
            "({force}) for every tangent r, c(x) tangent"
        ),
    ),
    "gradient-flow": (
        ("pair", "weight", "normaliser", "value", "projection", "metric", "direction"),
        (
            "F(μ) = ½ ∬ ({pair}) dμ dμ and Γ(x) = ({projection}) ∫ ({value}) ({weight}) dμ(y) / g(x), g = "
            "{normaliser}, satisfy ({projection}) ∇(δF/δμ)(x) = ({direction}) g(x) ({metric}) Γ(x) for every "
            "law μ of compact support: Γ is ({direction}) times the gradient of F for the metric ∫ ⟨v, "
            "({metric}) w⟩ g dμ; for n tokens n ({projection}) ∇F = ({direction}) g ({metric}) x' for each, "
            "F a function of the tokens, and the metric is the sum of g ⟨v, ({metric}) w⟩ over n"
        ),
    ),
    "energy-growth": (
        ("pair", "weight", "normaliser", "value", "projection", "metric", "direction"),
        (
            "along every solution of compact support of the transport equation of Γ(x) = ({projection}) ∫ "
            "({value}) ({weight}) dμ(y) / g(x), g = {normaliser}, and along tokens, F = ½ ∬ ({pair}) dμ dμ "
            "has ({direction}) F' = ∫ ⟨Γ, ({metric}) Γ⟩ g dμ ≥ 0, zero only where Γ is zero almost everywhere"
        ),
    ),
}

#: fields that hold scalars; every other field except the two sides of an equality holds a matrix
SCALAR_FIELDS = frozenset(
    (
        *("scalar", "bound", "score", "weight", "diffusion", "functional", "derivative"),
        *("rate", "strength", "scale", "normaliser"),
        *("pair", "summand", "total", "excess", "gap", "others", "direction", "difference", "force"),
    )
)


@dataclass(frozen=True)
class Judgement:
    """One statement: a relation between expressions that were read from text.

    Attributes
    ----------
    relation : str
        A key of :data:`RELATIONS`.
    texts : Mapping of str to str
        The expressions as written in the certificate.
    terms : Mapping of str to SymPy expression
        The same expressions, read.
    """

    relation: str
    texts: Mapping[str, str]
    terms: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.terms[name]

    def __str__(self) -> str:
        return RELATIONS[self.relation][1].format(**self.texts)


def check_shape(record: Any, where: str) -> None:
    """Refuse a stored judgement whose relation or fields are not those of the schema.

    Raises
    ------
    CertificateError
        Naming the place, the relation and the fields.
    """
    if not isinstance(record, Mapping):
        raise CertificateError(f"{where}: the conclusion must be an object with a 'relation'")
    relation = record.get("relation")
    if not isinstance(relation, str) or relation not in RELATIONS:
        raise CertificateError(f"{where}: relation {relation!r} is unknown; known are {', '.join(RELATIONS)}")
    wanted = {"relation", *RELATIONS[relation][0]}
    if set(record) != wanted:
        raise CertificateError(
            f"{where}: a {relation!r} conclusion has the fields {', '.join(sorted(wanted))}"
        )
    for name, text in record.items():
        if not isinstance(text, str):
            raise CertificateError(f"{where}: field {name!r} of the conclusion must be text")
