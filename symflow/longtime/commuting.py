r"""Values that commute with the covariance: the closed form of mean and covariance.

If every V_h commutes with Σ₀ and with S, then :math:`\dot\Sigma = \Sigma S\Sigma` and

.. math:: \Sigma(t) = (I - t\Sigma_0S)^{-1}\Sigma_0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sympy import ImmutableMatrix, MatMul, MatPow, Rational, exp
from sympy import eye as sympy_eye

from symflow.algebra.exact.numbers import (
    AlgebraicNumber,
    BallMatrix,
    largest_root,
    matrix_latex,
)
from symflow.algebra.exact.rational import (
    Factor,
    RationalMatrix,
    commute,
    diagonal,
    fmpq,
    fractions,
    identity,
    inertia_on_range,
    is_symmetric,
    is_zero,
    kernel,
    psd_factor,
    to_sympy,
    trace,
)
from symflow.derive.checks import Together
from symflow.derive.steps import Formula
from symflow.longtime.assemble import steps_of
from symflow.longtime.checks import Holds, MeanSeries, SolvesClosedEquations
from symflow.longtime.curve import Array, ClosedForm, Mean, RationalCurve, plain_clock
from symflow.longtime.projector import limit_on_kernel
from symflow.longtime.quadratic import QuadraticFlow, mean_is_homogeneous, quadratic_flow, scalar_value
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Bound, Criterion, Hypothesis, LongTime

_STATEMENT = (
    r"Let $\dot\Sigma = \sum_h V_h\Sigma A_h\Sigma + \Sigma A_h^{\top}\Sigma V_h^{\top}$ and "
    r"$S = \sum_h V_hA_h + A_h^{\top}V_h^{\top}$. If every $V_h$ commutes with $\Sigma_0$ and with $S$, then "
    r"it commutes with $\Sigma(t) = (I-t\Sigma_0S)^{-1}\Sigma_0 = "
    r"\Sigma_0^{1/2}(I-t\,\Sigma_0^{1/2}S\Sigma_0^{1/2})^{-1}\Sigma_0^{1/2}$, which solves "
    r"$\dot\Sigma = \Sigma S\Sigma$ and hence the equation. With $\Sigma_0 = LDL^{\top}$, $D \succ 0$ "
    r"diagonal and $L$ of full column rank, the nonzero eigenvalues of $\Sigma_0^{1/2}S\Sigma_0^{1/2}$ "
    r"are those of $D\,L^{\top}SL$. If the largest eigenvalue $\lambda$ is positive, $\Sigma$ blows up at "
    r"$t^* = 1/\lambda$ and the rank of $\lim\Sigma/\operatorname{tr}\Sigma$ is the multiplicity of "
    r"$\lambda$; otherwise $\Sigma(t) \to LN(N^{\top}D^{-1}N)^{-1}N^{\top}L^{\top}$, the columns of $N$ a "
    r"basis of $\ker(L^{\top}SL)$, and the rest decays like $1/t$."
)
#: Longest matrix, in characters of SymPy, that is written out.
_PRINTED = 200
_MEAN = r"e^{t\sum_hV_h}(I-t\Sigma_0S)^{-1/2}\alpha_0"
_CONSTANT = r"e^{t\sum_hV_h(I+\Sigma_0A_h)}\alpha_0"
_CONSTANT_STATEMENT = (
    r" Here $\Sigma$ is constant and the mean has no constant term, so "
    rf"$\alpha(t) = {_CONSTANT}$."
)
_MEAN_STATEMENT = (
    r" If moreover $\sum_hV_hA_h$ is symmetric and the mean has no constant term, "
    rf"$\alpha(t) = {_MEAN}$ with the principal root."
)


@dataclass(frozen=True, eq=False)
class _Data:
    """Exact quantities of the criterion."""

    exact: ExactProblem
    flow: QuadraticFlow
    factor: Factor
    reduced: RationalMatrix  # LᵀSL

    @property
    def spectrum(self) -> Any:
        """Characteristic polynomial of Σ₀S: that of FᵀSF times a power of x."""
        return (self.exact.sigma * self.flow.S).charpoly()


def commuting(exact: ExactProblem) -> LongTime | None:
    """Return the fate of a law whose covariance commutes with the values; None where it does not apply."""
    flow = quadratic_flow(exact)
    if flow is None:
        return None
    S = flow.S
    if not all(commute(V, exact.sigma) and commute(V, S) for V, _ in flow.pairs):
        return None
    factor = psd_factor(exact.sigma)
    assert factor is not None  # the reading made sure
    data = _Data(exact, flow, factor, factor.L.transpose() * S * factor.L)
    if inertia_on_range(exact.sigma, S, factor.rank).positive:
        return _blow_up(data)
    return _converges(data)


def _blow_up(data: _Data) -> LongTime:
    top, multiplicity = largest_root(data.spectrum)
    t_star = top.reciprocal()
    direction = _direction(data, top)
    criterion = _criterion(
        data, Hypothesis(rf"$\lambda = {top.to_latex()}$ has multiplicity {multiplicity}", _root_words(top))
    )
    closed = _closed_form(data, float(t_star))
    formulas = (
        *_shown(closed),
        Formula("t^*", t_star.to_latex()),
        Formula(r"\operatorname{rank}\lim_{t\to t^*}\Sigma/\operatorname{tr}\Sigma", str(multiplicity)),
    )
    return LongTime(
        derivation=_derivation(data, criterion, closed, formulas),
        criterion=criterion,
        closed_form=closed,
        limit_rank=multiplicity,
        direction=direction,
        blow_up_time=t_star,
        global_in_time=False,
        witnesses={**_witnesses(data), "lambda": top, "multiplicity": multiplicity},
        reason="the covariance has no limit: it blows up",
    )


def _converges(data: _Data) -> LongTime:
    factor = data.factor
    null = kernel(data.reduced) if factor.rank else identity(0)
    limit = limit_on_kernel(factor, null, data.exact.dim)
    rank = int(null.ncols())
    criterion = _criterion(
        data,
        Hypothesis(
            rf"$L^{{\top}}SL \preceq 0$ with a kernel of dimension {rank}",
            "signs of the characteristic polynomial, by Descartes' rule",
        ),
    )
    closed = _closed_form(data, None)
    formulas = (
        *_shown(closed),
        Formula(r"\Sigma^*", matrix_latex(limit) if data.exact.dim <= 6 else r"\lim_{t\to\infty}\Sigma(t)"),
        Formula(r"\operatorname{rank}\Sigma^*", str(rank)),
    )
    return LongTime(
        derivation=_derivation(data, criterion, closed, formulas),
        criterion=criterion,
        closed_form=closed,
        limit=to_sympy(limit),
        limit_rank=rank,
        global_in_time=True,
        bounds=(Bound(r"\Sigma(t) - \Sigma^* = O(1/t)"),),
        witnesses={**_witnesses(data), "kernel": fractions(null) if rank else []},
        reason="no blow-up: the limit exists",
    )


def _direction(data: _Data, top: AlgebraicNumber) -> Any:
    r"""Return the limit of Σ/tr Σ: the projector formula of the limit for the top eigenspace."""
    if not top.is_rational:
        return _ball_direction(data, top)
    inverse = diagonal([1 / value for value in data.factor.D])
    shifted = data.reduced - inverse * fmpq(top.fraction())
    limit = limit_on_kernel(data.factor, kernel(shifted), data.exact.dim)
    return to_sympy(limit * (1 / trace(limit)))


def _ball_direction(data: _Data, top: AlgebraicNumber) -> BallMatrix:
    r"""Return the direction for an irrational λ in balls.

    With Σ₀ = FFᵀ, G = FᵀSF and :math:`Y = \Sigma_0S` one has p(Y)Σ₀ = F p(G) Fᵀ for every polynomial p. The
    squarefree part of the characteristic polynomial of G, divided by x − λ, vanishes at every other
    eigenvalue: for this p the product is a multiple of FΠFᵀ, Π the projector on the eigenspace.
    """
    from flint import arb_mat, ctx

    generator = data.exact.sigma * data.flow.S
    characteristic = data.spectrum
    squarefree = characteristic // characteristic.gcd(characteristic.derivative())
    coefficients = squarefree.coeffs()
    with ctx.workprec(256):
        root = top.arb(256)
        quotient = [root * 0 + coefficients[-1]]
        for coefficient in reversed(coefficients[1:-1]):  # synthetic division by x − λ
            quotient.append(quotient[-1] * root + coefficient)
        value = arb_mat(data.exact.sigma) * quotient[0]
        applied = arb_mat(generator)
        for coefficient in quotient[1:]:
            value = applied * value + arb_mat(data.exact.sigma) * coefficient
        size = sum((value[i, i] for i in range(data.exact.dim)), root * 0)
        return BallMatrix.of([[entry / size for entry in row] for row in value.tolist()])


def _criterion(data: _Data, last: Hypothesis) -> Criterion:
    how = "multiples of the identity" if scalar_value(data.flow) else "rational arithmetic"
    hypotheses = (
        Hypothesis(r"$V_h\Sigma_0 = \Sigma_0V_h$ and $V_hS = SV_h$ for every head", how),
        Hypothesis(rf"$\operatorname{{rank}}\Sigma_0 = {data.factor.rank}$", "rational elimination"),
        last,
    )
    mean = ""
    if is_zero(data.exact.alpha) and _has_mean(data):
        mean = r" The mean has no constant term and stays $0$."
    elif _has_mean(data):
        mean = _MEAN_STATEMENT if is_symmetric(data.flow.half) else _CONSTANT_STATEMENT
    return Criterion("commuting", _STATEMENT + mean, "CACP25", hypotheses)


def _derivation(data: _Data, criterion: Criterion, closed: ClosedForm, formulas: Any) -> Any:
    lemma: Any = SolvesClosedEquations(data.exact, closed.curve, closed.clock)
    if closed.mean is not None and is_symmetric(data.flow.half):
        lemma = Together((lemma, MeanSeries(data.exact, data.flow)))
    result = Holds(
        partial(_agrees_at_one_time, data, closed),
        "the factor multiplied out; the inverse of I − tΣ₀S by elimination",
        "equal in rational arithmetic",
    )
    return steps_of(data.exact, criterion, lemma, formulas, result)


def _agrees_at_one_time(data: _Data, closed: ClosedForm) -> bool:
    t = fmpq(1) / 1009
    L, D = data.factor.L, diagonal(data.factor.D)
    matrix = identity(data.exact.dim) - data.exact.sigma * data.flow.S * t
    factored = bool(L * D * L.transpose() == data.exact.sigma)
    return factored and bool(matrix * closed.curve.at(t) == data.exact.sigma)


def _witnesses(data: _Data) -> dict[str, Any]:
    return {
        "L": fractions(data.factor.L),
        "D": [fractions(diagonal([value]))[0][0] for value in data.factor.D],
        "S": fractions(data.flow.S),
        "reduced": fractions(data.reduced),
    }


def _root_words(root: AlgebraicNumber) -> str:
    if root.is_rational:
        return "a rational root of the characteristic polynomial"
    return rf"the largest root of ${root.polynomial_latex()}$, isolated in ball arithmetic"


def _shown(closed: ClosedForm) -> tuple[Formula, ...]:
    lines = [Formula(r"\Sigma(t)", r"(I-t\Sigma_0S)^{-1}\Sigma_0")]
    if closed.curve.coefficients[0].nrows() <= 2 and len(str(closed.Sigma())) <= _PRINTED:
        lines.append(Formula("", closed.Sigma()))
    if closed.mean is not None:
        lines.append(Formula(r"\alpha(t)", closed.mean.latex))
    return tuple(lines)


# ------------------------------------------------------------------------------------------ the closed form


def _closed_form(data: _Data, ends: float | None) -> ClosedForm:
    curve = RationalCurve.resolvent(data.exact.sigma * data.flow.S, data.exact.sigma)
    mean = _mean(data) if _has_mean(data) else None
    tail = "" if mean is None else rf", \qquad \alpha(t) = {mean.latex}"
    return ClosedForm(curve, plain_clock(), ends, mean, rf"\Sigma(t) = (I-t\Sigma_0S)^{{-1}}\Sigma_0{tail}")


def _has_mean(data: _Data) -> bool:
    constant = is_zero(data.flow.rhs(data.exact.sigma))
    homogeneous = mean_is_homogeneous(data.exact) and (is_symmetric(data.flow.half) or constant)
    return homogeneous or (is_zero(data.exact.alpha) and _keeps_mean_zero(data.exact))


def _keeps_mean_zero(exact: ExactProblem) -> bool:
    """Whether a zero mean stays zero: no constant term anywhere."""
    return is_zero(exact.shift) and all(is_zero(head.c) and is_zero(head.m) for head in exact.heads)


def _mean(data: _Data) -> Mean:
    d = data.exact.dim
    start = np.array(fractions(data.exact.alpha), dtype=float)[:, 0]
    if is_zero(data.exact.alpha):
        return Mean(partial(_no_mean, d), partial(_no_mean_number, d), "0")
    if not is_symmetric(data.flow.half):
        return _constant_mean(data, start)
    generator, value = to_sympy(data.exact.sigma * data.flow.S), data.flow.value
    expression = partial(_mean_expression, generator, to_sympy(value), to_sympy(data.exact.alpha))
    return Mean(expression, partial(_mean_number, data, start), _MEAN)


def _no_mean(d: int, t: Any) -> Any:
    return ImmutableMatrix.zeros(d, 1)


def _no_mean_number(d: int, t: float) -> Array:
    return np.zeros(d)


def _mean_expression(generator: Any, V: Any, alpha: Any, t: Any) -> Any:
    d = len(alpha)
    root = MatPow(ImmutableMatrix(sympy_eye(d)) - t * generator, Rational(-1, 2))
    scalar = V[0, 0] * ImmutableMatrix(sympy_eye(d)) == V
    grown = exp(V[0, 0] * t) if scalar else ImmutableMatrix((t * V).exp())
    return MatMul(grown, root, alpha)


def _constant_mean(data: _Data, start: Array) -> Mean:
    r"""Return :math:`e^{tG}\alpha_0`, :math:`G = \sum_hV_h(I+\Sigma_0A_h)`, for a constant covariance."""
    G = sum((V * data.exact.sigma * A for V, A in data.flow.pairs), data.flow.value)
    return Mean(
        partial(_exponential, to_sympy(G), to_sympy(data.exact.alpha)),
        partial(_exponential_number, np.array(fractions(G), dtype=float), start),
        _CONSTANT,
    )


def _exponential(generator: Any, start: Any, t: Any) -> Any:
    return MatMul(ImmutableMatrix((t * generator).exp()), start)


def _exponential_number(generator: Array, start: Array, t: float) -> Array:
    from scipy.linalg import expm

    return np.asarray(expm(t * generator) @ start)


def _mean_number(data: _Data, start: Array, t: float) -> Array:
    r"""Return the mean in floats.

    With Σ₀ = FFᵀ, G = FᵀSF and :math:`g(z) = ((1-tz)^{-1/2} - 1)/z` the root is
    :math:`(I - t\Sigma_0S)^{-1/2} = I + F\,g(G)\,F^\top S`, whatever the rank of Σ₀.
    """
    from scipy.linalg import expm

    L = np.array(fractions(data.factor.L), dtype=float)
    F = L * np.sqrt(np.array([float(value.p) / float(value.q) for value in data.factor.D]))
    S = np.array(fractions(data.flow.S), dtype=float)
    rates, axes = np.linalg.eigh(F.T @ S @ F)
    root = np.sqrt(1.0 - t * rates)
    gains = t / (root * (1.0 + root))
    turned = F @ axes
    moved = start + turned @ (gains * (turned.T @ (S @ start)))
    value = np.array(fractions(data.flow.value), dtype=float)
    return np.asarray(expm(t * value) @ moved)
