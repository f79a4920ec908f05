"""Changed certificates of kinds beside those of convexity: accepted exactly where they prove what they state.

Whether a changed object proves its claim is computed in each test by another way than that of the replay. The
scope of a changed statement is adapted, so that nothing but the proof is wrong.
"""

import contextlib
import copy
from fractions import Fraction
from itertools import combinations

from sympy import Matrix, Rational, cos, diff, expand, simplify, sin, solveset, symbols, sympify
from sympy.sets import Interval

from symflow import Gaussian, Softmax
from symflow.certify import replay
from symflow.certify.propositions import proposition
from symflow.claims import check
from symflow.energies import Pairwise
from symflow.errors import CertificateError

I2 = [[1, 0], [0, 1]]
JUNK = (None, True, 1, 0.5, "", "x", "1/0", "1e999", "nan", "9" * 500, [], {}, ["1"], [["1"]])


def number(text):
    """Return a fraction, None for what is no number written p or p/q."""
    if not isinstance(text, str) or not text.replace("-", "").replace("/", "").isdigit() or len(text) > 60:
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def near(text):
    """Return other numbers than the one that a text writes."""
    value = number(text)
    found = {value + 1, value - 1, -value, 2 * value, value / 2, Fraction(0), value + Fraction(1, 10**6)}
    return [str(other) for other in sorted(found - {value})]


def places(node, path=()):
    """Yield the path of every number in nested lists and objects."""
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))
    if number(node) is not None:
        yield path


def changed(record, path, value):
    """Return a copy with another part, and the scope of its statement where that can be read."""
    found = copy.deepcopy(record)
    node = found
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    if path[0] == "statement":
        with contextlib.suppress(CertificateError):
            found["scope"] = proposition(found["claim"]).scope(found["statement"])
    return found


def accepted(record):
    try:
        return replay(record).accepted
    except CertificateError:
        return False


def tried(record, part, valid, junk=JUNK, step=1):
    """Change every number below ``part`` and compare with ``valid``; return how many were refused.

    Of the other numbers every ``step``-th is taken.
    """
    assert accepted(record)
    assert valid(record)
    refused, node = 0, record
    for key in part:
        node = node[key]
    for inner in places(node):
        path = (*part, *inner)
        text = node
        for key in inner:
            text = text[key]
        for other in near(text)[::step]:
            mutated = changed(record, path, other)
            proves = bool(valid(mutated))
            assert accepted(mutated) == proves, (path, other)
            refused += not proves
        for other in junk:
            assert not accepted(changed(record, path, other)), (path, other)
            refused += 1
    return refused


# ---- quadratic forms: 2 × 2 matrices, by trace and determinant


def _fractions(rows):
    found = [[number(text) for text in row] for row in rows]
    return None if any(entry is None for row in found for entry in row) else found


def _positive(A, strictly):
    (a, b), (c, d) = A
    trace, determinant = a + d, a * d - b * c
    return b == c and (trace > 0 and determinant > 0 if strictly else trace >= 0 and determinant >= 0)


def _margin_holds(A, ends):
    low, high = map(number, ends)
    shifted = [[[entry - bound * (i == j) for j, entry in enumerate(row)] for i, row in enumerate(A)]
               for bound in (low, high)]  # fmt: skip
    return _positive(shifted[0], strictly=True) and not _positive(shifted[1], strictly=False)


def _is_factored(record):
    proof, A = record["proof"], _fractions(record["statement"]["matrix"])
    L, (D,) = _fractions(proof["L"]), _fractions([proof["D"]])
    product = [[sum(L[i][k] * D[k] * L[j][k] for k in range(2)) for j in range(2)] for i in range(2)]
    return product == A and min(D) > 0 and _positive(A, strictly=True) and _margin_holds(A, proof["margin"])


def _is_directed(record):
    A, ((direction),) = _fractions(record["statement"]["matrix"]), record["proof"]["directions"]
    (v,), value = _fractions([direction["vector"]]), number(direction["value"])
    form = sum(v[i] * A[i][j] * v[j] for i in range(2) for j in range(2))
    return A[0][1] == A[1][0] and form == value < 0 and _margin_holds(A, record["proof"]["margin"])


