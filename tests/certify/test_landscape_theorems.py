"""Theorems about the interaction energy on the sphere: altered proofs, false relatives, critical points."""

import copy
import dataclasses
import itertools

import numpy as np
import pytest
from scipy.optimize import root

from symflow.certify import replay
from symflow.certify.kinds import zonal_expansion
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.propositions import proposition
from symflow.certify.propositions.zonal import UniformMinimum
from symflow.claims import check
from symflow.derive.landscape import saddle_eigenvalue
from symflow.errors import CertificateError

ROTATION, SADDLES = "GLPR23/block-rotation", "GLPR23/small-beta-saddles"
MAXIMUM, MINIMUM = "GLPR23/consensus-maximum", "GLPR23/uniform-minimiser"


@pytest.fixture(scope="module")
def records():
    return {name: check(name).certificate.to_record() for name in (ROTATION, SADDLES, MAXIMUM, MINIMUM)}


def refused(record):
    try:
        return not replay(record).accepted
    except CertificateError:
        return True


def part_of(record, name, part):
    theorem = proposition(name).parts[part] if part else proposition(name)
    proof = record["proof"][part] if part else record["proof"]
    return theorem, proof


@pytest.mark.parametrize(
    ("name", "part", "rule"),
    [
        (ROTATION, "inequality", "rotation-variation"),
        (ROTATION, "inequality", "second-order-condition"),
        (ROTATION, "other factor", "combination"),
        (SADDLES, "small beta", "hemisphere-equilibrium"),
        (SADDLES, "small beta", "turning-saddle"),
        (SADDLES, "radius", "scalar-sum"),
        (SADDLES, "space", "field-saddle"),
        (MAXIMUM, "", "pairwise-maximum"),
    ],
)
def test_every_premise_of_a_lemma_matters(records, name, part, rule):
    theorem, proof = part_of(records[name], name, part)
    statement = theorem.record()
    (index,) = [i for i, line in enumerate(proof["lines"]) if line["rule"] == rule]
    for position in range(len(proof["lines"][index]["premises"])):
        changed = {**proof, "lines": copy.deepcopy(list(proof["lines"][: index + 1]))}
        changed["lines"][index]["premises"][position] = "covariance"
        outcome = run_chain(theorem, statement, changed)
        assert not outcome.accepted
        assert outcome.reason.startswith(f"line '{proof['lines'][index]['id']}'")


@pytest.mark.parametrize(
    ("rule", "key", "text"),
    [
        ("along-motion", "derivative", "exp(beta*dot(x, y))*dot(x, y)"),
        ("along-motion", "partner_motion", "x"),
        ("along-motion", "motion", "q*dot(p, x)"),
        ("over-basis", "total", "dot(x, y)"),
        ("over-basis", "over", "y"),
        ("over-basis", "over", "p + q"),
    ],
)
def test_altered_derivatives_and_sums_are_refused(records, rule, key, text):
    theorem, proof = part_of(records[ROTATION], ROTATION, "inequality")
    for index, line in enumerate(proof["lines"]):
        if line["rule"] == rule:
            changed = copy.deepcopy(dict(proof))
            changed["lines"][index]["conclusion"][key] = text
            assert not run_chain(theorem, theorem.record(), changed).accepted


