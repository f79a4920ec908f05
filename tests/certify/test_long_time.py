"""Theorems about the long time: what is proved, that it is true of numbers, and that altered proofs fail."""

import copy
import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from symflow.algebra.grammar import parse
from symflow.algebra.words import identical
from symflow.certify import LEMMAS, replay
from symflow.certify.propositions import proposition
from symflow.certify.propositions.gaussian import L2, SOFTMAX
from symflow.certify.terms import Terms
from symflow.claims import check
from symflow.errors import CertificateError, InputError

NAMES = (
    "bounded-positive",
    "limit-zero-positive",
    "blow-up-positive",
    "bounded-adjoint",
    "blow-up-time",
    "low-rank-limit-commuting",
    "l2-no-blow-up",
    "l2-same-limit",
)
CHAINS = NAMES[:-1]
LONGEST = ("limit-zero-positive", "blow-up-time", "l2-no-blow-up")  # they use every rule and most lemmas


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
def test_the_theorems_are_proved(found, name):
    assert found[name].status == "proved", found[name].reason
    assert found[name].replay()
    assert found[name].scope.count("every size")
    assert set(found[name].assumes) <= set(LEMMAS)


# --- the systems are those of the closure theorems ---------------------------------------------------------


def test_the_systems_are_those_that_the_closure_theorems_prove():
    symbols = {
        "V": ("d", "d"),
        "Q": ("k", "d"),
        "K": ("k", "d"),
        "beta": (),
        "temperature": (),
        "alpha": ("d",),
    }
    terms = Terms({**symbols, "Sigma": ("d", "d")}, {"temperature": "positive"}, symmetric=("Sigma",))
    for claim, quoted, texts in (
        ("CACP25/bounded-positive", SOFTMAX, {"A": "((beta/temperature)*K.T*Q)"}),
        ("CACP25/l2-no-blow-up", L2, {}),
    ):
        stated = proposition(claim).conclusion
        for field in ("mean_rhs", "cov_rhs"):
            text = stated[field]
            if texts:
                text = text.replace("alpha", "a_").replace("A", texts["A"]).replace("a_", "alpha")
            theirs = quoted[field].replace("beta/temperature", "1") if not texts else quoted[field]
            assert terms.same(terms.read(text), terms.read(theirs)), (claim, field)


# --- true of numbers ---------------------------------------------------------------------------------------


def flow(value, scores, start, end, steps=4000):
    """Integrate the softmax covariance by Runge and Kutta's rule, independent of the package."""

    def slope(sigma):
        half = value @ sigma @ scores @ sigma
        return half + half.T

    sigma, dt = start.copy(), end / steps
    for _ in range(steps):
        k1 = slope(sigma)
        k2 = slope(sigma + dt / 2 * k1)
        k3 = slope(sigma + dt / 2 * k2)
        k4 = slope(sigma + dt * k3)
        sigma = sigma + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return sigma


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def definite(rng, d):
    root = rng.standard_normal((d, d))
    return root @ root.T + 0.3 * np.eye(d)


def test_decay_and_blow_up_bounds_hold_for_numbers(rng):
    for d, sign in itertools.product((2, 3), (1, -1)):
        value, start = definite(rng, d), definite(rng, d)
        skew = rng.standard_normal((d, d))
        scores = sign * definite(rng, d) / 2 + skew - skew.T
        strength = np.abs(np.linalg.eigvalsh(scores + scores.T)).min()
        inverse = np.linalg.inv(value)
        rate = strength / np.trace(inverse @ inverse)
        f0 = np.trace(inverse @ start)
        end = 0.02 / (rate * f0) if sign > 0 else 1.0
        f = np.trace(inverse @ flow(value, scores, start, end))
        if sign > 0:
            assert f >= f0 / (1 - rate * f0 * end)
        else:
            assert f <= f0 / (1 + rate * f0 * end)


def test_the_adjoint_bound_holds_where_the_strength_has_both_signs(rng):
    value, weight, start = rng.standard_normal((3, 3)), definite(rng, 3), definite(rng, 3)
    scores = -value.T @ weight
    strength = np.linalg.eigvalsh(value @ scores + scores.T @ value.T)
    values = [np.trace(weight @ flow(value, scores, start, end)) for end in (0.01, 0.1, 0.5)]
    assert np.all(np.diff([np.trace(weight @ start), *values]) < 0)
    value[:] = [[1, 3, 0], [0, 1, 0], [0, 0, 1]]
    weight[:] = np.diag([1, 9, 1])
    scores = -value.T @ weight
    strength = np.linalg.eigvalsh(value @ scores + scores.T @ value.T)
    assert strength[0] < 0 < strength[-1]


