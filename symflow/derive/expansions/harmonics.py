r"""Exponential weights on the circle and on S²: a velocity from the harmonics of the law of the tokens.

Where :math:`B^\top B = \kappa^2I` the score is κ⟨u, y⟩ with the unit vector u = Bx/κ, and the average
:math:`A = \sum_j w_jx_j/\sum_jw_j` is G/Z with :math:`G = \nabla_q\frac1n\sum_je^{\langle q,x_j\rangle}` at
q = κu, up to a common factor: one expansion of Z gives both.
"""

from __future__ import annotations

from dataclasses import dataclass

from symflow.algebra.latex import latex
from symflow.derive.checks import Together
from symflow.derive.derivation import Argument
from symflow.derive.expansions.bilinear import Bilinear, exponential_scores
from symflow.derive.expansions.checks import (
    AdditionTheorem,
    ExactMoments,
    RatiosDecrease,
    ScoreIsBilinear,
    TailBound,
    TruncatedAverage,
)
from symflow.derive.expansions.moments import in_tokens
from symflow.derive.expansions.series import Series, series_of
from symflow.derive.particles.derivation import TokenDerivation
from symflow.derive.steps import Formula, Step
from symflow.errors import InputError
from symflow.flow import PairTerm, TokenFlow


@dataclass(frozen=True)
class HarmonicSum(Argument):
    """A velocity of tokens from harmonics of their law, step by step.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    flow : TokenFlow
        The system of tokens.
    scores : tuple of Bilinear
        The score of each term of the flow.
    series : Series
        Coefficients and tail.
    """

    flow: TokenFlow
    scores: tuple[Bilinear, ...]
    series: Series

    def __repr__(self) -> str:
        return f"HarmonicSum({self.flow.name}, d = {self.series.dimension}: {len(self.scores)} terms)"


def harmonic_sum(tokens: TokenDerivation, dimension: int) -> HarmonicSum:
    """Derive the velocity from harmonics, with a proved bound of what is cut off.

    Parameters
    ----------
    tokens : TokenDerivation
        Tokens on the sphere with exponential weights.
    dimension : int
        2 (the circle) or 3 (S²).

    Raises
    ------
    NoExpansion
        If tokens do not live on a sphere, or see only those before them, or weights are no exponential.

    Examples
    --------
    >>> from symflow.derive.particles import token_flow
    >>> from symflow.models.attention.softmax import Softmax
    >>> harmonic_sum(token_flow(Softmax(space="sphere"), ()), 2).series.dimension
    2
    """
    if dimension not in (2, 3):
        raise InputError(f"dimension = {dimension!r} must be 2 (the circle) or 3 (S²)")
    flow = tokens.flow
    scores, series = exponential_scores(flow), series_of(dimension)
    reads = (_score_step(flow, term, score) for term, score in zip(flow.terms, scores, strict=True))
    return HarmonicSum(tokens.model, tokens.statement, (*reads, *_steps(series)), flow, scores, series)


def _score_step(flow: TokenFlow, term: PairTerm, score: Bilinear) -> Step:
    squares = "".join(
        rf" + ({latex(slope)})\,\big|{latex(matrix * token)}\big|^2"
        for pairs, token in ((score.query_squares, flow.x), (score.key_squares, flow.y))
        for slope, matrix in pairs
    )
    return Step(
        kind="step",
        title="The score on the sphere",
        statement=rf"The score is $s(x,y) = y^\top Bx + a^\top x + b^\top y + s{squares}$ with $B$, $a$, $b$ "
        r"below. Squares are constant where their matrix is orthogonal up to a factor; what is left of $x$ "
        r"alone cancels in normalised weights. If $b = 0$ and $B^\top B = \kappa^2I$, then "
        r"$s(x,y) = \kappa\langle u,y\rangle + \text{const}(x)$ with the unit vector $u = Bx/\kappa$.",
        formulas=tuple(
            Formula(name, latex(value))
            for name, value in (("B", score.matrix), ("a", score.query), ("b", score.key))
        ),
        rule="linearity of the pairings; $|x| = |y| = 1$",
        reference="",
        check=ScoreIsBilinear(in_tokens(term), score, flow.x, flow.y),
    )


def _steps(series: Series) -> tuple[Step, ...]:
    return (_expansion(series), _addition(series), _velocity(series), _ratios(series), _bound(series))


def _expansion(series: Series) -> Step:
    d = series.dimension
    number = r"N_0 = 1,\ N_k = 2" if d == 2 else r"N_k = 2k+1"
    half = "1" if d == 2 else r"\tfrac32"
    name = r"e^{-\kappa}I_k(\kappa)" if d == 2 else r"e^{-\kappa}i_k(\kappa)"
    polynomials = r"\cos k\theta = P_k(\cos\theta)" if d == 2 else r"P_k \text{ Legendre's polynomials}"
    return Step(
        kind="lemma",
        title="The kernel in harmonics",
        statement=rf"With ${polynomials}$ and ${number}$, absolutely and uniformly on $[-1,1]$; "
        r"$e^\kappa c_k$ is the mean of $e^{\kappa t}P_k(t)$, term by term of the exponential series: "
        r"all its coefficients are positive.",
        formulas=(
            Formula(r"e^{\kappa(t-1)}", r"\sum_{k\ge0} N_k\,c_k(\kappa)\,P_k(t)"),
            Formula(
                r"c_k(\kappa)",
                rf"e^{{-\kappa}}\sum_{{j\ge0}}\frac{{\Gamma({half})}}{{j!\,\Gamma(k+j+{half})}}"
                rf"\Big(\frac{{\kappa}}{{2}}\Big)^{{k+2j}} = {name}",
            ),
        ),
        rule="integration of the exponential series against $P_k$",
        reference="",
        check=ExactMoments(d),
    )


