"""Identity chains: what is proved, and that tampered proofs are rejected."""

import copy
import random

import pytest

from symflow.algebra.words import identical
from symflow.certify import replay
from symflow.certify.search.closure import System, prove_gaussian_preservation
from symflow.certify.terms import Terms
from symflow.claims import check
from symflow.derive.closure import gaussian_closure
from symflow.errors import InputError, NormaliserDiverges
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention

BIASED = ("A", "V", "bq", "bk", "bv", "bo")
MODELS = {
    "softmax": (Softmax(), None),
    "softmax scaled": (Softmax(beta=0.3, temperature="sqrt(2)"), ("Q", "K", "V")),
    "softmax biased": (Softmax().with_symbolic_scale(), BIASED),
    "l2": (L2(), None),
    "l2 symbolic scale": (L2().with_symbolic_scale(), None),
    "linear term": (Attention("dot(Q*x, K*y) - norm2(y)/2 + dot(c, y) + exp(norm2(x))"), None),
    "clashing names": (Attention("dot(y, F*x) + dot(zeta, y)", value="z + L*y"), None),
    "constant value": (Attention("dot(x, A*y)", value="w"), None),
}


@pytest.fixture(scope="module")
def softmax():
    return check("gaussian-preservation", Softmax()).certificate.to_record()


@pytest.fixture(scope="module")
def l2():
    return check("gaussian-preservation", L2().with_symbolic_scale()).certificate.to_record()


@pytest.mark.parametrize("name", MODELS)
def test_quadratic_models_are_proved_for_every_covariance(name):
    model, given = MODELS[name]
    verdict = check("gaussian-preservation", model, given)
    assert verdict.status == "proved", verdict.reason
    assert "singular or not" in verdict.scope
    assert verdict.certificate.statement["domain"] is None


def test_signs_of_scalars_are_part_of_the_scope():
    assert "beta ≥ 0, temperature > 0" in check("gaussian-preservation", L2().with_symbolic_scale()).scope


@pytest.mark.parametrize("score", ["dot(y, A*x) + dot(y, M*y)/2", "norm2(K*y)", "g*norm2(y)"])
def test_without_a_sign_the_domain_is_stated(score):
    verdict = check("gaussian-preservation", Attention(score))
    assert verdict.status == "proved", verdict.reason
    assert f"λ_max(Sigma^(1/2) ({verdict.certificate.statement['domain']}) Sigma^(1/2)) < 1" in verdict.scope
    assert "first exit from that domain" in verdict.scope


@pytest.mark.parametrize("score", ["dot(x, A*y)*norm2(y)", "exp(dot(x, y))"])
def test_a_score_whose_normaliser_diverges_is_refused_by_name(score):
    with pytest.raises(NormaliserDiverges, match="positive variance"):
        check("gaussian-preservation", Attention(score))


@pytest.mark.parametrize("score", ["norm2(x)*norm2(y)", "tanh(dot(x, A*y))"])
def test_a_score_that_is_not_quadratic_is_refuted_by_a_counterexample_only(score):
    verdict = check("gaussian-preservation", Attention(score))
    assert (verdict.status, verdict.method) == ("refuted", "counterexample")
    assert verdict.replay()


def test_a_part_that_is_not_smooth_in_the_query_is_not_proved():
    verdict = check("gaussian-preservation", Attention("dot(x, A*y) + log(norm2(x))"))
    assert verdict.status == "undecided"
    assert "log" in verdict.reason


def test_rank_invariance_needs_the_gaussian_solution():
    verdict = check("rank-invariance", L2())
    assert verdict.status == "proved"
    assert [line["rule"] for line in verdict.certificate.proof["lines"]][-2:] == [
        "affine-pushforward",
        "rank-of-congruence",
    ]


# --- tampering ---------------------------------------------------------------------------------------------


def rejected(record):
    """Whether a record is refused by the schema or rejected by the replay."""
    try:
        return not replay(record).accepted
    except InputError:
        return True


def edited(record, *path, to):
    """Return a copy with one entry replaced."""
    changed = copy.deepcopy(record)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to(place[path[-1]]) if callable(to) else to
    return changed


def head(**changes):
    """Change the only head."""
    return lambda heads: [{**heads[0], **changes}]


