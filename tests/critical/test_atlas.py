"""Critical points on spheres: what is found, what it is called, and what balls prove of it."""

import json
import math

import numpy as np
import pytest

from symflow.claims import check
from symflow.codegen.hessians import compile_hessian
from symflow.critical import critical_points
from symflow.critical.circle import gaps_of, reach, stiffness
from symflow.critical.shapes import invariants, shape_of
from symflow.energies import Dissipation, Exponential, Interaction, Pairwise
from symflow.errors import InputError


def search(energy, n, d, **options):
    return critical_points(energy, n, d, backend="numpy", **options)


@pytest.mark.parametrize(("n", "orbits"), [(3, 3), (4, 5), (5, 7)])
def test_the_known_orbits_on_the_circle_are_found_and_certified(n, orbits):
    atlas = search(Interaction(1.0), n, 2)
    assert len(atlas) == orbits
    assert all(point.certified and point.flat == 0 and point.rotations == 1 for point in atlas)
    assert [point.name for point in atlas if point.is_maximum] == ["consensus"]
    assert atlas[-1].name == f"regular {n}-gon"
    assert atlas.complete


def test_spectra_are_those_of_the_formulas():
    """Consensus −e^β/n with multiplicity (n − 1)(d − 1); the n-gon has circulant eigenvalues."""
    n, beta = 4, 1.0
    atlas = search(Interaction(beta), n, 3)
    by_name = {point.name: point for point in atlas}
    consensus = by_name["consensus"]
    np.testing.assert_allclose(consensus.eigenvalues, [-math.e / n] * 6 + [0.0] * 2, atol=1e-9)
    assert (consensus.rotations, consensus.decreasing) == (2, 6)
    k = np.arange(1, n)
    angle = 2 * np.pi * k / n
    weights = (beta * np.sin(angle) ** 2 - np.cos(angle)) * np.exp(beta * np.cos(angle))
    within = [float(weights @ (1 - np.cos(angle * m)) / n**2) for m in range(1, n)]
    found = np.array(by_name["regular 4-gon"].eigenvalues)
    for value in within:
        assert np.abs(found - value).min() < 1e-9
    assert by_name["regular 4-gon"].kind == "saddle"  # a minimum on the circle, not on the sphere
    assert by_name["simplex"].kind == "minimum"


def test_the_compiled_hessian_finds_the_same_points():
    compiled = critical_points(Interaction(1.0), 4, 2, starts=60, certify=False, backend="compiled")
    plain = search(Interaction(1.0), 4, 2, starts=60, certify=False)
    assert [p.name for p in compiled] == [p.name for p in plain]
    np.testing.assert_allclose(
        [p.eigenvalues for p in compiled], [p.eigenvalues for p in plain], rtol=0, atol=1e-10
    )


def test_few_starts_leave_an_atlas_that_is_not_called_complete():
    atlas = search(Interaction(1.0), 5, 2, starts=8)
    assert len(atlas) < 7
    assert atlas.complete is None
    assert str(atlas).endswith("others are not excluded")


def test_an_energy_to_be_minimised_has_the_kinds_exchanged():
    up, down = search(Interaction(1.0), 3, 2), search(Dissipation(1.0), 3, 2)
    kinds = {point.name: (point.increasing, point.decreasing) for point in up}
    assert kinds == {point.name: (point.decreasing, point.increasing) for point in down}