@pytest.mark.parametrize(
    ("name", "part", "key", "text"),
    [
        (ROTATION, "inequality", "excess", "exp(beta*dot(x, y))*(d*dot(x, y) - beta*(1 - dot(x, y)**2))"),
        (ROTATION, "inequality", "excess", "exp(beta*dot(x, y))*((d - 1)*dot(x, y) - beta)"),
        (ROTATION, "inequality", "pair", "exp(beta*dot(x, y))/2"),
        (ROTATION, "sign change", "right", "(h - (r + e)/(2*beta))*(beta*h + (r + e)/2)"),
        (ROTATION, "below one", "scalar", "beta + e - r"),
        (ROTATION, "above zero", "scalar", "r - e - beta"),
        (
            SADDLES,
            "small beta",
            "bound",
            "(exp(beta) + exp(-beta) - (m - 1)*(exp(beta) - exp(-beta)))/(m + 1)",
        ),
        (SADDLES, "radius", "scalar", "exp(beta) + exp(-beta) - 2*m*(exp(beta) - exp(-beta))"),
        (SADDLES, "space", "bound", "2*exp(-beta)*(e*(m + 1) + 1)/((e + 1)*(m + 1)**2)"),
        (SADDLES, "space", "bound", "2*exp(beta)*(e*(m + 1) + 1)/((e + 1)*(m + 1)**3)"),
        (MAXIMUM, "", "gap", "exp(beta)/2"),
        (MAXIMUM, "", "pair", "-exp(beta*dot(x, y))/beta"),
        (MAXIMUM, "", "pair", "exp(-beta*dot(x, y))/beta"),
    ],
)
def test_another_conclusion_is_refused(records, name, part, key, text):
    theorem, proof = part_of(records[name], name, part)
    changed = copy.deepcopy(dict(proof))
    changed["lines"][-1]["conclusion"][key] = text
    assert not run_chain(theorem, theorem.record(), changed).accepted
    false = dataclasses.replace(theorem, conclusion={**theorem.conclusion, key: text})
    assert not run_chain(false, false.record(), proof).accepted
    assert not run_chain(false, false.record(), changed).accepted
    record = copy.deepcopy(records[name])
    (record["statement"][part] if part else record["statement"])["conclusion"][key] = text
    assert refused(record)


@pytest.mark.parametrize(
    ("name", "part", "dropped"),
    [
        (MAXIMUM, "", {"signs": {}}),  # the gap is too large for β < 0
        (SADDLES, "radius", {"hypotheses": {}}),  # β too large
        (SADDLES, "small beta", {"hypotheses": "range"}),
        (SADDLES, "small beta", {"hypotheses": "dimension"}),
        (SADDLES, "space", {"hypotheses": "space"}),  # d = 2 too
        (ROTATION, "inequality", {"hypotheses": "token"}),  # tokens off the sphere
        (ROTATION, "above zero", {"hypotheses": "root"}),
    ],
)
def test_a_theorem_without_a_hypothesis_is_not_proved(records, name, part, dropped):
    theorem, proof = part_of(records[name], name, part)
    (field, value) = next(iter(dropped.items()))
    if isinstance(value, str):
        value = {key: entry for key, entry in getattr(theorem, field).items() if key != value}
    weaker = dataclasses.replace(theorem, **{field: value})
    assert not run_chain(weaker, weaker.record(), proof).accepted


def test_scopes_and_parts_cannot_be_exchanged(records):
    for name, record in records.items():
        assert replay(record).accepted
        assert refused(record | {"scope": "everything"})
        assert refused(record | {"assumes": []})
        for other in records:
            assert other == name or refused(record | {"claim": other})
    for name in (ROTATION, SADDLES):
        record = copy.deepcopy(records[name])
        record["proof"].pop(next(iter(record["proof"])))
        assert refused(record)


# ---- the expansion


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("power", "(2*i + k + 1)*(2*i + k + 2)/(2*(i + 1)*(d + 2*i + 2*k + 1))"),
        ("power", "(2*i + k + 1)*(2*i + k + 2)/((i + 1)*(d + 2*i + 2*k))"),
        ("power", "(2*i + 1)/(2*i + d)"),  # right for k = 0 alone
        ("power", "exp(k)"),
        ("power", "(k + i + d)**99"),
        ("degree", "(2*i + k + 1)/(d + 2*i + k)"),
        ("degree", "(2*i + k + 1)/(d + 2*i + 2*k) + k*(k - 1)"),
        ("degree", "-(2*i + k + 1)/(d + 2*i + 2*k)"),
        ("degree", "k/0"),
        ("degree", 1),
        ("terms", []),
        ("terms", [{"weight": "1/beta", "rate": "2*beta"}]),
        ("terms", [{"weight": "-1/beta", "rate": "beta"}]),
        ("terms", [{"weight": "exp(beta*c)/beta", "rate": "0"}]),
        ("terms", [{"weight": "2/beta", "rate": "beta"}, {"weight": "-1/beta", "rate": "beta"}]),
    ],
)
def test_an_altered_expansion_is_refused(records, key, text):
    record = copy.deepcopy(records[MINIMUM])
    record["proof"][key] = text
    assert refused(record)


