"""The claim about the sign of a quadratic form: answers that are known, certificates, and what is refused."""

import copy
import json
import time
from fractions import Fraction as F

import numpy as np
import pytest
from sympy import Matrix, Symbol, cos, exp, pi, sqrt

from symflow.algebra.exact.exponentials import exponential
from symflow.algebra.exact.fields import cosines
from symflow.certify import replay
from symflow.claims import check, claim
from symflow.errors import InputError, Undecided

BETA = Symbol("beta")
E = exponential(1)
PENTAGON = cosines(5)
CIRCULANT = [[exponential(PENTAGON.cos(i - j)) for i in range(5)] for j in range(5)]
SINGULAR = [[1, E], [E, E * E]]
PD, PSD, ND, NSD = "positive-definite", "positive-semidefinite", "negative-definite", "negative-semidefinite"
TOUCHING = [[1, exp(-BETA)], [exp(-BETA), 1]]  # smallest eigenvalue 1 − e^{−β}

KNOWN = {  # matrix, kind, box, verdict
    "minors": ([[0, 0, 0], [0, 1, 2], [0, 2, 1]], PSD, None, "refuted"),  # S017
    "identity": ([[1, 0], [0, 1]], PD, None, "proved"),
    "negative identity": ([[-1, 0], [0, -1]], ND, None, "proved"),
    "not negative": ([[1, 0], [0, -1]], NSD, None, "refuted"),
    "zero": ([[0, 0], [0, 0]], PSD, None, "proved"),
    "zero, definite": ([[0, 0], [0, 0]], ND, None, "refuted"),
    "saddle": ([[1, 0], [0, -1]], "indefinite", None, "proved"),
    "no saddle": ([[1, 1], [1, 1]], "indefinite", None, "refuted"),
    "floats": (np.array([[2.0, 0.1], [0.1, 0.3]]), PD, None, "proved"),
    "a float below": ([[1.0, 1.0], [1.0, np.nextafter(1.0, 0.0)]], PSD, None, "refuted"),  # S019
    "a float above": ([[1.0, 1.0], [1.0, np.nextafter(1.0, 2.0)]], PD, None, "proved"),  # S019
    "root": (Matrix([[sqrt(2), cos(pi / 5)], [cos(pi / 5), F(1, 2)]]), PD, None, "proved"),
    "golden": ([[sqrt(5) - 1, 2], [2, sqrt(5) + 1]], PD, None, "refuted"),  # singular
    "golden, semidefinite": ([[sqrt(5) - 1, 2], [2, sqrt(5) + 1]], PSD, None, "proved"),
    "exponentials": (SINGULAR, PSD, None, "proved"),
    "exponentials, definite": (SINGULAR, PD, None, "refuted"),
    "texts": ([["exp(1/2)", "1"], ["1", "exp(-1/2) - 1/1000000"]], PSD, None, "refuted"),
    "circulant": (CIRCULANT, PD, None, "proved"),
    "on a box": (TOUCHING, PD, {BETA: (0.5, 2)}, "proved"),
    "on a box, at its end": (TOUCHING, PD, {BETA: (0, 2)}, "refuted"),
    "on a box, inside": ([[1, exp(BETA)], [exp(BETA), 1]], PSD, {"beta": (-1, 1)}, "refuted"),
    "on a box, negative": ([["-1", "cos(beta)"], ["cos(beta)", "-1/2"]], ND, {"beta": (1, 1.5)}, "proved"),
    "rational in one parameter": (
        [["1", "1 - beta"], ["1 - beta", "1"]],
        PSD,
        {"beta": (0, 2)},
        "proved",
    ),  # S023
    "a little more": (
        [["1", "1 - beta"], ["1 - beta", "1"]],
        PSD,
        {"beta": (0, "2000001/1000000")},
        "refuted",
    ),
    "a kernel for all": (
        [["a*exp(b)", "-exp(b)*a"], ["-a*exp(b)", "a*exp(b)"]],
        PSD,
        {"a": (1, 2), "b": (0, 1)},
        "proved",
    ),
    "a kernel for none": ([["a", "-a"], ["-a", "a - b"]], PSD, {"a": (1, 2), "b": (0, 1)}, "refuted"),
    "two parameters": ([["3 + a*b", "b"], ["b", "a"]], PD, {"a": (1, 2), "b": (-1, 1)}, "proved"),
    "functions without exact value": (
        [["1", "2*cos(a)"], ["2*cos(a)", "sqrt(2)"]],
        PSD,
        {"a": (0, 2)},
        "refuted",
    ),
}


def _check(name):
    matrix, kind, box, status = KNOWN[name]
    return check("definiteness", matrix, kind=kind, box=box), status


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name):
    verdict, status = _check(name)
    assert verdict.status == status, verdict.reason
    assert verdict.replay()
    assert "v^T A v" in verdict.scope
    assert verdict.method == claim("definiteness").method
    assert check("definiteness", *KNOWN[name][:3]).status == status


def test_an_indefinite_matrix_comes_with_its_direction():  # S017
    verdict, _ = _check("minors")
    assert verdict.certificate.proof["directions"] == [{"vector": ["0", "1", "-1"], "value": "-2"}]
    assert not verdict


