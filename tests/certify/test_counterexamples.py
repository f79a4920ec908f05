"""Counterexamples to Gaussian preservation and escaping tokens: replays, and forgeries that are refused."""

import copy
import random
import time

import pytest

from symflow.certify import replay
from symflow.certify.taylor.velocity import exact_value
from symflow.certify.terms import Rejected
from symflow.claims import check
from symflow.errors import CertificateError, InputError
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked

MODELS = {
    "sigmoid": Sigmoid(),
    "unnormalised": Unnormalised(),
    "masked": Masked(Softmax()),
    "ball": Attention("dot(x, y) - dot(y, y)**2"),
    "difference": Attention("Max(dot(x, A*y), 0)", normalise="none"),
}


@pytest.fixture(scope="module")
def verdicts():
    return {name: check("gaussian-preservation", model) for name, model in MODELS.items()}


@pytest.fixture
def records(verdicts):
    return {name: copy.deepcopy(verdict.certificate.to_record()) for name, verdict in verdicts.items()}


def refusal(record):
    """Return why a record is not accepted."""
    try:
        outcome = replay(record)
    except CertificateError as error:
        return str(error)
    assert not outcome.accepted
    return outcome.reason


@pytest.mark.parametrize("name", MODELS)
def test_a_refutation_replays_and_tells_its_witness(verdicts, name):
    verdict = verdicts[name]
    assert verdict.status == "refuted"
    assert bool(verdict) is False
    assert verdict.replay()
    assert verdict.assumes == ("affine-velocity",)
    outcome = replay(verdict.certificate)
    assert outcome.witness == verdict.witness
    assert [line.id for line in outcome.lines] == ["domination", "value"]
    assert verdict.to_latex()
    assert verdict.from_json(verdict.to_json()).replay()


def test_what_is_computed_exactly_is_stored_exactly(records):
    assert records["sigmoid"]["proof"]["value"] == "-3/8"
    assert records["masked"]["proof"]["value"] == "-1/8"
    assert records["ball"]["proof"]["arithmetic"] == records["difference"]["proof"]["arithmetic"] == "ball"


# --- proof objects that say something else -----------------------------------------------------------------

PROOFS = {
    "another value": ({"value": "-3/8 + 1/1000000000000000000000000"}, "is not"),
    "the other sign": ({"value": "3/8"}, "is not"),
    "another order": ({"order": 2, "value": "0"}, "is zero"),
    "order two": ({"order": 2}, "is zero"),
    "order four": ({"order": 4, "value": "-3/8"}, "is zero"),
    "order five": ({"order": 5, "value": "-3/8"}, "is not"),
    "a derivative that closed models have too": ({"order": 1}, "from 2 to"),
    "an order that is no number": ({"order": True}, "from 2 to"),
    "a huge order": ({"order": 10**9}, "from 2 to"),
    "another point": ({"point": "1"}, "not one term"),
    "another parameter value": ({"parameters": {"A": "1", "V": "2"}}, "is not"),
    "a parameter too few": ({"parameters": {"A": "1"}}, "'parameters' must give"),
    "a parameter too many": ({"parameters": {"A": "1", "V": "1", "B": "1"}}, "'parameters' must give"),
    "vanishing parameters": ({"parameters": {"A": "0", "V": "1"}}, "is zero"),
    "another law": ({"laws": [["0", "2"]]}, "is not"),
    "a Dirac": ({"laws": [["0", "0"]]}, "variance must be positive"),
    "a negative variance": ({"laws": [["0", "-1"]]}, "variance must be positive"),
    "two laws without a mask": ({"laws": [["0", "1"], ["1", "1"]], "weights": ["1/2", "1/2"]}, "one entry"),
    "weights": ({"weights": ["1/2"]}, "add up to one"),
    "a law of three numbers": ({"laws": [["0", "1", "1"]]}, "pair"),
    "no law": ({"laws": []}, "one entry"),
    "a number with a thousand digits": ({"point": "1" * 1000}, "not a rational number"),
    "a decimal": ({"point": 0.0}, "not a rational number"),
    "division by zero": ({"point": "1/0"}, "not a rational number"),
    "an unknown arithmetic": ({"arithmetic": "float"}, "'exact' or 'ball'"),
    "a difference in exact arithmetic": ({"order": 2, "step": "1"}, "goes with"),
    "a value that is no text": ({"value": -0.375}, "an exact value is text"),
    "a value with a name": ({"value": "d - 11/8"}, "contains the name d"),
    "a long value": ({"value": "-3/8" + " + 0" * 1000}, "too long"),
    "a large power": ({"value": "(1 + sqrt(2))**100 + exp(1)**100"}, "is not"),
    "an extra key": ({"extra": 1}, "has the keys"),
}


