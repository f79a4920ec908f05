"""Rules of inference one by one: what each allows, and unsound uses that each refuses."""

import pytest

from symflow.certify.judgement import RELATIONS, SCALAR_FIELDS
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.lemmas import LEMMAS
from symflow.certify.propositions import proposition
from symflow.certify.rules import rules

STATEMENT = {
    "query": "x",
    "key": "y",
    "mean": "alpha",
    "covariance": "Sigma",
    "heads": [
        {
            "average": "m",
            "kernel": "exp(dot(x, A*y) + dot(y, M*y)/2)",
            "value": "V*y",
            "normalise": "softmax",
            "prefactor": "1",
            "members": [],
            "count": None,
        }
    ],
    "output": "zeros(d, 1)",
    "diffusion": "0",
    "positions": None,
    "symbols": {
        "A": ["d", "d"],
        "M": ["d", "d"],
        "V": ["d", "d"],
        "K": ["k", "d"],
        "a": [],
        "b": [],
        "c": [],
    },
    "signs": {"a": "nonnegative", "b": "positive"},
    "mean_rhs": "V*alpha",
    "cov_rhs": "V*Sigma + Sigma*V.T",
    "domain": "(M + M.T)/2",
}


def line(name, rule, conclusion, premises=(), **arguments):
    relation, *texts = conclusion
    fields = dict(zip(RELATIONS[relation][0], texts, strict=True))
    return {
        "id": name,
        "rule": rule,
        "conclusion": {"relation": relation, **fields},
        "premises": list(premises),
        "with": arguments,
    }


def run(*lines):
    """Return the replayed lines and the reason why the chain stopped."""
    proof = {"factor": "F", "noise": "z", "lines": list(lines)}
    outcome = run_chain(proposition("gaussian-preservation"), STATEMENT, proof)
    assert not outcome.accepted, "no chain of this file reaches the claim"
    return outcome.lines, outcome.reason


def follows(*lines):
    seen, reason = run(*lines)
    return all(entry.accepted for entry in seen) and "does not say what is claimed" in reason


def refused(*lines):
    """Whether exactly the last line is refused."""
    seen, _ = run(*lines)
    return len(seen) == len(lines) and [entry.accepted for entry in seen] == [True] * (len(lines) - 1) + [
        False
    ]


GRAM = line("g", "gram", ("semidefinite", "K.T*K"), factor="K")
SIGN = line("s", "scalar-sign", ("nonnegative", "2*a/b"), ["sign of a", "sign of b"])
ONE = line("i", "identity", ("definite", "eye(d)"))
T = "eye(d) - F.T*(M + M.T)*F/2"
REGULAR = line("r", "definite-invertible", ("invertible", T), ["domain"])


# --- equality ----------------------------------------------------------------------------------------------


def test_normal_form():
    assert follows(line("1", "normal-form", ("equal", "A*(x + y)", "A*x + A*y")))
    assert refused(line("1", "normal-form", ("equal", "A*V", "V*A")))
    assert refused(line("1", "normal-form", ("equal", "A*x", "K*x")))


def test_the_covariance_is_symmetric_and_a_parameter_is_not():
    assert follows(line("1", "normal-form", ("equal", "Sigma", "Sigma.T")))
    assert refused(line("1", "normal-form", ("equal", "M", "M.T")))


def test_equalities_are_used_from_left_to_right():
    assert follows(line("1", "normal-form", ("equal", "A*Sigma", "A*F*F.T"), ["covariance"]))
    assert refused(line("1", "normal-form", ("equal", "A*Sigma", "A*F.T*F"), ["covariance"]))
    identity = line("1", "normal-form", ("equal", "A + V", "V + A"))
    assert refused(identity, line("2", "normal-form", ("equal", "A", "A"), ["1"]))
    assert refused(GRAM, line("2", "normal-form", ("equal", "A", "A"), ["g"]))


def test_a_definition_needs_a_new_name():
    assert follows(line("1", "definition", ("equal", "w", "A*x")))
    for name in ("x", "A", "d", "F", "Sigma", "A*x", "2"):
        assert refused(line("1", "definition", ("equal", name, "A*x"))), name
    first = line("1", "definition", ("equal", "w", "A*x"))
    assert refused(first, line("2", "definition", ("equal", "w", "V*x")))
    assert refused(line("1", "definition", ("positive", "w")))
    assert refused(line("1", "definition", ("equal", "w", "A*w")))


