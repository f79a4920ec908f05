"""Stability in numbers: certificates that cannot be forged, bounds that are attained, measurements."""

import dataclasses
import json

import numpy as np
import ot
import pytest

from symflow.certify import Certificate, Verdict, replay
from symflow.certify.propositions import proposition
from symflow.certify.search.stability import prove_stability_constants
from symflow.claims import claim, read_verdict
from symflow.claims.cacp25.mean_field import slope_of, spread_of_weights
from symflow.derive.stability import stability
from symflow.distances import conditional_wasserstein, wasserstein
from symflow.errors import CertificateError, InputError
from symflow.integrate.solve import solve
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.combinators.masked import Masked

CONSTANTS = "CACP25/stability-constants"
VARIANTS = {
    "softmax": Softmax(),
    "l2": L2(),
    "sinkhorn": Sinkhorn(),
    "sigmoid": Sigmoid(),
    "linear": Linear(),
    "unnormalised": Unnormalised(),
}


@pytest.fixture(scope="module")
def proof():
    return prove_stability_constants(CONSTANTS)


def test_the_constants_are_proved_with_their_lemmas(proof):
    outcome = replay(proof)
    assert outcome.accepted
    assert set(outcome.assumes) == {"dobrushin", "scaling-contraction", "weighted-average"}
    assert len([line for line in outcome.lines if line.reason.startswith("weights")]) == 7


@pytest.mark.parametrize("name", VARIANTS)
def test_what_is_proved_is_what_is_derived(name):
    stated = proposition(CONSTANTS).parts[name]
    rng = np.random.default_rng(3)
    params = {key: rng.normal(size=(3, 3)) for key in "QKV"}
    norms = {
        "a": np.linalg.norm(params["K"].T @ params["Q"], 2),
        "v": np.linalg.norm(params["V"], 2),
        "q": np.linalg.norm(params["Q"], 2) ** 2,
        "k2": np.linalg.norm(params["K"], 2) ** 2,
    }
    numbers = {**norms, "R": 0.4, "beta": 0.7, "temperature": 1.5, "m": 1.0}
    model = dataclasses.replace(VARIANTS[name], beta=0.7, temperature=1.5)
    found = stability(model, set("QKV")).constants(params, 0.4)
    terms = stated.terms()
    for end in ("speed", "query", "law"):
        expression = terms.read(getattr(stated, end))
        value = float(
            expression.subs({terms.symbols[k]: v for k, v in numbers.items() if k in terms.symbols})
        )
        assert getattr(found, end) <= value * (1 + 1e-6)
        if end != "law" or name != "l2":  # of two bounds of the oscillation the smaller one is derived
            assert getattr(found, end) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("part", list(proposition(CONSTANTS).parts))
@pytest.mark.parametrize("end", ["low", "high", "query", "key", "mixed"])
def test_a_line_with_another_bound_is_rejected(proof, part, end):
    record = json.loads(proof.to_json())
    line = record["proof"][part]["lines"][0]
    line[end] = "0" if line[end] != "0" else "1"
    outcome = replay(record)
    assert not outcome.accepted
    assert end in outcome.reason


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda p: p["softmax"]["lines"].pop(), "was not bounded before"),
        (lambda p: p.pop("l2"), "must have the parts"),
        (lambda p: p["l2"].update(oscillation="slope"), "law"),
        (lambda p: p["l2"].update(oscillation="luck"), "'range' or 'slope'"),
        (lambda p: p["linear"]["lines"][0].update(rule="insight"), "unknown"),
        (lambda p: p["linear"]["lines"][0].update(of="dot(Q*x, Q*y)"), "no norm"),
        (lambda p: p["sigmoid"]["lines"][2].update(rule="exponential"), "not an exponential"),
        (lambda p: p["unnormalised"]["lines"][2].update(rule="logistic"), "not a logistic"),
        (lambda p: p["l2"]["lines"].pop(0), "not a square whose form"),
        (lambda p: p["softmax"].update(lines=[]), "at most"),
    ],
)
def test_proofs_of_something_else_are_rejected(proof, change, match):
    record = json.loads(proof.to_json())
    change(record["proof"])
    outcome = replay(record)
    assert not outcome.accepted
    assert match in outcome.reason


def test_another_statement_is_rejected(proof):
    record = json.loads(proof.to_json())
    record["statement"]["softmax"]["law"] = "v"
    assert not replay(record).accepted
    assert not replay(proof.to_record() | {"assumes": ["dobrushin"]}).accepted


