"""The decay in mean of an energy of pairs: altered proofs and altered statements are refused."""

import dataclasses

import numpy as np
import pytest

from symflow.certify import replay
from symflow.certify.kinds import mean_decay
from symflow.certify.propositions import proposition
from symflow.claims import check
from symflow.errors import CertificateError

NAME = "ABGSR26/energy-decay"


@pytest.fixture(scope="module")
def record():
    return check(NAME).certificate.to_record()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("drift", "k*(d + u**2 - 1) - k1*u*(d - 1)"),
        ("drift", "k*(d + u**2 - 2)"),
        ("diffusion", "(1 - u**2)*(k1 + u*k)"),
        ("diffusion", "2*(1 - u**2)*(k1 - u*k)"),
        ("drift", "unknown*u"),
        ("drift", 3),
    ],
)
def test_another_generator_is_refused(record, key, text):
    assert replay(record).accepted
    assert not replay(record | {"proof": record["proof"] | {key: text}}).accepted


def test_another_statement_or_scope_is_refused(record):
    for changed in (
        {"scope": "everything"},
        {"assumes": []},
        {"kind": "identity-chain"},
        {"statement": record["statement"] | {"profile": "1 - u"}},
        {"proof": {"drift": record["proof"]["drift"]}},
    ):
        try:
            assert not replay(record | changed).accepted
        except CertificateError:
            continue


@pytest.mark.parametrize(
    ("profile", "ratio", "reason"),
    [
        ("exp(beta) - exp(beta*u)", "beta*k*(d - 2 + u**2)", "not −Lf/f"),
        ("1 - u", "(k*(d - 2 + u**2) - k1*(d - 1)*u)/(1 - u)", ""),
        ("2 - u", "(k*(d - 2 + u**2) - k1*(d - 1)*u)/(2 - u)", "decrease to 0"),
        ("u - 1", "(k*(d - 2 + u**2) - k1*(d - 1)*u)/(1 - u)", "decrease to 0"),
    ],
)
def test_the_profile_is_looked_at(record, monkeypatch, profile, ratio, reason):
    """Other energies are decided by what they are, not by their name."""
    other = dataclasses.replace(proposition(NAME), profile=profile, ratio=ratio)
    monkeypatch.setattr(mean_decay, "stated_proposition", lambda certificate: other)
    outcome = replay(record)
    assert outcome.accepted is (reason == "")
    assert reason in outcome.reason


def test_the_rate_is_that_of_moved_tokens():
    """−Lf/f by averages over many small moves of two tokens in R³, κ(u) = (1 + u)²/4."""
    terms = proposition(NAME).terms()
    ratio = terms.read(proposition(NAME).ratio)
    rng, u, beta, step = np.random.default_rng(4), 0.3, 1.5, 1e-3
    kappa, one = 0.25 * (1 + u) ** 2, 1.0
    x, y = np.array([1.0, 0.0, 0.0]), np.array([u, np.sqrt(1 - u**2), 0.0])
    root = np.linalg.cholesky([[one, kappa], [kappa, one]])
    draws = rng.normal(size=(400_000, 2, 3))
    moves = np.sqrt(step) * np.einsum("ab,nbi->nai", root, np.concatenate([draws, -draws]))
    moved = np.array([x, y]) + moves
    moved /= np.linalg.norm(moved, axis=-1, keepdims=True)
    change = np.exp(beta * u) - np.exp(beta * (moved[:, 0] * moved[:, 1]).sum(axis=-1))
    rate = change.mean() / step / (np.exp(beta) - np.exp(beta * u))
    error = 0.5 * (change[: len(draws)] + change[len(draws) :])
    error = error.std() / np.sqrt(len(draws)) / step / (np.exp(beta) - np.exp(beta * u))
    names = {"u": u, "k": kappa, "k1": one, "d": 3, "beta": beta}
    exact = float(ratio.subs({terms.symbols[name]: value for name, value in names.items()}))
    assert error < 0.05 * abs(exact)
    assert abs(rate + exact) < 4 * error + 20 * step
