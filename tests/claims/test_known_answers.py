"""Awkward questions with known answers, at the edges of what is decided: no verdict contradicts an answer."""

from fractions import Fraction

import numpy as np
import pytest
from sympy import Matrix, cos, pi, sin, sqrt

import symflow
from symflow import L2, Gaussian, Linear, Softmax
from symflow.claims import check
from symflow.energies import Dissipation, Interaction, Pairwise

I2 = [[1, 0], [0, 1]]
HALF = Fraction(1, 2)
ONE = [[1]]
LINE = {"dimension": 1}
TINY, SMALL, HUGE = Fraction(1, 10**30), Fraction(1, 10**6), Fraction(10**30)
PD, PSD, ND, NSD = "positive-definite", "positive-semidefinite", "negative-definite", "negative-semidefinite"
NESTED = sqrt(5 + 2 * sqrt(6))  # √2 + √3


def polygon(n):
    return [[cos(2 * pi * k / n), sin(2 * pi * k / n)] for k in range(n)]


def floats(points):
    return [[float(c) for c in row] for row in points]


def potential(text, **parameters):
    return Pairwise("", text, **parameters)


def on_circle(text, **parameters):
    return Pairwise(text, space="sphere", **parameters)


#: energy, options, the answer, why; None where there is no second derivative or no rule and it stays open
CONVEXITY = {
    "power zero": (
        potential("(exp(dot(a, x))**0 - exp(dot(a, x)))**2", a=[1]),
        {},
        False,
        "(1 − eˣ)² is concave left of −log 2",
    ),
    "negative power zero": (
        potential("((-exp(dot(a, x)))**0 - exp(dot(a, x)))**2", a=[1]),
        {},
        False,
        "same",
    ),
    "power one": (potential("(exp(dot(a, x)))**1", a=[1]), {}, True, "eˣ"),
    "zero": (potential("0"), {}, True, "zero"),
    "constant, modulus above": (potential("5"), {"modulus": SMALL}, False, "0 < 10⁻⁶"),
    "constant, modulus below": (potential("5"), {"modulus": -TINY}, True, "0 > −10⁻³⁰"),
    "modulus attained": (potential("norm2(x)/2"), {"modulus": 1}, True, "equality"),
    "modulus missed": (potential("norm2(x)/2"), {"modulus": 1 + SMALL}, False, "by 10⁻⁶"),
    "a tiny negative": (potential("c*norm2(x)", c=-SMALL), {}, False, "−2·10⁻⁶"),
    "a huge positive": (potential("c*norm2(x)", c=HUGE), {}, True, "2·10³⁰"),
    "difference of squares": (Pairwise("norm2(x) - norm2(y)"), {}, True, "∬W = 0"),
    "twice the other": (Pairwise("norm2(x) - 2*norm2(y)"), {}, False, "∬W = −∫|x|²"),
    "skew": (Pairwise("dot(x, A*y)", A=[[0, 1], [-1, 0]]), {}, True, "∬W = 0"),
    "half skew": (Pairwise("dot(x, A*y)", A=[[0, 1], [0, 0]]), {}, False, "x₁x₂ of the mean"),
    "a maximum of lines": (potential("Max(dot(a, x), 0)", a=[1]), {}, True, "a maximum"),
    "minus a modulus": (potential("-Abs(dot(a, x))", a=[1]), {}, None, "false, but with a kink only"),
    "cube": (potential("dot(a, x)**3", a=[1]), {}, False, "6x"),
    "fourth power": (potential("dot(a, x)**4", a=[1]), {}, True, "12x²"),
    "logarithm of exponentials": (
        potential("log(exp(dot(a, x)) + exp(-dot(a, x)))", a=[1]),
        {},
        True,
        "cosh",
    ),
    "minus that": (potential("-log(exp(dot(a, x)) + exp(-dot(a, x)))", a=[1]), {}, False, "cosh"),
    "exponential of a square": (potential("exp(norm2(x))"), {}, True, "increasing convex of convex"),
    "exponential of minus a square": (potential("exp(-norm2(x))"), {}, False, "a bump"),
    "product of exponentials": (potential("exp(dot(a, x))*exp(norm2(x))", a=[1]), {}, True, "log-convex"),
    "norm": (potential("sqrt(norm2(x))"), {"dimension": 2}, True, "a norm"),
    "root of the norm": (potential("sqrt(1 + sqrt(1 + norm2(x)))"), LINE, False, "concave far out"),
    "softmax, A = I": (Pairwise("exp(dot(x, A*y))", A=I2), {}, True, "a positive definite kernel"),
    "softmax, A singular": (Pairwise("exp(dot(x, A*y))", A=[[1, 1], [1, 1]]), {}, True, "A ⪰ 0"),
    "softmax, A not quite": (
        Pairwise("exp(dot(x, A*y))", A=[[1, 0], [0, -SMALL]]),
        {},
        False,
        "an eigenvalue",
    ),
    "a parameter called E": (potential("E*norm2(x)", E=-1), {}, False, "−|x|²"),
    "a parameter called I": (potential("I*norm2(x)", I=-1), {}, False, "−|x|²"),
    "a parameter called lambda": (potential("lambda*norm2(x)", **{"lambda": -1}), {}, False, "−|x|²"),
    "Gaussian laws alone": (
        Pairwise("-norm2(x - y)"),
        {"metric": "bures"},
        False,
        "−2 tr Σ, and zero on Diracs",
    ),
    "Gaussian laws, kernel": (Pairwise("exp(dot(x, y))"), {"metric": "bures"}, True, "a kernel"),
    "sphere": (on_circle("dot(x, y)"), {"dimension": 2}, False, "concave at consensus"),
    "half an interval": (
        potential("norm2(x)**2 - norm2(x)/6"),
        {"domain": {"box": [[Fraction(1, 5), 1]]}},
        True,
        "12x² > 1/3",
    ),
    "an interval too long": (
        potential("norm2(x)**2 - norm2(x)/6"),
        {"domain": {"box": [[Fraction(1, 7), 1]]}},
        False,
        "12/49 < 1/3",
    ),
}

