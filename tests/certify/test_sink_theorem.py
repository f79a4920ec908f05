"""The bound that an attention sink gives, against numbers and altered proofs."""

import copy

import numpy as np
import pytest

from symflow.certify import replay
from symflow.claims import check
from symflow.errors import CertificateError


@pytest.fixture
def record():
    return copy.deepcopy(check("CACP25/masked-sink").certificate.to_record())


def refused(record):
    try:
        return not replay(record).accepted
    except CertificateError:
        return True


def test_no_lemma_is_needed(record):
    assert record["assumes"] == []
    assert replay(record).accepted


def test_the_bound_holds_for_tokens():
    rng, m = np.random.default_rng(1), 0.2
    for _ in range(50):
        first, second = rng.uniform(-1, 1, (2, 6, 2))
        x, weights = rng.uniform(-1, 1, 2), np.array([m, *rng.dirichlet(np.ones(5)) * (1 - m)])
        Z, N = [], []
        for tokens in (first, second):
            kernel = weights[:4] * np.exp(tokens[:4] @ x)  # a position before the last ones
            Z.append(kernel.sum())
            N.append(kernel @ tokens[:4])
        c, g = np.exp(first[0] @ x), np.linalg.norm(N[1] / Z[1])
        bound = (np.linalg.norm(N[0] - N[1]) + abs(Z[0] - Z[1]) * g) / (m * c)
        assert np.linalg.norm(N[0] / Z[0] - N[1] / Z[1]) <= bound * (1 + 1e-12)


def test_altered_proofs_are_refused(record):
    for index, entry in enumerate(record["proof"]["lines"]):
        for position in range(len(entry["premises"])):
            changed = copy.deepcopy(record)
            changed["proof"]["lines"][index]["premises"][position] = "sign of n"
            assert refused(changed) or entry["premises"][position] == "sign of n"
    for key, text in (("bound", "(n + e*g)/c"), ("matrix", "N1/Z1")):
        changed = copy.deepcopy(record)
        changed["statement"]["conclusion"][key] = text
        assert refused(changed)
        changed["statement"] = record["statement"]
        changed["proof"]["lines"][-1]["conclusion"][key] = text
        assert refused(changed)