def test_instances_of_universal_names_only():
    linear = line("1", "normal-form", ("equal", "A*(x + x)", "2*A*x"))
    assert follows(
        linear, line("2", "instance", ("equal", "A*(y + y)", "2*A*y"), ["1"], variable="x", value="y")
    )
    assert refused(
        linear, line("2", "instance", ("equal", "A*(y + y)", "A*y"), ["1"], variable="x", value="y")
    )
    assert refused(
        linear, line("2", "instance", ("equal", "V*(x + x)", "2*V*x"), ["1"], variable="A", value="V")
    )
    assert refused(linear, line("2", "instance", ("equal", "a*x", "a*x"), ["1"], variable="x", value="K*x"))


def test_an_instance_cannot_look_through_an_abbreviation():
    hidden = line("1", "definition", ("equal", "w", "A*x"))
    forged = line("2", "instance", ("equal", "w", "A*y"), ["1"], variable="x", value="y")
    assert refused(hidden, forged)


def test_combinations_need_every_multiplier_right():
    first = line("1", "definition", ("equal", "w", "A*x"))
    good = line("2", "combination", ("equal", "V*w", "V*A*x"), ["1"], before=["V"], after=["1"])
    assert follows(first, good)
    for before, after in (["M"], ["1"]), (["V"], ["2"]), ([], []), (["V", "V"], ["1", "1"]), (["K.T"], ["1"]):
        assert refused(first, good | {"with": {"before": before, "after": after}})
    assert refused(first, good | {"with": {"before": ["V"]}})
    assert refused(GRAM, line("2", "combination", ("equal", "A", "A"), ["g"], before=["1"], after=["1"]))


# --- inverses ----------------------------------------------------------------------------------------------


def test_an_inverse_must_exist_before_it_is_written():
    equation = line("1", "normal-form", ("equal", f"inv({T})*({T})*x", "x"))
    assert refused(line("0", "normal-form", ("equal", "A*inv(A + M)*(A + M)", "A")))
    assert follows(REGULAR, equation)
    assert refused(equation)


def test_inverses_hide_nowhere():
    first = line("1", "definition", ("equal", "w", "A*x"))
    for hidden in ("inv(V)*V", "inv(V + M)*V"):  # reading cancels the first one
        assert refused(
            first, line("2", "combination", ("equal", "w", "A*x"), ["1"], before=[hidden], after=["1"])
        )
    assert refused(line("1", "definition", ("equal", "w", "inv(A)*x")))


def test_scalars_are_divided_by_only_where_positive():
    assert follows(line("1", "normal-form", ("equal", "a/b*x", "a*x/b")))
    assert refused(line("1", "normal-form", ("equal", "a/c*x", "a*x/c")))
    assert refused(line("1", "normal-form", ("equal", "c/c*x", "x")))
    assert refused(line("1", "normal-form", ("equal", "b/a*x", "b*x/a")))
    assert refused(line("1", "normal-form", ("equal", "x/norm2(x)", "x/norm2(x)")))


@pytest.mark.parametrize(
    "text", ["log(b)", "sqrt(a)", "Max(a, b)", "Abs(c)", "Heaviside(c)", "sqrt(-1 - b**2)", "sqrt(-2)"]
)
def test_only_real_finite_smooth_parts_are_admitted(text):
    assert refused(line("1", "normal-form", ("equal", text, text)))


def test_exchange_is_the_determinant_identity():
    good = line(
        "e", "exchange", ("invertible", "eye(d) - Sigma*(M + M.T)/2"), ["r", "covariance"],
        first="F", second="F.T*(M + M.T)/2",
    )  # fmt: skip
    assert follows(REGULAR, good)
    assert refused(REGULAR, good | {"premises": ["r"]})
    assert refused(REGULAR, good | {"conclusion": {"relation": "invertible", "matrix": "eye(d) - Sigma*M"}})
    assert refused(REGULAR, good | {"with": {"first": "a", "second": "b"}})
    assert refused(good)


# --- signs -------------------------------------------------------------------------------------------------


def test_scalar_signs_follow_from_declared_ones():
    assert follows(SIGN)
    assert follows(line("1", "scalar-sign", ("positive", "3*b + a"), ["sign of a", "sign of b"]))
    for relation, text, premises in (
        ("nonnegative", "c", []),
        ("nonnegative", "-a", ["sign of a"]),
        ("nonnegative", "a - b", ["sign of a", "sign of b"]),
        ("nonnegative", "a*c", ["sign of a"]),
        ("nonnegative", "a", []),
        ("positive", "a", ["sign of a"]),
        ("positive", "a*b", ["sign of a", "sign of b"]),
        ("positive", "0", []),
        ("nonnegative", "-1", []),
        ("nonnegative", "dot(x, A*x)", []),
    ):
        assert refused(line("1", "scalar-sign", (relation, text), premises)), (relation, text)


