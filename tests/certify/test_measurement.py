"""Measurements: criteria, records, and their replay by repetition."""

import dataclasses
import json
import math
import pickle
import random
import statistics

import pytest

from symflow.certify import Criterion, Estimate, Measurement, Verdict
from symflow.certify.search.sink import prove_sink
from symflow.errors import CertificateError, Undecided


def _estimates(seed, count):
    generator = random.Random(seed)
    samples = [generator.gauss(2.0, 1.0) for _ in range(count)]
    return (Estimate.of_samples("mean of N(2, 1)", samples, Criterion("near", 2.0, errors=4.0)),)


def measure(seed=3, count=200):
    return Measurement("some-claim", "one law", seed, {"count": count}, _estimates(seed, count))


def again(measurement):
    """Repeat the experiment of :func:`measure`."""
    return measure(measurement.seed, measurement.sizes["count"])


@pytest.mark.parametrize(
    ("criterion", "value", "error", "met"),
    [
        (Criterion("at most", 1.0, 3.0), 0.7, 0.1, True),
        (Criterion("at most", 1.0, 3.0), 0.8, 0.1, False),
        (Criterion("at most", 1.0, 3.0, bias=0.2), 0.8, 0.1, True),
        (Criterion("at least", 1.0, 2.0), 1.2, 0.1, True),
        (Criterion("at least", 1.0, 2.0), 1.1, 0.1, False),
        (Criterion("near", 1.0, 2.0), 1.19, 0.1, True),
        (Criterion("near", 1.0, 2.0), 0.75, 0.1, False),
        (Criterion("near", 1.0, 2.0, bias=0.1), 0.75, 0.1, True),
    ],
)
def test_a_criterion_counts_standard_errors(criterion, value, error, met):
    assert criterion.met(value, error) is met


def test_an_estimate_of_samples_is_mean_and_standard_error():
    samples = [1.0, 2.0, 4.0, 7.0]
    found = Estimate.of_samples("q", samples, Criterion("near", 3.5))
    assert found.value == 3.5
    assert found.error == pytest.approx(statistics.stdev(samples) / 2, rel=1e-15)
    assert found.replicates == 4


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (1.23456, 0.0456, ("1.235", "0.046")),
        (123.4, 12.0, ("123", "12")),
        (0.5, 0.0, ("0.5", "0")),
        (1.5, 3.2e-7, ("1.5", "3.2e-07")),
    ],
)
def test_digits_follow_the_error(value, error, shown):
    assert Estimate("q", value, error, Criterion("near", 0.0), 2).digits == shown


def test_a_supported_verdict_repeats_its_seed():
    verdict = Verdict.from_measurement(measure(), again)
    assert verdict.status == "supported"
    assert verdict.replay() is True
    assert "the same number" in verdict.recheck().lines[0].reason
    with pytest.raises(Undecided, match="compare its status"):
        bool(verdict)


def test_a_measurement_that_misses_is_undecided_and_does_not_replay():
    (estimate,) = _estimates(3, 200)
    strict = dataclasses.replace(estimate, criterion=Criterion("at most", 1.0))
    verdict = Verdict.from_measurement(dataclasses.replace(measure(), estimates=(strict,)), again)
    assert verdict.status == "undecided"
    assert "required ≤ 1 by 3 standard errors" in verdict.reason
    assert verdict.replay() is False


def test_a_repetition_may_round_differently_but_not_more():
    stored = measure()
    (estimate,) = stored.estimates

    def shifted(by):
        moved = dataclasses.replace(estimate, value=estimate.value + by)
        return lambda _: dataclasses.replace(stored, estimates=(moved,))

    assert stored.replay(shifted(0.5 * estimate.error)).accepted
    outcome = stored.replay(shifted(1.5 * estimate.error))
    assert not outcome.accepted
    assert "away" in outcome.reason


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 4},
        {"claim": "another"},
        {"scope": "another"},
        {"sizes": {"count": 100}},
        {"estimates": _estimates(3, 200) * 2},
        {"estimates": (dataclasses.replace(_estimates(3, 200)[0], criterion=Criterion("near", 2.0)),)},
        {"estimates": (dataclasses.replace(_estimates(3, 200)[0], replicates=7),)},
    ],
)
def test_a_repetition_of_something_else_counts_for_nothing(changed):
    assert not measure().compare(dataclasses.replace(measure(), **changed)).accepted


