"""Counterexamples in closed form: what is accepted, and that altered ones are refused with the reason."""

import copy
import itertools
import random
import time
from fractions import Fraction

import pytest

from symflow.certify import replay
from symflow.certify.rational import (
    FIELD,
    Evaluator,
    function_of,
    is_semidefinite,
    matrix_of,
    polynomial,
    rational,
    roots_in,
)
from symflow.certify.terms import Rejected
from symflow.claims import check
from symflow.errors import CertificateError, InputError

NAMES = ("low-rank-limit", "blow-up-criterion", "l2-no-blow-up-any-k")


@pytest.fixture(scope="module")
def found():
    return {name: check(f"CACP25/{name}") for name in NAMES}


@pytest.fixture
def records(found):
    return {name: copy.deepcopy(verdict.certificate.to_record()) for name, verdict in found.items()}


def refusal(record):
    """Return why a record is not accepted."""
    try:
        outcome = replay(record)
    except CertificateError as error:
        return str(error)
    assert not outcome.accepted
    return outcome.reason


@pytest.mark.parametrize("name", NAMES)
def test_statements_that_are_false_as_quoted_are_refuted(found, name):
    verdict = found[name]
    assert verdict.status == "refuted"
    assert not verdict
    assert verdict.replay()
    assert verdict.witness["Sigma(0)"] in str(verdict.to_latex()).replace("{]}", "]").replace("{[}", "[")


def test_the_end_of_existence_is_exact(found):
    assert found["low-rank-limit"].witness["blow-up time"] == "1/2"
    assert found["l2-no-blow-up-any-k"].witness["blow-up time"] == "3"
    assert found["blow-up-criterion"].witness["existence"] == "all t >= 0"


def hand_made(records, name, **proof):
    return records[name] | {"proof": records[name]["proof"] | proof}


def test_the_examples_of_the_literature_are_accepted(records):
    d2 = {"name": "t", "rhs": "1", "start": "0", "end": "1/2"}
    radial = hand_made(
        records,
        "low-rank-limit",
        parameters={"V": [["1", "0"], ["0", "2"]], "A": [["-1", "-4"], ["1", "-1"]]},
        solution=[["1/(1 - 2*t)", "-1/(1 - 2*t)"], ["-1/(1 - 2*t)", "2/(1 - 2*t)"]],
        clock=d2,
    )
    assert replay(radial).witness["blow-up time"] == "1/2"
    tanh = hand_made(
        records,
        "blow-up-criterion",
        parameters={"V": [["2", "0"], ["0", "1"]], "A": [["0", "1"], ["-1", "0"]]},
        solution=[["1", "u"], ["u", "1"]],
        clock={"name": "u", "rhs": "1 - u**2", "start": "0", "end": "1"},
    )
    assert replay(tanh).accepted
    slow = hand_made(
        records,
        "l2-no-blow-up-any-k",
        clock={"name": "u", "rhs": "1/3", "start": "0", "end": "1"},
        solution=[["1", "1/2/(1 - u)"], ["1/2/(1 - u)", "1/(1 - u)**2"]],
    )
    assert replay(slow).witness["blow-up time"] == "3"


def test_another_clock_is_not_called_t(records):
    for rhs, start in (("1/3", "0"), ("1", "1"), ("1 - t**2", "0")):
        clock = {"name": "t", "rhs": rhs, "start": start, "end": "2"}
        assert "only time itself" in refusal(hand_made(records, "low-rank-limit", clock=clock))


# --- altered proofs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("entry", ["2", "2*u", "t", "1/(3 - 3*t)"])
def test_another_curve_is_refused(records, name, entry):
    rows = records[name]["proof"]["solution"]
    for i, j in ((0, 0), (0, 1)):
        changed = copy.deepcopy(rows)
        changed[i][j] = entry
        assert refusal(hand_made(records, name, solution=changed))


@pytest.mark.parametrize("name", NAMES)
def test_another_parameter_is_refused(records, name):
    for key, rows in records[name]["proof"]["parameters"].items():
        for i, row in enumerate(rows):
            for j, entry in enumerate(row):
                changed = copy.deepcopy(records[name])
                changed["proof"]["parameters"][key][i][j] = str(Fraction(entry) + 1)
                outcome = replay(changed)
                # in a direction that the motion does not see the curve stays a solution, and a counterexample
                assert not outcome.accepted or (name, key) == ("l2-no-blow-up-any-k", "V")