#: matrix, property, box, form, the answer
FORMS = {
    "zero": ([[0]], PSD, None, True),
    "zero, negative": ([[0]], NSD, None, True),
    "zero, definite": ([[0]], PD, None, False),
    "zero, indefinite": ([[0]], "indefinite", None, False),
    "smallest double": ([[5e-324]], PD, None, True),
    "doubles that are no square": (
        [[1e300, 1e150], [1e150, 1.0]],
        PSD,
        None,
        Fraction(1e300) >= Fraction(1e150) ** 2,
    ),
    "Taylor remainder": ([["exp(1/10**20) - 1 - 1/10**20"]], PD, None, True),
    "minus a Taylor remainder": ([["1 + 1/10**20 - exp(1/10**20)"]], PSD, None, False),
    "large exponentials, singular": ([["exp(1000)", "exp(500)"], ["exp(500)", "1"]], PSD, None, True),
    "large exponentials, definite": ([["exp(1000)", "exp(500)"], ["exp(500)", "1"]], PD, None, False),
    "beyond measure": ([["exp(10**9)"]], PD, None, None),
    "too many digits": ([["exp(20000)"]], PD, None, None),
    "nested roots": ([[sqrt(2) + sqrt(3), NESTED], [NESTED, sqrt(2) + sqrt(3)]], PSD, None, True),
    "nested roots, definite": ([[sqrt(2) + sqrt(3), NESTED], [NESTED, sqrt(2) + sqrt(3)]], PD, None, False),
    "cosines": (Matrix(7, 7, lambda i, j: cos(2 * pi * (i - j) / 7)), PSD, None, True),
    "Hilbert": ([[Fraction(1, i + j + 1) for j in range(10)] for i in range(10)], PD, None, True),
    "Hilbert, shifted": (
        [[Fraction(1, i + j + 1) - Fraction(i == j, 10**12) for j in range(10)] for i in range(10)],
        PSD,
        None,
        False,
    ),
    "a square": ([["a**2"]], PSD, {"a": (-1, 1)}, True),
    "a square, definite": ([["a**2"]], PD, {"a": (-1, 1)}, False),
    "double irrational root": ([["(a**2 - 2)**2"]], PSD, {"a": (-2, 2)}, True),
    "irrational root, definite": ([["(a**2 - 2)**2"]], PD, {"a": (-2, 2)}, None),
    "pole": ([["1/a"]], PD, {"a": (-1, 1)}, False),
    "removable pole": ([["1 + a/a - 1", "-1"], ["-1", "1"]], PSD, {"a": (-1, 1)}, None),
    "removable logarithm": ([["1 + 0*log(a)", "-1"], ["-1", "1"]], PSD, {"a": (-1, Fraction(-1, 2))}, None),
    "one point": ([["a"]], PD, {"a": (1, 1)}, True),
    "one point, zero": ([["a"]], PD, {"a": (0, 0)}, False),
    "names": ([["E", "I"], ["I", "E"]], PSD, {"E": (1, 2), "I": (-HALF, HALF)}, True),
    "names, less": ([["E", "I"], ["I", "E"]], PD, {"E": (1, 2), "I": (-2, 1)}, False),
}

