"""Every closed variant is proved to keep Gaussians, and falsified proofs about each are refused."""

import copy
import random
from dataclasses import replace

import pytest
from sympy import Identity

from symflow.certify import replay
from symflow.certify.search.closure import System, prove_gaussian_preservation
from symflow.claims import check
from symflow.derive.closure import gaussian_closure
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_models, compositions

BIASED = {"Q", "K", "V", "bq", "bk", "bv", "bo"}
MODELS = {
    "linear, biased": (Linear().with_symbolic_scale(), BIASED),
    "Sinkhorn, biased": (Sinkhorn().with_symbolic_scale(), BIASED),
    "linear heads, biased": (MultiHead(Linear()), BIASED),
    "heads with output matrices": (MultiHead(Softmax()), {"Q", "K", "V", "W"}),
    "ℓ2 heads": (MultiHead(L2()), None),
    "Sinkhorn heads": (MultiHead(Sinkhorn()), None),
    "everything at once": (MultiHead(Softmax(), feed_forward=True, sign=-1, diffusion="sqrt(2)"), None),
    "masked linear heads, biased": (Masked(MultiHead(Linear(), feed_forward=True)), BIASED | {"W", "c"}),
    "masked linear with noise": (Masked(Linear(diffusion=1)).with_symbolic_scale(), None),
    "a layer alone": (Softmax(sign=0, feed_forward=True), None),
    "a kernel of the user": (Attention("dot(y, A*x) + dot(g, x) + h", normalise="none"), None),
    "a scaling of the user": (Attention("dot(x, A*y) + dot(y, M*y)/2", normalise="sinkhorn"), None),
    "a scaling without coupling": (Attention("dot(g, y)", normalise="sinkhorn"), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_closed_models_are_proved(name):
    model, given = MODELS[name]
    verdict = check("gaussian-preservation", model, given)
    assert verdict.status == "proved", verdict.reason
    assert "singular or not" in verdict.scope
    assert verdict.replay()


REGISTERED = {**{name: model() for name, model in attention_models().items()}, **compositions()}


@pytest.mark.parametrize("model", REGISTERED.values(), ids=REGISTERED)
def test_every_shipped_variant_that_is_closed_is_proved(model):
    verdict = check("rank-invariance", model)
    if verdict.status != "proved":  # because of the model, and not because a proof could not be written
        assert "no Gaussian solution" in verdict.reason or "whether Gaussians are preserved" in verdict.reason


class _Mixed(Softmax):
    """Heads of four mechanisms with the same matrices, added up."""

    def statement(self, given=None):
        parts = [model.statement({"Q", "K", "V"}) for model in (Softmax(), L2(), Linear(), Sinkhorn())]
        return replace(parts[0], name="mixed", heads=tuple(head for part in parts for head in part.heads))


def test_heads_of_different_mechanisms_are_added():
    verdict = check("gaussian-preservation", _Mixed())
    assert verdict.status == "proved", verdict.reason
    record = verdict.certificate.to_record()
    assert [head["average"] for head in record["statement"]["heads"]] == ["m", "m2", "m3", "m4"]
    for index in range(4):
        fewer = [head for place, head in enumerate(record["statement"]["heads"]) if place != index]
        assert rejected(with_statement(record, heads=fewer))


def test_the_scope_says_heads_and_positions():
    scope = check("gaussian-preservation", Masked(MultiHead(Linear()))).scope
    assert "every number H of heads" in scope
    assert "every number of positions with fixed weights θ ≥ 0" in scope
    assert "M2, M1, M0 are the sums over τ ≤ s of θ_τ times Sigma + alpha alphaᵀ, alpha, 1 at τ" in scope


def test_what_is_not_proved_says_what_is_missing():
    verdict = check("rank-invariance", Linear(diffusion=1))
    assert (verdict.status, verdict.certificate) == ("undecided", None)
    assert "with noise the rank of the covariance is not constant" in verdict.reason
    cubic = Attention("norm2(y)*dot(x, A*y)", normalise="none", value="w")
    verdict = check("gaussian-preservation", cubic)
    assert verdict.status == "undecided"
    assert "only kernels that are affine in the key have a rule" in verdict.reason


# --- false statements --------------------------------------------------------------------------------------


def written(derivation, **changes):
    """Return what the search writes for a system of which some parts were changed."""
    flow = derivation.flow
    structure = flow.covariance
    system = System(*flow.states, *flow.drift, structure.velocity_gradient, structure.diffusion, flow.chain)
    return prove_gaussian_preservation(derivation.statement, replace(system, **changes))


def lyapunov(flow, gradient):
    sigma = flow.states[1]
    return gradient * sigma + sigma * gradient.T


@pytest.mark.parametrize(
    "model", [Linear(), Sinkhorn(), MultiHead(Softmax()), Masked(Linear())], ids=lambda model: model.name
)
def test_the_search_cannot_prove_a_wrong_system(model):
    derivation = gaussian_closure(model)
    flow, own = derivation.flow, derivation.flow.covariance.velocity_gradient
    assert not replay(written(derivation, mean_rhs=2 * flow.drift[0])).accepted
    assert not replay(written(derivation, gradient=2 * own, cov_rhs=lyapunov(flow, 2 * own))).accepted
    assert not replay(written(derivation, cov_rhs=lyapunov(flow, own.T))).accepted


def test_noise_counts_twice():
    derivation = gaussian_closure(Softmax(diffusion=1))
    flow = derivation.flow
    without = lyapunov(flow, flow.covariance.velocity_gradient)
    assert replay(written(derivation)).accepted
    assert not replay(written(derivation, cov_rhs=without + Identity(flow.dimensions[0]))).accepted
    assert not replay(written(derivation, cov_rhs=without)).accepted


def test_under_a_mask_the_own_moment_is_not_that_of_all_positions():
    masked, own = gaussian_closure(Masked(Linear())), gaussian_closure(Linear()).flow
    changes = {
        "mean_rhs": own.drift[0],
        "cov_rhs": own.drift[1],
        "gradient": own.covariance.velocity_gradient,
    }
    assert masked.flow.states == own.states
    assert replay(written(masked)).accepted
    assert not replay(written(masked, **changes)).accepted


# --- edited certificates -----------------------------------------------------------------------------------

RECORDS = {
    "linear": (Linear(), None),
    "sinkhorn": (Sinkhorn(), None),
    "heads": (MultiHead(Linear()), None),
    "masked": (Masked(Linear()), BIASED),
    "noise": (Softmax(diffusion=1, feed_forward=True), None),
}


@pytest.fixture(scope="module", params=RECORDS)
def record(request):
    return check("gaussian-preservation", *RECORDS[request.param]).certificate.to_record()


def rejected(record):
    """Whether a record is refused by the schema or rejected by the replay."""
    try:
        return not replay(record).accepted
    except InputError:
        return True


def with_head(record, **changes):
    changed = copy.deepcopy(record)
    changed["statement"]["heads"][0] |= changes
    return changed


def with_statement(record, **changes):
    return {**record, "statement": {**record["statement"], **changes}}


def test_another_head_is_another_claim(record):
    own = record["statement"]["heads"][0]
    assert not rejected(record)
    for normalise in ("softmax", "sinkhorn", "none"):
        assert own["normalise"] == normalise or rejected(with_head(record, normalise=normalise))
    for changes in (
        {"prefactor": "2"},
        {"prefactor": "-1"},
        {"value": f"2*({own['value']})"},
        {"value": f"{own['value']} + y"},
        {"kernel": f"{own['kernel']} + 1"},
        {"kernel": own["kernel"].replace("A", "A.T").replace("Q", "(2*Q)")},
        {"average": "average"},
    ):
        assert rejected(with_head(record, **changes)), changes


def test_heads_members_and_positions_are_part_of_the_claim(record):
    statement = record["statement"]
    own = statement["heads"][0]
    single, names = own["count"] is None, [n for n, shape in statement["symbols"].items() if shape]
    family = {"members": names, "count": "H"} if single else {"members": [], "count": None}
    assert rejected(with_head(record, **family))
    assert rejected(with_head(record, count="J" if not single else "H"))
    assert rejected(with_statement(record, heads=[]))
    assert rejected(with_statement(record, heads=[own, own | {"average": "m2"}]))
    masked = None if statement["positions"] else {"second": "M2", "first": "M1", "mass": "M0"}
    assert rejected(with_statement(record, positions=masked))
    assert rejected(with_statement(record, diffusion="0" if statement["diffusion"] != "0" else "1"))
    assert rejected(with_statement(record, output=f"{statement['output']} + x"))
    assert rejected(with_statement(record, cov_rhs=f"{statement['cov_rhs']} + eye(d)"))


def test_exchanged_moments_are_another_claim():
    record = check("gaussian-preservation", *RECORDS["masked"]).certificate.to_record()
    positions = record["statement"]["positions"]
    other = positions | {"first": positions["mass"], "mass": positions["first"]}
    assert rejected(with_statement(record, positions=other))
    other = positions | {"second": "N2"}
    assert rejected(with_statement(record, positions=other))


def test_lines_of_a_proof_are_needed(record):
    lines = record["proof"]["lines"]
    for index in random.Random(5).sample(range(len(lines)), min(6, len(lines))):
        fewer = lines[:index] + lines[index + 1 :]
        assert rejected({**record, "proof": {**record["proof"], "lines": fewer}}), lines[index]["id"]


def test_a_part_of_a_wrong_type_is_a_refusal(record):
    rng = random.Random(7)
    for key in ("heads", "positions", "diffusion", "output", "symbols"):
        for junk in ([None], 1, True, {}, {"second": []}, [[]], "H", ["m"]):
            if record["statement"][key] != junk:
                assert rejected(with_statement(record, **{key: junk})), (key, junk)
    for key in record["statement"]["heads"][0]:
        for junk in rng.sample([1, True, {}, [{}], [[]], "eye(d)", ["m"], ["d", "d"]], 4):
            assert rejected(with_head(record, **{key: junk})), (key, junk)


def test_no_certificate_is_good_for_another_model(record):
    proofs = [
        check("gaussian-preservation", *RECORDS[name]).certificate.proof for name in ("linear", "heads")
    ]
    for proof in proofs:
        assert proof == record["proof"] or rejected({**record, "proof": proof})
    assert rejected({**record, "claim": "rank-invariance"})
    assert rejected({**record, "claim": "CACP25/gaussian-linear"})
    assert rejected({**record, "assumes": record["assumes"][1:]})