@pytest.mark.parametrize("name", PROOFS)
def test_a_forged_proof_is_refused(records, name):
    change, reason = PROOFS[name]
    record = records["sigmoid"]
    record["proof"] |= change
    assert reason in refusal(record)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"midpoint": "1", "radius": "0"}, "is not within"),
        ({"midpoint": "-1/20", "radius": "1/1000000"}, "is not within"),
        ({"midpoint": "0", "radius": "1"}, "contains zero"),
        ({"midpoint": "-1/20", "radius": "-1"}, "contains zero"),
        ({"midpoint": "-1/20"}, "has the keys"),
        ("-1/20", "has the keys"),
    ],
)
def test_a_forged_ball_is_refused(records, change, reason):
    record = records["ball"]
    record["proof"]["value"] = change
    assert reason in refusal(record)


def test_a_wider_ball_is_as_true(records):
    record = records["ball"]
    record["proof"]["value"] = {"midpoint": "-1/20", "radius": "1/100"}
    assert replay(record).accepted


def test_a_difference_of_a_smooth_kernel_is_as_good_as_a_derivative(records):
    record = records["sigmoid"]
    record["proof"] |= {"laws": [["1", "1"]], "arithmetic": "ball", "order": 2, "step": "1"}
    record["proof"]["value"] = {"midpoint": "1/10", "radius": "1/1000000"}
    assert "is not within" in refusal(record)


@pytest.mark.parametrize("step", ["0", "-1"])
def test_a_step_is_positive(records, step):
    records["difference"]["proof"]["step"] = step
    assert "step must be positive" in refusal(records["difference"])


def test_a_corner_has_no_derivatives(records):
    record = records["difference"]
    record["proof"]["step"] = None
    assert "no bound of its derivatives" in refusal(record)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (["1/2", "1/3"], "add up to one"),
        (["3/2", "-1/2"], "must be positive"),
        (["1"], "one for each law"),
        (["1/3", "2/3"], "is not"),
    ],
)
def test_forged_weights_of_positions_are_refused(records, weights, reason):
    records["masked"]["proof"]["weights"] = weights
    reasons = refusal(records["masked"])
    assert reason in reasons or "one term" in reasons


# --- statements that say something else --------------------------------------------------------------------


