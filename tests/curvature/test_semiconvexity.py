"""Semi-convexity constants: known infima between proved bounds."""

from __future__ import annotations

import pytest

from symflow.curvature.semiconvexity import Atoms, Diracs, Gaussians, semiconvexity
from symflow.energies import Exponential
from symflow.errors import InputError

REPULSION = Exponential([[-1]], [[1]])


@pytest.mark.parametrize(("low", "high", "least"), [(-2, 2, -1.0), (2, 3, 3.0)])
def test_diracs_on_the_line(low: int, high: int, least: float) -> None:
    """The second derivative per unit speed is x² − 1."""
    found = semiconvexity(REPULSION, "twisted", Diracs([(low, high)]), V=[[1]], tolerance=1e-3)
    assert found.best == pytest.approx(least, abs=1e-8)
    assert found.lower is not None
    assert found.upper is not None
    assert least - 1e-2 < found.lower <= least <= found.upper + 1e-12
    assert not found.reason


def test_a_short_time_leaves_a_weaker_bound_that_is_proved() -> None:
    plane = Exponential([[-1, 0], [0, -1]], [[1, 0], [0, 1]])
    box = Diracs([(-1, 1), (-1, 1)])
    found = semiconvexity(plane, "twisted", box, V=[[1, 0], [0, 1]], tolerance=1e-4, seconds=0.5)
    assert found.lower is None or found.lower <= -1
    assert found.reason
    assert found.best == pytest.approx(-1.0, abs=1e-8)


def test_centred_gaussians_on_the_line() -> None:
    """3s/(1 − s²) grows in s."""
    found = semiconvexity(REPULSION, "twisted", Gaussians("1/10", "1/2"), V=[[1]])
    assert found.best == pytest.approx(0.3 / 0.99, rel=1e-9)
    assert found.lower is not None
    assert found.lower > 0
    with pytest.raises(InputError, match="outside the domain"):
        semiconvexity(REPULSION, "twisted", Gaussians("1/10", 2), V=[[1]])


def test_atoms_are_searched_and_not_proved() -> None:
    found = semiconvexity(REPULSION, "wasserstein", Atoms(2, [("-1/2", "1/2")]))
    assert found.best == pytest.approx(-1.0, abs=1e-2)
    assert found.lower is None
    assert "not proved" in found.reason
