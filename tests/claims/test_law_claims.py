"""What becomes of one Gaussian law: known answers, certificates, and altered ones."""

import copy
from fractions import Fraction

import numpy as np
import pytest

from symflow import L2, Gaussian, Linear, MultiHead, Sigmoid, Sinkhorn, Softmax, check, solve
from symflow.certify import replay
from symflow.errors import CertificateError, InputError
from symflow.spec import load_spec

I2 = [[1, 0], [0, 1]]
START = Gaussian([1.0, 0.0], [[2.0, 0.5], [0.5, 1.0]])
CENTRED = Gaussian([0.0, 0.0], I2)

#: model, law, parameters, whether it blows up, kind of certificate
KNOWN = {
    "commuting, irrational time": (
        Softmax(),
        START,
        {"V": I2, "A": [[Fraction(3, 10), Fraction(7, 10)], [Fraction(-1, 5), Fraction(-1, 2)]]},
        True,
        "solution-curve",
    ),
    "scores that vanish in one direction": (
        Softmax(),
        START,
        {"V": I2, "A": [[-1, 0], [0, 0]]},
        False,
        "solution-curve",
    ),
    "skew": (Softmax(), CENTRED, {"V": [[2, 0], [0, 1]], "A": [[0, 1], [-1, 0]]}, False, "solution-curve"),
    "radial": (
        Softmax(),
        Gaussian([0, 0], [[1, -1], [-1, 2]]),
        {"V": [[1, 0], [0, 2]], "A": [[-1, -4], [1, -1]]},
        True,
        "solution-curve",
    ),
    "distances, K with a kernel": (
        L2(),
        Gaussian([0, 0], [[1, 0.5], [0.5, 1]]),
        {"V": [[0, 0], [0, 1]], "Q": [[0, 1]], "K": [[1, 0]]},
        True,
        "solution-curve",
    ),
    "distances, K injective": (L2(), START, {"V": [[2, 1], [1, 3]], "Q": I2, "K": I2}, False, "instance"),
    "negative scores": (
        Softmax(),
        START,
        {"V": [[2, 1], [1, 3]], "A": [[-1, 1], [0, -1]]},
        False,
        "instance",
    ),
    "positive scores": (
        Softmax(temperature=2),
        START,
        {"V": [[2, 1], [1, 3]], "Q": [[1, 1], [0, 1]], "K": I2},
        True,
        "instance",
    ),
    "the kernel is the score": (
        Linear(),
        CENTRED,
        {"V": I2, "A": [[1, 0], [0, -1]]},
        True,
        "solution-curve",
    ),
    "two heads": (
        MultiHead(Softmax()),
        CENTRED,
        {"V": [I2, I2], "A": [[[-1, 0], [0, 0]], [[0, 0], [0, -1]]]},
        False,
        "solution-curve",
    ),
    "noise, at rest": (
        Softmax(diffusion=1),
        Gaussian([0], [[1]]),
        {"V": [[1]], "A": [[-1]]},
        False,
        "solution-curve",
    ),
}


@pytest.fixture(scope="module")
def verdicts():
    return {name: check("blow-up", *case[:3]) for name, case in KNOWN.items()}


@pytest.mark.parametrize("name", KNOWN)
def test_known_laws_are_decided(verdicts, name):
    verdict = verdicts[name]
    *_, blows_up, kind = KNOWN[name]
    assert verdict.status == ("proved" if blows_up else "refuted")
    assert verdict.certificate.kind == kind
    assert verdict.replay()


def test_verdicts_agree_with_runs(verdicts):
    for name, (model, law, parameters, blows_up, _) in KNOWN.items():
        if name in verdicts:
            values = {key: np.array(value, float) for key, value in parameters.items()}
            assert (solve(model, law, values, (0.0, 20.0)).status == "blow-up") == blows_up, name


def test_the_time_of_blow_up_is_in_the_witness(verdicts):
    assert "about 0.617719" in verdicts["commuting, irrational time"].witness["blow-up time"]
    assert verdicts["radial"].witness["blow-up time"] == "1/2"
    assert verdicts["distances, K with a kernel"].witness["blow-up time"] == "3"


@pytest.mark.parametrize(
    ("law", "parameters", "rank"),
    [
        (START, {"V": I2, "A": [[-1, 0], [0, 0]]}, 1),
        (START, {"V": I2, "A": [[-1, 0], [0, -1]]}, 0),
        (START, {"V": [[2, 1], [1, 3]], "A": [[-1, 1], [0, -1]]}, 0),
        (CENTRED, {"V": [[2, 0], [0, 1]], "A": [[0, 1], [-1, 0]]}, 1),
    ],
)
def test_ranks_of_limits(law, parameters, rank):
    found = check("limit-rank", Softmax(), law, parameters)
    assert found.status == "proved"
    assert found.certificate.statement["rank"] == rank
    assert found.replay()
    other = check("limit-rank", Softmax(), law, parameters, rank + 1)
    assert other.status == "refuted"
    assert other.replay()