#: energy, tokens, sense, whether they are a strict saddle
SADDLES = {
    "one token": (1, [[1, 0]], None, False),
    "no interaction": (Dissipation(0), [[1, 0], [-1, 0]], None, False),
    "a constant": (on_circle("0*dot(x, y) + 1"), [[1, 0], [0, 1]], None, False),
    "tiny beta": (TINY, [[1, 0], [-1, 0]], None, True),
    "beta 1e-300": (1e-300, [[1, 0], [-1, 0]], None, True),
    "beta 700": (700, [[1, 0], [-1, 0]], None, True),
    "square, negative beta": (-1, polygon(4), None, True),
    "triangle, negative beta": (-1, polygon(3), None, False),
    "triangle to minimise": (1, polygon(3), "minimise", False),
    "consensus to minimise": (1, [[1, 0], [1, 0]], "minimise", True),
    "hexagon": (1, polygon(6), None, True),
    "one ulp off the circle": (1, [[np.nextafter(1, 0), 0.0], [-1.0, 0.0]], None, True),
    "the same token twice": (1, [[0.6, 0.8], [0.6, 0.8]], None, False),
    "a skew form": (on_circle("dot(x, A*y)", A=[[0, 1], [-1, 0]]), [[1, 0], [0, 1]], None, False),
    "half skew": (on_circle("dot(x, A*y)", A=[[1, 5], [-5, 0]]), [[0, 1]], None, True),
    "a number called E": (on_circle("E*dot(x, y)", E=1), [[1, 0], [-1, 0]], None, True),
    "square in floats": (1, floats(polygon(4)), None, True),
}

#: energy, number of tokens, whether consensus is the only stable critical point
CIRCLES = {
    "two": (1, 2, True),
    "three": (1, 3, True),
    "three, sharp": (10, 3, True),
    "three, linear": (on_circle("dot(x, y)"), 3, True),
    "three, repelling": (-1, 3, False),
    "three, cubic": (on_circle("dot(x, y)**3 + dot(x, y)"), 3, False),
    "three, squares": (on_circle("-norm2(x - y)"), 3, True),
}