@pytest.mark.parametrize(
    ("profile", "signs", "terms"),
    [
        ("exp(beta*c)/beta", {"beta": "real"}, None),  # β < 0
        ("exp(-beta*c)/beta", {"beta": "positive"}, [{"weight": "1/beta", "rate": "-beta"}]),
        ("-exp(beta*c)/beta", {"beta": "positive"}, [{"weight": "-1/beta", "rate": "beta"}]),
        (
            "exp(2*beta*c) - exp(beta*c)",  # the constant and even more coefficients are not positive
            {"beta": "positive"},
            [{"weight": "1", "rate": "2*beta"}, {"weight": "-1", "rate": "beta"}],
        ),
        ("exp(beta*c) - 3*c", {"beta": "positive"}, [{"weight": "1", "rate": "beta"}]),
    ],
)
def test_kernels_with_negative_coefficients_are_not_proved(records, monkeypatch, profile, signs, terms):
    false = UniformMinimum(MINIMUM, profile.replace("*c", "*dot(x, y)"), profile, signs)
    monkeypatch.setattr(zonal_expansion, "stated_proposition", lambda certificate: false)
    record = copy.deepcopy(records[MINIMUM])
    record["proof"]["terms"] = terms or record["proof"]["terms"]
    outcome = replay(record)
    assert not outcome.accepted
    assert "positive" in outcome.reason or "is not" in outcome.reason


def test_a_sum_of_exponentials_with_positive_weights_is_proved(records, monkeypatch):
    other = UniformMinimum(
        MINIMUM, "exp(beta*dot(x, y)) + 2*exp(dot(x, y)/3)", "exp(beta*c) + 2*exp(c/3)", {"beta": "positive"}
    )
    monkeypatch.setattr(zonal_expansion, "stated_proposition", lambda certificate: other)
    record = copy.deepcopy(records[MINIMUM])
    record["proof"]["terms"] = [{"weight": "2", "rate": "1/3"}, {"weight": "1", "rate": "beta"}]
    assert replay(record).accepted


# ---- what the theorems say, against numbers


def energy(x, beta):
    return np.exp(beta * x @ x.T).sum() / (2 * beta * len(x) ** 2)


def hessian_matrix(x, beta):
    """Of the energy on the product of spheres, in orthonormal tangent frames (a basis of each x_i^⊥)."""
    n, d = x.shape
    frames = [np.linalg.svd(row[None])[2][1:] for row in x]
    cosines = x @ x.T
    kernel = np.exp(beta * cosines) / n**2
    size = d - 1
    total = np.zeros((n * size, n * size))
    for i, j in itertools.product(range(n), range(n)):
        here, there = slice(i * size, (i + 1) * size), slice(j * size, (j + 1) * size)
        if i != j:
            seen, back = frames[i] @ x[j], frames[j] @ x[i]
            total[here, there] = kernel[i, j] * (frames[i] @ frames[j].T + beta * np.outer(seen, back))
            total[here, here] += kernel[i, j] * (beta * np.outer(seen, seen) - cosines[i, j] * np.eye(size))
    return total