def test_without_rotations_every_point_is_one_of_its_own():
    energy = Exponential([[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    atlas = search(energy, 2, 2)
    maxima = [point for point in atlas if point.kind == "maximum" and point.name == "consensus"]
    assert sorted(abs(point.x[0, 1]) for point in maxima) == pytest.approx([1.0, 1.0])
    assert all(point.rotations == 0 for point in atlas)


def test_a_family_of_critical_points_is_said_to_be_one():
    """⟨x, y⟩ alone: every cloud with mean zero is a minimum, a family for n ≥ 4."""
    atlas = search(Pairwise("dot(x, y)", space="sphere"), 4, 2, starts=40)
    flat = [point for point in atlas if point.flat]
    assert flat
    assert all(point.certificate.startswith("not isolated") for point in flat)
    assert all(abs(point.energy) < 1e-12 for point in flat)


def test_a_fixed_seed_repeats_and_the_atlas_writes_itself():
    atlas = search(Interaction(2.0), 3, 3, starts=50, seed=4)
    again = search(Interaction(2.0), 3, 3, starts=50, seed=4)
    assert atlas.to_json() == again.to_json()
    record = json.loads(atlas.to_json())
    assert record["n"] == 3
    assert len(record["points"]) == len(atlas)
    assert np.shape(record["points"][0]["x"]) == (3, 3)
    lines = str(atlas).splitlines()
    assert len(lines) == len(atlas) + 3
    assert "consensus" in lines[2]


def test_numbers_out_of_range_are_refused_by_name():
    with pytest.raises(InputError, match="n = 1 must be a whole number of at least 2"):
        search(Interaction(1.0), 1, 2)
    with pytest.raises(InputError, match="d = 1 must be"):
        search(Interaction(1.0), 3, 1)
    with pytest.raises(InputError, match=r"n\(d - 1\) = 80 is above 60"):
        search(Interaction(1.0), 40, 3)
    with pytest.raises(InputError, match="energy must be one of"):
        search(1.0, 3, 2)


def test_invariants_tell_orbits_apart_and_nothing_else():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(5, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    moved = (x @ turn)[rng.permutation(5)]
    np.testing.assert_allclose(invariants(x, True), invariants(moved, True), atol=1e-12)
    assert np.abs(invariants(x, False) - invariants(moved, False)).max() > 1e-3
    y = x.copy()
    y[0] = -y[0]
    assert np.abs(invariants(x, True) - invariants(y, True)).max() > 1e-3


def test_shapes_have_their_names():
    angles = 2 * np.pi * np.arange(3) / 3
    triangle = np.column_stack([np.cos(angles), np.sin(angles)])
    assert shape_of(triangle).name == "regular 3-gon"
    assert shape_of(np.repeat(triangle, [2, 1, 1], axis=0)).name == "2 + 1 + 1 on a regular 3-gon"
    assert shape_of(np.vstack([np.eye(3), -np.eye(3)])).name == "cross-polytope"
    assert shape_of(np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])).name == "2 + 1 antipodal"
    assert shape_of(np.eye(2)).name == "1 + 1 in rank 2"


@pytest.mark.parametrize(("n", "d"), [(4, 2), (4, 3), (5, 2), (6, 3)])
def test_known_figures_have_exact_tokens_that_are_critical(n, d):
    """The gradient vanishes exactly, in number fields, and the kind is the one that floats found."""
    found = 0
    for point in search(Interaction(1.0), n, d, starts=120, certify=False):
        if point.exact is None:
            assert "in rank" in point.name
            continue
        exact = np.array([[float(c) for c in row] for row in point.exact])
        np.testing.assert_allclose(exact @ exact.T, point.x @ point.x.T, atol=1e-9)
        if n * (d - 1) <= 8:
            status = "proved" if point.increasing else "refuted"
            assert check("saddle", 1, point.exact).status == status
        found += 1
    assert found >= 4


def test_gaps_do_not_depend_on_rotation_reflection_or_order():
    rng = np.random.default_rng(2)
    angles = rng.uniform(0, 2 * np.pi, 5)
    for other in (angles + 1.0, -angles, rng.permutation(angles)):
        sets = [np.column_stack([np.cos(a), np.sin(a)]) for a in (angles, other)]
        np.testing.assert_allclose(gaps_of(sets[0]), gaps_of(sets[1]), atol=1e-12)


def test_the_stiffness_is_the_derivative_of_the_torque():
    slopes = stiffness(compile_hessian(Interaction(1.5), "sphere", backend="numpy"))
    s = 2 * np.pi * np.arange(len(slopes)) / len(slopes)
    wanted = (np.cos(s) - 1.5 * np.sin(s) ** 2) * np.exp(1.5 * np.cos(s))
    np.testing.assert_allclose(slopes, wanted, atol=1e-8)
    assert reach(np.full(3, 1 / 3), slopes) > 0.05


def test_many_tokens_are_certified_too():
    """24 degrees of freedom modulo rotations: pivots in balls would have lost all digits by then."""
    atlas = search(Interaction(1.0), 14, 3, starts=2, seed=1)
    assert len(atlas) == 2
    assert all(point.certified for point in atlas)
