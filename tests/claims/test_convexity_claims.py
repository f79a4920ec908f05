"""Convexity of energies: claims with known answer, in both directions, up to certificate and page."""

import json
from fractions import Fraction

import pytest

import symflow
from symflow.certify import replay
from symflow.claims import check, claim
from symflow.claims.page import claim_latex
from symflow.energies import Dissipation, Exponential, Interaction, LogPartition, Pairwise
from symflow.errors import InputError

SADDLE, POSITIVE = [[1, 0], [0, -1]], [[1, 0], [0, 2]]
SKEW = [[0, 1], [-1, 0]]
BOX = {"box": [[-1, 1]]}
HALF, SIXTH = Fraction(1, 2), Fraction(1, 6)

#: energy, options, whether the second derivative is at least modulus·|velocity|² along every geodesic, why
KNOWN = [
    # quadratic: P and P + S semidefinite
    (Pairwise("norm2(x - y)"), {}, True, "twice the variance of the velocity"),
    (Pairwise("-norm2(x - y)"), {}, False, "minus that"),
    (Pairwise("dot(x, y)"), {}, True, "|mean velocity|², though W is not convex"),
    (Pairwise("-dot(x, y)"), {}, False, "−|mean velocity|²"),
    (Pairwise("-dot(x, y)", "norm2(x)/2"), {}, True, "the variance of the velocity"),
    (Pairwise("-dot(x, y)", "norm2(x)/2"), {"modulus": Fraction(1, 100)}, False, "zero at n = 1"),
    (Pairwise("-dot(x, y)", "norm2(x)/3"), {}, False, "−1/3 at n = 1"),
    (Pairwise("norm2(x - y)", "-norm2(x)/100"), {}, False, "negative at n = 1"),
    (Pairwise("dot(x, A*y)", A=POSITIVE), {}, True, "A ⪰ 0"),
    (Pairwise("dot(x, A*y)", A=SADDLE), {}, False, "A has a negative direction"),
    (Pairwise("dot(x, A*y)", A=SKEW), {}, True, "a skew matrix has no energy"),
    (Pairwise("dot(x, A*x) + dot(y, A*y)", A=SADDLE), {}, False, "a saddle"),
    (Pairwise("", "norm2(x)/2"), {"modulus": 1}, True, "exactly one"),
    (Pairwise("", "norm2(x)/2"), {"modulus": Fraction(101, 100)}, False, "less than that"),
    (Pairwise("norm2(x - y)"), {"modulus": Fraction(1, 100)}, False, "zero for equal velocities"),
    # composition of convex functions
    (Pairwise("exp(norm2(x - y))"), {}, True, "increasing convex of convex"),
    (Pairwise("exp(dot(x, y))"), {}, True, "a positive definite kernel"),
    (Pairwise("exp(-dot(x, y))"), {}, False, "F = ½ exp(−|x|²) on Diracs, concave at 0"),
    (Pairwise("", "log(1 + exp(norm2(x)))"), {}, True, "logarithm of a sum of exponentials"),
    (Pairwise("", "sqrt(1 + norm2(x))"), {}, True, "a norm"),
    (Pairwise("", "-sqrt(1 + norm2(x))"), {}, False, "minus a norm"),
    (Pairwise("", "1/(1 + norm2(x))"), {}, False, "a bump"),
    (Pairwise("", "norm2(x)**2 - norm2(x)/10"), {}, False, "a double well"),
    (Pairwise("", "norm2(x)**2 + norm2(x)/10"), {"modulus": Fraction(1, 5)}, True, "1/5 at the origin"),
    (Pairwise("", "tanh(norm2(x))"), {}, False, "bounded and not constant"),
    (Pairwise("", "sin(dot(x, x))"), {}, False, "oscillates"),
    (Pairwise("", "Max(norm2(x), 1)"), {}, True, "a maximum"),
    (Pairwise("", "-log(1 + norm2(x))"), {}, False, "concave at the origin"),
    (Pairwise("exp(-norm2(x - y))"), {}, False, "a bump of the difference"),
    (Exponential([[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]), {}, True, "A ≻ 0"),
    (Exponential([[1.0, 0.0], [0.0, -2.0]], [[1.0, 0.0], [0.0, 1.0]]), {}, False, "A is indefinite"),
    # bounded domains
    (Pairwise("exp(-norm2(x - y))", "3*norm2(x)"), {"domain": BOX}, True, "6 beats the bump"),
    (Pairwise("exp(-norm2(x - y))", "norm2(x)/2"), {"domain": BOX}, False, "1 does not, at close atoms"),
    (Pairwise("", "norm2(x)**2 - norm2(x)"), {"domain": {"box": [[HALF, 2]]}}, True, "12x² > 2 there"),
    (Pairwise("", "norm2(x)**2 - norm2(x)"), {"domain": {"box": [[SIXTH, 2]]}}, False, "12x² < 2 at 1/6"),
    (Pairwise("", "tanh(norm2(x))"), {"domain": {"radius": HALF}, "dimension": 2}, True, "convex near 0"),
    (Pairwise("", "cos(norm2(x))"), {"domain": {"radius": 1}, "modulus": -6}, True, "|U''| ≤ 2 + 4"),
    # Gaussian laws
    (Pairwise("norm2(x - y)"), {"metric": "bures"}, True, "as for all laws"),
    (Pairwise("exp(-dot(x, y))"), {"metric": "bures"}, False, "Diracs are Gaussian laws"),
    (Pairwise("-norm2(x - y)"), {"metric": "bures"}, False, "−2 tr Σ"),
    (Pairwise("exp(-norm2(x - y))"), {"metric": "bures"}, False, "½(1 + 4s)^(−1/2), concave in √s near 0"),
    (Pairwise("dot(x, A*x)", A=SADDLE), {"metric": "bures"}, False, "a saddle"),
    # the sphere, whose geodesics close
    (Interaction(1.0), {}, False, "−e^β/n at consensus"),
    (Interaction(-2.0), {}, False, "not constant on a closed manifold"),
    (Dissipation(1.0), {}, False, "not constant on a closed manifold"),
    # the twisted metric
    (Exponential([[-1.0]], [[1.0]]), {"metric": "twisted", "V": 1, "A": -1}, False, "|x|² − 1 on Diracs"),
    (Pairwise("", "norm2(x)"), {"metric": "twisted", "V": 1, "A": -1, "dimension": 2}, False, "2 − 2|x|²"),
]  # fmt: skip


@pytest.fixture(scope="module")
def verdicts():
    return [check("convexity", energy, **options) for energy, options, _, _ in KNOWN]


@pytest.mark.parametrize("index", range(len(KNOWN)), ids=lambda k: f"{KNOWN[k][0]!r:.40}-{KNOWN[k][3]}")
def test_a_known_answer_is_found(verdicts, index):
    assert verdicts[index].status == ("proved" if KNOWN[index][2] else "refuted"), verdicts[index].reason


def test_about_half_of_the_known_answers_are_no():
    false = sum(not truth for _, _, truth, _ in KNOWN)
    assert len(KNOWN) >= 40
    assert 2 * false >= len(KNOWN)


def test_every_certificate_replays_from_its_text(verdicts):
    for verdict in verdicts:
        assert replay(json.loads(verdict.certificate.to_json())).accepted


def test_moduli_are_sharp():
    """The largest modulus of |x|⁴ + |x|²/10 is 1/5; between it and the next number nothing is in doubt."""
    energy = Pairwise("", "norm2(x)**2 + norm2(x)/10")
    assert check("convexity", energy, modulus=Fraction(1, 5)).status == "proved"
    assert check("convexity", energy, modulus=Fraction(2001, 10000)).status == "refuted"


def test_what_no_rule_covers_is_undecided_with_the_best_bound():
    verdict = check("convexity", Pairwise("exp(-norm2(x - y))", "3*norm2(x)"))
    assert verdict.status == "undecided"
    assert "the least one seen is 4" in verdict.reason


def test_a_bound_that_is_attained_is_undecided_with_a_certified_one_below():
    energy = Pairwise("", "norm2(x)**2*sigmoid(dot(x, x))")
    verdict = check("convexity", energy, domain=BOX)
    assert verdict.status == "undecided"
    assert "a lower bound is -1/64" in verdict.reason


def test_what_has_no_second_derivative_is_undecided():
    for text in ("Piecewise(dot(x, y), dot(x, y) > 0, 0)", "log(norm2(x - y))", "Heaviside(dot(x, y))"):
        assert check("convexity", Pairwise(text)).status == "undecided"


def test_time_may_run_out():
    verdict = check("convexity", Pairwise("exp(-norm2(x - y))", "3*norm2(x)"), max_wall_time=1e-6)
    assert verdict.status == "undecided"
    assert "max_wall_time" in verdict.reason


# ---- the claims of the paper


def test_the_energy_of_softmax_is_not_convex_in_any_dimension():
    generic, stated = check("convexity", symflow.Softmax()), check("CACP25/non-convexity")
    assert (generic.status, stated.status) == ("refuted", "proved")
    ratios = [w["ratio"] for w in stated.certificate.proof["witnesses"] if w["type"] == "dirac"]
    assert ratios == ["dot(x, x) - 1"]
    shown = {len(w["points"][0]) for w in stated.certificate.proof["witnesses"] if w["type"] == "atoms"}
    assert shown == {1, 2, 3}
    assert stated.assumes == ("coincident-atoms",)


def test_a_witness_of_one_claim_is_none_of_the_other():
    record = check("CACP25/no-upper-bound").certificate.to_record()
    other = claim("CACP25/non-convexity").decide
    assert other is not None
    for name in ("CACP25/non-convexity", "convexity"):
        assert not replay({**record, "claim": name}).accepted


@pytest.mark.parametrize(
    ("subject", "options", "message"),
    [
        (Pairwise("dot(x, y)"), {"metric": "euclid"}, "metric = 'euclid' is unknown"),
        (Pairwise("dot(x, y)"), {"metric": "twisted"}, "needs V and A"),
        (Pairwise("dot(x, y)"), {"metric": "twisted", "V": [[1, 0], [0, 1]], "A": SKEW, "dimension": 2},
         "symmetric A"),
        (Pairwise("dot(x, y)"), {"metric": "twisted", "V": SADDLE, "A": POSITIVE, "dimension": 2},
         "definite"),
        (Pairwise("dot(x, A*y)", A=POSITIVE), {"domain": {"box": [[0, 1]] * 3}}, "3 coordinates"),
        (Pairwise("dot(x, y)"), {"domain": {"ball": 1}}, "domain must be"),
        (Pairwise("dot(x, y)"), {"modulus": "x"}, "modulus"),
        (Pairwise("dot(x, y)"), {"dimension": 0}, "dimension = 0"),
        (Pairwise("dot(x, y)"), {"box": 1}, "has no option 'box'"),
        (symflow.L2(), {}, "give Q, K, V|no energy"),
        (symflow.Masked(symflow.Softmax()), {}, "no energy is known"),
        (symflow.Softmax(diffusion=0.5), {}, "no energy is known"),
        (symflow.Softmax(space="sphere"), {}, "no energy is known"),
        (LogPartition([[1.0]], [[1.0]]), {}, "log-partition is no sum"),
        ("softmax", {}, "an energy of symflow.energies, a spec or a model is needed, got str"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_by_name(subject, options, message):
    with pytest.raises(InputError, match=message):
        check("convexity", subject, **options)


# ---- pages


def test_the_pages_compile(pdflatex, verdicts):
    kinds = {(verdict.method, verdict.status): verdict for verdict in verdicts}
    assert {name for name, _ in kinds} == {"convex-terms", "hessian-bound", "second-variation"}
    entry = claim("convexity")
    pages = [claim_latex(entry, verdict) for verdict in kinds.values()]
    pages += [
        claim_latex(claim(name), check(name)) for name in ("CACP25/non-convexity", "CACP25/gaussian-l2")
    ]
    frame = (r"\documentclass{article}\usepackage{amsmath,amssymb}\begin{document}", r"\end{document}")
    pdflatex("\n".join([frame[0], *pages, frame[1]]))