STATEMENT_EDITS = {
    "another score": ("heads", head(kernel="exp(dot(x, A*y))")),
    "score scaled": ("heads", head(kernel="exp(2*dot(x, A.T*y))")),
    "cubic score": ("heads", head(kernel="exp(dot(x, A.T*y) + norm2(y)*dot(x, y))")),
    "a kernel that is no exponential": ("heads", head(kernel="dot(x, A.T*y)")),
    "another value": ("heads", head(value="2*V*y")),
    "a value in the query": ("heads", head(value="V*y + x")),
    "a scalar value": ("heads", head(value="dot(y, y)")),
    "another factor": ("heads", head(prefactor="2")),
    "a factor in the query": ("heads", head(prefactor="dot(x, x)")),
    "another normalisation": ("heads", head(normalise="none")),
    "another scaling": ("heads", head(normalise="sinkhorn")),
    "an unknown normalisation": ("heads", head(normalise="rows")),
    "several heads": ("heads", head(members=["A", "V"], count="H")),
    "members without a number": ("heads", head(members=["A", "V"])),
    "a number without members": ("heads", head(count="H")),
    "a second head": ("heads", lambda heads: [*heads, {**heads[0], "average": "m2"}]),
    "the same average twice": ("heads", lambda heads: heads * 2),
    "no head": ("heads", []),
    "an average that is a parameter": ("heads", head(average="V")),
    "a layer": ("output", "V*x"),
    "an output in the key": ("output", "V*y"),
    "an output in the average": ("output", "m"),
    "noise": ("diffusion", "1"),
    "noise in the state": ("diffusion", "tr(Sigma)"),
    "noise that is a matrix": ("diffusion", "0*V"),
    "positions": ("positions", {"second": "M2", "first": "M1", "mass": "M0"}),
    "unknown positions": ("positions", {"second": "M2"}),
    "an output": ("output", "alpha"),
    "sign of the covariance equation": ("cov_rhs", lambda text: f"-({text})"),
    "sign of the mean equation": ("mean_rhs", lambda text: f"-({text})"),
    "a term lost": ("mean_rhs", "V*alpha"),
    "an inverse that cancels": ("mean_rhs", lambda text: text.replace("V*", "V*inv(A)*A*", 1)),
    "a quotient that cancels": ("mean_rhs", lambda text: f"0*tr(A)/tr(A)*alpha + {text}"),
    "transpose lost": ("cov_rhs", "2*V*Sigma*A*Sigma"),
    "shape of a parameter": ("symbols", {"A": ["d", "d"], "V": ["k", "d"]}),
    "a parameter lost": ("symbols", {"A": ["d", "d"]}),
    "a forged domain": ("domain", "A + A.T"),
    "a domain in the query": ("domain", "dot(x, x)*eye(d)"),
    "query and key exchanged": ("query", "y"),
    "covariance renamed": ("covariance", "S"),
    "mean renamed": ("mean", "m"),
    "a sign for a matrix": ("signs", {"A": "positive"}),
}


def test_what_is_edited_was_accepted(softmax):
    assert not rejected(softmax)


@pytest.mark.parametrize("name", STATEMENT_EDITS)
def test_an_edited_statement_is_rejected(softmax, name):
    key, to = STATEMENT_EDITS[name]
    assert rejected(edited(softmax, "statement", key, to=to))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("claim", "rank-invariance"),
        ("claim", "CACP25/gaussian-softmax"),
        ("claim", "CACP25/gaussian-l2"),
        ("claim", "no-such-claim"),
        ("status", "refuted"),
        ("kind", "cases"),
        ("scope", "every size d"),
        ("assumes", []),
        ("assumes", ["gaussian-integral"]),
        ("assumes", ["affine-pushforward", "cauchy-lipschitz", "gaussian-integral", "liouville", "riemann"]),
    ],
)
def test_an_edited_frame_is_rejected(softmax, key, value):
    assert rejected(edited(softmax, key, to=value))


@pytest.mark.parametrize("which", ["softmax", "l2"])
def test_every_line_is_needed(which, request):
    record = request.getfixturevalue(which)
    for index, line in enumerate(record["proof"]["lines"]):
        lines = record["proof"]["lines"][:index] + record["proof"]["lines"][index + 1 :]
        assert rejected(edited(record, "proof", "lines", to=lines)), line["id"]


def test_every_rule_is_the_one_that_works(l2):
    rng = random.Random(1)
    names = sorted({line["rule"] for line in l2["proof"]["lines"]})
    for index, line in enumerate(l2["proof"]["lines"]):
        other = rng.choice([name for name in names if name != line["rule"]])
        assert rejected(edited(l2, "proof", "lines", index, "rule", to=other)), (line["id"], other)


def test_premises_precede_and_cannot_be_circular(softmax):
    lines = softmax["proof"]["lines"]
    for index, line in enumerate(lines):
        later = lines[-1]["id"] if index + 1 < len(lines) else line["id"]
        for forged in ([*line["premises"][:-1], later], [line["id"], *line["premises"][1:]]):
            assert rejected(edited(softmax, "proof", "lines", index, "premises", to=forged))


def test_two_lines_exchanged_are_rejected(softmax):
    lines = softmax["proof"]["lines"]
    order = [line["id"] for line in lines]
    for index, line in enumerate(lines[1:], start=1):
        if order[index - 1] in line["premises"]:
            moved = [*lines[: index - 1], line, lines[index - 1], *lines[index + 1 :]]
            assert rejected(edited(softmax, "proof", "lines", to=moved))


def test_a_hypothesis_cannot_be_redefined(softmax):
    forged = {
        "id": "covariance",
        "conclusion": {"relation": "equal", "left": "Sigma", "right": "zeros(d, d)"},
        "rule": "normal-form",
        "premises": [],
        "with": {},
    }
    outcome = replay(edited(softmax, "proof", "lines", to=lambda lines: [forged, *lines]))
    assert not outcome.accepted
    assert "already taken" in outcome.reason