def with_head(record, **change):
    record["statement"]["heads"][0] |= change
    return record


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kernel": "exp(dot(x, A.T*y))", "normalise": "softmax"}, "is zero"),
        ({"kernel": "dot(x, A.T*y)"}, "is zero"),
        ({"kernel": "1/(1 + exp(-2*dot(x, A.T*y)))"}, "is not"),
        ({"kernel": "exp(dot(x, y)**2*dot(y, y))"}, "infinity"),
        ({"kernel": "exp(exp(dot(x, y)))"}, "grows too fast"),
        ({"kernel": "log(1 + dot(x, x))"}, "log"),
        ({"kernel": "1/dot(x, y)"}, "lower bound"),
        ({"kernel": "unknown*dot(x, y)"}, "unknown"),
        ({"kernel": "A"}, "must be a scalar"),
        ({"value": "dot(y, y)"}, "must be a vector"),
        ({"value": "dot(x, y)*y"}, "must not contain x"),
        ({"prefactor": "dot(y, y)"}, "must not contain y"),
        ({"prefactor": "-1"}, "is not"),
        ({"normalise": "sinkhorn"}, "give 'softmax' or 'none'"),
        ({"members": ["Z"]}, "'members'"),
        ({"extra": 1}, "exactly the keys"),
        ({"kernel": "x" * 3000}, "at most"),
        # the weight is constant: tr(eye(2)) is two, and not the trace of a matrix of size one
        ({"kernel": "1 + (tr(eye(2)) - 2)*exp(dot(x, A*y))"}, "the size 2 is not one"),
        ({"prefactor": "norm2(eye(2))/2"}, "the size 2 is not one"),
        ({"prefactor": "tr(zeros(3, 3)) + 1"}, "the size 3 is not one"),
        ({"prefactor": "Max(1, 2)/2"}, "Max has no exact series"),
        ({"prefactor": "tr(sum(A, d, A))"}, "sum has no exact series"),
        ({"prefactor": "tr(sqrtm(A*A.T))"}, "sqrtm has no exact series"),
    ],
)
def test_a_forged_head_is_refused(records, change, reason):
    assert reason in refusal(with_head(records["sigmoid"], **change))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"masked": True}, "the scope is"),
        ({"masked": 1}, "true or false"),
        ({"heads": []}, "list of at most"),
        ({"query": "A"}, "distinct names"),
        ({"query": "y"}, "distinct names"),
        ({"symbols": {"A": ["3", "3"], "V": ["d", "d"]}}, "names of sizes"),
        ({"signs": {"A": "positive"}}, "for a scalar"),
        ({"output": "y"}, "must not contain y"),
        ({"output": "dot(x, x)*x"}, "is not"),
        ({"diffusion": "dot(x, x)"}, "must not contain x"),
        ({"more": ""}, "exactly the keys"),
    ],
)
def test_a_forged_statement_is_refused(records, change, reason):
    records["sigmoid"]["statement"] |= change
    assert reason in refusal(records["sigmoid"])


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("status", "proved", "is refuted"),
        ("scope", "every model", "the scope is"),
        ("assumes", [], "assumes affine-velocity"),
        ("claim", "rank-invariance", "says nothing about"),
        ("claim", "CACP25/gaussian-softmax", "says nothing about"),
        ("claim", "CACP25/gaussian-sigmoid", "is proved"),
        ("kind", "identity-chain", ""),
        ("kind", "escape", "a proof cannot show"),
    ],
)
def test_a_forged_frame_is_refused(records, key, value, reason):
    assert reason in refusal(records["sigmoid"] | {key: value})


def test_another_model_does_not_show_a_claim_of_a_paper(records):
    record = check("CACP25/gaussian-sigmoid").certificate.to_record()
    generic = {"claim": "gaussian-preservation", "status": "refuted"}
    assert replay(record | generic).accepted
    other = check("gaussian-preservation", Masked(Softmax())).certificate.to_record()
    record |= {"statement": other["statement"], "proof": other["proof"], "scope": other["scope"]}
    assert "is not that of CACP25/gaussian-sigmoid" in refusal(record)
    with_head(record := check("CACP25/gaussian-masked").certificate.to_record(), prefactor="2")
    assert "is not that of CACP25/gaussian-masked" in refusal(record)


# --- escaping tokens ---------------------------------------------------------------------------------------


@pytest.fixture
def escape():
    return check("CACP25/linear-local-only").certificate.to_record()


@pytest.mark.parametrize(
    ("part", "change", "reason"),
    [
        ("linear", {"cubic": "2"}, "not shown to be at least"),
        ("unnormalised", {"cubic": "3/2"}, "not shown to be at least"),
        ("linear", {"cubic": "0"}, "not shown to be at least"),
        ("linear", {"cubic": "-1"}, "not shown to be at least"),
        ("linear", {"more": "1"}, "has the keys"),
        ("linear", {"parameters": {}}, "'parameters' must give"),
    ],
)
def test_a_forged_escape_is_refused(escape, part, change, reason):
    escape["proof"][part] |= change
    assert reason in refusal(escape)


def test_other_parameters_turn_the_token_around(escape):
    escape["proof"]["linear"]["parameters"]["V"] = "-1"
    assert "not shown to be positive" in refusal(escape)
    escape["proof"]["linear"]["parameters"] |= {"V": "1", "temperature": "0"}
    assert "is not positive" in refusal(escape)


