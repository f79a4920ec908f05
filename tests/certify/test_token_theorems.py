"""Theorems about tokens on the sphere: their bounds against runs, and altered proofs."""

import copy

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from symflow.certify import LEMMAS, replay
from symflow.claims import check
from symflow.clustering import equiangular_flow, hemisphere
from symflow.errors import CertificateError
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised

NAMES = ("GLPR23/hemisphere-rate", "GLPR23/orthogonal-start")


@pytest.fixture(scope="module")
def records():
    return {name: check(name).certificate.to_record() for name in NAMES}


def refused(record):
    try:
        return not replay(record).accepted
    except CertificateError:
        return True


def run(x, A, times, normalised):
    n, d = x.shape

    def velocity(_, flat):
        tokens = flat.reshape(n, d)
        kernel = np.exp(tokens @ A.T @ tokens.T)  # row i: exp⟨x_j, A x_i⟩
        drift = kernel @ tokens / (kernel.sum(axis=1, keepdims=True) if normalised else n)
        return (drift - (drift * tokens).sum(axis=1, keepdims=True) * tokens).ravel()

    found = solve_ivp(velocity, (0, times[-1]), x.ravel(), t_eval=times, rtol=1e-11, atol=1e-13)
    return found.y.T.reshape(-1, n, d)


@pytest.mark.parametrize("normalised", [True, False], ids=["SA", "USA"])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_the_collapse_holds_along_runs(normalised, seed):
    rng = np.random.default_rng(seed)
    n, d = 5, (5, 6, 3, 2)[seed]
    x = rng.normal(size=(n, d))
    if d < n:
        x[:, 0] = np.abs(x[:, 0]) + 0.2
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found, A = hemisphere(x), rng.normal(size=(d, d)) / d
    assert found.contained
    m, a = found.margin, np.linalg.norm(A, 2)
    rate = m * np.exp(-2 * a if normalised else -a)
    times = np.linspace(0, 60, 121)
    path = run(x, A, times, normalised)
    heights = (path @ found.direction).min(axis=1)
    assert (np.diff(heights) > -1e-9).all()
    points = path / (path @ found.direction)[..., None]
    gaps = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1).max(axis=(1, 2))
    assert (gaps <= gaps[0] * np.exp(-rate * times) * (1 + 1e-9) + 1e-9).all()
    errors = np.linalg.norm(path - path[-1].mean(axis=0), axis=-1).max(axis=1)
    assert (errors <= 2 / m * np.exp(-rate * times) + gaps[-1] + 1e-9).all()


@pytest.mark.parametrize("variant", [Softmax, Unnormalised])
def test_orthonormal_tokens_follow_the_common_cosine(variant):
    n, times = 4, np.linspace(0, 3, 7)
    path = run(np.eye(n, n + 1), 1.5 * np.eye(n + 1), times, variant is Softmax)
    gram = path @ path.swapaxes(1, 2)
    off = gram[:, ~np.eye(n, dtype=bool)]
    gamma = equiangular_flow(variant(space="sphere", beta=1.5)).curve(times, n)
    np.testing.assert_allclose(off, np.repeat(gamma[:, None], off.shape[1], axis=1), atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_altered_statements_and_conclusions_are_refused(records, name):
    record = records[name]
    assert replay(record).accepted
    for part in ("softmax", "unnormalised"):
        for key, text in (("rate", "2*m"), ("change", "y - x"), ("normaliser", "2"), ("weight", "1")):
            changed = copy.deepcopy(record)
            changed["statement"][part]["conclusion"][key] = text
            assert refused(changed)
            changed = copy.deepcopy(record)
            changed["proof"][part]["lines"][-1]["conclusion"][key] = text
            assert refused(changed)
    swapped = copy.deepcopy(record)
    swapped["proof"] = dict(
        record["proof"], softmax=record["proof"]["unnormalised"], unnormalised=record["proof"]["softmax"]
    )
    assert refused(swapped)


@pytest.mark.parametrize("name", NAMES)
def test_every_premise_of_a_lemma_matters(records, name):
    record = records[name]
    lines = record["proof"]["softmax"]["lines"]
    for index, entry in enumerate(lines):
        if entry["rule"] not in (*LEMMAS, "dot-bound"):
            continue
        for position in range(len(entry["premises"])):
            changed = copy.deepcopy(record)
            changed["proof"]["softmax"]["lines"][index]["premises"][position] = "covariance"
            assert refused(changed)
    assert lines[-1]["rule"] in LEMMAS
