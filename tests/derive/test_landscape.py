"""The landscape of the interaction energy: steps, moments, and how far small β reaches."""

import itertools
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from sympy import Symbol, exp

from symflow.derive.landscape import landscape, power_moment, saddle_eigenvalue, small_beta_bound
from symflow.derive.landscape.checks import MomentsByRecurrence, NotNegative, SecondDerivatives, SplitSaddles
from symflow.derive.landscape.moments import moment_by_recurrence
from symflow.derive.landscape.profile import COSINE, block_excess, field_variation, profile
from symflow.errors import InputError
from symflow.models.energies.dissipation import Dissipation
from symflow.models.energies.exponential import Exponential
from symflow.models.energies.interaction import Interaction


@pytest.fixture(scope="module")
def argument():
    return landscape()


def test_every_step_passes_its_check_and_is_printed(argument):
    assert argument.check()
    text = argument.to_latex(fragment=True)
    for step in argument.steps:
        assert step.title.replace("β", "")[:12] in text
    assert argument.to_html().startswith("<!")


def test_checks_refuse_other_formulas(argument):
    checks = {step.title: step.check for step in argument.steps}
    rotation = checks["Rotating a block"]
    assert not replace(rotation, claimed=rotation.claimed - exp(COSINE)).run().passed
    field = checks["All tokens along one field"]
    assert isinstance(field, SecondDerivatives)
    assert not replace(field, field=False).run().passed
    line = checks["A line above the share of a pair"]
    assert not replace(line, expr=line.expr - Symbol("beta", real=True) / 100).run().passed
    assert isinstance(line, NotNegative)
    saddles = checks["Strict saddles for small β"]
    assert isinstance(saddles, SplitSaddles)
    assert not replace(saddles, bound=6 * saddles.bound).run().passed
    assert isinstance(checks["Powers in zonal polynomials"], MomentsByRecurrence)


def test_other_energies_of_pairs_have_their_own_variations():
    # ½∬(e^β − e^{βc}) is e^β/2 − β E_β
    beta = Interaction().statement().parameters[0]
    excess = block_excess(Dissipation().statement()) + beta * block_excess(Interaction().statement())
    assert excess.expand() == 0
    total = field_variation(Dissipation().statement()) + beta * field_variation(Interaction().statement())
    assert total.expand() == 0
    with pytest.raises(InputError, match="no function of the cosines"):
        profile(Exponential().statement())


@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_moments_against_quadrature(d):
    def mean(function):
        whole = mpmath.quad(lambda t: mpmath.sin(t) ** (d - 2), [0, mpmath.pi])
        weighted = mpmath.quad(
            lambda t: function(mpmath.cos(t)) * mpmath.sin(t) ** (d - 2), mpmath.linspace(0, mpmath.pi, 3)
        )
        return weighted / whole

    half = mpmath.mpf(d - 2) / 2
    for k, i in itertools.product((0, 1, 3), (0, 2)):

        def zonal(u, k=k):
            if d == 2:
                return mpmath.chebyt(k, u)
            return mpmath.gegenbauer(k, half, u) / mpmath.gegenbauer(k, half, 1)

        expected = mean(lambda u, k=k, i=i, zonal=zonal: u ** (k + 2 * i) * zonal(u))
        assert float(power_moment(k, i, d)) == pytest.approx(float(expected), rel=1e-10)
        assert float(moment_by_recurrence(k, k + 2 * i, d)) == pytest.approx(float(expected), rel=1e-10)
    # the series of a coefficient against its integral
    beta = mpmath.mpf(2)
    series = sum(
        beta ** (3 + 2 * i) / mpmath.factorial(3 + 2 * i) * float(power_moment(3, i, d)) for i in range(20)
    )
    direct = mean(lambda u: mpmath.exp(beta * u) * zonal(u))
    assert float(series) == pytest.approx(float(direct), rel=1e-10)
    assert series > 0


def share(c, beta, d):
    return np.exp(beta * c) * ((d - 1) * c - beta * (1 - c * c))


@pytest.mark.parametrize("n", [4, 5])
def test_the_inequality_holds_up_to_the_bound_and_its_corner_is_sharp(n):
    bound = small_beta_bound(n, 2)
    grid = np.linspace(-1, 1, 21)
    cosines = np.array(list(itertools.product(grid, repeat=n - 1)))
    cosines = cosines[cosines.sum(axis=1) <= -1 + 1e-12]
    for beta in (float(bound), float(bound) / 2):
        least = -share(cosines, beta, 2).sum(axis=1).max() / n**2
        assert least > 0
        assert least >= float(saddle_eigenvalue(n, 2, beta).lower()) - 1e-15
    beyond = float(bound) + 2e-6
    assert share(cosines, beyond, 2).sum(axis=1).max() > 0
    with pytest.raises(InputError, match="beyond what is shown"):
        saddle_eigenvalue(n, 2, beyond)


def test_bounds_of_beta_by_size():
    assert small_beta_bound(2, 2) is None
    assert small_beta_bound(3, 2) is None
    assert small_beta_bound(50, 3) is None
    for n in (4, 5, 6, 9, 40, 41):
        found = small_beta_bound(n, 2)
        assert isinstance(found, Fraction)
        chord = float(mpmath.atanh(mpmath.mpf(1) / (n - 1)))
        assert found > Fraction(1, n)
        if n % 2:
            assert float(found) > chord
        else:
            assert chord - 2e-6 < float(found) < chord
        assert saddle_eigenvalue(n, 2, found) > 0
    # three tokens on a line of cosines that sum to at most −1, at any β
    first, second = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(-1, 1, 201))
    allowed = first + second <= -1
    for beta in (0.1, 1.0, 5.0):
        least = -(share(first, beta, 2) + share(second, beta, 2))[allowed].max() / 9
        assert least >= float(saddle_eigenvalue(3, 2, beta).mid()) * (1 - 1e-12) > 0


@pytest.mark.parametrize(("n", "d", "beta"), [(1, 2, 1), (3, 1, 1), (2.0, 2, 1), (3, 2, 0), (3, 2, -1.0)])
def test_bad_input_is_named(n, d, beta):
    with pytest.raises(InputError, match="give"):
        saddle_eigenvalue(n, d, beta)
