"""Facts about energies of pairs: their first variation, and their derivative along a flow."""

from __future__ import annotations

from sympy import Identity, Integer, Rational, Trace, ZeroMatrix

from symflow.certify.lemmas.lemma import lemma
from symflow.certify.lemmas.tokens import is_normalised
from symflow.certify.rules.rule import Inference
from symflow.certify.terms import Rejected, is_symbol, multiply, shape_of, total, transposed

_HALF = Rational(1, 2)
_FIELDS = ("pair", "weight", "normaliser", "value", "projection", "metric", "direction")


def _first_variation(line: Inference) -> None:
    line.require("gradient-flow")
    done, slope = line.conclusion, line.arguments["slope"]
    x, y = line.symbol(line.variables.query), line.symbol(line.variables.key)
    _require_open(line, slope)
    _require_derivative(line, slope, x, y)
    _require_projection(line, x)
    pointwise = line.premise(1, "equal")
    line.same(pointwise["left"], multiply(done["projection"], slope), "premise 2 is not about the slope")
    velocity = multiply(done["direction"] * done["weight"], done["metric"], done["projection"], done["value"])
    line.same(pointwise["right"], velocity, "premise 2 is not direction · weight · metric · value")
    line.same(
        line.premise(2, "definite")["matrix"], done["metric"], "premise 3 is not that the metric is ≻ 0"
    )
    mirrored = line.premise(3, "equal")
    line.same(mirrored["left"], done["metric"], "premise 4 is not about the metric")
    line.same(mirrored["right"], transposed(done["metric"]), "premise 4 is not that the metric is symmetric")
    line.count(4 + is_normalised(line, 4))


def _require_open(line: Inference, slope: object) -> None:
    """Refuse abbreviations, and tokens where a constant or a function of one token has to stand."""
    done, names = line.conclusion, line.variables
    for term in (*(done[field] for field in _FIELDS if field != "normaliser"), slope):
        barred = [*line.terms.definitions, names.noise, names.mean, names.covariance, names.factor]
        line.terms.require_free(term, barred, "a function of two tokens")
    line.terms.require_free(done["value"], [names.query], "the value")
    for field in ("metric", "direction"):
        line.terms.require_free(done[field], [names.query, names.key], f"the {field}")
    if done["direction"] not in (Integer(1), Integer(-1)):
        raise Rejected("the direction is 1 for an ascent and -1 for a descent")


def _require_derivative(line: Inference, slope: object, x: object, y: object) -> None:
    """Premise 1: the derivative of ½(W(x, y) + W(y, x)) along x' = z is ⟨slope, z⟩."""
    found, z = line.premise(0, "pair-derivative"), line.symbol(line.variables.noise)
    pair = line.conclusion["pair"]
    exchanged = pair.xreplace({x: y, y: x})
    line.same(found["functional"], _HALF * (pair + exchanged), "premise 1 is not about ½(W(x, y) + W(y, x))")
    line.same(found["motion"], z, "premise 1 does not move x in every direction")
    still = ZeroMatrix(*shape_of(y))
    line.same(found["partner_motion"], still, "premise 1 moves y as well")
    line.same(found["derivative"], Trace(multiply(transposed(slope), z)), "premise 1 has another slope")


def _require_projection(line: Inference, x: object) -> None:
    """On ℝᵈ every metric; on the sphere P_x, with which only the identity is shown to commute."""
    projection, one = line.conclusion["projection"], Identity(shape_of(x)[0])
    if line.terms.same(projection, one):
        return
    tangent = total([one, multiply(-1, x, transposed(x))])
    line.same(projection, tangent, "the projection is neither I nor I − x xᵀ")
    line.same(line.conclusion["metric"], one, "on the sphere the metric has to be the identity")


def _growth(line: Inference) -> None:
    line.require("energy-growth")
    flow = line.premise(0, "gradient-flow")
    for field in _FIELDS:
        line.same(flow[field], line.conclusion[field], f"premise 1 has another {field}")
    normaliser = line.conclusion["normaliser"]
    if normaliser == 1:
        line.count(1)
        return
    line.count(2)
    if not is_symbol(normaliser):
        raise Rejected("the normaliser must be one or a symbol")
    line.same(line.premise(1, "positive")["scalar"], normaliser, "premise 2 is not that g > 0")


FACTS = (
    lemma(
        "pair-energy",
        "The first variation of an energy of pairs",
        r"Let $W$ be smooth and $F(\mu) = \frac12\iint W\,d\mu\,d\mu$. For measures of compact support "
        r"$F(\mu + \varepsilon\chi)$ is quadratic in $\varepsilon$, with derivative $\int\phi\,d\chi$ at "
        r"0, $\phi(x) = \frac{\delta F}{\delta\mu}(x) = \int\frac12(W(x, y) + W(y, x))\,d\mu(y)$; "
        r"$\nabla\phi$ is the average of the gradients in $x$, and its projection the gradient on the "
        r"sphere. For $\mu = \frac1n\sum_j\delta_{x_j}$ the function $F$ of the tokens has the gradients "
        r"$\nabla_{x_i}F = \frac1n\nabla\phi(x_i)$, because $x_i$ is in both places of the sum. So an "
        r"equality between the gradient of $\frac12(W(x, y) + W(y, x))$ in $x$ and what $y$ adds to the "
        r"velocity, times a symmetric definite matrix, may be averaged over $y$; the velocity is that "
        r"average over $g$.",
        (
            "the derivative of ½(W(x, y) + W(y, x)) in x is ⟨s, z⟩",
            "P s = ± (weight) M P (value)",
            "M ≻ 0",
            "M is symmetric",
            "where the weights are normalised: g is the mean of the weight",
        ),
        "Ambrosio, Gigli, Savaré, Gradient Flows (2008), Sections 8.1, 10.4",
        _first_variation,
        ("slope",),
    ),
    lemma(
        "energy-dissipation",
        "Dissipation of an energy of pairs",
        r"Along a solution of $\partial_t\mu + \operatorname{div}(\mu\Gamma) = 0$ whose supports stay in one "
        r"compact set, with $\Gamma$ bounded there, and for a smooth $W$: $\frac{d}{dt}F(\mu) = "
        r"\int\langle\nabla\frac{\delta F}{\delta\mu}, \Gamma\rangle\,d\mu$. Where "
        r"$\nabla\frac{\delta F}{\delta\mu} = \pm gM\Gamma$, $g > 0$, $M \succ 0$, that is $\pm\int\langle "
        r"\Gamma, M\Gamma\rangle g\,d\mu$.",
        ("the gradient-flow structure", "where the weights are normalised: g > 0"),
        "Ambrosio, Gigli, Savaré, Gradient Flows (2008), Section 8.1 and Proposition 10.3.18",
        _growth,
    ),
)