def test_a_forged_estimate_does_not_replay():
    record = json.loads(Verdict.from_measurement(measure(), again).to_json())
    record["measurement"]["estimates"][0]["value"] += 0.2
    forged = dataclasses.replace(Verdict.from_record(record), rerun=again)
    assert forged.replay() is False


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999, 1.05])
def test_a_forged_standard_error_does_not_replay(share):
    """An error bar looks better when it is short, or a criterion that is met within it when it is long."""
    (estimate,) = measure().estimates
    forged = dataclasses.replace(estimate, error=share * estimate.error)
    outcome = dataclasses.replace(measure(), estimates=(forged,)).replay(again)
    assert not outcome.accepted
    assert "standard error" in outcome.reason


@pytest.mark.parametrize("change", [{"reason": "sure"}, {"witness": "a witness"}])
def test_what_no_measurement_gives_does_not_replay(change):
    verdict = Verdict.from_measurement(measure(), again)
    assert not dataclasses.replace(verdict, **change).replay()


def test_round_trips():
    verdict = Verdict.from_measurement(measure(), again)
    assert Measurement.from_json(measure().to_json()) == measure()
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert pickle.loads(pickle.dumps(verdict)).replay()
    with pytest.raises(Undecided, match="read_verdict"):
        Verdict.from_json(verdict.to_json()).replay()


def test_a_proof_of_what_is_compared_with_is_replayed_too():
    proof = prove_sink("CACP25/masked-sink")
    verdict = Verdict.from_measurement(measure(), again, certificate=proof)
    assert verdict.assumes == proof.assumes
    assert verdict.replay()
    assert Verdict.from_json(verdict.to_json()) == verdict
    assert len(verdict.recheck().lines) == len(proof.proof["lines"]) + 1
    broken = dataclasses.replace(proof, proof={**proof.proof, "lines": proof.proof["lines"][:-1]})
    assert not dataclasses.replace(verdict, certificate=broken).replay()


def test_a_verdict_agrees_with_its_measurement():
    verdict = Verdict.from_measurement(measure(), again)
    changes = ({"claim": "other"}, {"scope": "other"}, {"status": "undecided"}, {"assumes": ("liouville",)})
    for change in changes:
        with pytest.raises(CertificateError):
            dataclasses.replace(verdict, **change)
    with pytest.raises(CertificateError, match="needs a measurement"):
        Verdict("some-claim", "supported")


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "1", True])
def test_only_finite_numbers_are_estimates(value):
    with pytest.raises(CertificateError, match="finite number"):
        Estimate("q", value, 0.1, Criterion("near", 0.0), 2)
    with pytest.raises(CertificateError, match="finite number"):
        Criterion("near", value)
    record = measure().to_record()
    record["sizes"] = {"count": value}
    with pytest.raises(CertificateError, match="finite number"):
        Measurement.from_record(record)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", "other"),
        ("version", 2),
        ("seed", -1),
        ("seed", 1.0),
        ("estimates", []),
        ("estimates", [{}]),
        ("sizes", []),
        ("claim", 3),
        ("versions", {"numpy": 2}),
    ],
)
def test_malformed_records_are_refused(key, value):
    with pytest.raises(CertificateError):
        Measurement.from_record(measure().to_record() | {key: value})


def test_latex_prints_estimate_and_error():
    text = Verdict.from_measurement(measure(), again).to_latex()
    value, error = measure().estimates[0].digits
    assert rf"${value} \pm {error}$" in text
    assert r"\texttt{count} = 200" in text
    assert text.count("{") == text.count("}")
