"""Gradient-flow structures and dissipation: certificates, look-alikes and altered proofs."""

import copy
import itertools

import pytest
from sympy import Identity, Symbol

from symflow.certify import LEMMAS, replay
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.propositions import proposition
from symflow.certify.propositions.gradient_flow import PROPOSITIONS
from symflow.certify.propositions.long_time import LongTime
from symflow.certify.search.gradient_flow import PairFlow, prove_energy_growth, prove_gradient_flow
from symflow.claims import check
from symflow.claims.gradient_flow import derived_flow
from symflow.errors import CertificateError
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.energies.exponential import Exponential
from symflow.models.energies.interaction import Interaction

TWISTED, USA, SA, GROWTH = (entry.claim for entry in PROPOSITIONS)
FIELDS = ("pair", "weight", "normaliser", "value", "projection", "metric", "direction")


@pytest.fixture(scope="module")
def found():
    return {name: check(name) for name in (TWISTED, USA, SA, GROWTH)}


@pytest.fixture
def records(found):
    return {name: verdict.certificate.to_record() for name, verdict in found.items()}


def refused(record):
    try:
        return not replay(record).accepted
    except CertificateError:
        return True


def parts(name, record):
    """Yield theorem, statement and proof of every part, which replay one by one."""
    entry = proposition(name)
    if isinstance(entry, LongTime):
        yield entry, record["statement"], record["proof"]
        return
    for part, theorem in entry.parts.items():
        yield theorem, record["statement"][part], record["proof"][part]


def test_verdicts_name_their_lemmas_and_replay(found):
    for name, verdict in found.items():
        assert verdict.status == "proved"
        assert verdict.replay()
        lemmas = {"pair-energy", "energy-dissipation"} if name == GROWTH else {"pair-energy"}
        assert set(verdict.assumes) == lemmas <= set(LEMMAS)
        assert verdict.to_latex()
    assert "beta = -b < 0" in found[GROWTH].scope
    assert "A*inv(V) ≺ 0" in found[TWISTED].scope


@pytest.mark.parametrize("name", [TWISTED, USA, SA, GROWTH])
def test_every_field_of_statement_and_conclusion_matters(records, name):
    changes = {
        "pair": "2*exp(dot(x, y))",
        "weight": "1",
        "normaliser": "2",
        "value": "2*y",
        "projection": "eye(d) + x*x.T",
        "metric": "2*eye(d)",
        "direction": "2",
    }
    for theorem, statement, proof in parts(name, records[name]):
        assert run_chain(theorem, statement, proof).accepted
        for field in FIELDS:
            changed, stated = copy.deepcopy(proof), copy.deepcopy(statement)
            changed["lines"][-1]["conclusion"][field] = changes[field]
            assert not run_chain(theorem, statement, changed).accepted, field
            stated["conclusion"][field] = changes[field]
            assert not run_chain(theorem, stated, changed).accepted, field


@pytest.mark.parametrize("name", [TWISTED, USA, SA, GROWTH])
def test_every_premise_of_a_lemma_matters(records, name):
    for theorem, statement, proof in parts(name, records[name]):
        for line, entry in enumerate(proof["lines"]):
            if entry["rule"] not in LEMMAS:
                continue
            for position, wrong in itertools.product(range(len(entry["premises"])), (["covariance"], [])):
                changed = copy.deepcopy(proof)
                changed["lines"][line]["premises"][position : position + 1] = wrong
                assert not run_chain(theorem, statement, changed).accepted


def test_altered_lines_are_refused(records):
    record = records[TWISTED]
    for line, side, text in (
        (1, "derivative", "tr(exp(dot(y, A*x))*y.T*A*z)/2"),  # half the slope
        (1, "functional", "exp(dot(y, A*x))/2"),
        (1, "motion", "y"),
        (1, "partner_motion", "z"),
        (2, "right", "-exp(dot(y, A*x))*A*y"),
        (2, "left", "exp(dot(y, A*x))*V*y"),
    ):
        changed = copy.deepcopy(record)
        changed["proof"]["ascent"]["lines"][line]["conclusion"][side] = text
        assert refused(changed), (line, side)
    swapped = copy.deepcopy(record)
    swapped["proof"] = {"ascent": record["proof"]["descent"], "descent": record["proof"]["ascent"]}
    assert refused(swapped)


