"""Claims about networks and their limit: supported as documented, and not by a coupling that is none."""

from __future__ import annotations

import pytest

from symflow import check
from symflow.claims import claim
from symflow.integrate.deep import coupling


@pytest.mark.parametrize("name", ["ABGSR26/pathwise-rate", "ABGSR26/commuting-limits"])
def test_claims_are_supported_as_documented(name):
    verdict = check(name)
    assert verdict.status == claim(name).documented == "supported", verdict


def test_a_wrong_coupling_supports_nothing(monkeypatch):
    """With the field of the network turned around, both have their laws, and stay apart for every width."""
    experiment = claim("ABGSR26/pathwise-rate").experiment
    right = coupling.rotation
    monkeypatch.setattr(coupling, "rotation", lambda own, factor: -right(own, factor))
    found = experiment.measure(sizes={"paths": 16, "reference": 64})
    in_m, in_l, ratio = found.estimates
    assert in_m.value > -0.3 and not in_m.met
    assert in_l.value < 0.0  # nothing is turned where both are infinitely wide
    assert ratio.value > 1.0 and not ratio.met
