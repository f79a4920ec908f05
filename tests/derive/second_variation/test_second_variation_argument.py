"""Second variations at symbolic size: every step is checked, and the checks can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sympy import Identity, MatrixSymbol, Trace

from symflow.algebra.symbols import dimension
from symflow.algebra.words import identical, normal_form
from symflow.derive.second_variation.argument import (
    SecondVariationArgument,
    on_dirac,
    second_variation_argument,
    straight_integrands,
)
from symflow.derive.second_variation.blocks import pair_blocks
from symflow.derive.second_variation.checks import (
    AlongGreatCircles,
    AlongLines,
    ChristoffelOfAtoms,
    DiracCurve,
    HamiltonOfAtoms,
)
from symflow.derive.second_variation.gaussian import (
    LINEAR,
    gaussian_acceleration,
    straight_part,
)
from symflow.derive.second_variation.gaussian_checks import AccelerationByQuadrature, BuresCurve
from symflow.derive.second_variation.twisted import metric_of, twisted_metric
from symflow.errors import InputError
from symflow.models.energies.exponential import Exponential
from symflow.models.energies.model import EnergyModel

D = dimension("d")


class Wells(EnergyModel):
    """Smooth attraction in a quartic well: neither bilinear nor homogeneous."""

    name = "wells"
    title = "Wells"
    pair = "exp(-norm2(x - y)/2)"
    potential = "norm2(x)**2/4 + dot(x, B*x)"


@pytest.mark.parametrize("metric", ["wasserstein", "bures", "twisted"])
def test_every_step_of_the_exponential_energy_is_checked(metric: str) -> None:
    argument = second_variation_argument(Exponential(), metric)
    assert argument.check()
    text = argument.to_latex(fragment=True)
    assert metric != "twisted" or r"\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1" in text
    assert metric != "twisted" or "second fundamental form" in text


def test_a_users_energy_along_straight_lines_and_great_circles() -> None:
    assert second_variation_argument(Wells(), "wasserstein").check()


def test_a_users_energy_in_the_twisted_metric() -> None:
    statement, metric = Wells().statement(), twisted_metric()
    assert ChristoffelOfAtoms(statement, metric, *straight_integrands(statement)).run().passed
    assert DiracCurve(statement, metric, on_dirac(statement, metric).second).run().passed


def test_a_dirac_under_repulsion_has_the_value_of_the_paper_at_every_size() -> None:
    class Repulsion(EnergyModel):
        name = "repulsion"
        pair = "exp(-dot(x, y))"

    statement = Repulsion().statement()
    found = on_dirac(statement, metric_of(statement.pair))
    size = next(s for s in found.square.atoms(MatrixSymbol) if s.name == "N")
    second, square = (e.xreplace({size: Identity(D)}).doit() for e in (found.second, found.square))
    x = statement.x
    assert identical(second, normal_form((Trace(x.T * x) - 1) * square).to_sympy())
    assert not identical(second, square)


def test_the_acceleration_has_a_cubic_term() -> None:
    metric = twisted_metric()
    terms = [str(term) for term in gaussian_acceleration(metric).args]
    cubic = [t for t in terms if t.count("x") == 3]
    assert cubic
    assert all("L" in t for t in cubic)


def test_blocks_of_a_pair_are_its_second_derivative() -> None:
    statement = Wells().statement()
    x, y = statement.x, statement.y
    v, w = MatrixSymbol("v", D, 1), MatrixSymbol("w", D, 1)
    blocks = pair_blocks(statement.pair, x, y)
    form = Trace(v.T * blocks.xx * v) + 2 * Trace(v.T * blocks.xy * w) + Trace(w.T * blocks.yy * w)
    assert identical(form, straight_integrands(statement)[0])


# ------------------------------------------------------------------------------- checks that must fail


def _argument(metric: str) -> SecondVariationArgument:
    return second_variation_argument(Exponential(), metric)


def test_wrong_integrands_are_caught() -> None:
    argument = _argument("wasserstein")
    check = argument.steps[1].check
    assert isinstance(check, AlongLines)
    assert not replace(check, pairs=2 * check.pairs).run().passed
    sphere = argument.steps[2].check
    assert isinstance(sphere, AlongGreatCircles)
    assert not replace(sphere, slope=2 * sphere.slope).run().passed


def test_wrong_forces_and_rates_are_caught() -> None:
    statement, metric = Exponential().statement(), twisted_metric()
    pairs, own = straight_integrands(statement)
    wrong = replace(metric, force=2 * metric.force)
    assert not HamiltonOfAtoms(statement, wrong).run().passed
    slow = replace(metric, rate=metric.rate / 2)
    assert not ChristoffelOfAtoms(statement, slow, pairs, own).run().passed
    found = on_dirac(statement, metric)
    assert not DiracCurve(statement, metric, found.second + found.square).run().passed


def test_wrong_gaussian_formulas_are_caught() -> None:
    statement, metric = Exponential().statement(), twisted_metric()
    straight = straight_part(statement)
    value = next(s.check for s in _argument("bures").steps if isinstance(s.check, BuresCurve)).value
    assert BuresCurve(statement, value, straight).run().passed
    assert not BuresCurve(statement, 2 * value, straight).run().passed
    acceleration = gaussian_acceleration(metric)
    assert not AccelerationByQuadrature(metric, acceleration + LINEAR * metric.x).run().passed


def test_energies_of_another_form_and_unknown_metrics_are_refused() -> None:
    with pytest.raises(InputError, match="metric = 'fisher' is unknown"):
        second_variation_argument(Exponential(), "fisher")
