"""The row about dissipation identities: it is there for gradient flows only, passes, and can fail."""

from dataclasses import replace

import pytest
from sympy import Integer

from symflow.models.attention.linear import Linear
from symflow.models.attention.softmax import Softmax
from symflow.verify.systems import System, applicable, dissipation


@pytest.fixture(scope="module")
def softmax():
    return System.of(Softmax(space="sphere"), frozenset())


def test_gradient_flows_have_the_row_and_it_passes(softmax):
    witnesses = {witness.__name__: witness for witness in applicable(softmax)}
    row = witnesses["dissipation"](softmax, 0)
    assert row.passed
    assert row.points == 3  # interaction, dissipation and exponential energy
    assert 0 < row.error < 1e-9


def test_other_systems_do_not_have_it():
    linear = System.of(Linear(space="sphere"), frozenset())
    assert "dissipation" not in [witness.__name__ for witness in applicable(linear)]


def test_a_wrong_metric_fails(softmax, monkeypatch):
    found = dissipation.structures(softmax)
    plain = [replace(one, averages=replace(one.averages, weight=None)) for one in found]
    twice = [replace(one, joined=replace(one.joined, metric=Integer(2) * one.metric)) for one in found]
    for wrong in (plain, twice):
        monkeypatch.setattr(dissipation, "structures", lambda _, wrong=wrong: wrong)
        assert not dissipation.dissipation(softmax, 0).passed
