"""Sturm, branch and bound at polynomials and functions with known answers."""

import math
import random
from fractions import Fraction as F

import pytest
from flint import arb

from symflow.algebra.exact.boxes import as_box, balls_of, prove_positive
from symflow.algebra.exact.exponentials import exponential
from symflow.algebra.exact.polynomials import by_multiplicity, divide, value_at
from symflow.algebra.exact.roots import count_roots, is_nonnegative, is_positive, isolate
from symflow.errors import InputError


def _from_roots(*roots, factor=F(1)):
    polynomial = [F(factor)]
    for root in roots:
        raised, scaled = [F(0), *polynomial], [*(-root * c for c in polynomial), F(0)]
        polynomial = [a + b for a, b in zip(raised, scaled, strict=True)]
    return polynomial


def test_roots_are_counted_and_isolated():
    rng = random.Random(5)
    for _ in range(20):
        roots = [F(rng.randint(-6, 6), rng.randint(1, 4)) for _ in range(rng.randint(1, 5))]
        low, high = sorted((F(rng.randint(-8, 8), 3), F(rng.randint(-8, 8), 3)))
        polynomial = _from_roots(*roots, factor=rng.choice([-2, F(1, 3)]))
        inside = sorted({r for r in roots if low <= r <= high})
        assert count_roots(polynomial, low, high) == len(inside)
        intervals = isolate(polynomial, low, high)
        assert len(intervals) == len(inside)
        assert all(a <= r <= b for (a, b), r in zip(intervals, inside, strict=True))


def test_roots_of_a_chebyshev_polynomial():
    # T₇(x) = 64x⁷ − 112x⁵ + 56x³ − 7x has the roots cos((2k−1)π/14)
    chebyshev = [F(c) for c in (0, -7, 0, 56, 0, -112, 0, 64)]
    found = isolate(chebyshev, F(-1), F(1))
    expected = sorted(math.cos((2 * k - 1) * math.pi / 14) for k in range(1, 8))
    for (low, high), root in zip(found, expected, strict=True):
        assert low - F(1, 2**45) <= F(root) <= high + F(1, 2**45)  # a root may be an end


def test_roots_between_transcendental_ends():
    # (x − e)² − 1/4 has one root, e + 1/2, between e and e²
    e = exponential(1)
    assert count_roots([e * e - F(1, 4), -2 * e, F(1)], e, e * e) == 1
    assert count_roots([e, F(-1)], e, e * e) == 1


def test_positivity_on_intervals():
    square = _from_roots(F(1, 3), F(1, 3))
    assert is_nonnegative(square, F(-1), F(1))
    assert not is_positive(square, F(-1), F(1)).holds
    lifted = [square[0] + F(1, 10**12), *square[1:]]
    assert is_positive(lifted, F(-1), F(1)).holds
    lowered = [square[0] - F(1, 10**12), *square[1:]]
    refuted = is_positive(lowered, F(-1), F(1))
    assert not refuted.holds
    assert not is_nonnegative(lowered, F(-1), F(1))
    assert refuted.point is not None
    assert value_at(lowered, refuted.point) <= 0
    assert is_nonnegative(_from_roots(F(0), F(1), factor=-1), F(0), F(1))
    assert not is_nonnegative(_from_roots(F(0), F(1), F(1)), F(-1), F(1))
    touching = [F(4), F(0), F(-4), F(0), F(1)]  # (x² − 2)²
    found = is_positive(touching, F(0), F(2))
    assert found.point is None
    low, high = found.root
    assert low**2 <= 2 <= high**2


def test_factors_by_multiplicity():
    polynomial = _from_roots(F(1), F(2), F(2), F(3), F(3), F(3))
    assert by_multiplicity(polynomial) == [
        (_from_roots(F(1)), 1),
        (_from_roots(F(2)), 2),
        (_from_roots(F(3)), 3),
    ]
    assert divide(polynomial, _from_roots(F(2), F(2)))[1] == []


def test_branch_and_bound_finds_known_minima():
    # f = cos x + x²/4 has its minimum f(x*) ≈ 0.7912 where sin x* = x*/2, x* ≈ 1.8955
    def shifted(c):
        return lambda x: x[0].cos() + x[0] ** 2 / 4 - c

    minimum = math.cos(1.895494267033981) + 1.895494267033981**2 / 4
    box = as_box([(-3, 3)])
    proved = prove_positive(shifted(arb(minimum - 1e-4)), box)
    assert proved.proved
    assert 0 < proved.lower < F(1, 10**4)
    assert sum(high - low for ((low, high),) in proved.leaves) == 6
    with_point = prove_positive(shifted(arb(minimum + 1e-4)), box)
    assert not with_point.proved
    assert abs(abs(float(with_point.point[0])) - 1.8955) < 0.02


def test_what_touches_zero_stays_open():
    found = prove_positive(lambda x: (x[0] - arb(1) / 3) ** 2, as_box([(0, 1)]), max_boxes=200)
    assert not found.proved
    assert found.point is None
    assert found.open
    assert found.lower <= 0
    assert "open" in found.reason
    assert not prove_positive(lambda x: x[0].log(), as_box([(F(-1), F(1))]), max_boxes=50).proved
    late = prove_positive(lambda x: (x[0] - arb(1) / 3) ** 2, as_box([(0, 1)]), deadline=lambda: True)
    assert "time" in late.reason
    with pytest.raises(InputError, match="empty"):
        as_box([(1, 0)])
    assert balls_of(as_box([(0, 1)]))[0].contains(arb(1) / 2)