def test_a_start_outside_the_assumption_is_refused(records):
    V, A = [["1", "0"], ["0", "1"]], [["1", "0"], ["0", "1"]]
    clock = {"name": "t", "rhs": "1", "start": "0", "end": "1/2"}
    rows = [["1/(1 - 2*t)", "0"], ["0", "1/(1 - 2*t)"]]
    changed = hand_made(records, "low-rank-limit", parameters={"V": V, "A": A}, solution=rows, clock=clock)
    assert "V*A + A.T*V.T ⪯ 0 does not hold" in refusal(changed)
    changed["proof"]["solution"] = [["1/(1 - 2*t)", "0"], ["0", "0"]]
    assert "Sigma ≻ 0 does not hold" in refusal(changed)
    changed["proof"]["solution"] = [["-1/(1 - 2*t)", "0"], ["0", "0"]]
    assert "not a covariance" in refusal(changed)


def test_a_solution_that_exists_for_all_times_contradicts_no_existence_claim(records):
    zero = [["0", "0"], ["0", "0"]]
    still = {"parameters": {"V": zero, "A": zero}, "solution": [["1", "0"], ["0", "1"]]}
    forever = {"name": "t", "rhs": "1", "start": "0", "end": None}
    assert "never ends" in refusal(hand_made(records, "low-rank-limit", **still, clock=forever))
    stopped = forever | {"end": "1"}
    assert "no entry becomes infinite" in refusal(
        hand_made(records, "low-rank-limit", **still, clock=stopped)
    )


def test_a_blow_up_does_not_refute_that_there_is_one(records):
    radial = records["low-rank-limit"]["proof"]
    V, A = [["1", "0"], ["0", "1"]], [["1", "0"], ["0", "1"]]
    proof = radial | {
        "parameters": {"V": V, "A": A},
        "solution": [["1/(1 - 2*t)", "0"], ["0", "1/(1 - 2*t)"]],
        "clock": {"name": "t", "rhs": "1", "start": "0", "end": "1/2"},
    }
    assert "ends in finite time" in refusal(records["blow-up-criterion"] | {"proof": proof})
    # beyond the pole the formula still solves the equation, but the solution does not get there
    proof["clock"] = {"name": "t", "rhs": "1", "start": "0", "end": None}
    assert "pole before the end" in refusal(records["blow-up-criterion"] | {"proof": proof})
    # a clock that slows down before the pole is another equation
    proof["clock"] = {"name": "u", "rhs": "1 - 2*u", "start": "0", "end": "1/2"}
    proof["solution"] = [["1/(1 - 2*u)", "0"], ["0", "1/(1 - 2*u)"]]
    assert "does not solve" in refusal(records["blow-up-criterion"] | {"proof": proof})


@pytest.mark.parametrize(
    "clock",
    [
        {"name": "u", "rhs": "u**2 - 1", "start": "0", "end": "1"},
        {"name": "u", "rhs": "1 - u**2", "start": "0", "end": "2"},
        {"name": "u", "rhs": "1 - u**2", "start": "1", "end": "0"},
        {"name": "u", "rhs": "1 - u**2", "start": "-1", "end": "1"},
        {"name": "u", "rhs": "1/(1 + u**2)", "start": "0", "end": "1"},
        {"name": "u", "rhs": "exp(u)", "start": "0", "end": "1"},
        {"name": "Sigma", "rhs": "1", "start": "0", "end": "1"},
        {"name": "V", "rhs": "1", "start": "0", "end": "1"},
        {"name": "u", "rhs": "1 - u**2", "start": "0.5", "end": "1"},
        {"name": "u", "rhs": "1 - u**2", "start": "0"},
        None,
    ],
)
def test_a_clock_runs_forward_and_is_a_polynomial(records, clock):
    assert refusal(hand_made(records, "blow-up-criterion", clock=clock))


def test_an_inverse_of_the_equation_must_not_vanish_on_the_way(records):
    # Σ = −1/2 is a constant solution of the l2 equation with V = 0 only as long as I + 2ΣKᵀK is regular
    proof = {
        "sizes": {"d": 1, "k": 1},
        "parameters": {"V": [["0"]], "K": [["1"]], "Q": [["1"]]},
        "solution": [["-1/2"]],
        "clock": {"name": "t", "rhs": "1", "start": "0", "end": "1"},
    }
    assert "not a covariance" in refusal(hand_made(records, "l2-no-blow-up-any-k", **proof))
    value = Evaluator({"Sigma": function_matrix([["u - 1"]])}, {"d": 1})
    value("inv(eye(d) + 2*Sigma)")
    assert [str(divisor) for divisor in value.divisors] == ["2*u - 1"]


