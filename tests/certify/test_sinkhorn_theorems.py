"""Sinkhorn attention: decoupling and the Bures–Wasserstein flow, against numbers and altered proofs."""

import copy
import itertools
import random

import numpy as np
import pytest

from symflow.certify import LEMMAS, replay
from symflow.claims import check
from symflow.errors import CertificateError

NAMES = ("sinkhorn-decoupling", "sinkhorn-bures-flow")


@pytest.fixture(scope="module")
def found():
    return {name: check(f"CACP25/{name}").certificate.to_record() for name in NAMES}


@pytest.fixture
def records(found):
    return copy.deepcopy(found)


def refused(record):
    try:
        return not replay(record).accepted
    except CertificateError:
        return True


def coupling(cov, scores):
    """Return the optimal cross-covariance by Sinkhorn's own fixed point C = ΣM(Σ − CΣ⁻¹C), damped."""
    inverse, C = np.linalg.inv(cov), np.zeros_like(cov)
    for _ in range(4000):
        C = 0.7 * C + 0.3 * cov @ scores @ (cov - C @ inverse @ C)
    return C


def cost(cov, scores):
    """Return F_S of a centred Gaussian from the definition of the minimum."""
    C = coupling(cov, scores)
    residual = np.eye(len(cov)) - np.linalg.solve(cov, C) @ np.linalg.solve(cov, C.T)
    return -np.trace(scores @ C) / 2 - np.linalg.slogdet(residual)[1] / 4


def test_the_covariance_equation_is_the_descent_of_the_cost():
    rng = np.random.default_rng(3)
    root, scores = rng.standard_normal((2, 2)), rng.standard_normal((2, 2))
    cov, scores = root @ root.T + np.eye(2), 0.03 * (scores + scores.T)
    gradient = np.zeros((2, 2))
    for i, j in itertools.product(range(2), repeat=2):
        step = np.zeros((2, 2))
        step[i, j] += 0.5e-4
        step[j, i] += 0.5e-4
        gradient[i, j] = (cost(cov + step, scores) - cost(cov - step, scores)) / 2e-4
    C = coupling(cov, scores)
    assert np.allclose(C, cov @ scores @ (cov - C @ np.linalg.solve(cov, C)), atol=1e-12)
    descent = -2 * (cov @ gradient + gradient @ cov)
    # central differences of step 1e-4: an error of order 1e-8
    assert np.allclose(scores @ C + C @ scores, descent, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_altered_proofs_are_refused(records, name):
    rng, record = random.Random(1), records[name]
    lines = record["proof"]["lines"]
    for index, entry in enumerate(lines):
        for position in range(len(entry["premises"])) if entry["rule"] in LEMMAS else ():
            changed = copy.deepcopy(record)
            others = [line["id"] for line in lines[:index] if line["id"] != entry["premises"][position]]
            changed["proof"]["lines"][index]["premises"][position] = rng.choice(others)
            assert refused(changed), (entry["id"], position)
        for key in entry["with"]:
            changed = copy.deepcopy(record)
            changed["proof"]["lines"][index]["with"][key] = "zeros(d, d)" if name != NAMES[0] else "0"
            assert refused(changed), (entry["id"], key)
    for key, text in record["statement"]["conclusion"].items():
        changed = copy.deepcopy(record)
        changed["statement"]["conclusion"][key] = f"{text} + {text}"
        assert refused(changed)


@pytest.mark.parametrize(
    ("rule", "field", "text"),
    [
        ("cost-gradient", "stationarity", "inv(Sigma)*C*inv(S) - 2*M"),
        ("cost-gradient", "gradient", "inv(S)"),
        ("cost-gradient", "coupling", "M"),
        ("entropic-gaussian", "cov_rhs", "2*M*C"),
        ("entropic-gaussian", "gradient", "inv(S)"),
    ],
)
def test_another_gradient_is_refused(records, rule, field, text):
    record = records["sinkhorn-bures-flow"]
    entry = next(line for line in record["proof"]["lines"] if line["rule"] == rule)
    entry["conclusion"][field] = text
    assert refused(record)


@pytest.mark.parametrize(
    ("field", "text"),
    [("mean_rhs", "V*alpha"), ("slope", "V"), ("value", "V*x/epsilon"), ("score", "dot(Q*x, K*y)")],
)
def test_another_mean_is_refused(records, field, text):
    record = records["sinkhorn-decoupling"]
    record["proof"]["lines"][-1]["conclusion"][field] = text
    assert refused(record)


def test_a_score_that_does_not_split_under_translation_is_refused(records):
    """The part that the step adds must depend on the query alone, or on the key alone."""
    record = records["sinkhorn-decoupling"]
    last = record["proof"]["lines"][-1]
    mixed = "dot(Q*x, K*y)/epsilon"
    for key in ("query_part", "key_part"):
        changed = copy.deepcopy(record)
        changed["proof"]["lines"][-1]["with"][key] = f"{last['with'][key]} + {mixed}"
        assert refused(changed)