def test_factors():
    record = check("definiteness", [[2, 1], [1, 2]], kind="positive-definite").certificate.to_record()
    assert tried(record, ("proof",), _is_factored) >= 140
    assert tried(record, ("statement", "matrix"), _is_factored) >= 70


def test_directions():
    record = check("definiteness", [[1, 2], [2, 1]]).certificate.to_record()
    assert tried(record, ("proof",), _is_directed) >= 90
    assert tried(record, ("statement", "matrix"), _is_directed) >= 70


def test_a_form_on_an_interval():
    """[[1, f], [f, 1]] ⪰ 0 exactly where |f| ≤ 1."""
    b = symbols("b", real=True)
    record = check(
        "definiteness", [["1", "1 - b"], ["1 - b", "1"]], box={"b": (0, 2)}
    ).certificate.to_record()
    refused = 0
    for entry in (
        "1 - b",
        "b - 1",
        "b",
        "b/2",
        "1 - b**2",
        "2 - b",
        "1 - b**3/8",
        "b**2/4",
        "1 - 1001*b/1000",
    ):
        for low, high in (
            (0, 2),
            (0, 1),
            (1, 2),
            (-1, 1),
            (0, Fraction(2001, 1000)),
            (Fraction(-1, 10**6), 2),
        ):
            f = sympify(entry, {"b": b}) + 0 * b
            ends = [Rational(str(end)) for end in (low, high)]
            points = [*ends, *solveset(diff(f, b), b, Interval(*ends))]
            valid = all(abs(f.subs(b, point)) <= 1 for point in points)
            mutated = changed(record, ("statement", "matrix"), [["1", entry], [entry, "1"]])
            mutated = changed(mutated, ("statement", "box"), {"b": [str(low), str(high)]})
            assert accepted(mutated) == valid, (entry, low, high)
            refused += not valid
    assert refused >= 20


# ---- saddles: two tokens on the circle, by angles

FORM = Pairwise("dot(x, y) + dot(x, A*y)", A=[[1, 0], [0, 2]], space="sphere")


def _energy(record, turns):
    """Return the energy as tokens turn by given angles, None where a token is not of unit length."""
    A = _fractions(record["statement"]["parameters"]["A"])
    points = _fractions(record["statement"]["points"])
    if A is None or points is None or any(p * p + q * q != 1 for p, q in points):
        return None
    placed = [Matrix([p * cos(t) - q * sin(t), p * sin(t) + q * cos(t)])
              for (p, q), t in zip(Matrix(points).tolist(), turns, strict=True)]  # fmt: skip
    form = Matrix([[Rational(str(c)) for c in row] for row in A]) + Matrix.eye(2)
    return sum((x.T * form * y)[0] for x in placed for y in placed) / 8


def _is_saddle(record):
    t, u, v = symbols("t u v", real=True)
    energy = _energy(record, (u, v))
    directions = _fractions(record["proof"]["direction"])
    if energy is None or directions is None:
        return False
    if any(diff(energy, w).subs({u: 0, v: 0}) != 0 for w in (u, v)):
        return False
    points = _fractions(record["statement"]["points"])
    if any(p * a + q * b for (p, q), (a, b) in zip(points, directions, strict=True)):
        return False
    speeds = [Rational(str(p * b - q * a)) for (p, q), (a, b) in zip(points, directions, strict=True)]
    along = energy.subs({u: speeds[0] * t, v: speeds[1] * t}, simultaneous=True)
    return diff(along, t, 2).subs(t, 0) > 0


def test_saddles():
    record = check("saddle", FORM, [[1, 0], [-1, 0]]).certificate.to_record()
    assert record["kind"] == "saddle"
    assert tried(record, ("proof",), _is_saddle) >= 60
    assert tried(record, ("statement", "points"), _is_saddle) >= 70
    assert tried(record, ("statement", "parameters"), _is_saddle) >= 50


