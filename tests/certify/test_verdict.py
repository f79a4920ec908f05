"""Verdicts: four values, truth, JSON, pickling, replay."""

import dataclasses
import json
import pickle

import pytest

from symflow.certify import Certificate, Verdict
from symflow.claims import check
from symflow.errors import CertificateError, Undecided
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention


@pytest.fixture(scope="module")
def proved():
    return check("gaussian-preservation", Softmax())


@pytest.fixture(scope="module")
def undecided():
    return check("gaussian-preservation", Attention("-exp(exp(dot(x, A*y)))"))


def test_proved_is_true_and_replays(proved):
    assert proved.status == "proved"
    assert bool(proved) is True
    assert proved.replay() is True


def test_a_proof_lists_its_lemmas_and_scope(proved):
    assert proved.assumes == ("affine-pushforward", "cauchy-lipschitz", "gaussian-integral", "liouville")
    assert "singular or not" in proved.scope
    assert "maximal interval of existence" in proved.scope


def test_truth_of_what_is_not_decided_raises():
    verdict = Verdict("some-claim", "undecided", reason="why")
    with pytest.raises(Undecided, match="some-claim is undecided: why"):
        bool(verdict)


def test_undecided_says_why_and_has_nothing_to_replay(undecided):
    assert undecided.status == "undecided"
    assert "not yᵀBx" in undecided.reason
    assert undecided.certificate is None
    with pytest.raises(Undecided, match="no certificate"):
        undecided.replay()


def test_a_status_needs_its_certificate_and_only_that(proved):
    with pytest.raises(CertificateError, match="needs a certificate"):
        Verdict("some-claim", "proved")
    with pytest.raises(CertificateError, match="has no certificate"):
        dataclasses.replace(proved, status="undecided")
    with pytest.raises(CertificateError, match="'maybe' is unknown"):
        Verdict("some-claim", "maybe")


def test_round_trips(proved, undecided):
    for verdict in (proved, undecided):
        assert pickle.loads(pickle.dumps(verdict)) == verdict
        assert Verdict.from_json(verdict.to_json()) == verdict
    assert Verdict.from_json(proved.to_json()).replay()


def test_a_verdict_is_frozen(proved):
    with pytest.raises(dataclasses.FrozenInstanceError):
        proved.status = "refuted"


@pytest.mark.parametrize(
    ("field", "value"),
    [("claim", "rank-invariance"), ("status", "refuted"), ("scope", "everything"), ("assumes", ())],
)
def test_a_verdict_cannot_say_something_else_than_its_certificate(proved, field, value):
    with pytest.raises(CertificateError, match=f"another '{field}' than its certificate"):
        dataclasses.replace(proved, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"), [("method", "insight"), ("reason", "because"), ("witness", "a witness")]
)
def test_a_verdict_with_evidence_of_its_own_does_not_replay(proved, field, value):
    assert dataclasses.replace(proved, **{field: value}).replay() is False


def test_refuted_on_a_proof_does_not_replay(proved):
    forged = Certificate.from_record(proved.certificate.to_record() | {"status": "refuted"})
    assert Verdict.from_certificate(forged).replay() is False


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"claim": 1}', "nonsense"])
def test_malformed_json_is_refused(text):
    with pytest.raises(CertificateError):
        Verdict.from_json(text)


def test_wrong_types_are_refused(proved):
    record = json.loads(proved.to_json())
    for key, value in (("scope", 3), ("assumes", "liouville"), ("certificate", 5)):
        with pytest.raises(CertificateError):
            Verdict.from_json(json.dumps(record | {key: value}))


def test_repr_is_one_line(proved, undecided):
    for verdict in (proved, undecided):
        assert "\n" not in repr(verdict)
        assert len(repr(verdict)) < 180


def test_latex_states_the_lemmas_with_their_sources(proved):
    text = proved.to_latex()
    assert "Gaussian integral" in text
    assert "Hartman" in text
    assert {letter for letter in text if ord(letter) > 0xFF} <= {"–"}, (
        "pdflatex does not know these characters"
    )
    assert text.count("{") == text.count("}")