def test_hypotheses_cannot_be_left_out(records):
    for key in ("value", "definite", "symmetric", "normaliser"):
        changed = copy.deepcopy(records[TWISTED])
        del changed["statement"]["ascent"]["hypotheses"][key]
        assert refused(changed)
    changed = copy.deepcopy(records[TWISTED])
    changed["statement"]["ascent"]["symmetric"] = []
    assert refused(changed)


def test_renamed_ids_and_equal_texts_are_accepted(records):
    changed = copy.deepcopy(records[USA])
    lines = changed["proof"]["lines"]
    for line in lines:
        line["id"] = "step " + line["id"]
        line["premises"] = ["step " + p if p.startswith("L") else p for p in line["premises"]]
    lines[-1]["conclusion"]["projection"] = "eye(d) - x*x.T"
    assert replay(changed).accepted


# ---- look-alikes ------------------------------------------------------------------------------------


class Stated(LongTime):
    """A theorem that is not registered, for replays of false statements."""


def accepted(theorem, flow, growth=False):
    """Whether the chain that the search writes proves a theorem of our own."""
    write = prove_energy_growth if growth else prove_gradient_flow
    certificate = write(USA, flow)
    return run_chain(theorem, theorem.record(), certificate.proof).accepted


def theorem(flow, symmetric=("A",), hypotheses=(), signs=()):
    """State, truthfully or not, that a flow is what it is claimed to be."""
    from symflow.algebra.grammar import to_text

    known = {"normaliser": {"relation": "token-mean", "normaliser": "Z", "weight": to_text(flow.weight)}}
    return Stated(
        "stated",
        "",
        {"A": ("d", "d"), "V": ("d", "d"), "Z": (), "beta": ()},
        {"relation": "gradient-flow", **{k: to_text(v) for k, v in flow.fields.items()}},
        {**(known if flow.normaliser else {}), **dict(hypotheses)},
        {"Z": "positive", "beta": "positive", **dict(signs)},
        symmetric=symmetric,
    )


def sphere(model=Softmax):
    return derived_flow(model(space="sphere", beta=Symbol("beta", positive=True)), Interaction(), ())


def replaced(flow, **changes):
    return PairFlow(**{**vars(flow), **changes})


def test_true_statements_of_our_own_are_accepted():
    for model in (Softmax, Unnormalised):
        assert accepted(theorem(sphere(model)), sphere(model))


def test_false_look_alikes_are_not_proved():
    flow = sphere()
    d = flow.x.shape[0]
    beta = Symbol("beta", positive=True)
    A = Softmax().statement().parameters[0]
    false = {
        "another sign": replaced(flow, direction=-1),
        "twice the metric": replaced(flow, metric=2 * Identity(d)),
        "the energy without 1/beta": replaced(flow, pair=flow.pair * beta),
        "a slope that is not the derivative": replaced(flow, slope=flow.slope * 2),
        "half the value": replaced(flow, value=flow.value / 2),
        "Q not K": replaced(flow, weight=flow.weight.xreplace({flow.y: A * flow.y})),
    }
    for name, wrong in false.items():
        assert not accepted(theorem(wrong), wrong), name


def test_the_wasserstein_metric_is_refused_for_normalised_weights():
    """Z_μ cannot be left out: the velocity of SA divides by it, and the identity has it as its weight."""
    flow = sphere()
    stated = theorem(flow)
    without = replaced(flow, normaliser="")
    assert not accepted(stated, without)
    # the weight itself divided by Z would hide the metric: then p = s fails at every pair
    Z = Symbol("Z", positive=True)
    hidden = replaced(flow, normaliser="", weight=flow.weight / Z)
    assert not accepted(theorem(hidden), hidden)


def test_softmax_needs_a_symmetric_score():
    flow = derived_flow(Softmax(), Exponential(), normaliser="Z")
    hypotheses = {
        "value": {"relation": "invertible", "matrix": "V"},
        "definite": {"relation": "definite", "matrix": "A*inv(V)"},
        "symmetric": {"relation": "equal", "left": "A*inv(V)", "right": "(A*inv(V)).T"},
    }
    assert accepted(theorem(flow, hypotheses=hypotheses), flow)
    assert not accepted(theorem(flow, symmetric=(), hypotheses=hypotheses), flow)
    for key in hypotheses:
        fewer = {name: record for name, record in hypotheses.items() if name != key}
        assert not accepted(theorem(flow, hypotheses=fewer), flow), key