def test_gram_matrices():
    assert follows(GRAM)
    for text in ("-K.T*K", "K.T*K + A", "A.T*A", "2*K.T*K", "A"):
        assert refused(GRAM | {"conclusion": {"relation": "semidefinite", "matrix": text}})
    assert refused(line("1", "gram", ("definite", "K.T*K"), factor="K"))


def test_multiples_negatives_and_sums():
    assert follows(GRAM, SIGN, line("1", "scale", ("semidefinite", "2*a/b*K.T*K"), ["g", "s"]))
    assert refused(GRAM, line("1", "scale", ("semidefinite", "c*K.T*K"), ["g", "g"]))
    assert follows(GRAM, line("1", "negative", ("negative-semidefinite", "-K.T*K"), ["g"]))
    assert refused(GRAM, line("1", "negative", ("semidefinite", "-K.T*K"), ["g"]))
    assert follows(GRAM, ONE, line("1", "sum", ("definite", "eye(d) + K.T*K"), ["i", "g"]))
    assert refused(GRAM, line("1", "sum", ("definite", "2*K.T*K"), ["g", "g"]))
    assert refused(GRAM, ONE, line("1", "sum", ("definite", "eye(d) - K.T*K"), ["i", "g"]))
    assert refused(line("1", "sum", ("semidefinite", "zeros(d, d)"), []))
    negative = line("n", "negative", ("negative-semidefinite", "-K.T*K"), ["g"])
    assert refused(GRAM, negative, ONE, line("1", "sum", ("definite", "eye(d) - K.T*K"), ["i", "n"]))


def test_congruence_keeps_the_sign_but_not_strictness():
    assert follows(GRAM, line("1", "congruence", ("semidefinite", "F.T*K.T*K*F"), ["g"], factor="F"))
    assert refused(GRAM, line("1", "congruence", ("semidefinite", "F*K.T*K*F"), ["g"], factor="F"))
    assert refused(ONE, line("1", "congruence", ("definite", "A.T*A"), ["i"], factor="A"))


def test_invertible_needs_definite():
    assert follows(ONE, line("1", "definite-invertible", ("invertible", "eye(d)"), ["i"]))
    assert refused(GRAM, line("1", "definite-invertible", ("invertible", "K.T*K"), ["g"]))
    assert refused(line("1", "identity-invertible", ("invertible", "A")))
    assert refused(line("1", "identity", ("definite", "-eye(d)")))
    assert follows(ONE, line("1", "weaken", ("semidefinite", "eye(d)"), ["i"]))


# --- norms -------------------------------------------------------------------------------------------------


def test_norms():
    root = line("q", "scalar-sign", ("nonnegative", "2"))
    zero = line("z0", "scalar-sign", ("nonnegative", "0"))
    gap = line("4", "gram", ("semidefinite", "4*eye(d) - eye(d)"), factor="eye(d)")
    assert refused(gap)  # 3 I is not I
    gap = line("p", "gram", ("semidefinite", "eye(d)"), factor="eye(d)")
    three = line("3", "scalar-sign", ("nonnegative", "3"))
    scaled = line("4", "scale", ("semidefinite", "3*eye(d)"), ["p", "3"])
    bound = line("5", "norm-from-sign", ("norm", "eye(d)", "2"), ["4", "q"])
    assert follows(root, gap, three, scaled, bound)
    assert refused(
        root, gap, three, scaled, bound | {"conclusion": {"relation": "norm", "matrix": "V", "bound": "2"}}
    )
    assert refused(root, gap, three, scaled, zero, bound | {"premises": ["4", "z0"]})
    chain = (root, gap, three, scaled, bound)
    assert follows(*chain, line("6", "norm-product", ("norm", "eye(d)*eye(d)", "4"), ["5", "5"]))
    assert refused(*chain, line("6", "norm-product", ("norm", "eye(d)", "2"), ["5", "5"]))
    assert follows(*chain, line("6", "norm-sum", ("norm", "2*eye(d)", "4"), ["5", "5"]))
    assert refused(*chain, line("6", "norm-sum", ("norm", "2*eye(d)", "2"), ["5", "5"]))
    assert follows(*chain, line("6", "norm-transpose", ("norm", "eye(d)", "2"), ["5"]))
    assert refused(line("6", "norm-sum", ("norm", "zeros(d, d)", "0")))


def test_a_negative_bound_is_no_bound():
    gap = line("p", "gram", ("semidefinite", "eye(d)"), factor="eye(d)")
    root = line("q", "scalar-sign", ("nonnegative", "1"))
    assert refused(gap, root, line("5", "norm-from-sign", ("norm", "zeros(d, d)", "-1"), ["p", "q"]))


