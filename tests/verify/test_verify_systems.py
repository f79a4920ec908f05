"""Witnesses of systems of tokens: every variant in both spaces passes, and a wrong kernel fails each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from symflow import Attention, Masked, MultiHead, Softmax
from symflow.models.registry import attention_models
from symflow.verify.systems import System, applicable
from symflow.verify.systems.clouds import random_cloud
from symflow.verify.systems.definition import reference
from symflow.verify.systems.witnesses import (
    exact_values,
    printed_values,
    scipy_integration,
    symmetries,
)


@pytest.mark.parametrize("space", ["euclidean", "sphere"])
@pytest.mark.parametrize("name", attention_models())
def test_every_variant_has_its_witnesses(name: str, space: str) -> None:
    model = attention_models()[name](space=space)
    system = System.of(model, min(model.parametrisations(), key=len))
    witnesses = applicable(system)
    assert len(witnesses) >= 4
    rows = [witness(system, 0) for witness in witnesses]
    assert all(row.passed for row in rows), [row for row in rows if not row.passed]


@pytest.mark.parametrize(
    "model",
    [
        MultiHead(Softmax(space="sphere")),
        Masked(Softmax(), sink=0.25),
        Softmax(sign=-1, feed_forward=True),
        Attention("Max(dot(x, A*y), 0) + erf(dot(c, y))", space="sphere", name="kinked-for-a-test"),
    ],
    ids=["heads", "mask", "layer", "own score"],
)
def test_compositions_have_them_too(model: Any) -> None:
    given = next(names for names in model.parametrisations() if "V" in names)
    system = System.of(model, given)
    rows = [witness(system, 0) for witness in (exact_values, printed_values, symmetries)]
    assert all(row.passed for row in rows), [row for row in rows if not row.passed]


class Wrong:
    """A kernel that errs by one part in 10⁸ in one coordinate of one token."""

    backend = "compiled"

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __call__(self, t: float, x: Any, **params: Any) -> Any:
        """Return the velocity with the error."""
        found = np.array(self._kernel(t, x, **params))
        found[0, 0] += 1e-8 * np.abs(found).max()
        return found


@pytest.mark.parametrize("witness", [exact_values, printed_values, symmetries])
def test_a_wrong_kernel_fails(witness: Any) -> None:
    model = Softmax(space="sphere")
    system = System.of(model, frozenset({"A", "V"}))
    assert witness(system, 0).passed
    assert not witness(replace(system, compiled=Wrong(system.compiled)), 0).passed


def test_a_wrong_trajectory_fails() -> None:
    """The other side of the comparison errs: the row cannot pass by looking at itself."""
    system = System.of(Softmax(), frozenset({"A", "V"}))
    assert scipy_integration(system, 0).passed

    def turned(t: float, x: Any, **params: Any) -> Any:
        return system.printed(t, x, **params) * (1.0 + 1e-5)

    assert not scipy_integration(replace(system, printed=turned), 0).passed


def test_the_reference_knows_a_case_by_hand() -> None:
    """Two tokens on the line, V = 1, A = 1: the mean of x with weights e^{x_i x_j}."""
    system = System.of(Softmax(), frozenset({"A", "V"}))
    cloud = random_cloud(system.flow, 2, 1, 0)
    params = {name: np.ones_like(value) for name, value in cloud.params.items()}
    found = reference(system.statement, replace(cloud, x=np.array([[0.0], [1.0]]), params=params))
    assert float(found.velocity[0][0]) == 0.5
    assert float(found.velocity[1][0]) == pytest.approx(np.e / (1.0 + np.e), rel=1e-15)