def test_a_law_that_blows_up_has_no_limit():
    verdict = check("limit-rank", Softmax(), CENTRED, {"V": I2, "A": I2}, 1)
    assert verdict.status == "refuted"
    assert "no limit" in verdict.witness["end"]


def test_what_is_not_known_is_undecided():
    for model, parameters in (
        (Softmax(), {"V": [[1, 0], [0, 4]], "A": [[-1, -3], [0, -1]]}),  # known by validated integration only
        (Sinkhorn(), {"V": I2, "A": I2}),
        (Sigmoid(), {"V": I2, "A": I2}),
    ):
        verdict = check("blow-up", model, CENTRED, parameters)
        assert verdict.status == "undecided"
        assert verdict.reason


def test_arguments_are_refused_by_name():
    with pytest.raises(InputError, match="Gaussian"):
        check("blow-up", Softmax())
    with pytest.raises(InputError, match="spec or a model"):
        check("blow-up", "softmax")
    spec = load_spec("examples/softmax-blow-up.toml")
    with pytest.raises(InputError, match="spec alone"):
        check("blow-up", spec, CENTRED)
    assert check("blow-up", spec).status == "proved"


# ---- certificates that were altered


def refused(record):
    try:
        outcome = replay(record)
    except CertificateError:
        return True
    return not outcome.accepted


ALTERED = {
    "another status": lambda r: r.update(status="refuted" if r["status"] == "proved" else "proved"),
    "another equation": lambda r: r["statement"]["model"].update(
        cov_rhs=r["statement"]["model"]["cov_rhs"].replace("Sigma*", "Sigma*Sigma*", 1)
    ),
    "another closure": lambda r: r["proof"]["closure"]["lines"].pop(),
    "another size": lambda r: r["statement"]["sizes"].update(d=3),
    "a covariance that is none": lambda r: r["statement"].update(covariance=[["1", "2"], ["2", "1"]]),
    "other values": lambda r: r["statement"]["parameters"].update(V=[["1", "1"], ["0", "1"]]),
    "another scope": lambda r: r.update(scope=r["scope"] + " always"),
    "fewer lemmas": lambda r: r.update(assumes=r["assumes"][:-1]),
    "a word more": lambda r: r["proof"].update(note="x"),
}
CURVE = {
    "another start": lambda r: r["statement"].update(covariance=[["5/2", "0"], ["0", "1"]]),
    "another curve": lambda r: r["proof"]["solution"][0].reverse(),
    "an end too late": lambda r: r["proof"]["clock"].update(end="100"),
    "no end": lambda r: r["proof"]["clock"].update(end=None),
    "an end too early": lambda r: r["proof"]["clock"].update(end="1/100"),
    "a clock that runs faster": lambda r: r["proof"]["clock"].update(rhs="2"),
    "a bracket without a root": lambda r: r["proof"]["clock"].update(
        end={"root of": "t**2 - 2", "between": ["2", "3"]}
    ),
    "another root": lambda r: r["proof"]["clock"].update(end={"root of": "t**2 - 2", "between": ["1", "2"]}),
}
INSTANCE = {
    "nothing to start from": lambda r: r["statement"].update(covariance=[["0", "0"], ["0", "0"]]),
    "another theorem": lambda r: r["proof"].update(theorem="CACP25/bounded-positive"),
    "no theorem": lambda r: r["proof"].update(theorem="CACP25/gaussian-softmax"),
    "a strength too large": lambda r: r["proof"]["symbols"].update(a="100"),
    "a negative strength": lambda r: r["proof"]["symbols"].update(a="-1"),
    "other values for V": lambda r: r["proof"]["symbols"].update(V="V*V"),
    "other scores": lambda r: r["proof"]["symbols"].update(A="K.T*Q"),
    "a proof with a gap": lambda r: r["proof"]["chain"]["lines"].pop(2),
}


@pytest.mark.parametrize("what", [*ALTERED, *CURVE])
def test_altered_curves_are_refused(verdicts, what):
    record = copy.deepcopy(verdicts["commuting, irrational time"].certificate.to_record())
    assert not refused(record)
    ({**ALTERED, **CURVE})[what](record)
    assert refused(record)


@pytest.mark.parametrize("what", [*ALTERED, *INSTANCE])
def test_altered_instances_are_refused(verdicts, what):
    record = copy.deepcopy(verdicts["positive scores"].certificate.to_record())
    assert not refused(record)
    ({**ALTERED, **INSTANCE})[what](record)
    assert refused(record)


def test_another_writing_of_the_same_curve_is_accepted(verdicts):
    record = copy.deepcopy(verdicts["radial"].certificate.to_record())
    ((entry, *_), *_) = record["proof"]["solution"]
    record["proof"]["solution"][0][0] = f"2*({entry})/2"
    record["proof"]["clock"]["end"] = {"root of": "(t - 1/2)*(t - 3)", "between": ["1/4", "1"]}
    assert not refused(record)
