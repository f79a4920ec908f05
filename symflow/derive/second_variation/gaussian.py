r"""Averages over pairs of points of one Gaussian law, and second variations along affine velocities.

A product of exponentials of quadratic polynomials with polynomials is averaged by tilting: first y given x,
then x. Moments of the tilted laws are written in symbols for their parameters, which have closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sympy import Add, Expr, Identity, Inverse, MatrixSymbol, Mul, Rational, S, Trace, exp

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product, total
from symflow.algebra.determinant import LogDet
from symflow.algebra.gaussian import log_normaliser, tilted_covariance, tilted_mean
from symflow.algebra.moments import expectation
from symflow.algebra.quadratic import QuadraticForm, quadratic_form
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import normal_form
from symflow.derive.second_variation.twisted import TwistedMetric
from symflow.models.energies.statement import EnergyStatement

_D = dimension("d")
ALPHA, SIGMA = vector("alpha", _D), matrix("Sigma", _D, _D)
#: Of the affine velocity c + Lx; c = a − Lα for a the velocity of the mean.
DRIFT, LINEAR = vector("c", _D), matrix("L", _D, _D)
#: Under the tilted law of a pair y given x has the law N(b + Tx, R), and x has the law N(m, S).
INNER_MEAN, INNER_SLOPE, INNER_COV = vector("b", _D), matrix("T", _D, _D), matrix("R", _D, _D)
OUTER_MEAN, OUTER_COV = vector("m", _D), matrix("S", _D, _D)


@dataclass(frozen=True)
class TiltedPair:
    r"""The law of a pair proportional to :math:`e^{s(x,y)}`, for x and y independent of law N(α, Σ).

    Attributes
    ----------
    log_mass : Expr
        Logarithm of :math:`\iint e^s\,d\mu\,d\mu`.
    inner_mean, inner_slope, inner_cov : MatrixExpr
        y given x has the law N(b + Tx, R).
    outer_mean, outer_cov : MatrixExpr
        x has the law N(m, S).
    curvatures : tuple of MatrixExpr
        The mass is finite where :math:`\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1` for both.
    """

    log_mass: Expr
    inner_mean: Any
    inner_slope: Any
    inner_cov: Any
    outer_mean: Any
    outer_cov: Any
    curvatures: tuple[Any, Any]

    def parts(self) -> dict[MatrixSymbol, Any]:
        """Return the expression of every symbol for a parameter of the tilted laws."""
        symbols = (INNER_MEAN, INNER_SLOPE, INNER_COV, OUTER_MEAN, OUTER_COV)
        values = (self.inner_mean, self.inner_slope, self.inner_cov, self.outer_mean, self.outer_cov)
        return dict(zip(symbols, values, strict=True))


@dataclass(frozen=True)
class Summand:
    """A tilted law and the average of a polynomial under it, in the symbols of its parameters."""

    law: TiltedPair
    average: Expr


Averaged = tuple[Summand, ...]


def tilted_pair(score: Expr, x: MatrixSymbol, y: MatrixSymbol, symmetric: tuple[Any, ...] = ()) -> TiltedPair:
    """Return the tilted law of a pair for a score that is quadratic in both vectors together.

    Raises
    ------
    NotQuadratic
        If it is not.
    """
    form = quadratic_form(score, x, y, symmetric)
    slope, shift = affine_parts(tilted_mean(form, ALPHA, SIGMA, x), x, symmetric)
    marginal = log_normaliser(form, ALPHA, SIGMA, x) + form.rest
    other = vector("z", _D)  # the outer score has no query
    outer = quadratic_form(marginal, other, x, (*symmetric, SIGMA))
    mass, mean, cov = _tilted(outer)
    return TiltedPair(
        log_mass=mass,
        inner_mean=shift,
        inner_slope=slope,
        inner_cov=tilted_covariance(form, SIGMA),
        outer_mean=mean,
        outer_cov=cov,
        curvatures=(form.C, outer.C),
    )


def _tilted(form: QuadraticForm) -> tuple[Expr, Any, Any]:
    """Return log-mass, mean and covariance of the tilt of N(α, Σ) by ½xᵀCx + cᵀx + r, as the lemma has them.

    C may hold inverses of the first tilt, beyond what the normal form decides; the steps check the result.
    """
    size = Identity(_D)
    slope = total(form.c, product(form.C, ALPHA))
    flat = form.C.is_ZeroMatrix
    resolvent = size if flat else Inverse(size - SIGMA * form.C)
    cov = product(resolvent, SIGMA)
    mean = total(ALPHA, product(cov, slope))
    mass = form.rest + Trace(form.c.T * ALPHA) + Trace(ALPHA.T * form.C * ALPHA) / 2
    mass += Trace(slope.T * cov * slope) / 2 - (0 if flat else LogDet(size - SIGMA * form.C) / 2)
    return mass.doit(), mean, cov


def averaged(integrand: Expr, x: MatrixSymbol, y: MatrixSymbol, symmetric: tuple[Any, ...] = ()) -> Averaged:
    """Return the average of an integrand over independent x and y of law N(α, Σ).

    Raises
    ------
    NotQuadratic, NotPolynomial
        If a term is no polynomial times the exponential of a quadratic polynomial.
    """
    polynomials: dict[Expr, Expr] = {}
    for term in Add.make_args(normal_form(integrand, symmetric).to_sympy()):
        factors = Mul.make_args(term)
        score = Add(*(f.args[0] for f in factors if isinstance(f, exp)))
        rest = Mul(*(f for f in factors if not isinstance(f, exp)))
        polynomials[score] = polynomials.get(score, S.Zero) + rest
    known = (*symmetric, INNER_COV, OUTER_COV)
    found = []
    for score, polynomial in polynomials.items():
        inner = expectation(polynomial, y, INNER_MEAN + INNER_SLOPE * x, INNER_COV, known)
        average = expectation(inner, x, OUTER_MEAN, OUTER_COV, known)
        if average != 0:
            found.append(Summand(tilted_pair(score, x, y, symmetric), average))
    return tuple(found)


def velocity_at(x: Any) -> Any:
    """Return c + Lx."""
    return DRIFT + LINEAR * x


@cache
def energy_part(statement: EnergyStatement) -> Averaged:
    """Return F on N(α, Σ) as an average over pairs."""
    return averaged(statement.pair / 2 + statement.potential, statement.x, statement.y)


@cache
def straight_part(statement: EnergyStatement, symmetric: tuple[Any, ...] = ()) -> Averaged:
    r"""Return the second derivative of F along :math:`x + t\,v(x)`, v(x) = c + Lx, on N(α, Σ)."""
    x, y = statement.x, statement.y
    v, w = vector("v", _D), vector("w", _D)
    pairs = gateaux(gateaux(statement.pair, {x: v, y: w}), {x: v, y: w})
    own = gateaux(gateaux(statement.potential, {x: v}), {x: v})
    integrand = Rational(1, 2) * pairs + own
    return averaged(integrand.xreplace({v: velocity_at(x), w: velocity_at(y)}), x, y, symmetric)


@cache
def gaussian_acceleration(metric: TwistedMetric) -> Any:
    r"""Return the acceleration at x of the twisted geodesic with velocity c + Lx, on N(α, Σ).

    The density of the law of y given x that is proportional to K(x, y) averages force and rate, so that
    the normaliser :math:`G_\mu(x)` cancels; the result is a polynomial of degree three in x.

    Raises
    ------
    NotQuadratic
        If K is not the exponential of a polynomial that is quadratic in y.
    """
    x, y = metric.x, metric.y
    (score,) = metric.kernel.args
    form = quadratic_form(score, x, y, metric.symmetric)
    mean, cov = tilted_mean(form, ALPHA, SIGMA, x), tilted_covariance(form, SIGMA)
    known = (*metric.symmetric, SIGMA)
    moving = {metric.v: velocity_at(x), metric.w: velocity_at(y)}

    def normalised(integrand: Any) -> Any:
        body = normal_form(integrand * (1 / metric.kernel), metric.symmetric)
        body = body.to_matrix() if getattr(integrand, "shape", None) else body.to_sympy()
        return expectation(body.xreplace(moving), y, mean, cov, known)

    acceleration = metric.acceleration(normalised(metric.force), normalised(metric.rate), velocity_at(x))
    return normal_form(acceleration.xreplace({metric.density: S.One}), known).to_matrix()


@cache
def bent_part(statement: EnergyStatement, metric: TwistedMetric) -> Averaged:
    """Return what the acceleration adds: the average of ⟨∇δF/δμ, acceleration⟩ over N(α, Σ)."""
    x, y = metric.x, metric.y
    table = {statement.x: x, statement.y: y}
    pair, potential = statement.pair.xreplace(table), statement.potential.xreplace(table)
    mean_pair = Rational(1, 2) * (pair + pair.xreplace({x: y, y: x})) + potential
    slope = gradient(mean_pair, x)
    integrand = Trace(slope.T * gaussian_acceleration(metric))
    return averaged(integrand, x, y, (*metric.symmetric, SIGMA))


@cache
def metric_part(metric: TwistedMetric) -> Averaged:
    r"""Return the squared length :math:`\int\langle v, |M|v\rangle\,G_\mu\,d\mu` of c + Lx."""
    integrand = metric.square(velocity_at(metric.x)) * metric.kernel
    return averaged(integrand, metric.x, metric.y, metric.symmetric)
