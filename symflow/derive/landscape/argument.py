r"""The landscape of the interaction energy on the sphere, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Rational, Symbol, cosh, exp, sinh

from symflow.algebra.symbols import dimension
from symflow.derive.derivation import Argument
from symflow.derive.landscape.checks import (
    Casimir,
    MomentsByRecurrence,
    NotNegative,
    SecondDerivatives,
    SeriesAtRationals,
    SplitSaddles,
)
from symflow.derive.landscape.moments import DEGREE, SIZE, STEP, moment_ratios
from symflow.derive.landscape.profile import COSINE, block_excess, field_variation, profile
from symflow.derive.steps import Formula, Step
from symflow.errors import InputError
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.energies.interaction import Interaction

_SOURCE = "GLPR23"
_ABSIL = "at a critical point the second derivative along a curve is the Hessian of its velocity"


@dataclass(frozen=True)
class Landscape(Argument):
    r"""Rotations, saddles and extremal laws of :math:`E_\beta`.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`; the model is the attention without
        normaliser, along whose flow the energy increases.
    excess : Expr
        g with Σ g(⟨x_i, x_j⟩) ≥ 0 over i in S, j not in S, at critical points with a Hessian ⪯ 0.
    variation : Expr
        T, what the second derivatives along the fields P_x u add up to for a pair.
    """

    excess: Expr
    variation: Expr


def landscape() -> Landscape:
    """Derive the landscape of the interaction energy of tokens on the sphere.

    References
    ----------
    GLPR23.

    Examples
    --------
    >>> landscape().excess
    (beta*c**2 - beta + c*d - c)*exp(beta*c)
    """
    energy, model = Interaction().statement(), Unnormalised(space="sphere")
    kernel = profile(energy)
    (beta,) = energy.parameters
    excess, variation = block_excess(energy), field_variation(energy)
    d: Any = dimension("d")
    if kernel != exp(beta * COSINE) / beta:
        raise InputError(f"the steps are about exp(beta*c)/beta, not about {kernel}")
    steps = (
        _casimir(d),
        _rotation(kernel, excess, d),
        _chord(beta, d),
        _opposed(beta),
        _field(kernel, variation, d),
        _saddles(beta, variation, d),
        _maximum(beta),
        _moments(),
        _minimum(kernel, beta),
    )
    return Landscape(model, model.statement(()), steps, excess, variation)


def _values(*symbols: Any) -> tuple[tuple[tuple[Any, Fraction], ...], ...]:
    """Return a few values of positive scalars; sizes are at least two."""
    numbers = (Fraction(1, 10), Fraction(1), Fraction(4))
    return tuple(
        tuple((symbol, Fraction(2 + index) if symbol.is_integer else value) for symbol in symbols)
        for index, value in enumerate(numbers)
    )


def _casimir(d: Any) -> Step:
    return Step(
        kind="lemma",
        title="Sums over rotations",
        statement=r"The matrices $B_{ab} = e_ae_b^\top - e_be_a^\top$, $a < b$, are a basis of the skew "
        r"matrices, orthonormal for $\frac12\operatorname{tr}B^\top B$. Summed over them,",
        formulas=(
            Formula(r"\sum_B B^2", rf"-(d-1)\,I_{{{d}}}"),
            Formula(r"\sum_B \langle Bx, y\rangle^2", r"|x|^2|y|^2 - \langle x, y\rangle^2"),
            Formula(r"\sum_B |Bx|^2", r"(d-1)\,|x|^2"),
        ),
        rule=r"Parseval's identity in both vectors of $B$",
        reference="",
        check=Casimir(),
    )


def _rotation(kernel: Expr, excess: Expr, d: Any) -> Step:
    beta = Symbol("beta", positive=True)
    zero = (((d - 1) ** 2 + 4 * beta**2) ** Rational(1, 2) - (d - 1)) / (2 * beta)
    return Step(
        kind="result",
        title="Rotating a block",
        statement=r"Let $e^{tB}$ rotate the tokens of $S$. Pairs inside $S$ and pairs outside keep their "
        r"cosine. The second derivatives of $E_\beta$ at $t = 0$ add up to $-n^{-2}\sum_{i\in S, j\notin "
        r"S}g(\langle x_i, x_j\rangle)$, so that the sum of $g$ is not negative at a critical point with a "
        r"Hessian $\preceq 0$. For $\beta > 0$, $g$ changes sign on $[-1, 1]$ at $c^*$ alone.",
        formulas=(
            Formula(r"E_\beta", r"\frac1{2\beta n^2}\sum_{i,j=1}^ne^{\beta\langle x_i, x_j\rangle}"),
            Formula("g(c)", excess),
            Formula("c^*", zero),
        ),
        rule=f"chain rule, sums over rotations; {_ABSIL}",
        reference=_SOURCE,
        check=SecondDerivatives(kernel, -excess, d, field=False),
    )


def _chord(beta: Any, d: Any) -> Step:
    below = sinh(beta) + COSINE * cosh(beta) - COSINE * exp(beta * COSINE)
    gap = (d - 1) * below + beta * (1 - COSINE**2) * exp(beta * COSINE)
    line = (d - 1) * (sinh(beta) + COSINE * cosh(beta))
    return Step(
        kind="step",
        title="A line above the share of a pair",
        statement=r"For $-1 \le c \le 1$ and $\beta > 0$ the second summand of the difference is not "
        r"negative, and $\sinh\beta + c\cosh\beta - ce^{\beta c} = \frac{1+c}2(e^\beta - e^{\beta c}) + "
        r"\frac{1-c}2(e^{\beta c} - e^{-\beta})$ is not either. Hence",
        formulas=(
            Formula("g(c)", r"\ell(c) - r(c) \le \ell(c)"),
            Formula(r"\ell(c)", line),
            Formula("r(c)", gap),
        ),
        rule="monotonicity of the exponential",
        reference="",
        check=NotNegative(gap, _values(beta, d)),
    )


def _opposed(beta: Any) -> Step:
    n = Symbol("n", integer=True, positive=True)
    bound = (cosh(beta) - (n - 1) * sinh(beta)) / n**2
    return Step(
        kind="result",
        title="Strict saddles for small β",
        statement=r"A critical point in an open hemisphere is consensus: where $\langle w, x_i\rangle > 0$ "
        r"is least, $\sum_je^{\beta c_{ij}}(\langle w, x_j\rangle - c_{ij}\langle w, x_i\rangle) = 0$ has "
        r"no negative summand. With $w = \sum_jx_j$, any other critical point has an $i$ with $\sum_{j\ne "
        r"i}c_{ij} \le -1$. Rotating $x_i$ alone gives $-\sum_{j\ne i}g(c_{ij}) \ge -\sum_{j\ne "
        r"i}\ell(c_{ij})$ over $\sum_B|Bx_i|^2 = d-1$, and so an eigenvalue of the Hessian of at least the "
        r"bound, which is positive for $(n-1)\tanh\beta < 1$ and hence for $n\beta < 1$.",
        formulas=(Formula(r"\lambda_*", bound),),
        rule=f"rotation of one token; {_ABSIL}",
        reference=_SOURCE,
        check=SplitSaddles(bound, n, beta),
    )


def _field(kernel: Expr, variation: Expr, d: Any) -> Step:
    return Step(
        kind="step",
        title="All tokens along one field",
        statement=r"Let all tokens follow $x' = P_xu$. Summed over an orthonormal basis of vectors $u$ the "
        r"second derivatives of $E_\beta$ are $\frac1{2n^2}\sum_{i,j}T(\langle x_i, x_j\rangle)$, and "
        r"$\sum_u\sum_i|P_{x_i}u|^2 = n(d-1)$.",
        formulas=(Formula("T(c)", variation),),
        rule="chain rule, traces of quadratic forms in u",
        reference="",
        check=SecondDerivatives(kernel, variation, d, field=True),
    )


def _saddles(beta: Any, variation: Expr, d: Any) -> Step:
    n = Symbol("n", integer=True, positive=True)
    low = 2 * exp(-beta) * ((d - 2) - (d - 1) * COSINE)
    bound = 2 * exp(-beta) * ((d - 2) * n + 1) / ((d - 1) * n**3)
    from_three = tuple(tuple((s, v + 1 if s == d else v) for s, v in given) for given in _values(beta, d))
    return Step(
        kind="result",
        title="Strict saddles in space",
        statement=r"For $d \ge 3$, $T \ge 0$ and $T(c) \ge 2e^{-\beta}((1-c)(d-3) + (1-c)^2) \ge "
        r"2e^{-\beta}(d - 2 - (d-1)c)$. With $\sum_{j\ne i}c_{ij} \le -1$ for one $i$, every critical point "
        r"but consensus has an eigenvalue of at least $\lambda_*$, for every $\beta > 0$.",
        formulas=(Formula(r"\lambda_*", bound),),
        rule=_ABSIL,
        reference=_SOURCE,
        check=NotNegative(variation - low, from_three),
    )


def _maximum(beta: Any) -> Step:
    gap = (exp(beta) - exp(beta * COSINE)) / beta - exp(-beta) * (1 - COSINE)
    return Step(
        kind="result",
        title="Dirac masses are the maximisers",
        statement=r"$e^\beta - e^{\beta c} = e^{\beta c}(e^{\beta(1-c)} - 1) \ge \beta(1-c)e^{-\beta}$ with "
        r"$1 - c = \frac12|x - y|^2$. Integrated, every law on the sphere is below a Dirac mass by at least "
        r"$\delta(\mu)$",
        formulas=(
            Formula(
                r"\delta(\mu)",
                r"\tfrac14e^{-\beta}\iint|x - y|^2\,d\mu(x)\,d\mu(y)",
            ),
        ),
        rule=r"$e^z \ge 1 + z$",
        reference=_SOURCE,
        check=NotNegative(gap, _values(beta)),
    )


def _moments() -> Step:
    in_power, in_degree = moment_ratios()
    return Step(
        kind="lemma",
        title="Powers in zonal polynomials",
        statement=r"Let $\nu$ be the law of a coordinate under the uniform law and $P_k$ the orthogonal "
        r"polynomials of $\nu$ with $P_k(1) = 1$. The moments $M(k, i) = \int t^{k+2i}P_k\,d\nu$ start from "
        r"$M(0, 0) = 1$ and have positive ratios; the other moments of powers of degree below $k$, or of "
        r"the other parity, vanish.",
        formulas=(
            Formula(
                "M(k, i+1)/M(k, i)",
                in_power.subs({DEGREE: Symbol("k"), STEP: Symbol("i"), SIZE: Symbol("d")}),
            ),
            Formula(
                "M(k+1, i)/M(k, i)",
                in_degree.subs({DEGREE: Symbol("k"), STEP: Symbol("i"), SIZE: Symbol("d")}),
            ),
        ),
        rule="Rodrigues' formula, k integrations by parts, the beta function",
        reference="",
        check=MomentsByRecurrence(),
    )


def _minimum(kernel: Expr, beta: Any) -> Step:
    return Step(
        kind="result",
        title="The uniform law is the only minimiser",
        statement=r"By the addition theorem $E_\beta(\mu) = \frac12\sum_ka_k\sum_m(\int Y_{km}\,d\mu)^2$ "
        r"for an orthonormal basis of harmonics, and every $a_k$ is a sum of positive terms. So $E_\beta$ "
        r"is least where the integrals of all harmonics of degree $k \ge 1$ vanish: for the uniform law, "
        r"and for no other law since harmonics are dense.",
        formulas=(Formula("a_k", r"\sum_{i\ge0}\frac{\beta^{k+2i-1}}{(k+2i)!}\,M(k, i)"),),
        rule="addition theorem",
        reference=_SOURCE,
        check=SeriesAtRationals(kernel, beta),
    )