def test_the_closed_form_holds_for_numbers(rng):
    d = 3
    root, scores = rng.standard_normal((d, 2)), rng.standard_normal((d, d))
    kernel = root.T @ (scores + scores.T) @ root
    end = 0.5 / max(np.linalg.eigvalsh(kernel)[-1], 1.0)
    exact = root @ np.linalg.inv(np.eye(2) - end * kernel) @ root.T
    assert np.allclose(flow(np.eye(d), scores, root @ root.T, end), exact, rtol=1e-9)


# --- forgeries ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHAINS)
def test_every_line_is_needed_where_it_is_cited(records, name):
    record = records[name]
    cited = {premise for entry in record["proof"]["lines"] for premise in entry["premises"]}
    lines = record["proof"]["lines"]
    for index in random.Random(2).sample(range(len(lines) - 1), 4):
        if lines[index]["id"] in cited:
            changed = copy.deepcopy(record)
            del changed["proof"]["lines"][index]
            assert refusal(changed)


@pytest.mark.parametrize("name", LONGEST)
def test_another_premise_is_refused(records, name):
    """A lemma fails when one of its premises is exchanged for a line that says something else."""
    rng, record = random.Random(5), records[name]
    lines = record["proof"]["lines"]
    terms = proposition(f"CACP25/{name}").goal(record["statement"], {"factor": "F", "noise": "z"}).terms

    def says_the_same(one, other):
        mine, theirs = (conclusions[key] for key in (one, other))
        return mine["relation"] == theirs["relation"] and all(
            terms.same(terms.read(mine[field]), terms.read(theirs[field]))
            for field in mine
            if field != "relation"
        )

    conclusions = {entry["id"]: entry["conclusion"] for entry in lines}
    for index, entry in enumerate(lines):
        for position, premise in enumerate(entry["premises"] if entry["rule"] in LEMMAS else ()):
            others = [line["id"] for line in lines[:index] if line["id"] != premise]
            for other in rng.sample(others, min(1, len(others))):
                if premise in conclusions and says_the_same(premise, other):
                    continue
                changed = copy.deepcopy(record)
                changed["proof"]["lines"][index]["premises"][position] = other
                assert not replay(changed).accepted, (entry["id"], position, other)


@pytest.mark.parametrize("name", NAMES)
def test_statement_and_scope_are_those_of_the_claim(records, name):
    record = records[name]
    parts = record["statement"] if name == "l2-same-limit" else {"": record["statement"]}
    for part, stated in parts.items():
        for key in stated:
            changed = copy.deepcopy(record)
            target = changed["statement"][part] if part else changed["statement"]
            target[key] = None
            assert "not that of" in refusal(changed)
    assert "the scope is" in refusal(record | {"scope": record["scope"].replace("constant", "continuous")})
    assert "cannot show" in refusal(record | {"status": "refuted"})
    assert refusal(record | {"assumes": record["assumes"][1:]})
    for other in NAMES:
        if other != name:
            assert refusal(record | {"claim": f"CACP25/{other}"})


def with_hypothesis(record, name, **changes):
    changed = copy.deepcopy(record)
    changed["statement"]["hypotheses"][name] |= changes
    return changed


def test_a_stronger_assumption_is_another_claim(records):
    record = records["bounded-positive"]
    assert "not that of" in refusal(with_hypothesis(record, "scores", matrix="A + A.T + V"))
    assert "not that of" in refusal(with_hypothesis(record, "value", matrix="eye(d)"))
    extra = copy.deepcopy(record)
    extra["statement"]["hypotheses"]["zero"] = {"relation": "equal", "left": "A", "right": "V"}
    assert "not that of" in refusal(extra)


@pytest.mark.parametrize(
    ("name", "rule", "field", "text"),
    [
        ("bounded-positive", "along-flow", "derivative", "tr(Sigma*A*Sigma)"),
        ("bounded-positive", "along-flow", "functional", "tr(inv(V)*Sigma*Sigma)"),
        ("bounded-positive", "trace-lyapunov", "functional", "tr(V*Sigma)"),
        ("limit-zero-positive", "riccati-decay", "strength", "2*a"),
        ("limit-zero-positive", "riccati-decay", "scale", "tr(inv(V))"),
        ("limit-zero-positive", "cauchy-schwarz", "scalar", "tr(Sigma*Sigma)"),
        ("blow-up-positive", "riccati-escape", "strength", "2*a"),
        ("blow-up-time", "symmetric-resolvent", "kernel", "2*R.T*(V*A + A.T*V.T)*R"),
        ("blow-up-time", "symmetric-resolvent", "root", "2*R"),
        ("blow-up-time", "in-time", "derivative_matrix", "R*R.T"),
        ("blow-up-time", "solves", "curve", "R*R.T"),
        ("low-rank-limit-commuting", "spectral-limit", "kernel", "R.T*(V*A)*R"),
        ("l2-no-blow-up", "gronwall", "rate", "p*q"),
        ("l2-no-blow-up", "norm-from-sign", "bound", "1/2"),
        ("l2-no-blow-up", "replace", "bound", "1"),
    ],
)
def test_a_line_that_says_something_else_is_refused(records, name, rule, field, text):
    record = records[name]
    entry = next(line for line in record["proof"]["lines"] if line["rule"] == rule)
    entry["conclusion"][field] = text
    assert refusal(record)