def test_the_sink_bound_is_attained():
    """Diracs at 0 against Diracs at 1 at the first position: the change is d₁/m exactly."""
    count, model = 5, Masked(Softmax(), sink=0.25)
    theta = model.weights(count)
    params = {"A": [[0.0]], "V": [[1.0]]}
    x = np.zeros((count, 1))
    y = x.copy()
    y[0] = 1.0
    apart = conditional_wasserstein(x, y, theta, order=1)
    velocities = [solve(model, z, params, (0.0, 1e-6), t_eval=[1e-6]).x[-1] - z for z in (x, y)]
    change = abs(velocities[0][0, 0] - velocities[1][0, 0]) / 1e-6
    assert apart == 0.25
    assert change / apart == pytest.approx(stability(model).constants(params, 1.0).law, rel=1e-5)


def test_spread_of_weights():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    score = np.array([[0.3, 0.7], [-0.2, -0.5]])
    root = np.linalg.cholesky(cov)
    expected = np.linalg.eigvalsh(root.T @ score.T @ cov @ score @ root).max()
    assert spread_of_weights(Softmax(), {"A": score, "V": score}, cov) == pytest.approx(expected)
    assert spread_of_weights(Softmax(beta=2), {"A": score, "V": score}, cov) == pytest.approx(4 * expected)
    with pytest.raises(InputError, match="key alone"):
        spread_of_weights(L2(), {"Q": score, "K": score, "V": score}, cov)


def test_slope_of_a_power():
    assert slope_of([10, 20, 40, 80], [3 * n**-0.5 for n in (10, 20, 40, 80)]) == pytest.approx(-0.5)


def test_a_small_experiment_repeats_bit_for_bit_through_a_file(tmp_path):
    entry = claim("CACP25/stability-estimate")
    measurement = entry.experiment.measure(sizes={"replicates": 2, "tokens": 6, "times": 1})
    assert measurement.met
    verdict = Verdict.from_measurement(measurement, certificate=prove_stability_constants(CONSTANTS))
    path = tmp_path / "verdict.json"
    path.write_text(verdict.to_json(), encoding="utf-8")
    read = read_verdict(path)
    assert read == verdict
    assert all("the same number" in line.reason for line in read.recheck().lines if line.id.startswith("E"))
    assert read.replay()


@pytest.mark.parametrize(
    ("change", "word"),
    [({"certificate": None, "assumes": []}, "certificate"), ({"method": "liouville"}, "method")],
)
def test_a_measurement_without_its_proof_is_refused(tmp_path, change, word):
    """The constants are what the distances are compared with; they are proved, or the verdict is not that."""
    measurement = claim("CACP25/stability-estimate").experiment.measure(
        sizes={"replicates": 2, "tokens": 4, "times": 1}
    )
    proof = prove_stability_constants(CONSTANTS)
    record = Verdict.from_measurement(measurement, certificate=proof).to_record() | change
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(CertificateError, match=word):
        read_verdict(path)


def test_a_measurement_for_a_claim_that_is_proved_is_refused(tmp_path):
    measurement = claim("CACP25/stability-estimate").experiment.measure(
        sizes={"replicates": 2, "tokens": 4, "times": 1}
    )
    other = dataclasses.replace(measurement, claim="CACP25/masked-sink")
    path = tmp_path / "verdict.json"
    path.write_text(Verdict.from_measurement(other).to_json(), encoding="utf-8")
    with pytest.raises(InputError, match="not measured"):
        read_verdict(path)
    with pytest.raises(CertificateError):
        Certificate.load(path)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("name", ["softmax", "sigmoid"])
def test_the_estimate_for_clouds_of_different_numbers(name, d, order):
    """Distances by sorting on the line and by another package's optimal transport in the plane."""
    rng = np.random.default_rng(order)
    params = {key: 0.5 * rng.normal(size=(d, d)) for key in "AV"}
    clouds = [0.5 * rng.uniform(-1.0, 1.0, size=(n, d)) / np.sqrt(d) for n in (18, 27)]
    ends = [solve(VARIANTS[name], x, params, (0.0, 0.3), t_eval=[0.3]).x[-1] for x in clouds]

    def distance(x, y):
        if d == 1:
            return wasserstein(x, y, order=order)
        cost = ot.dist(x, y, metric="euclidean") ** order
        return ot.emd2(ot.unif(len(x)), ot.unif(len(y)), cost) ** (1 / order)

    exponent = stability(VARIANTS[name]).exponent(params, 0.5, 0.3, order=order)
    assert distance(*ends) <= np.exp(exponent) * distance(*clouds)
