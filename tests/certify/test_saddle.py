"""Strict saddles: known answers, true and false, exact and near floats; forged certificates."""

import copy
from fractions import Fraction

import flint
import numpy as np
import pytest
from sympy import cos, pi, sin, sqrt

from symflow.certify import replay
from symflow.certify.propositions.saddle import SADDLE
from symflow.certify.sphere.enclosed import Neighbourhood
from symflow.certify.sphere.energy import TokenEnergy
from symflow.certify.sphere.exact import ExactPoint
from symflow.certify.terms import Rejected
from symflow.claims import check
from symflow.energies import Dissipation, Exponential, Interaction, LogPartition, Pairwise
from symflow.errors import CertificateError, InputError

BETA = TokenEnergy("exp(beta*dot(x, y))/beta", "", {"beta": ((Fraction(1),),)})


def polygon(n):
    return [[cos(2 * pi * k / n), sin(2 * pi * k / n)] for k in range(n)]


def floats(points):
    return np.array([[float(c) for c in row] for row in points])


SIMPLEX = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]  # a square on the sphere
FORM = Pairwise("dot(x, A*y)", A=[[1, 0], [0, 2]], space="sphere")
KNOWN = {
    "antipodal pair": (1, polygon(2), "proved"),
    "triangle": (1, polygon(3), "proved"),
    "square on the sphere": (2, SIMPLEX, "proved"),
    "pentagon": (1, polygon(5), "proved"),
    "two and one": (1, [[1, 0], [1, 0], [-1, 0]], "proved"),
    "consensus": (1, [[1, 0], [1, 0], [1, 0]], "refuted"),
    "consensus at another place": (3, [[Fraction(3, 5), Fraction(4, 5)]] * 2, "refuted"),
    "triangle as a maximum": (-1, polygon(3), "refuted"),
    "right angle": (1, [[1, 0], [0, 1]], "refuted"),
    "dissipation, two and one": (Dissipation(1), [[1, 0], [1, 0], [-1, 0]], "proved"),
    "dissipation, consensus": (Dissipation(1), [[0, 1]] * 2, "refuted"),
    "triangle in floats": (1, floats(polygon(3)), "proved"),
    "heptagon in floats": (1, floats(polygon(7)), "proved"),
    "consensus in floats": (1, floats([[1 / sqrt(3)] * 3] * 3), "refuted"),
    "not critical in floats": (1, [[0.6, 0.8], [0.8, 0.6]], "refuted"),
    "floats that are exact": (1, [[1.0, 0.0], [-1.0, 0.0]], "proved"),
    "a form, its largest axis": (FORM, [[0, 1]], "refuted"),
    "a form, its smallest axis": (FORM, [[1, 0]], "proved"),
    "a potential": (Pairwise("", "dot(a, x)", a=[1, 0], space="sphere"), [[-1, 0]], "proved"),
    "a potential at its top": (Pairwise("", "dot(a, x)", a=[1, 0], space="sphere"), [[1, 0]], "refuted"),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name):
    energy, points, status = KNOWN[name]
    verdict = check("saddle", energy, points)
    assert verdict.status == status
    assert verdict.replay()
    assert (verdict.witness is None) == (status == "proved")


def test_the_sense_may_be_chosen():
    assert check("saddle", 1, polygon(3), "minimise").status == "refuted"
    assert check("saddle", 1, [[1, 0]] * 3, "minimise").status == "proved"
    with pytest.raises(InputError, match="sense = 'up' is unknown"):
        check("saddle", 1, polygon(3), "up")


def test_the_scope_says_what_was_read():
    scope = check("saddle", Interaction(Fraction(1, 2)), polygon(3)).scope
    for part in ("3 tokens", "beta = 1/2", "maximised", "ascent", "(-0.5, 0.866)"):
        assert part in scope


def test_bad_input_is_refused_by_name():
    with pytest.raises(InputError, match=r"points\[1\] has the squared length 2"):
        check("saddle", 1, [[1, 0], [1, 1]])
    with pytest.raises(InputError, match=r"points\[0\] has the length 1.1"):
        check("saddle", 1, [[1.1, 0.0], [0.0, 1.0]])
    with pytest.raises(InputError, match=r"points has shape \(2,\)"):
        check("saddle", 1, [1, 0])
    with pytest.raises(InputError, match=r"an energy of symflow\.energies"):
        check("saddle", "interaction", [[1, 0]])
    with pytest.raises(InputError, match="no sum over pairs"):
        check("saddle", LogPartition(np.eye(2), np.eye(2)), [[1, 0]])


def test_a_family_near_floats_is_not_decided():
    """Without interaction beyond ⟨x, y⟩ all clouds of mean zero are critical: nothing is isolated."""
    x = floats(polygon(5))
    verdict = check("saddle", Pairwise("dot(x, y)", space="sphere"), x)
    assert verdict.status == "undecided"


