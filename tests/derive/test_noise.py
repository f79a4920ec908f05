"""Common noise: closed forms, the generator of the cosine, exponents, and checks that can fail."""

from dataclasses import replace

import mpmath
import pytest
from sympy import (
    Abs,
    Heaviside,
    Max,
    Rational,
    S,
    Symbol,
    acos,
    asin,
    diff,
    erf,
    expand,
    pi,
    simplify,
    sqrt,
    tanh,
)

from symflow.derive.noise import NoClosedForm, field_covariance, noise_derivation, pair_generator
from symflow.derive.noise.activations import derivative, terms_of
from symflow.derive.noise.antiderivative import ArcSine
from symflow.derive.noise.averages import COVARIANCE as C
from symflow.derive.noise.averages import VARIANCE as Q
from symflow.derive.noise.averages import mean, pair_mean
from symflow.derive.noise.covariance_checks import functions, polar_mean
from symflow.derive.noise.ito import radial_drift
from symflow.derive.noise.limits import energy_rate_at_one, near_one
from symflow.derive.noise.symbols import COSINE, ORDER, SIZE, kappa, kappa_slope
from symflow.errors import InputError
from symflow.models.noise.statement import DIMENSION, SIGMA_U, SIGMA_W, NoiseStatement, Z

R = C / Q
U, D, P = COSINE, SIZE, ORDER
K, K1, S1 = kappa(U), kappa(1), kappa_slope(1)
slope = Symbol("s", real=True)
RELU = Q / (2 * pi) * (sqrt(1 - R**2) + R * (pi - acos(R)))
LINEAR_BEYOND = [
    (Max(Z, 0), RELU),
    (Z, C),
    (Abs(Z), 2 * Q / pi * (sqrt(1 - R**2) + R * asin(R))),
    (slope * Z + (1 - slope) * Max(Z, 0), slope * C + (1 - slope) ** 2 * RELU),
    (erf(Z), 2 / pi * asin(2 * C / (1 + 2 * Q))),
    (erf(3 * Z) / 2, asin(18 * C / (1 + 18 * Q)) / (2 * pi)),
    (Heaviside(Z), S(1) / 4 + asin(R) / (2 * pi)),
    (Z**2, Q**2 + 2 * C**2),
    (Z**3, 9 * Q**2 * C + 6 * C**3),
    (Max(Z, 0) + Z**2, RELU + Q**2 + 2 * C**2 + 2 * (Q * sqrt(Q) + C**2 / sqrt(Q)) / sqrt(2 * pi)),
    (erf(Z) + Z, 2 / pi * asin(2 * C / (1 + 2 * Q)) + C + 4 * C / sqrt(pi * (1 + 2 * Q))),
]


@pytest.mark.parametrize(("phi", "expected"), LINEAR_BEYOND)
def test_closed_forms_are_those_that_are_known(phi, expected):
    terms = terms_of(phi, Z)
    gap = pair_mean(terms, terms) - expected
    for q, c in ((S(2), Rational(3, 4)), (Rational(1, 5), Rational(-1, 7)), (S(1), S(1)), (S(3), S(-3))):
        value = gap.subs({C: c, Q: q}).subs(slope, Rational(2, 7))
        assert abs(value.evalf(30)) < 1e-25


@pytest.mark.parametrize("phi", [Z * (1 + erf(Z / sqrt(2))) / 2, Z * Max(Z, 0) + erf(2 * Z) / 3])
def test_others_agree_with_quadrature(phi):
    terms = terms_of(phi, Z)
    with mpmath.workdps(20):
        value = functions(terms)
        seen = polar_mean(value, value, mpmath.mpf(3) / 2, mpmath.mpf(-2) / 5)
    closed = pair_mean(terms, terms).subs({Q: Rational(3, 2), C: Rational(-2, 5)}).evalf(20)
    assert abs(closed - seen) < 1e-11


@pytest.mark.parametrize("phi", [tanh(Z), Max(Z - 1, 0), Abs(erf(Z)), Z**5 * erf(Z), erf(Z - 1)])
def test_what_has_no_closed_form_is_said(phi):
    with pytest.raises(NoClosedForm):
        terms_of(phi, Z)
    found = field_covariance(NoiseStatement("other", phi))
    assert found.kappa is None
    assert found.no_closed_form
    assert found.steps[-1].title == "No closed form"


def test_one_variable():
    assert mean(terms_of(Max(Z, 0), Z)) == sqrt(2) * sqrt(Q) / (2 * sqrt(pi))
    assert mean(terms_of(Z**4 + Z**3, Z)) == 3 * Q**2
    assert simplify(mean(terms_of(Z * erf(Z), Z)) - 2 * Q / sqrt(pi * (1 + 2 * Q))) == 0
    assert mean(derivative(derivative(terms_of(Abs(Z), Z)))) == sqrt(2) / (sqrt(pi) * sqrt(Q))