def _is_no_saddle(record):
    u, v = symbols("u v", real=True)
    energy = _energy(record, (u, v))
    if energy is None:
        return False
    if any(diff(energy, w).subs({u: 0, v: 0}) != 0 for w in (u, v)):
        return True
    rows = [[diff(energy, a, b).subs({u: 0, v: 0}) for a in (u, v)] for b in (u, v)]
    return _positive([[-entry for entry in row] for row in rows], strictly=False)


def test_tokens_that_are_no_saddle():
    record = check("saddle", FORM, [[0, 1], [0, 1]]).certificate.to_record()
    assert record["status"] == "refuted"
    assert tried(record, ("statement", "points"), _is_no_saddle) >= 70
    assert tried(record, ("statement", "parameters"), _is_no_saddle) >= 50
    assert not accepted(changed(record, ("status",), "proved"))
    assert not accepted(changed(record, ("proof", "direction"), [["1", "0"], ["0", "0"]]))


# ---- three tokens on the circle: consensus, two against one, and the triangle


def test_critical_points():
    record = check("critical-points", 1, 3).certificate.to_record()
    assert accepted(record)
    points, placed = record["statement"]["points"], record["proof"]["points"]
    mutated = []
    for k, point in enumerate(points):
        mutated.append(changed(record, ("statement", "points"), points[:k] + points[k + 1 :]))
        mutated.append(changed(record, ("statement", "points"), [*points, point]))
        for counts in ((2, 0), (1, 1), (0, 2), (0, 0), (2, 2), (-1, 3)):
            if counts != (point["decreasing"], point["increasing"]):
                other = {**point, "decreasing": counts[0], "increasing": counts[1]}
                mutated.append(changed(record, ("statement", "points", k), other))
        for gaps in (["0.10000", "0.45000", "0.45000"], ["0.33433", "0.33333", "0.33233"], ["0.50000"] * 3):
            mutated.append(changed(record, ("statement", "points", k, "gaps"), gaps))
    for k, place in enumerate(placed):
        mutated.append(changed(record, ("proof", "points"), placed[:k] + placed[k + 1 :]))
        mutated.append(changed(record, ("proof", "points"), [*placed, place]))
        mutated += [changed(record, ("proof", "points", k, "reach"), other)
                    for other in (0, -1, 10**6, 1.5, "196", None, True)]  # fmt: skip
        for i, j in combinations(range(3), 2):
            for step in (1, -1):
                gaps = list(place["gaps"])
                gaps[i] += step * (1 << 44)
                gaps[j] -= step * (1 << 44)
                mutated.append(changed(record, ("proof", "points", k, "gaps"), gaps))
        mutated.append(changed(record, ("proof", "points", k, "gaps"), [1 << 56, 0, 0]))
    mutated.append(changed(record, ("proof", "points"), placed[::-1]))
    mutated += [
        changed(record, ("proof", "parts"), other) for other in (0, 3, 2.0, "2048", 1 << 40, True, None)
    ]
    mutated += [changed(record, ("statement", "complete"), other) for other in (False, 1, None)]
    mutated += [changed(record, ("statement", "parameters", "beta"), other) for other in ("-1", "0", "x", 1)]
    mutated += [changed(record, ("statement", "tokens"), other) for other in (2, 4, 3.0, True, "3")]
    mutated.append(changed(record, ("statement", "pair"), "exp(-beta*dot(x, y))/beta"))
    for other in mutated:
        assert not accepted(other), (other["statement"], other["proof"])
    assert len(mutated) >= 80


# ---- functionals: the derivative of tr(CΣ) is 2 tr(CVΣAΣ)


def functional(A):
    return check("lyapunov", Softmax(), "tr(Sigma)", {"V": I2, "A": A}).certificate.to_record()


def _derivative(record, sigma):
    values = {key: Matrix([[Rational(c) for c in row] for row in rows])
              for key, rows in record["statement"]["parameters"].items()}  # fmt: skip
    return expand(2 * (values["V"] * sigma * values["A"] * sigma).trace())