def test_a_renaming_of_all_bound_names_is_the_same_proof(softmax):
    renamed = copy.deepcopy(softmax)
    renamed["proof"]["factor"] = "Root"
    for line in renamed["proof"]["lines"]:
        for part in (line["conclusion"], line["with"]):
            for key, text in part.items():
                new = [rename(t) for t in text] if isinstance(text, list) else rename(text)
                part[key] = new if key != "relation" else text
    assert replay(renamed).accepted


def rename(text):
    return text.replace("F", "Root")


def text_fields(node, path=()):
    """Yield the path of every text in a record."""
    if isinstance(node, str):
        yield path
    elif isinstance(node, dict):
        for key, child in node.items():
            yield from text_fields(child, (*path, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from text_fields(child, (*path, index))


def perturbed(text, rng):
    """Change a text a little: a sign, a letter, a transpose, a character lost or doubled."""
    choices = [
        text[1:],
        text + "1",
        f"-({text})",
        text.replace("V", "A"),
        text.replace("Sigma", "Sigma.T*0 + A"),
    ]
    choices += [text.replace("+", "-", 1), text.replace("alpha", "x", 1), f"2*({text})", text[::-1]]
    return rng.choice([choice for choice in choices if choice != text])


def same_meaning(record, changed, path):
    """Whether a perturbation left the claim and the argument as they were."""
    if path[0] == "versions":
        return True
    if path[-1] == "id":  # the id of a line that no other line cites
        cited = {premise for line in record["proof"]["lines"] for premise in line["premises"]}
        return get(record, path) not in cited
    if "with" in path and path[-2] in (
        "before",
        "after",
    ):  # the multiplier of an equality that is an identity
        line = get(record, path[:3])
        premise = next(
            (other for other in record["proof"]["lines"] if other["id"] == line["premises"][path[-1]]), {}
        )
        if premise.get("rule") in ("normal-form", "instance"):
            return True
    symbols = record["statement"]["symbols"]
    own = {
        "x": ["d"],
        "y": ["d"],
        "alpha": ["d"],
        "Sigma": ["d", "d"],
        "F": ["d", "d"],
        "z": ["d"],
        "zeta": ["d"],
        "m": ["d"],
    }
    terms = Terms({**symbols, **own}, record["statement"]["signs"])
    try:
        before, after = (terms.read(get(node, path)) for node in (record, changed))
        return identical(before, after, symmetric=(terms.symbols["Sigma"],))
    except InputError:
        return False


def get(node, path):
    for key in path:
        node = node[key]
    return node


@pytest.mark.parametrize("seed", range(1))
def test_every_perturbed_text_is_rejected_or_means_the_same(softmax, seed):
    rng = random.Random(seed)
    accepted = []
    for path in text_fields(softmax):
        changed = edited(softmax, *path, to=lambda text: perturbed(text, rng))
        if not rejected(changed):
            assert same_meaning(softmax, changed, path), (path, get(changed, path))
            accepted.append(path)
    assert len(accepted) < 12, accepted


# --- false statements --------------------------------------------------------------------------------------


def forge(statement_model, given=None, **changes):
    """Return what the search writes for a statement with a falsified system."""
    derivation = gaussian_closure(statement_model, given)
    (mean, covariance), flow = derivation.flow.states, derivation.flow
    parts = {
        "mean_rhs": flow.drift[0],
        "cov_rhs": flow.drift[1],
        "gradient": flow.covariance.velocity_gradient,
    }
    return prove_gaussian_preservation(derivation.statement, System(mean, covariance, **(parts | changes)))


def test_the_search_cannot_prove_a_wrong_system():
    flow = gaussian_closure(Softmax()).flow
    gradient = 2 * flow.covariance.velocity_gradient
    covariance = flow.states[1]
    lyapunov = gradient * covariance + covariance * gradient.T
    assert not replay(forge(Softmax(), gradient=gradient, cov_rhs=lyapunov)).accepted
    assert not replay(forge(Softmax(), mean_rhs=2 * flow.drift[0])).accepted
    assert replay(forge(Softmax())).accepted


def test_l2_with_a_scale_of_unknown_sign_is_not_proved_for_every_covariance(l2):
    assert not rejected(l2)
    unsigned = edited(l2, "statement", "signs", to={"temperature": "positive"})
    unsigned["scope"] = l2["scope"].replace("beta ≥ 0, ", "")
    outcome = replay(unsigned)
    assert not outcome.accepted
    assert "sign of beta" in outcome.reason


def test_a_score_that_grows_is_not_proved_without_its_domain():
    record = check("gaussian-preservation", Attention("dot(x, y) + norm2(K*y)")).certificate.to_record()
    assert not rejected(record)
    unbounded = edited(record, "statement", "domain", to=None)
    unbounded["scope"] = check("gaussian-preservation", L2()).scope
    outcome = replay(unbounded)
    assert not outcome.accepted
    assert "'domain'" in outcome.reason