def test_antiderivatives_have_the_derivative_they_should():
    t = Symbol("t", positive=True)
    for given in (
        ArcSine.root_power(3),
        ArcSine.polynomial((1, 0, 2)).over_root(3),
        ArcSine(arc=(S(0), S(1))),
        ArcSine(plain=(S(1), S(2)), root=(S(0), S(1)), arc=(S(3),)),
    ):
        gap = diff(given.antiderivative().expression(t), t) - given.expression(t)
        assert abs(gap.subs(t, Rational(2, 7)).evalf(30)) < 1e-25
    with pytest.raises(NoClosedForm, match="rational function"):
        ArcSine.polynomial((1,)).over_root(2)


def test_the_generator_is_the_known_one():
    found = pair_generator()
    assert expand(found.correction - K1 * (D - 1) / 2) == 0
    assert expand(found.drift - (K * (D - 2 + U**2) - K1 * (D - 1) * U)) == 0
    assert expand(found.diffusion - (1 - U**2) * (K1 - U * K)) == 0
    assert expand(found.lyapunov - ((D - 3) * S1 - (D - 1) * K1) / 2) == 0
    assert expand(found.dissipation - ((D - 1) * S1 - (D - 3) * K1)) == 0
    assert expand(found.moments - (P * found.lyapunov + P**2 * (K1 + S1) / 2)) == 0
    assert expand(found.lyapunov - found.dissipation / 2 + K1 + S1) == 0
    assert expand(found.moment_exponent(2) - found.dissipation) == 0
    assert expand(energy_rate_at_one(found.drift, found.diffusion) + found.dissipation) == 0
    assert expand(found.square_root + U * kappa_slope(U) * (1 - U**2) / 2) == 0
    assert expand(radial_drift(S(0)) - K1 * (D - 1)) == 0


def test_a_limit_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="no limit"):
        near_one(pair_generator().drift / (1 - U) ** 2)


def test_exponents_of_rectified_units_come_out():
    found = noise_derivation("relu")
    bias = SIGMA_U**2 + 2 * SIGMA_W**2
    assert expand(found.lyapunov + 1 / (2 * D) + bias * (D - 1) / 4) == 0
    assert expand(found.dissipation - 1 / D + bias * (D - 3) / 2) == 0
    values = {D: 5, SIGMA_W: Rational(1, 10), SIGMA_U: Rational(1, 10)}
    assert (found.lyapunov.subs(values), found.dissipation.subs(values)) == (
        -Rational(13, 100),
        Rational(17, 100),
    )
    fixed = noise_derivation(NoiseStatement("relu", Max(Z, 0), dim=S(5), sigma_w=S(0), sigma_u=S(0)))
    assert (fixed.lyapunov, fixed.dissipation) == (-Rational(1, 10), Rational(1, 5))


def test_the_derivative_has_one_factor_of_the_size():
    found = field_covariance("linear")
    assert simplify(found.kappa - U / DIMENSION - SIGMA_U**2 - SIGMA_W**2) == 0
    assert found.slope_at_one == 1 / DIMENSION
    erfs = field_covariance("erf")
    at_one = diff(erfs.kappa, U).subs({SIGMA_U: Rational(1, 3), DIMENSION: 4, U: 1})
    assert simplify(at_one - erfs.slope_at_one.subs({SIGMA_U: Rational(1, 3), DIMENSION: 4})) == 0


@pytest.mark.parametrize("noise", ["erf", "tanh"])
def test_every_step_passes_its_check_and_is_printed(noise):
    found = field_covariance(noise)
    assert found.check()
    text = found.to_latex(fragment=True)
    assert all(step.title[:12] in text for step in found.steps)
    assert found.to_html().startswith("<!")


def test_the_derivation_compiles(pdflatex):
    assert max(pdflatex(noise_derivation("relu").to_latex()), default=0.0) < 30


def test_checks_refuse_other_formulas():
    found = noise_derivation("relu")
    checks = {step.title: step.check for step in found.steps}
    half = found.pair.correction / 2
    for title in (
        "Where the correction comes from",
        "The sphere is invariant",
        "In the sense of Stratonovich",
    ):
        assert not replace(checks[title], correction=half).run().passed
    generator = checks["The generator of the cosine"]
    assert not replace(generator, drift=generator.drift + U).run().passed
    assert not replace(generator, diffusion=2 * generator.diffusion).run().passed
    (exponent,) = checks["The Lyapunov exponent"].cases
    assert not replace(checks["The Lyapunov exponent"], cases=((exponent[0], -exponent[1]),)).run().passed
    energy = checks["The dissipation energy"]
    assert not replace(energy, dissipation=energy.dissipation + K1).run().passed
    root = checks["A square root of the covariance is no field"]
    assert not replace(root, surplus=-root.surplus).run().passed
    layer = checks["Its covariance at every width"]
    wrong = replace(layer.layer, sigma_u=2 * SIGMA_U)
    assert replace(layer, layer=wrong).run().passed  # another layer, with its own variance
    closed = checks["The covariance in closed form"]
    assert not replace(closed, average=closed.average + C / 100).run().passed
    ends = checks["At one point"]
    assert ends.run().passed
    last = checks["Exponents of this layer"]
    assert not replace(last, lyapunov=last.lyapunov + 1 / (D**2)).run().passed
