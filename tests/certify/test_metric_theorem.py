"""Hessians at critical points are those of every metric: replay, altered proofs, false relatives."""

import copy
import dataclasses

import numpy as np
import pytest

from symflow.certify import replay
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.propositions import proposition
from symflow.claims import check
from symflow.codegen.hessians import compile_hessian
from symflow.energies import Interaction
from symflow.errors import CertificateError

CLAIM = "GLPR23/hessian-metric-independence"
LEMMAS = ("hessian-of-two-metrics", "weighted-geodesics", "critical-metrics")


@pytest.fixture(scope="module")
def record():
    return check(CLAIM).certificate.to_record()


def accepted(theorem, proof):
    return run_chain(theorem, theorem.record(), proof).accepted


def test_it_is_proved_and_replays(record):
    verdict = check(CLAIM)
    assert verdict.status == "proved" and verdict.replay()
    assert set(verdict.assumes) == set(LEMMAS)
    assert replay(record).accepted


@pytest.mark.parametrize("rule", LEMMAS)
def test_every_premise_of_a_lemma_matters(record, rule):
    theorem, proof = proposition(CLAIM), record["proof"]
    (index,) = [i for i, line in enumerate(proof["lines"]) if line["rule"] == rule]
    for position in range(len(proof["lines"][index]["premises"])):
        changed = {**proof, "lines": copy.deepcopy(list(proof["lines"]))}
        changed["lines"][index]["premises"][position] = "covariance"
        assert not accepted(theorem, changed)


def test_every_altered_line_is_refused(record):
    """Drop each line, and put another function in the place of each that is differentiated or concluded."""
    theorem, proof = proposition(CLAIM), record["proof"]
    lines, other = proof["lines"], "exp(beta*dot(x, y))*dot(x, y)"
    for index, line in enumerate(lines):
        assert not accepted(theorem, {**proof, "lines": [*lines[:index], *lines[index + 1 :]]})
        for key in line["conclusion"]:
            if key in ("relation", "motion", "partner_motion"):
                continue
            changed = {**proof, "lines": copy.deepcopy(list(lines))}
            changed["lines"][index]["conclusion"][key] = other
            assert not accepted(theorem, changed), (line["id"], key)
        for key in line["with"]:
            changed = {**proof, "lines": copy.deepcopy(list(lines))}
            changed["lines"][index]["with"][key] = "x"
            assert not accepted(theorem, changed), (line["id"], key)


def test_another_motion_is_refused(record):
    theorem, proof = proposition(CLAIM), record["proof"]
    for index, line in enumerate(proof["lines"]):
        for key in ("motion", "partner_motion"):
            if key in line["conclusion"]:
                changed = {**proof, "lines": copy.deepcopy(list(proof["lines"]))}
                changed["lines"][index]["conclusion"][key] = "2*p"
                assert not accepted(theorem, changed)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("pair", "exp(beta*dot(x, y))"),
        ("derivative", "exp(beta*dot(x, y))*dot(r, x)"),
        ("weight", "exp(beta*dot(x, y))/beta"),
        ("force", "beta*exp(beta*dot(x, y))*(dot(r, y)*dot(p, p) - (dot(p, y) + dot(x, q))*dot(r, p))"),
    ],
)
def test_false_relatives_are_not_proved(record, key, text):
    theorem, proof = proposition(CLAIM), record["proof"]
    false = dataclasses.replace(theorem, conclusion={**theorem.conclusion, key: text})
    changed = copy.deepcopy(dict(proof))
    changed["lines"][-1]["conclusion"][key] = text
    assert not accepted(theorem, changed)
    assert not accepted(false, proof)
    assert not accepted(false, changed)
    stated = copy.deepcopy(record)
    stated["statement"]["conclusion"][key] = text
    with pytest.raises(CertificateError, match="not that of"):
        proposition(CLAIM).scope(stated["statement"])
    assert not replay(stated).accepted


def test_the_difference_is_there_off_critical_points_and_gone_at_them():
    """Second derivatives along geodesics of the metric of self-attention, by integrating them."""
    beta, n = 1.0, 3
    kernel = compile_hessian(Interaction(beta), backend="numpy")

    def acceleration(a, v):
        # Christoffel symbols of the metric Σ Z_i θ_i'² / n², differentiated numerically in the angles
        h = 1e-6
        masses = lambda q: np.exp(beta * np.cos(q[:, None] - q)).sum(axis=1)  # noqa: E731
        slopes = np.array([(masses(a + h * e) - masses(a - h * e)) / (2 * h) for e in np.eye(n)])  # ∂_k Z_i
        return (0.5 * slopes @ v**2 - (v @ slopes) * v) / masses(a)

    def difference(a, v):
        bent, h = acceleration(a, v), 1e-3
        value = lambda q: kernel.value(np.stack([np.cos(q), np.sin(q)], axis=1))  # noqa: E731
        curve = lambda t, c: value(a + t * v + t * t / 2 * c)  # noqa: E731
        return sum((curve(s * h, bent) - curve(s * h, 0 * bent)) / h**2 for s in (1, -1))

    v = np.array([0.3, -1.0, 0.8])
    assert abs(difference(np.array([0.1, 1.3, 2.9]), v)) > 5e-3
    assert abs(difference(2 * np.pi * np.arange(n) / n, v)) < 1e-5
