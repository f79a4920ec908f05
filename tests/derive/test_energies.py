"""First variations of every shipped energy and of users' own: each step checked, forged steps caught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import Trace, exp

from symflow.algebra.functionals.average import averages
from symflow.algebra.words import identical
from symflow.derive.energies import EnergyDerivation, first_variation, gaussian_energy
from symflow.derive.energies.checks import (
    AtomDifferences,
    LatticeLaw,
    Mixtures,
    MomentDifferences,
    SpatialDifferences,
)
from symflow.errors import InputError
from symflow.models.energies.registry import energy_model, energy_models
from symflow.models.energies.user import Pairwise

OWN = Pairwise("dot(x, A*y)**2 + exp(dot(c, x) + dot(c, y))", "k*norm2(x)**2", name="own")


def derived(name: str) -> EnergyDerivation:
    return first_variation(energy_model(name))


@pytest.mark.parametrize("name", [*energy_models(), "own"])
def test_every_step_is_checked(name: str) -> None:
    found = first_variation(OWN) if name == "own" else derived(name)
    assert found.check()
    assert found.steps[0].kind == "definition" and found.steps[-1].kind == "result"
    assert r"\frac{\delta F}{\delta\mu}(x)" in found.to_latex(fragment=True)
    assert "<math" in found.to_html()


def test_variation_of_the_interaction_energy_is_the_normaliser() -> None:
    """δE/δμ(x) = ∫e^{β⟨x, y⟩}dμ(y)/β."""
    found = derived("interaction")
    beta, x, y = found.statement.parameters[0], found.statement.x, found.statement.y
    (node,) = averages(found.variation)
    assert identical(found.variation / node * node.at(y), exp(beta * Trace(x.T * y)) / beta)


@pytest.mark.parametrize(
    "check", [Mixtures, SpatialDifferences, AtomDifferences, MomentDifferences, LatticeLaw]
)
def test_a_wrong_step_fails_its_check(check: Any) -> None:
    found = derived("log-partition")
    x, gaussian = found.statement.x, found.gaussian
    assert gaussian is not None
    forged = {
        Mixtures: lambda: Mixtures(found.functional, found.variation + Trace(x.T * x) / 10**9, x),
        SpatialDifferences: lambda: SpatialDifferences(found.variation, 2 * found.gradient, x),
        AtomDifferences: lambda: AtomDifferences(found.functional, 2 * found.gradient, x),
        MomentDifferences: lambda: MomentDifferences(
            replace(gaussian, cov_gradient=2 * gaussian.cov_gradient)
        ),
        LatticeLaw: lambda: LatticeLaw(
            found.functional, replace(gaussian, value=gaussian.value + Trace(gaussian.sigma) / 10**9)
        ),
    }
    assert not forged[check]().run().passed


def test_what_has_no_closed_form_keeps_its_other_steps() -> None:
    found = first_variation(Pairwise("log(1 + norm2(x - y))"))
    assert found.gaussian is None and "polynomial" in found.no_closed_form
    assert [step.title for step in found.steps][-1] == "At weighted tokens"
    assert found.steps[1].check.run().passed


def test_the_domain_of_the_exponential_energy_is_stated() -> None:
    found = gaussian_energy(energy_model("exponential").statement())
    assert [str(c) for c in found.curvatures] == ["Q.T*K*Sigma*K.T*Q"]
    text = derived("exponential").to_latex(fragment=True)
    assert r"\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1" in text


def test_a_parameter_with_the_name_of_a_moment_is_refused_at_gaussian_laws() -> None:
    with pytest.raises(InputError, match="'Sigma' has the name of a moment"):
        gaussian_energy(Pairwise("dot(x, Sigma*y)").statement())