@pytest.mark.parametrize("name", ["limit-zero-positive", "blow-up-time"])
def test_an_abbreviation_does_not_hide_the_variable(records, name):
    record = records[name]
    rule = "in-time" if name == "blow-up-time" else "along-flow"
    hidden = "t*eye(d)" if name == "blow-up-time" else "Sigma"
    lines = record["proof"]["lines"]
    index = next(i for i, line in enumerate(lines) if line["rule"] == rule)
    field = "curve" if name == "blow-up-time" else "functional"
    lines[index]["conclusion"][field] = "W" if name == "blow-up-time" else "tr(W)"
    definition = {"relation": "equal", "left": "W", "right": hidden}
    lines.insert(
        index, {"id": "W", "conclusion": definition, "rule": "definition", "premises": [], "with": {}}
    )
    assert "write 'W' out" in refusal(record)


def test_a_judgement_about_a_flow_is_not_rewritten(records):
    record = records["bounded-positive"]
    lines = record["proof"]["lines"]
    flow_line = next(line for line in lines if line["conclusion"]["relation"] == "local-flow")
    forged = {
        "id": "X",
        "conclusion": dict(flow_line["conclusion"]),
        "rule": "rewrite",
        "premises": [flow_line["id"], "covariance"],
        "with": {},
    }
    lines.insert(lines.index(flow_line) + 1, forged)
    assert "is about a flow" in refusal(record)


def test_the_weight_of_the_shorted_limit_is_definite_for_every_argument(records):
    record = records["l2-same-limit"]
    lines = record["proof"]["l2"]["lines"]
    last = lines[-1]
    assert last["rule"] == "shorted-operator"
    for weight in ("-4*inv(eye(k) + 2*T)", "4*eye(k)", "4*inv(eye(k) + 2*K*Sigma*K.T)"):
        changed = copy.deepcopy(record)
        changed["proof"]["l2"]["lines"][-1]["with"]["weight"] = weight
        assert refusal(changed)
    for argument in ("K*Sigma*K.T", "2*T"):
        changed = copy.deepcopy(record)
        changed["proof"]["l2"]["lines"][-1]["with"]["argument"] = argument
        assert refusal(changed)
    # without T ⪰ 0 the inverse of I + 2T is not known to exist
    changed = copy.deepcopy(record)
    for line in changed["proof"]["l2"]["lines"]:
        line["premises"] = [premise for premise in line["premises"] if premise != "section"]
    assert refusal(changed)


def places(node, path=()):
    yield path
    for key, part in (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    ):
        yield from places(part, (*path, key))


@pytest.mark.parametrize("name", ["bounded-positive", "blow-up-time"])
def test_a_part_of_a_wrong_type_is_a_refusal_and_never_another_error(records, name):
    record = records[name]
    for count, path in enumerate(places(record["proof"])):
        junk = (None, True, 1.5, [], {}, "x", "time", "V*")[count // 7 % 8]
        if not path or path[-1] == "id" or count % 7:
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
        assert not accepted, (path, junk)


def test_texts_of_the_statements_can_be_read():
    """The derivative of the adjoint functional is written without A; both forms are one."""
    from symflow.algebra.symbols import dimension, matrix

    d = dimension("d")
    symbols = {name: matrix(name, d, d) for name in ("V", "P", "Sigma")} | {"d": d}
    stated = parse(proposition("CACP25/bounded-adjoint").conclusion["cov_rhs"], symbols)
    V, P, S = (symbols[name] for name in ("V", "P", "Sigma"))
    assert identical(stated, -V * S * V.T * P * S - S * P * V * S * V.T, symmetric=(P, S))


def test_a_resolvent_is_claimed_on_its_own_domain_only():
    theorem = proposition("CACP25/blow-up-time")
    narrow = {"relation": "definite", "matrix": "eye(r) - 2*t*(R.T*(V*A + A.T*V.T)*R)"}
    with pytest.raises(CertificateError, match="not that of its resolvent"):
        replace(theorem, hypotheses={**theorem.hypotheses, "domain": narrow})