def function_matrix(rows):
    shape = (len(rows), len(rows[0]))
    return matrix_of(rows, shape, lambda text: function_of(text, "u"), "Sigma")


# --- statements, status and scope --------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_counterexample_proves_nothing_and_says_what_it_denies(records, name):
    record = records[name]
    assert "cannot show that a claim is proved" in refusal(record | {"status": "proved"})
    assert "the scope is" in refusal(record | {"scope": record["scope"].replace("every size", "some size")})
    assert "states" in refusal(record | {"assumes": []})
    for key, value in record["statement"].items():
        changed = record["statement"] | {key: [] if value != [] else None}
        assert "not that of" in refusal(record | {"statement": changed})
    for other in NAMES:
        if other != name:
            assert "not that of" in refusal(record | {"claim": f"CACP25/{other}"})
    assert "not a statement that a solution can contradict" in refusal(
        record | {"claim": "CACP25/gaussian-softmax"}
    )
    assert refusal(record | {"kind": "identity-chain", "status": "proved"})
    assert refusal(record | {"kind": "cases", "status": "proved"})


def places(node, path=()):
    yield path
    for key, part in (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    ):
        yield from places(part, (*path, key))


@pytest.mark.parametrize("name", NAMES)
def test_a_part_of_a_wrong_type_is_a_refusal_and_never_another_error(records, name):
    record = records[name]
    for path in places(record["proof"]):
        for junk in (None, True, 1.5, [], {}, [[]], "x", "1/0", "1e400", "9" * 70, 7):
            if not path:
                continue
            changed = copy.deepcopy(record)
            node = changed["proof"]
            for key in path[:-1]:
                node = node[key]
            if node[path[-1]] == junk:
                continue
            node[path[-1]] = junk
            try:
                accepted = replay(changed).accepted
            except InputError:
                continue
            # time may be called x, and the blow-up of the clock without an end is no other claim
            assert not accepted, (path, junk)


@pytest.mark.parametrize(
    "text",
    [
        "(((1 + u)**100)**100)**100",
        "1/(1 + u)**61",
        "*".join(["10**100"] * 20),
        "u" * 600,
        "1/(u - u)",
    ],
)
def test_functions_that_are_too_large_or_undefined_are_refused(text):
    with pytest.raises((Rejected, InputError)):
        function_of(text, "u")


def test_signs_and_roots_are_exact():
    def numbers(rows):
        return matrix_of([[str(x) for x in row] for row in rows], (len(rows), len(rows)), rational, "N")

    assert is_semidefinite(numbers([[1, 1], [1, 1]]))
    assert not is_semidefinite(numbers([[1, 1], [1, 1]]), strictly=True)
    assert is_semidefinite(numbers([[2, 1], [1, 1]]), strictly=True)
    tiny = Fraction(1, 10**30)
    assert not is_semidefinite(numbers([[1, 1], [1, 1 - tiny]]))
    with pytest.raises(Rejected, match="symmetric"):
        is_semidefinite(numbers([[1, 1], [0, 1]]))
    poly = polynomial(function_of("(u - 1)*(u - 2)**2", "u"))
    assert roots_in(poly, FIELD.domain(0), FIELD.domain(1)) == 1
    assert roots_in(poly, FIELD.domain(0), None) == 2


def test_a_wrong_curve_of_large_functions_is_refused_at_once(records):
    rng = random.Random(0)

    def polynomial_text():
        return "+".join(f"{rng.randrange(1, 10**12)}*u**{power}" for power in range(5))

    size = 4
    rows = [[""] * size for _ in range(size)]
    for i, j in itertools.combinations_with_replacement(range(size), 2):
        large = "+10**30" if i == j else ""
        rows[i][j] = rows[j][i] = f"({polynomial_text()})/({polynomial_text()}){large}"
    square = [[str(rng.randrange(1, 99)) for _ in range(size)] for _ in range(size)]
    forged = hand_made(
        records,
        "l2-no-blow-up-any-k",
        sizes={"d": size, "k": size},
        parameters=dict.fromkeys("VKQ", square),
        clock={"name": "u", "rhs": "1", "start": "0", "end": "1"},
        solution=rows,
    )
    start = time.process_time()
    assert "does not solve" in refusal(forged)
    assert time.process_time() - start < 2.0