CENTRED = Gaussian([0, 0], I2)
#: model, law, parameters, whether it blows up, rank of the limit
LAWS = {
    "decay": (Softmax(), Gaussian([0], ONE), {"V": ONE, "A": [[-1]]}, False, 0),
    "growth": (Softmax(), Gaussian([0], ONE), {"V": ONE, "A": ONE}, True, None),
    "growth by signs": (Softmax(), Gaussian([0], ONE), {"V": [[-1]], "A": [[-1]]}, True, None),
    "a law without spread": (Softmax(), Gaussian([1], [[0]]), {"V": ONE, "A": ONE}, False, 0),
    "no scores": (Softmax(), CENTRED, {"V": I2, "A": [[0, 0], [0, 0]]}, False, None),
    "one direction": (Softmax(), CENTRED, {"V": I2, "A": [[-1, 0], [0, 0]]}, False, 1),
    "tiny": (Softmax(), Gaussian([0], [[TINY]]), {"V": ONE, "A": [[TINY]]}, True, None),
    "distances": (L2(), CENTRED, {"V": I2, "Q": I2, "K": I2}, False, None),
    "linear": (Linear(), CENTRED, {"V": I2, "A": I2}, True, None),
}

#: functional, V, A, whether it never grows: its derivative is 2 tr(CVΣAΣ) for tr(CΣ)
FUNCTIONALS = {
    "trace": ("tr(Sigma)", I2, [[-1, 0], [0, -1]], True),
    "trace, attained": ("tr(Sigma)", I2, [[-1, 1], [0, Fraction(-1, 4)]], True),
    "trace, missed": ("tr(Sigma)", I2, [[-1, 1], [0, Fraction(-1, 4) + Fraction(1, 10**3)]], False),
    "zero": ("0*tr(Sigma)", I2, I2, True),
    "minus": ("-tr(Sigma)", I2, [[-1, 0], [0, -1]], False),
    "no scores": ("tr(Sigma)", I2, [[0, 0], [0, 0]], True),
    "V negative": ("tr(Sigma)", [[-1, 0], [0, -1]], I2, True),
}


def agrees(verdict, answer):
    """Whether a verdict is the answer, and replays; None is an answer that stays open."""
    wanted = {True: "proved", False: "refuted", None: "undecided"}[answer]
    return verdict.status == wanted and (answer is None or verdict.replay())


@pytest.mark.parametrize("name", CONVEXITY)
def test_convexity(name):
    energy, options, answer, _ = CONVEXITY[name]
    assert agrees(check("convexity", energy, max_wall_time=20, **options), answer)


@pytest.mark.parametrize("name", FORMS)
def test_forms(name):
    matrix, kind, box, answer = FORMS[name]
    assert agrees(check("definiteness", matrix, kind=kind, box=box, max_wall_time=0.5), answer)


@pytest.mark.parametrize("name", SADDLES)
def test_saddles(name):
    energy, tokens, sense, answer = SADDLES[name]
    assert agrees(check("saddle", energy, tokens, *([sense] if sense else [])), answer)


@pytest.mark.parametrize("name", CIRCLES)
def test_circles(name):
    energy, count, answer = CIRCLES[name]
    assert agrees(check("critical-points", energy, count), answer)


@pytest.mark.parametrize("name", LAWS)
def test_laws(name):
    model, law, parameters, blows_up, rank = LAWS[name]
    assert agrees(check("blow-up", model, law, parameters), blows_up)
    for asked in () if rank is None else (rank, rank + 1):
        assert agrees(check("limit-rank", model, law, parameters, asked), asked == rank)


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_functionals(name):
    functional, V, A, answer = FUNCTIONALS[name]
    assert agrees(check("lyapunov", Softmax(), functional, {"V": V, "A": A}), answer)


def test_there_are_many_questions_and_about_half_of_the_answers_are_no():
    tables = (CONVEXITY, FORMS, SADDLES, CIRCLES, LAWS, FUNCTIONALS)
    answers = [case[2] for case in CONVEXITY.values()]
    answers += [case[3] for table in tables[1:] for case in table.values() if len(case) != 3]
    answers += [case[2] for case in CIRCLES.values()]
    decided = [answer for answer in answers if answer is not None]
    assert len(decided) >= 90
    assert 0.4 < sum(not answer for answer in decided) / len(decided) < 0.6


def test_an_energy_that_divides_by_beta_has_none_at_zero():
    with pytest.raises(symflow.errors.InputError, match="divides by beta"):
        check("saddle", Interaction(0), [[1, 0], [-1, 0]])