def _addition(series: Series) -> Step:
    if series.dimension == 2:
        formula = Formula(r"P_k(\langle u,x\rangle)", r"\operatorname{Re}\,u^k\,\overline{x}^k")
        text = r"With vectors of the plane as complex numbers,"
    else:
        text = (
            r"With the derivatives $P_k^{(m)} = \sigma_{km}q_{km}$ of Legendre's polynomials, "
            r"$q_{k+1,m} = \alpha_{km}z\,q_{km} - q_{k-1,m}$ and $q_{mm} = 1$, and $w_x = x_1 + ix_2$,"
        )
        formula = Formula(
            r"P_k(\langle u,x\rangle)",
            r"\sum_{m\le k}(2-\delta_{m0})\frac{(k-m)!}{(k+m)!}\sigma_{km}^2\,q_{km}(u_3)\,q_{km}(x_3)\,"
            r"\operatorname{Re}\,w_u^m\,\overline{w_x}^m",
        )
    return Step(
        kind="lemma",
        title="The addition theorem",
        statement=text,
        formulas=(formula,),
        rule="products of harmonics, so that sums over tokens are moments",
        reference="",
        check=AdditionTheorem(series.dimension),
    )


def _velocity(series: Series) -> Step:
    d = series.dimension
    along = r"c_{k-1}+c_{k+1}" if d == 2 else r"k\,c_{k-1}+(k+1)\,c_{k+1}"
    across = r"\tfrac1k(c_{k-1}-c_{k+1})" if d == 2 else r"c_{k-1}-c_{k+1}"
    return Step(
        kind="step",
        title="Mass and mean of the weights",
        statement=r"Let $Y_k(u) = \frac1n\sum_jP_k(\langle u,x_j\rangle)$, $Z = \frac1n\sum_j"
        r"e^{\kappa(\langle u,x_j\rangle-1)}$ and $G = \frac1n\sum_je^{\kappa(\langle u,x_j\rangle-1)}x_j$, "
        r"the gradient of $q\mapsto\frac1n\sum_je^{\langle q,x_j\rangle}$ at $q = \kappa u$ times "
        r"$e^{-\kappa}$: its part along $u$ is the derivative by $\kappa$, the rest that by $u$ over "
        rf"$\kappa$. With $t_k = {across} = N_kc_k/\kappa$, $r_k = {along}$ for $k\ge1$ and $r_0 = c_1$,",
        formulas=(
            Formula("Z", r"c_0 + \kappa\sum_{k\ge1}t_k\,Y_k(u)"),
            Formula("G", r"\Big(\sum_{k\ge0}r_k\,Y_k(u)\Big)u + \sum_{k\ge1}t_k\,\nabla Y_k(u)"),
        ),
        rule="differentiation of the series",
        reference="",
        check=TruncatedAverage(d),
    )


def _ratios(series: Series) -> Step:
    d = series.dimension
    factor = "2k" if d == 2 else "2k+1"
    return Step(
        kind="lemma",
        title="Ratios decrease",
        statement=rf"The series gives $c_{{k-1}} - c_{{k+1}} = \frac{{{factor}}}{{\kappa}}c_k$, so "
        rf"$\rho_k = c_{{k+1}}/c_k$ satisfies $\rho_k = 1/(\beta_k + \rho_{{k+1}})$, "
        rf"$\beta_k = (2k+{d})/\kappa$. Suppose $0\le\rho_{{k+1}}-\rho_{{k+2}}\le 2/\kappa$. Then the "
        r"difference below lies in $[0, 2/\kappa]$, as $\rho_k\rho_{k+1} = \rho_{k+1}/(\beta_k+\rho_{k+1}) "
        r"< 1$. It does for large $k$, where $1/(\beta_k + 1/\beta_{k+1}) \le \rho_k \le 1/\beta_k \le "
        r"2/\kappa$; hence for all $k$.",
        formulas=(
            Formula(
                r"\rho_k - \rho_{k+1}",
                r"\rho_k\,\rho_{k+1}\Big(\frac2\kappa - (\rho_{k+1}-\rho_{k+2})\Big)",
            ),
        ),
        rule="the recurrence, and induction downwards",
        reference="",
        check=RatiosDecrease(d),
    )


def _bound(series: Series) -> Step:
    d = series.dimension
    tail = r"\frac{2c_M}{1-\rho_M}"
    if d == 3:
        tail = r"c_M\Big(\frac{2M+1}{1-\rho_M} + \frac{2\rho_M}{(1-\rho_M)^2}\Big)"
    bernstein = r"$|Y_k|\le1$ and, by Bernstein's inequality, $|\nabla Y_k|\le k$"
    return Step(
        kind="result",
        title="What is cut off",
        statement=rf"Keep the degrees $k \le M$, $M\ge1$, and let $S_M = \sum_{{k\ge M}}N_kc_k$. "
        rf"Since {bernstein}, "
        r"the error of $Z$, that of $G$ along $u$ and that of $G$ across are at most $S_M$ each. With "
        r"$|G|\le Z$ and $S_M$ bounded by a geometric series, that of the average $G/Z$ is at most "
        r"$\varepsilon_M$, where $\rho_M < 1$,",
        formulas=(Formula(r"\varepsilon_M", rf"\frac{{3}}{{Z^{{(M)}}}}\,{tail}"),),
        rule="geometric series; the truncated mass $Z^{(M)}$ is known after it has been computed",
        reference="",
        check=Together((TailBound(d), TruncatedAverage(d))),
    )