def test_answers_have_three_values():  # S019
    undecided = check("definiteness", TOUCHING, box={BETA: (0, 2)})
    assert undecided.status == "undecided"
    with pytest.raises(Undecided):
        bool(undecided)
    assert check("definiteness", [[2.0, 1.0], [1.0, 2.0]])
    low, high = (
        F(end) for end in check("definiteness", [[2.0, 1.0], [1.0, 2.0]]).certificate.proof["margin"]
    )
    assert low < 1 < high < low + F(1, 10**6)


def test_a_matrix_that_is_not_symmetric_is_no_hessian():  # S020
    with pytest.raises(InputError, match=r"matrix\[1\]\[0\] = 0 differs .* Hessian .*symmetric-part"):
        check("definiteness", [[1, 1], [0, 1]])
    asked = check("definiteness", [[1, 1], [0, 1]], PD, None, "symmetric-part")
    assert asked.status == "proved"
    assert "symmetric part (A + A^T)/2" in asked.scope
    assert check("definiteness", [[1, 3], [0, 1]], form="symmetric-part").status == "refuted"
    assert (
        check("definiteness", [["1", "a*b"], ["b*a", "2"]], box={"a": (0, 1), "b": (0, 1)}).status == "proved"
    )


def test_a_bound_that_touches_zero_inside_rounding_is_open():  # S023
    start = time.process_time()
    verdict = check("definiteness", TOUCHING, kind=PSD, box={BETA: (0, 2)})
    assert verdict.status == "undecided"
    bound = float(verdict.reason.rpartition("at least ")[2])
    # The smallest eigenvalue is ≥ 0; what is proved falls short by rounding only.
    assert -1e-9 < bound <= 0
    assert time.process_time() - start < 10


def _hessian(sign):
    """Return the Hessian of two tokens on S² at the angle t: in the plane, and orthogonal to it."""
    w, slope = "exp(beta*cos(t))", "(beta*sin(t)**2 - cos(t))"
    inside, across, around = f"{sign}{w}*{slope}", f"-{sign}{w}*{slope}", f"-{sign}{w}*cos(t)"
    zero = "0"
    return [
        [inside, across, zero, zero],
        [across, inside, zero, zero],
        [zero, zero, around, f"{sign}{w}"],
        [zero, zero, f"{sign}{w}", around],
    ]


def test_a_symbolic_hessian_ends_in_time():  # S026
    box = {"beta": (1, 2), "t": (F(1, 10), F(1, 2))}
    start = time.monotonic()
    # Rotations keep the energy, so the Hessian is singular; orthogonal to the plane it has both signs.
    assert check("definiteness", _hessian(""), kind=NSD, box=box).status == "refuted"
    lifted = _hessian("")
    for i in range(4):
        lifted[i][i] += " + 2*exp(beta)*(1 + beta)"
    assert check("definiteness", lifted, kind=PD, box=box).status == "proved"
    rest = [["0", "0", "1", "0"], ["0", "0", "0", "1"]]
    plane = [row[:2] + ["0", "0"] for row in _hessian("-")[:2]] + rest
    narrow = {"beta": (F(1, 2), F(3, 4)), "t": (F(1, 10), F(1, 2))}
    modulo = check("definiteness", plane, kind=PSD, box=narrow)  # (1, 1, 0, 0) is in every kernel
    assert modulo.status == "proved"
    assert modulo.certificate.proof["kernel"] == [["1", "1", "0", "0"]]
    turning = [["sin(t)**2", "sin(t)*cos(t)", "0", "0"], ["sin(t)*cos(t)", "cos(t)**2", "0", "0"], *rest]
    late = check(
        "definiteness", turning, kind=PSD, box=narrow, max_wall_time=0.5
    )  # so is (cos t, −sin t, 0, 0)
    assert late.status == "undecided"
    assert "time" in late.reason
    assert time.monotonic() - start < 30


# ------------------------------------------------------------------------------------------ certificates


def _records():
    return {name: _check(name)[0].certificate.to_record() for name in KNOWN}


def _swapped(record):
    return record | {"status": "refuted" if record["status"] == "proved" else "proved"}


def test_forged_certificates_are_rejected():
    methods = set()
    for name, record in _records().items():
        assert replay(json.loads(json.dumps(record))).accepted, name
        assert not replay(_swapped(record)).accepted, name
        proof = record["proof"]
        methods.add(proof["method"])
        for forged in _forgeries(proof):
            assert not replay(record | {"proof": forged}).accepted, (name, forged)
        other = copy.deepcopy(record)
        other["statement"]["matrix"][0][0] = "-7"
        if record["statement"]["property"].startswith("positive") and record["status"] == "proved":
            assert not replay(other).accepted, name
        assert not replay(record | {"scope": record["scope"] + "!"}).accepted
    assert methods == {"factor", "pivots", "directions", "boxes", "coefficients", "point"}