def _never_grows(record):
    a, b, c = symbols("a b c", real=True)
    form = -_derivative(record, Matrix([[a, b], [b, c]]))
    rows = Matrix(3, 3, lambda i, j: diff(form, (a, b, c)[i], (a, b, c)[j]))
    sets = [chosen for k in (1, 2, 3) for chosen in combinations(range(3), k)]
    return all(rows.extract(chosen, chosen).det() >= 0 for chosen in sets)


def _grows_there(record):
    sigma = _fractions(record["proof"]["covariance"])
    return _positive(sigma, strictly=False) and _derivative(record, Matrix(sigma)) > 0


def test_functionals():
    record = functional([[-1, 1], [0, -1]])
    assert tried(record, ("statement", "parameters", "A"), _never_grows, junk=JUNK[:1], step=3) >= 6


def test_growing_functionals():
    record = functional([[-1, 3], [0, -1]])
    assert tried(record, ("proof", "covariance"), _grows_there, junk=JUNK[:1], step=3) >= 9


def test_values_have_the_signs_that_the_closure_assumes():
    record = functional([[-1, 1], [0, -1]])
    model = copy.deepcopy(record["statement"]["model"])
    model["symbols"]["s"], model["signs"] = [], {"s": "positive"}
    signed = changed(record, ("statement", "model"), model)
    values = record["statement"]["parameters"]
    assert accepted(changed(signed, ("statement", "parameters"), {**values, "s": "1"}))
    for text in ("-1", "0"):
        assert not accepted(changed(signed, ("statement", "parameters"), {**values, "s": text}))


# ---- curves on the line: Σ' = 2VAΣ²


def _solves(record):
    t = symbols("t")
    values = [number(record["statement"]["parameters"][key][0][0]) for key in "VA"]
    start = number(record["statement"]["covariance"][0][0])
    clock = record["proof"]["clock"]
    if clock["start"] != "0" or start is None or None in values:
        return False
    curve, rhs = (sympify(text, {"t": t}) for text in (record["proof"]["solution"][0][0], clock["rhs"]))
    growth = Rational(str(2 * values[0] * values[1]))
    if simplify(diff(curve, t) * rhs - growth * curve**2) != 0 or curve.subs(t, 0) != start:
        return False
    return growth * start > 0 and rhs == 1 and number(clock["end"]) == Fraction(1) / (growth * start)


def test_curves():
    law, values = Gaussian([1], [[2]]), {"V": [[3]], "A": [[Fraction(1, 2)]]}
    record = check("blow-up", Softmax(), law, values).certificate.to_record()
    refused = sum(tried(record, part, _solves, junk=JUNK[:1], step=3)
                  for part in (("statement", "parameters"), ("statement", "covariance")))  # fmt: skip
    for text in ("2/(1 + 6*t)", "2/(1 - 6*t**2)", "1/(1 - 6*t)", "2", "2/(1 - 6*t) + 1/1000"):
        assert not accepted(changed(record, ("proof", "solution"), [[text]]))
    for key, texts in {"rhs": ("2", "-1", "1 - t"), "start": ("1", "1/6"), "name": ("u", ""),
                       "end": ("1/5", "1/7", "0", None, True)}.items():  # fmt: skip
        for text in texts:
            assert not accepted(changed(record, ("proof", "clock", key), text)), (key, text)
    assert accepted(changed(record, ("statement", "mean"), [["-7/3"]]))
    assert accepted(changed(record, ("proof", "solution"), [["-4/(12*t - 2)"]]))
    assert not accepted(changed(record, ("status",), "refuted"))
    assert refused >= 10


def test_ranks():
    law, values = Gaussian([1], [[2]]), {"V": [[3]], "A": [[Fraction(-1, 2)]]}
    record = check("limit-rank", Softmax(), law, values, 0).certificate.to_record()
    assert accepted(record)
    for rank in (-1, 1, 2, True, 0.0, "0", None):
        assert not accepted(changed(record, ("statement", "rank"), rank)), rank
