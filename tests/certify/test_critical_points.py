"""Lists of critical points on the circle: complete ones replay, and no other list does."""

import copy
from fractions import Fraction

import flint
import numpy as np
import pytest

from symflow.certify import replay
from symflow.certify.circle.cover import cover
from symflow.certify.circle.profile import Profile
from symflow.certify.circle.table import Table
from symflow.certify.circle.uniqueness import UNIT, certified
from symflow.certify.terms import Rejected
from symflow.claims import check
from symflow.energies import Interaction, Pairwise

PAIR = "exp(beta*dot(x, y))/beta"


@pytest.fixture(scope="module")
def record():
    return check("critical-points", 1, 4).certificate.to_record()


@pytest.fixture(scope="module")
def table():
    with flint.ctx.workprec(128):
        return Table(Profile(PAIR, {"beta": Fraction(1)}), 1024)


def changed(record, path, value):
    """Return a copy with one entry replaced, and the scope that belongs to it."""
    from symflow.certify.propositions.circle import CRITICAL_POINTS

    other = copy.deepcopy(record)
    part = other
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    other["scope"] = CRITICAL_POINTS.scope(other["statement"])
    return other


def without(record, index):
    other = copy.deepcopy(record)
    del other["statement"]["points"][index], other["proof"]["points"][index - 1]
    return changed(other, ("status",), other["status"])


def test_every_point_is_needed(record):
    assert replay(record).accepted
    for index in range(1, len(record["statement"]["points"])):
        outcome = replay(without(record, index))
        assert not outcome.accepted
        assert "is not covered" in outcome.reason


def test_no_point_is_listed_twice(record):
    other = copy.deepcopy(record)
    for part in (other["statement"], other["proof"]):
        part["points"].append(copy.deepcopy(part["points"][-1]))
    outcome = replay(changed(other, ("status",), "proved"))
    assert not outcome.accepted
    assert "listed twice" in outcome.reason
    shifted = copy.deepcopy(other)
    gaps = shifted["proof"]["points"][-1]["gaps"]
    shifted["proof"]["points"][-1]["gaps"] = gaps[1:] + gaps[:1]
    texts = shifted["statement"]["points"][-1]["gaps"]
    shifted["statement"]["points"][-1]["gaps"] = texts[1:] + texts[:1]
    assert "listed twice" in replay(changed(shifted, ("status",), "proved")).reason


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("statement", "points", 1, "increasing"), 0, "increases in 1 directions"),
        (("statement", "points", 0, "increasing"), 3, "must be consensus"),
        (("statement", "points", 1, "gaps", 0), "0.10000", "not the stated point"),
        (("statement", "parameters", "beta"), "-1", ""),
        (("statement", "parameters", "beta"), "4", ""),
        (("statement", "complete"), False, "a list is complete where"),
        (("proof", "points", 0, "reach"), 900, "one-to-one"),
        (("proof", "parts"), 32, ""),
        (("proof", "parts"), 1000, "power of two"),
    ],
)
def test_what_does_not_prove_the_claim_is_rejected(record, path, value, reason):
    outcome = replay(changed(record, path, value))
    assert not outcome.accepted
    assert reason in outcome.reason


def test_a_point_that_is_not_critical_is_rejected(record):
    gaps = list(record["proof"]["points"][0]["gaps"])
    gaps[0] += 1 << 30
    gaps[-1] -= 1 << 30
    outcome = replay(changed(record, ("proof", "points", 0, "gaps"), gaps))
    assert "no critical point is shown" in outcome.reason


def test_harmless_changes_are_accepted(record):
    reaches = [point["reach"] for point in record["proof"]["points"]]
    other = changed(record, ("proof", "points", 0, "reach"), reaches[0] - 5)
    assert replay(other).accepted
    reordered = copy.deepcopy(record)
    for part in (reordered["statement"], reordered["proof"]):
        part["points"][-1], part["points"][-2] = part["points"][-2], part["points"][-1]
    assert replay(changed(reordered, ("status",), "proved")).accepted


def test_another_stable_point_refutes():
    """For β < −2/3 the triangle is a strict local maximum, since β sin² − cos < 0 at 120°."""
    verdict = check("critical-points", Interaction(-1), 3)
    assert verdict.status == "refuted"
    assert "0.33333, 0.33333, 0.33333" in verdict.witness["gaps in turns"]
    assert verdict.replay()
    record = verdict.certificate.to_record()
    milder = changed(record, ("statement", "parameters", "beta"), "-1/2")
    assert not replay(milder).accepted


def test_where_the_triangle_is_degenerate_nothing_is_decided():
    verdict = check("critical-points", Interaction(Fraction(-2, 3)), 3)
    assert verdict.status == "undecided"
    assert "0.33333" in verdict.reason


def test_an_interaction_that_is_not_monotone_is_not_decided():
    verdict = check("critical-points", Pairwise("dot(x, y)**2", space="sphere"), 3)
    assert verdict.status == "undecided"