def test_an_escape_has_all_its_parts(escape):
    for part in ("statement", "proof"):
        lost = copy.deepcopy(escape)
        del lost[part]["linear"]
        assert "parts" in refusal(lost)
    swapped = escape["statement"] | {"linear": escape["statement"]["unnormalised"]}
    assert "is not that of" in refusal(escape | {"statement": swapped})


def test_an_escape_bounds_the_time(escape):
    outcome = replay(escape)
    assert "x' = x**3" in outcome.witness["linear"]
    assert "x' >= x**3" in outcome.witness["unnormalised"]
    assert all("1/(2*x(0)**2)" in text for text in outcome.witness.values())


# --- types, sizes and numbers ------------------------------------------------------------------------------

JUNK = [None, True, 1.0, float("nan"), [], {}, [[]], ["0"], "1", {"x": ["d"]}]


def places(node, path=()):
    """Yield the path of every part of a record."""
    yield path
    for key, part in (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    ):
        yield from places(part, (*path, key))


@pytest.mark.parametrize("name", ["sigmoid", "masked"])
def test_a_part_of_a_wrong_type_is_a_refusal_and_never_another_error(records, name):
    rng, record, accepted = random.Random(5), records[name], set()
    for path in places(record):
        for junk in rng.sample(JUNK, 5) if path else ():
            changed = copy.deepcopy(record)
            node = changed
            for key in path[:-1]:
                node = node[key]
            node[path[-1]] = copy.deepcopy(junk)
            try:
                if changed != record and replay(changed).accepted:
                    accepted.add((path[0], path[-1]))
            except InputError:
                continue
    # what is accepted is true: a parameter is a number, noise is one, versions are for information only
    true = {("statement", "A"), ("statement", "V"), ("statement", "members"), ("statement", "diffusion")}
    assert {place for place in accepted if place[0] != "versions"} <= true


LARGE = {
    "a tower of powers": "exp(((dot(x, A*y) + 1)**100)**100)",
    "a sum to a power": "(1 + dot(x, A*y) + dot(x, x) + exp(dot(x, y)))**60",
    "products of exponentials": "*".join(["(1 + exp(dot(x, y)) + exp(2*dot(x, y)))"] * 30),
    "nested inverses": "1/(1 + exp(1/(1 + exp(1/(1 + exp(dot(x, y)))))))",
    "a huge number": f"{'9' * 300}*dot(x, y)",
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("arithmetic", ["exact", "ball"])
def test_a_text_that_stands_for_too_much_is_refused_soon(records, name, arithmetic):
    record = with_head(records["sigmoid"], kernel=LARGE[name])
    record["proof"] |= {"arithmetic": arithmetic, "order": 8}
    if arithmetic == "ball":
        record["proof"]["value"] = {"midpoint": "1", "radius": "1/2"}
    start = time.process_time()
    assert refusal(record)
    assert time.process_time() - start < 10


def test_numbers_are_compared_exactly():
    assert exact_value("sqrt(8)*exp(1/2)/2") == exact_value("sqrt(2)*exp(1/2)")
    assert exact_value("sqrt(2)*sqrt(3)") == exact_value("sqrt(6)")
    assert exact_value("1/sqrt(2)") == exact_value("sqrt(2)/2")
    assert exact_value("(1 + sqrt(2))**2 - 3 - 2*sqrt(2)") == {}
    assert exact_value("sqrt(2)") != exact_value("sqrt(3)")
    for text in ("sqrt(-1)", "log(2)", "1/(1 + sqrt(2))", "exp(sqrt(2))", "sqrt(123456789123456789)", "V"):
        with pytest.raises(Rejected):
            exact_value(text)


@pytest.mark.parametrize(
    "text", ["tr(eye(3))", "eye(1)", "2.T", "dot(1, 2)", "Max(1, 2)", "sum(1, 2, 3)", "inv(2)"]
)
def test_a_value_is_written_with_numbers_roots_and_exponentials(text):
    with pytest.raises(Rejected, match="square roots and exponentials"):
        exact_value(text)