def _forgeries(proof):
    """Return proof objects that show nothing any more."""
    yield {**proof, "more": 1}
    yield {key: value for key, value in proof.items() if key != list(proof)[-1]}
    match proof["method"]:
        case "factor" if proof["D"]:
            yield {**proof, "D": [f"-({d})" for d in proof["D"]]}
            yield {**proof, "D": [f"2*({d})" for d in proof["D"]]}
            yield {**proof, "margin": ["1000", "2000"]}
        case "pivots":
            yield {**proof, "pivots": proof["pivots"][1:]}
            yield {**proof, "pivots": [*proof["pivots"], proof["pivots"][0]]}
            yield {**proof, "kernel": [*proof["kernel"], ["1"] + ["0"] * (len(proof["pivots"]) - 1)]}
            yield {**proof, "kernel": [["0"] * len(vector) for vector in proof["kernel"]] or [["1"]]}
        case "directions":
            for k, item in enumerate(proof["directions"]):
                changed = copy.deepcopy(proof)
                changed["directions"][k]["value"] = f"{item['value']} + 1"
                yield changed
                changed = copy.deepcopy(proof)
                changed["directions"][k] = {"vector": ["0"] * len(item["vector"]), "value": "0"}
                yield changed
        case "boxes":
            yield {**proof, "cuts": proof["cuts"][:-1]}
            yield {**proof, "cuts": proof["cuts"] + "0"}
            yield {**proof, "margin": "1000"}
            yield {**proof, "margin": "-1"}
            yield {**proof, "kernel": [["1"] + ["0"] * 99]}
            yield {
                **proof,
                "kernel": [*proof["kernel"], ["0"] * len(proof["kernel"][0])]
                if proof["kernel"]
                else [["1", "0"]],
            }
        case "point":
            yield {**proof, "point": ["1000" for _ in proof["point"]]}
            yield {**proof, "vector": ["0" for _ in proof["vector"]]}
            yield {**proof, "value": "-12345"}


@pytest.mark.parametrize(
    "change",
    [
        {"matrix": []},
        {"matrix": [["1", "2"]]},
        {"matrix": [[1]]},
        {"matrix": [["1", "2"], ["3", "4"]]},
        {"matrix": [["x"]]},
        {"property": "definite"},
        {"form": "quadratic"},
        {"field": {"polynomial": ["-4", "0", "1"], "interval": ["1", "3"]}},
        {"field": {"polynomial": ["-2", "0", "1"], "interval": ["-3", "3"]}},
        {"box": {"x": ["1", "0"]}},
        {"box": {"x": ["0", "1"]}, "property": "indefinite"},
        {"box": {}},
        {"more": 1},
    ],
)
def test_malformed_statements_are_rejected(change):
    record = _check("identity")[0].certificate.to_record()
    outcome = replay(record | {"statement": record["statement"] | change})
    assert not outcome.accepted
    assert outcome.reason


def test_proofs_are_readable():
    text = _check("minors")[0].to_latex()
    assert r"v^\top A v = -2" in text
    assert r"0 & 1 & 2" in text
    assert r"\beta" in _check("on a box")[0].to_latex()
    assert "covering" in _check("on a box")[0].to_latex()
    assert "diag" in check("definiteness", [[2, 1], [1, 2]]).to_latex()
    assert "theta" in _check("golden")[0].to_latex()
    assert len(check("definiteness", np.diag(np.arange(1.0, 13.0)) / 3).to_latex()) < 4000


def test_arguments_as_text(tmp_path):
    read = claim("definiteness").from_text
    assert check("definiteness", *read('[[2, 1], [1, "1/2"]]')).status == "proved"
    path = tmp_path / "matrix.json"
    path.write_text(
        '{"matrix": [["a", 0.1], [0.1, 1]], "box": {"a": [0.02, 2]}, "kind": "positive-definite"}'
    )
    assert check("definiteness", *read(str(path))).status == "proved"
    # 0.1 is the decimal 1/10 in text: 0.01·1 − 0.1² = 0 exactly
    assert check("definiteness", *read('{"matrix": [[0.01, 0.1], [0.1, 1]]}')).status == "proved"
    for text, word in (("{", "JSON"), ("nowhere.json", "no file"), ('{"rows": []}', "keys")):
        with pytest.raises(InputError, match=word):
            read(text)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (([[1, 2]],), "square"),
        ((3,), "list of rows"),
        (([[float("nan")]],), r"matrix\[0\]\[0\].*finite"),
        (([["beta"]],), "beta"),
        (([[BETA]],), "box"),
        (([[1]], "definite"), "kind = 'definite'"),
        (([[1]], PD, None, "upper"), "form = 'upper'"),
        (([["y"]], PD, {"x": (0, 1)}), "y"),
        (([["x"]], PD, {"x": (1, 0)}), "empty"),
        (([["x"]], PD, {"x": 1}), "two ends"),
        (([["x"]], "indefinite", {"x": (0, 1)}), "on a box"),
        (([[E]], PD, {"x": (0, 1)}), "text"),
    ],
)
def test_bad_input_is_refused(arguments, word):
    with pytest.raises(InputError, match=word):
        check("definiteness", *arguments)