def critical_points(n, d, beta, seed, wanted):
    """Zeros of the gradient from random starts, those that are not consensus."""
    rng, found = np.random.default_rng(seed), []

    def residual(flat):
        raw = flat.reshape(n, d)
        lengths = np.linalg.norm(raw, axis=1, keepdims=True)
        x = raw / lengths
        drift = np.exp(beta * (x @ x.T - 1)) @ x
        return (drift - (drift * x).sum(axis=1, keepdims=True) * x + (lengths - 1) * x).ravel()

    for _ in range(12 * wanted):
        start = rng.normal(size=(n, d))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        solved = root(residual, start.ravel(), method="lm", tol=1e-13)
        x = solved.x.reshape(n, d)
        if np.abs(residual(solved.x)).max() < 1e-10 and (x @ x.T).min() < 1 - 1e-6:
            found.append(x)
        if len(found) == wanted:
            break
    return found


def share(cosine, beta, d):
    return np.exp(beta * cosine) * ((d - 1) * cosine - beta * (1 - cosine**2))


@pytest.mark.parametrize(("n", "d"), [(3, 2), (4, 2), (5, 2), (3, 3), (4, 3), (6, 4)])
def test_rotations_of_blocks_against_differences(n, d):
    rng = np.random.default_rng(n * d)
    x = rng.normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    beta, h = 1.7, 1e-4
    for size in range(1, n):
        block = np.arange(n) < size
        total = 0.0
        for a, b in itertools.combinations(range(d), 2):
            values = []
            for angle in (-h, 0.0, h):
                turn = np.eye(d)
                turn[[a, b], [a, b]] = np.cos(angle)
                turn[a, b], turn[b, a] = np.sin(angle), -np.sin(angle)
                values.append(energy(np.where(block[:, None], x @ turn.T, x), beta))
            total += (values[0] - 2 * values[1] + values[2]) / h**2
        expected = -share((x @ x.T)[block][:, ~block], beta, d).sum() / n**2
        assert total == pytest.approx(expected, rel=1e-5, abs=1e-6)  # rounding 1e-16/h² and truncation h²


@pytest.mark.parametrize(
    ("n", "d", "beta"),
    [(2, 2, 3.0), (3, 2, 2.0), (4, 2, 0.3), (5, 2, 0.5), (6, 2, 0.2), (4, 3, 1.0), (5, 3, 4.0), (6, 4, 2.0)],
)
def test_critical_points_that_are_not_consensus_are_strict_saddles(n, d, beta):
    points = critical_points(n, d, beta, seed=10 * n + d, wanted=6)
    assert len(points) >= 3
    bound = float(saddle_eigenvalue(n, d, beta).lower())
    assert bound > 0
    for x in points:
        assert ((x @ x.T).sum(axis=1) < 1e-6).any()  # one is opposed to the sum of all
        largest = np.linalg.eigvalsh(hessian_matrix(x, beta))[-1]
        assert largest >= bound - 1e-9


def test_the_wrong_constants_are_seen_by_these_witnesses():
    together = np.repeat(np.array([[0.6, 0.8, 0.0]]), 4, axis=0)
    spectrum = np.linalg.eigvalsh(hessian_matrix(together, 1.3))
    np.testing.assert_allclose(spectrum, [-np.exp(1.3) / 4] * 6 + [0.0] * 2, atol=1e-14)
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    largest = np.linalg.eigvalsh(hessian_matrix(x, 0.5))[-1]
    assert largest == pytest.approx(2 * np.exp(-0.5) / 4)
    assert largest < 8 * float(saddle_eigenvalue(2, 2, 0.5).mid())
    # the gap below a Dirac mass is claimed for β > 0 alone: here |x − y|² has the mean 2
    gap = np.exp(-1.0) / -2 - energy(x, -1.0)
    assert gap < np.exp(1.0) / 4 * 2


@pytest.mark.parametrize("beta", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_laws_are_below_dirac_masses_by_the_gap(beta, d):
    rng = np.random.default_rng(d)
    for spread in (0.01, 0.3, 10.0):
        x = np.eye(1, d) + spread * rng.normal(size=(7, d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        squares = ((x[:, None] - x[None]) ** 2).sum(axis=-1).mean()
        gap = np.exp(beta) / (2 * beta) - energy(x, beta)
        assert gap >= np.exp(-beta) / 4 * squares > 0