def test_forged_certificates_are_rejected():
    record = check("saddle", 1, polygon(3)).certificate.to_record()
    zero = [["0", "0"]] * 3
    tampered = {
        "consensus": {"statement": {"points": [["1", "0"]] * 3, "field": None}},
        "sense": {"statement": {"sense": "minimise"}},
        "beta": {"statement": {"parameters": {"beta": "-1"}}},
        "moved": {"statement": {"points": [["1", "0"], ["0", "1"], ["-1", "0"]], "field": None}},
        "long": {"statement": {"points": [["2", "0"], ["-2", "0"], ["2", "0"]], "field": None}},
        "zero direction": {"proof": {"direction": zero}},
        "not tangent": {"proof": {"direction": [["1", "1"], ["0", "0"], ["0", "0"]]}},
        "no direction": {"proof": {"direction": None}},
        "refuted": {"status": "refuted", "proof": {"direction": None}},
        "rotation": {"proof": {"direction": [["-" + y, x] if y[0] != "-" else [y[1:], x]
                                             for x, y in record["statement"]["points"]]}},
        "radius": {"statement": {"radius": "1/1000"}},
    }  # fmt: skip
    assert replay(record).accepted
    malformed = []
    for name, change in tampered.items():
        other = copy.deepcopy(record)
        for key, value in change.items():
            other[key] = {**other[key], **value} if isinstance(value, dict) else value
        try:
            other["scope"] = SADDLE.scope(other["statement"])
        except CertificateError:
            malformed.append(name)
        assert not replay(other).accepted, name
    assert malformed == ["radius"]  # tokens of a field are exact


def test_a_ball_certificate_holds_for_its_points_alone():
    record = check("saddle", 1, floats(polygon(5))).certificate.to_record()
    assert replay(record).accepted
    wrong = copy.deepcopy(record)
    wrong["statement"]["points"][0] = ["1", "1/1000"]
    wrong["scope"] = SADDLE.scope(wrong["statement"])
    assert not replay(wrong).accepted
    assert not replay(wrong | {"status": "refuted", "kind": "critical-points"}).accepted


def test_series_along_great_circles_give_the_hessian_of_the_formula():
    """The quadratic form of E_β, written out, at random rational tangent vectors of a rational cloud."""
    points = [
        [Fraction(3, 5), Fraction(4, 5)],
        [Fraction(5, 13), Fraction(-12, 13)],
        [Fraction(-1), Fraction(0)],
    ]
    at = ExactPoint(BETA, points)
    rng = np.random.default_rng(3)
    speeds = [Fraction(int(k), 7) for k in rng.integers(-9, 9, 3)]
    xi = [[-s * y, s * x] for s, (x, y) in zip(speeds, points, strict=True)]
    found = float(at.second(xi))
    x, v = floats(points), floats(xi)
    c = x @ x.T
    cross = v @ x.T
    speed = (v**2).sum(1)
    terms = np.exp(c) * ((cross + cross.T) ** 2 + 2 * v @ v.T - (speed[:, None] + speed[None, :]) * c)
    assert found == pytest.approx(terms.sum() / 18, rel=1e-12)


def test_the_gradient_in_a_number_field_vanishes_at_polygons_only():
    from symflow.algebra.exact.fields import from_sympy

    flat = from_sympy([c for row in polygon(5) for c in row])
    rows = [flat[k : k + 2] for k in range(0, 10, 2)]
    assert all(value == 0 for values in ExactPoint(BETA, rows).gradient() for value in values)
    rows[0] = rows[1]
    assert any(value != 0 for values in ExactPoint(BETA, rows).gradient() for value in values)


def test_a_neighbourhood_needs_unit_points_and_a_small_radius():
    with flint.ctx.workprec(128):
        with pytest.raises(Rejected, match="radius must be positive"):
            Neighbourhood(BETA, [[Fraction(1), Fraction(0)]] * 2, Fraction(1, 2))
        with pytest.raises(Rejected, match="token 0 is not nearly of unit length"):
            Neighbourhood(BETA, [[Fraction(2), Fraction(0)]] * 2, Fraction(1, 100))
        near = Neighbourhood(BETA, [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]], Fraction(1, 100))
        assert near.has_no_critical_point()
        with pytest.raises(Rejected, match="no critical point is shown"):
            near.critical_point()


def test_an_energy_without_rotations_is_certified_without_them():
    energy = Exponential([[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
    top = floats([[0, 1]] * 2) + 1e-13
    assert check("saddle", energy, top / np.linalg.norm(top, axis=1, keepdims=True)).status == "refuted"
    side = floats([[1, 0]] * 2) + 1e-13
    verdict = check("saddle", energy, side / np.linalg.norm(side, axis=1, keepdims=True))
    assert verdict.status == "proved"
    assert verdict.replay()
