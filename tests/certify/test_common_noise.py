"""Theorems about common noise: altered proofs, and statements that look alike and are false."""

import copy
import dataclasses

import pytest

from symflow.certify import replay
from symflow.certify.kinds.common_noise import derive_again
from symflow.certify.propositions import proposition
from symflow.claims import check, claim
from symflow.errors import CertificateError

COVARIANCE, GENERATOR = "ABGSR26/field-covariance", "ABGSR26/pair-generator"
LYAPUNOV, RELU = "ABGSR26/lyapunov-formula", "ABGSR26/relu-exponents"
NAMES = (COVARIANCE, GENERATOR, LYAPUNOV, RELU)


@pytest.fixture(scope="module")
def verdicts():
    return {name: check(name) for name in NAMES}


def refused(record):
    try:
        return not replay(record).accepted
    except CertificateError:
        return True


@pytest.mark.parametrize("name", NAMES)
def test_decided_as_documented_and_replayed_from_text(verdicts, name):
    verdict = verdicts[name]
    assert verdict.status == claim(name).documented == "proved"
    assert verdict.method == claim(name).method
    assert verdict.replay()
    assert name in verdict.to_latex().replace(r"\_", "_")


def test_lemmas_are_named(verdicts):
    assert set(verdicts[LYAPUNOV].assumes) == {"isotropic-flow-exponent", "ito-isotropic-field"}
    assert verdicts[COVARIANCE].assumes == ("price",)


@pytest.mark.parametrize(
    ("name", "key", "text"),
    [
        (COVARIANCE, "slope", "D/d**2"),
        (COVARIANCE, "variance", "1 + sigma_U**2"),
        (COVARIANCE, "covariance", "u/d**2 + sigma_U**2"),
        (COVARIANCE, "covariance", "u/d"),
        (COVARIANCE, "kappa", "E"),
        (COVARIANCE, "kappa", "E/d + sigma_W**2"),
        (GENERATOR, "correction", "k1*(d - 2)/2"),
        (GENERATOR, "correction", "0*d"),
        (GENERATOR, "drift", "k*(d - 2 + u**2)"),
        (GENERATOR, "drift", "k*(d - 2 + u**2) + k1*(d - 1)*u"),
        (GENERATOR, "drift", "k*(d - 2 - u**2) - k1*(d - 1)*u"),
        (GENERATOR, "diffusion", "(1 - u**2)*(k1 + u*k)"),
        (GENERATOR, "diffusion", "2*(1 - u**2)*(k1 - u*k)"),
        (LYAPUNOV, "lyapunov", "(d - 1)*s1/2 - (d - 1)*k1/2"),
        (LYAPUNOV, "lyapunov", "(d - 3)*s1/2 + (d - 1)*k1/2"),
        (LYAPUNOV, "moments", "p*((d - 3)*s1/2 - (d - 1)*k1/2) + p**2*(k1 - s1)/2"),
        (LYAPUNOV, "dissipation", "(d - 1)*s1 - (d - 1)*k1"),
        (LYAPUNOV, "drift", "k*(d - 2 + u**2)"),
        (RELU, "activation", "z"),
        (RELU, "activation", "Max(z, z/10)"),
        (RELU, "activation", "Max(z, 0) + 1"),
        (RELU, "activation", "Heaviside(z)"),
        (RELU, "slope_one", "1/(2*d**2)"),
        (RELU, "kappa_one", "1/d + sigma_U**2 + sigma_W**2"),
        (RELU, "lyapunov", "1/(2*d) - (sigma_U**2 + 2*sigma_W**2)*(d - 1)/4"),
        (RELU, "dissipation", "1/d - (sigma_U**2 + sigma_W**2)*(d - 3)/2"),
    ],
)
def test_statements_that_look_alike_are_not_proved(verdicts, name, key, text):
    record = verdicts[name].certificate.to_record()
    false = dataclasses.replace(proposition(name), texts={**proposition(name).texts, key: text})
    assert derive_again(proposition(name), record["proof"]).accepted
    assert not derive_again(false, record["proof"]).accepted
    assert refused(record | {"statement": {**record["statement"], key: text}})


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("unit",), "dot(a, b)/d"),
        (("argument",), "dot(x, y)/d"),
        (("argument",), "dot(x, y)/d - sigma_U**2"),
        (("radius",), "k1*d"),
        (("radius",), "k*(d - 1)"),
        (("step",), "k*(d - 2)"),
        (("step",), "0*u"),
        (("square",), "2*(1 - u**2)*k1"),
        (("square_mean",), "z**2"),
        (("slope_mean",), "1"),
        (("limits", "lyapunov", "value"), "(d - 3)*s1/2"),
        (("limits", "lyapunov", "value"), "e*s1"),
        (("limits", "lyapunov", "in_e"), "s1"),
        (("limits", "lyapunov", "in_s"), "0*d"),
        (("limits", "moments", "in_e"), "1/(1 + exp(p))"),
    ],
)
def test_altered_proofs_are_refused(verdicts, path, text):
    record = copy.deepcopy(verdicts[RELU].certificate.to_record())
    place = record["proof"]
    for key in path[:-1]:
        place = place[key]
    assert place[path[-1]] != text
    place[path[-1]] = text
    assert refused(record)


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_proofs_cannot_be_missing(verdicts, name):
    record = verdicts[name].certificate.to_record()
    for key in record["proof"]:
        rest = {other: value for other, value in record["proof"].items() if other != key}
        assert refused(record | {"proof": rest})
    for key, text in (("assumes", []), ("scope", "everything"), ("status", "refuted")):
        assert refused(record | {key: text})
    others = [other for other in (*NAMES, "GLPR23/uniform-minimiser") if other != name]
    assert all(refused(record | {"claim": other}) for other in others)


def test_parts_of_proofs_cannot_be_strange(verdicts):
    for name, key in ((COVARIANCE, "unit"), (GENERATOR, "radius"), (LYAPUNOV, "limits")):
        record = verdicts[name].certificate.to_record()
        for strange in (None, 1, [], {}, "inv(", "q_9", "sqrt(u)"):
            assert refused(record | {"proof": {**record["proof"], key: strange}})
