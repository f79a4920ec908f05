"""Hessians at symbolic size, and for other metrics: against the formula of the paper, with checked steps."""

import dataclasses

import pytest
from sympy import Symbol, Trace, exp

from symflow.algebra.symbols import dimension, vector
from symflow.algebra.words import identical
from symflow.derive.critical import hessian_form, metric_independence
from symflow.derive.critical.checks import GreatCircles
from symflow.derive.critical.metric_checks import Accelerations, Difference
from symflow.energies import Interaction as Energy
from symflow.errors import CheckFailed, InputError
from symflow.models.energies.dissipation import Dissipation
from symflow.models.energies.exponential import Exponential
from symflow.models.energies.interaction import Interaction
from symflow.models.energies.model import EnergyModel

X, Y, XI, ETA = (vector(name, dimension("d")) for name in ("x", "y", "xi", "eta"))


class Confined(EnergyModel):
    name = "confined"
    title = "Confined tokens"
    pair = "1/(1 + norm2(x - y))"
    potential = "dot(b, x)**2"


def dot(left, right):
    return Trace(left.T * right)


def test_the_form_is_that_of_the_paper():
    form = hessian_form(Interaction())
    (beta,) = form.statement.parameters
    c = dot(X, Y)
    bracket = beta * (dot(XI, Y) + dot(X, ETA)) ** 2 + 2 * dot(XI, ETA) - (dot(XI, XI) + dot(ETA, ETA)) * c
    assert identical(form.pair, exp(beta * c) * bracket)
    assert form.potential == 0
    flat = hessian_form(Interaction(), space="euclidean")
    assert identical(flat.pair, exp(beta * c) * (beta * (dot(XI, Y) + dot(X, ETA)) ** 2 + 2 * dot(XI, ETA)))


@pytest.mark.parametrize(
    ("model", "space"),
    [
        (Interaction(), "sphere"),
        (Dissipation(), "sphere"),
        (Exponential(), "euclidean"),
        (Confined(), "sphere"),
    ],
    ids=["interaction", "dissipation", "exponential", "confined"],
)
def test_every_step_is_confirmed_independently(model, space):
    form = hessian_form(model, space)
    assert form.check()
    page = form.to_latex()
    assert r"\operatorname{Hess}F(\xi,\xi)" in page and ("-|\\xi_i|^2x_i" in page) == (space == "sphere")


def test_a_form_without_the_curvature_is_found_out():
    # S021
    form, flat = hessian_form(Interaction()), hessian_form(Interaction(), space="euclidean")
    wrong = dataclasses.replace(form, pair=flat.pair)
    assert not GreatCircles(wrong).run().passed
    steps = (*form.steps[:-1], dataclasses.replace(form.steps[-1], check=GreatCircles(wrong)))
    with pytest.raises(CheckFailed):
        dataclasses.replace(form, steps=steps).check()


@pytest.mark.parametrize("model", [Interaction(), Confined()], ids=lambda m: m.name)
@pytest.mark.parametrize("space", ["sphere", "euclidean"])
def test_hessians_of_other_metrics(model, space):
    found = metric_independence(model, space=space)
    assert all(step.check.run().passed for step in found.steps[-3:])


def test_the_metric_of_self_attention():
    found = metric_independence(Interaction())
    (beta,) = found.statement.parameters
    weight = exp(beta * dot(X, Y))
    pushed = beta * weight / 2 * (dot(XI, XI) + dot(ETA, ETA)) * Y
    braked = beta * weight * (dot(XI, Y) + dot(X, ETA)) * XI
    assert identical(found.force, pushed - braked)
    assert identical(found.slope, weight * Y)
    assert r"\operatorname{grad}_iF" in found.to_latex(fragment=True)


def test_wrong_accelerations_are_found_out():
    found = metric_independence(Interaction())
    wrong = dataclasses.replace(found, force=2 * found.force)
    assert not Accelerations(wrong).run().passed
    assert not Difference(wrong).run().passed
    assert not Difference(dataclasses.replace(found, slope=-found.slope)).run().passed


def test_energies_with_values_are_read_and_others_refused():
    assert hessian_form(Energy(2.0)).pair == hessian_form(Interaction()).pair
    with pytest.raises(InputError, match="space"):
        hessian_form(Interaction(), space="torus")
    with pytest.raises(InputError, match="kernel has the symbol"):
        metric_independence(Interaction(), kernel=exp(Symbol("gamma") * dot(X, Y)))