# --- lemmas and forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LEMMAS, "rank-of-congruence"])
def test_a_lemma_without_its_hypotheses_gives_nothing(name):
    conclusions = {
        "gaussian-integral": ("equal", "m", "V*alpha"),
        "gaussian-moments": ("equal", "m", "V*alpha"),
        "gaussian-scaling": ("equal", "m", "V*alpha"),
        "cauchy-lipschitz": ("local-flow", STATEMENT["mean_rhs"], STATEMENT["cov_rhs"]),
        "liouville": ("congruence", STATEMENT["cov_rhs"], "V"),
        "affine-pushforward": ("gaussian-solution", "m", "0", "V*alpha", "V*Sigma"),
        "linear-diffusion": ("gaussian-solution", "m", "1", "V*alpha", "V*Sigma"),
        "rank-of-congruence": ("constant-rank", "m", "V*alpha", "V*Sigma"),
    }
    rule = LEMMAS[name].rule if name in LEMMAS else rules()[name]
    given = dict.fromkeys(rule.arguments, "V") | {key: ["1"] for key in rule.lists}
    system = {"mean_rhs": "V*alpha", "cov_rhs": "V*Sigma + Sigma*V.T"}
    for relation, (fields, _) in RELATIONS.items():
        texts = {field: system.get(field, "1" if field in SCALAR_FIELDS else "V") for field in fields}
        wanted = conclusions.get(name, (relation, *texts.values()))
        assert refused(line("1", name, wanted, ["covariance"], **given)), relation
        assert refused(line("1", name, wanted, [], **given)), relation


def test_a_gradient_must_not_depend_on_the_query():
    system = "V*Sigma + Sigma*V.T"
    lyapunov = line("1", "normal-form", ("equal", system, system))
    assert follows(
        lyapunov, line("2", "cauchy-lipschitz", ("local-flow", "V*alpha", system), ["1"], gradient="V")
    )
    assert refused(
        lyapunov, line("2", "cauchy-lipschitz", ("local-flow", "V*x", system), ["1"], gradient="V")
    )
    assert refused(
        lyapunov, line("2", "cauchy-lipschitz", ("local-flow", "V*F*alpha", system), ["1"], gradient="V")
    )
    hidden = line("h", "definition", ("equal", "W", "V*x*x.T"))
    other = line("1", "normal-form", ("equal", "W*Sigma + Sigma*W.T", "W*Sigma + Sigma*W.T"))
    forged = line(
        "2", "cauchy-lipschitz", ("local-flow", "V*alpha", "W*Sigma + Sigma*W.T"), ["1"], gradient="W"
    )
    assert refused(hidden, other, forged)


@pytest.mark.parametrize(
    "conclusion",
    [("semidefinite", "a"), ("nonnegative", "A"), ("norm", "a", "b"), ("norm", "A", "A"), ("positive", "x")],
)
def test_fields_have_the_right_kind(conclusion):
    assert refused(line("1", "gram", conclusion, factor="A"))


@pytest.mark.parametrize(
    "text", ["__import__('os')", "A*", "lambda: 0", "A*K", "unknown", "A" * 30_000, "(" * 500]
)
def test_text_that_cannot_be_read_is_a_rejection(text):
    assert refused(line("1", "normal-form", ("equal", text, text)))


def test_every_rule_refuses_every_wrong_relation():
    for name, rule in rules().items():
        given = dict.fromkeys(rule.arguments, "A") | {key: ["1"] for key in rule.lists}
        assert refused(line("1", name, ("kernel-average", "m", "V*y", "a"), **given)), name


def test_norms_of_quotients():
    root = line("s", "scalar-sign", ("positive", "b"), ["sign of b"])
    gap = line("g", "scalar-sign", ("nonnegative", "0"))
    one = line("o", "scalar-sign", ("nonnegative", "1"))
    gram = line("q", "gram", ("semidefinite", "zeros(d, d)"), factor="zeros(d, d)")
    norm = line("n", "norm-from-sign", ("norm", "eye(d)", "1"), ["q", "o"])
    start = (root, gap, one, gram, norm)
    quotient = ("norm", "eye(d)/b", "1/b")
    assert follows(*start, line("x", "norm-quotient", quotient, ["n", "s", "g"], divisor="b"))
    assert refused(
        *start, line("x", "norm-quotient", ("norm", "eye(d)/b", "1"), ["n", "s", "g"], divisor="b")
    )
    assert refused(*start, line("x", "norm-quotient", quotient, ["n", "s", "o"], divisor="b"))
    assert refused(*start, line("x", "norm-quotient", quotient, ["n", "s", "g"], divisor="eye(d)"))
    assert refused(*start, line("x", "norm-quotient", quotient, ["n", "o", "g"], divisor="b"))