@pytest.mark.parametrize("beta", [Fraction(1), Fraction(-3, 2)])
def test_bounds_on_arcs_hold_at_random_angles(beta):
    with flint.ctx.workprec(128):
        bounds = Table(Profile(PAIR, {"beta": beta}), 256)
    assert bounds.increasing
    scale = 2.0**bounds._exponent
    rng = np.random.default_rng(1)
    s = rng.random(2000)
    arc = (s * 256).astype(np.int64)
    low, high = bounds.torque(arc, arc + 1)
    torque = np.sin(2 * np.pi * s) * np.exp(float(beta) * np.cos(2 * np.pi * s))
    assert (low / scale <= torque + 1e-12).all()
    assert (torque <= high / scale + 1e-12).all()
    wide = bounds.torque(np.array([10]), np.array([100]))
    inside = torque[(arc >= 10) & (arc < 100)]
    assert wide[0][0] / scale <= inside.min()
    assert inside.max() <= wide[1][0] / scale
    assert wide[1][0] / scale - inside.max() < 0.1


def test_a_box_that_is_too_wide_is_not_one_to_one(table):
    profile = Profile(PAIR, {"beta": Fraction(1)})
    thirds = (UNIT // 3, UNIT // 3, UNIT - 2 * (UNIT // 3))
    with flint.ctx.workprec(128):
        point = certified(thirds, 50, profile, table)
        assert (point.decreasing, point.increasing) == (0, 2)
        with pytest.raises(Rejected, match="one-to-one"):
            certified(thirds, 400, profile, table)
        with pytest.raises(Rejected, match="no critical point is shown"):
            certified((UNIT // 4, UNIT // 4, UNIT // 2), 20, profile, table)


def test_the_cover_names_what_it_cannot_exclude(table):
    with pytest.raises(Rejected, match=r"the box of gaps \["):
        cover(3, table, [])


@pytest.mark.parametrize("pair", ["dot(x, A*y)", "norm2(x - A*y)", "exp(x*y)", "dot(x, z)"])
def test_a_profile_is_a_function_of_the_cosine_alone(pair):
    with pytest.raises(Rejected):
        Profile(pair, {"A": Fraction(1)})


@pytest.mark.parametrize(("beta", "n", "orbits"), [(1, 5, 7), (10, 4, 5), (Fraction(1, 2), 5, 7), (1, 6, 12)])
def test_complete_lists_for_other_sizes(beta, n, orbits):
    """At β = 10 the softest and stiffest directions differ by a factor of 10⁸."""
    verdict = check("critical-points", beta, n)
    assert verdict.status == "proved"
    assert len(verdict.certificate.statement["points"]) == orbits


def test_distances_are_functions_of_the_cosine():
    """|x − y|² = 2 − 2c: a Gaussian kernel has w' = 2e^{2c − 2}."""
    profile = Profile("exp(-norm2(x - y))", {})
    with flint.ctx.workprec(64):
        first, second = profile.slopes(flint.arb(1) / 4)
    assert float(first) == pytest.approx(2 * np.exp(-1.5))
    assert float(second) == pytest.approx(4 * np.exp(-1.5))
    verdict = check("critical-points", Pairwise("exp(-norm2(x - y))", space="sphere"), 4)
    assert verdict.status == "proved"
    # the interaction energy at β = 2, up to a factor
    same = check("critical-points", 2, 4).certificate.statement["points"]
    assert verdict.certificate.statement["points"] == same


def test_no_box_with_a_critical_point_is_excluded(record, table):
    """Boxes of random width around each point of the list, in the order that the subdivision uses."""
    from symflow.certify.circle.cover import _crossings, _may_vanish, _ordered

    rng = np.random.default_rng(8)
    signs = _crossings(4)
    for point in record["proof"]["points"]:
        gaps = np.array(point["gaps"]) / UNIT * table.parts
        gaps = np.roll(gaps, len(gaps) - 1 - int(gaps.argmax()))
        gaps = gaps if gaps[0] <= gaps[-2] else np.append(gaps[:-1][::-1], gaps[-1])
        down, up = (rng.integers(1, 300, size=(50, 3)) for _ in range(2))
        low = np.maximum(np.floor(gaps[:-1]).astype(np.int64) - down, 0)
        high = np.ceil(gaps[:-1]).astype(np.int64) + up
        first, last = _ordered(low, high, table.parts)
        assert len(first) == 50
        assert ((first <= gaps + 1e-9) & (gaps - 1e-9 <= last)).all()
        assert _may_vanish(first, last, table, signs).all()


def test_a_random_small_box_with_a_gradient_is_excluded(table):
    """Three tokens, a box of one part: the bounds are tight enough where the torque on a token is large."""
    from symflow.certify.circle.cover import _crossings, _may_vanish, _ordered

    low = np.array([[200, 330]])
    first, last = _ordered(low, low + 1, table.parts)
    assert len(first) == 1
    assert not _may_vanish(first, last, table, _crossings(3)).any()
