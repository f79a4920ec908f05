"""The certificate schema: reading, writing, and errors that name what is wrong."""

import copy
import json

import pytest

from symflow.certify import LEMMAS, Certificate, proof_kinds, replay
from symflow.certify.propositions import propositions
from symflow.claims import check
from symflow.errors import CertificateError
from symflow.models.attention.softmax import Softmax


@pytest.fixture(scope="module")
def verdict():
    return check("gaussian-preservation", Softmax())


@pytest.fixture
def record(verdict):
    return copy.deepcopy(verdict.certificate.to_record())


def test_round_trip_through_a_file(verdict, tmp_path):
    path = tmp_path / "Σ proof.json"
    verdict.certificate.save(path)
    assert Certificate.load(path) == verdict.certificate
    assert replay(path).accepted
    assert replay(str(path)).accepted


def test_the_certificate_inside_a_verdict_file_is_found(verdict, tmp_path):
    path = tmp_path / "verdict.json"
    path.write_text(verdict.to_json(), encoding="utf-8")
    assert Certificate.load(path) == verdict.certificate


def test_only_the_certificate_is_needed(record):
    assert replay(json.loads(json.dumps(record))).accepted


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "other", "format is 'other'"),
        ("version", 2, "version 2 cannot be read"),
        ("version", True, "version True cannot be read"),
        ("status", "true", "status 'true'"),
        ("kind", 1, "'kind' must be text"),
        ("kind", "magic", "kind 'magic' is unknown"),
        ("assumes", "liouville", "'assumes' must be a list"),
        ("statement", [], "'statement' must be an object"),
        ("proof", None, "'proof' must be an object"),
    ],
)
def test_schema_faults_are_named(record, key, value, message):
    record[key] = value
    with pytest.raises(CertificateError, match=message):
        replay(record)


def test_missing_and_unknown_keys_are_named(record):
    with pytest.raises(CertificateError, match="unknown key note"):
        Certificate.from_record(record | {"note": "trust me"})
    del record["scope"]
    with pytest.raises(CertificateError, match="lacks scope"):
        Certificate.from_record(record)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"claim": 1, "claim": 2}', "[" * 100_000],
    ids=lambda text: text[:12] or "empty",
)
def test_what_is_not_a_certificate_is_refused(text):
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(CertificateError, match=r"missing\.json"):
        Certificate.load(tmp_path / "missing.json")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CertificateError, match="binary"):
        Certificate.load(tmp_path / "binary")
    (tmp_path / "text").write_text("no JSON")
    with pytest.raises(CertificateError, match="text': the text is not JSON"):
        Certificate.load(tmp_path / "text")


def test_every_kind_and_proposition_is_found_by_scanning():
    assert {"identity-chain", "cases"} <= set(proof_kinds())
    assert {"gaussian-preservation", "CACP25/gaussian-softmax", "CACP25/gaussian-l2"} <= set(propositions())


def test_every_lemma_is_stated_and_cited():
    for name, lemma in LEMMAS.items():
        assert lemma.name == name == lemma.rule.name
        assert lemma.statement.count("$") % 2 == 0
        assert lemma.hypotheses
        assert any(letter.isdigit() for letter in lemma.citation), "a citation names a place"
