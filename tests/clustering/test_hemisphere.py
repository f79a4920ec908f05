"""Hemispheres: both certificates are verified exactly; frequencies against Wendel's formula."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from symflow.clustering import hemisphere, wendel_probability
from symflow.errors import InputError


def unit(shape, seed=0):
    x = np.random.default_rng(seed).normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def certified(x, found):
    """Verify the certificate in rational arithmetic."""
    rows = [[Fraction(v) for v in row] for row in np.asarray(x, float).tolist()]
    if found.contained:
        w = [Fraction(v) for v in found.direction.tolist()]
        return all(sum(a * b for a, b in zip(row, w, strict=True)) > 0 for row in rows)
    chosen = [rows[i] for i in found.support]
    sums = [
        sum(w * row[k] for w, row in zip(found.weights, chosen, strict=True)) for k in range(len(rows[0]))
    ]
    return min(found.weights) > 0 and sum(found.weights) == 1 and not any(sums)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_every_answer_is_certified_and_agrees_with_a_linear_program(d):
    for seed in range(30):
        x = unit((2 * d, d), seed)
        found = hemisphere(x)
        assert certified(x, found)
        box = [(-1, 1)] * d + [(None, None)]
        margin = -linprog(
            np.r_[np.zeros(d), -1.0], np.c_[-x, np.ones(len(x))], np.zeros(len(x)), bounds=box
        ).fun
        assert found.contained == (margin > 1e-9)


def test_the_frequency_is_wendels():
    n, d, runs = 7, 3, 800
    hits = sum(bool(hemisphere(unit((n, d), seed))) for seed in range(runs))
    p = float(wendel_probability(n, d))
    # five standard deviations: fails by chance with probability below 1e-6 for another seed
    assert abs(hits / runs - p) < 5 * np.sqrt(p * (1 - p) / runs)


def test_the_cone_is_the_smallest():
    x = unit((5, 3), 1)
    x[:, 2] = np.abs(x[:, 2]) + 0.3
    found = hemisphere(x)
    directions = unit((20000, 3), 2)
    lengths = np.linalg.norm(x, axis=1)
    best = ((directions @ x.T) / lengths).min(axis=1).max()
    assert best <= found.margin + 1e-12
    assert found.margin - best < 0.02


@pytest.mark.parametrize(
    ("x", "contained"),
    [
        ([[2.0]], True),
        ([[1.0], [-3.0]], False),
        ([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], False),
        ([[1.0, 0.0], [1.0, 0.0]], True),
        ([[1e-150, 0.0], [0.0, 1e150]], True),
        ([[1.0, 1e-12], [-1.0, 1e-12]], True),
        ([[1.0, -1e-12], [-1.0, -1e-12], [0.0, 1.0]], False),
    ],
)
def test_touching_and_thin_cones(x, contained):
    found = hemisphere(x)
    assert found.contained is contained
    assert certified(x, found)


def test_wendel():
    assert wendel_probability(1, 1) == 1
    assert wendel_probability(4, 1) == Fraction(1, 8)
    assert wendel_probability(4, 3) == Fraction(7, 8)
    assert all(wendel_probability(n, d) == 1 for n in range(1, 6) for d in range(n, 7))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hemisphere([[0.0, 0.0]]), r"x\[0\] is zero"),
        (lambda: hemisphere(np.ones((2, 2, 2))), "one cloud"),
        (lambda: wendel_probability(0, 2), "n = 0"),
        (lambda: wendel_probability(2, 1.5), "d = 1.5"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InputError, match=message):
        call()
