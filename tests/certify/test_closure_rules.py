"""Rules and lemmas about heads, roots and moments one by one, and unsound uses that each refuses."""

import copy

import pytest

from symflow.certify.judgement import RELATIONS
from symflow.certify.kinds.identity_chain import run_chain
from symflow.certify.propositions import proposition


def head(average, kernel, value, normalise, members=()):
    return {
        "average": average,
        "kernel": kernel,
        "value": value,
        "normalise": normalise,
        "prefactor": "1",
        "members": list(members),
        "count": "H" if members else None,
    }


SQUARE = ["d", "d"]
STATEMENT = {
    "query": "x",
    "key": "y",
    "mean": "alpha",
    "covariance": "Sigma",
    "heads": [
        head("m", "dot(x, A*y) + g", "V*y + w", "none", ["A", "V"]),
        head("n", "exp(dot(y, B*x) + dot(y, c) + norm2(x))", "U*y", "sinkhorn"),
    ],
    "output": "W*x",
    "diffusion": "e",
    "positions": None,
    "symbols": {**dict.fromkeys("AVBUW", SQUARE), "K": ["k", "d"], "c": ["d"], "w": ["d"], "e": [], "g": []},
    "signs": {"e": "nonnegative"},
    "mean_rhs": "U*alpha",
    "cov_rhs": "U*Sigma + Sigma*U.T",
    "domain": None,
}
MASKED = STATEMENT | {
    "heads": STATEMENT["heads"][:1],
    "positions": {"second": "M2", "first": "M1", "mass": "M0"},
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


def run(*lines, statement=STATEMENT):
    proof = {"factor": "F", "noise": "z", "lines": list(lines)}
    outcome = run_chain(proposition("gaussian-preservation"), statement, proof)
    assert not outcome.accepted, "no chain of this file reaches the claim"
    return outcome.lines, outcome.reason


def follows(*lines, **given):
    seen, reason = run(*lines, **given)
    return all(entry.accepted for entry in seen) and "does not say what is claimed" in reason


def refused(*lines, **given):
    """Whether exactly the last line is refused."""
    seen, _ = run(*lines, **given)
    accepted = [entry.accepted for entry in seen]
    return len(seen) == len(lines) and accepted == [True] * (len(lines) - 1) + [False]


def edited(record, **changes):
    """Return a line with other arguments or another conclusion."""
    changed = copy.deepcopy(record)
    for key, value in changes.items():
        part = changed["with"] if key in changed["with"] else changed["conclusion"]
        part[key] = value
    return changed


# --- averages ----------------------------------------------------------------------------------------------

VALUE = line("v", "normal-form", ("equal", "V*y + w", "V*y + w"))
KERNEL = line("k", "normal-form", ("equal", "dot(x, A*y) + g", "dot(A.T*x, y) + g"))
MOMENTS = line(
    "m",
    "gaussian-moments",
    ("equal", "m", "(V*(Sigma + alpha*alpha.T) + w*alpha.T)*A.T*x + g*(V*alpha + w)"),
    ["average m", "v", "k"],
    push="A.T*x",
    rest="g",
    slope="V",
    offset="w",
)


def test_two_moments_of_a_gaussian():
    assert follows(VALUE, KERNEL, MOMENTS)
    for right in ("V*Sigma*A.T*x", "(V*(Sigma + alpha*alpha.T) + w*alpha.T)*A.T*x + g*V*alpha"):
        assert refused(VALUE, KERNEL, edited(MOMENTS, right=right))
    assert refused(VALUE, KERNEL, edited(MOMENTS, left="n"))
    assert refused(VALUE, KERNEL, edited(MOMENTS, left="U*x"))
    for changes in (
        {"push": "A*x"},
        {"push": "A"},
        {"push": "K*x"},
        {"rest": "2*g"},
        {"offset": "0*w"},
        {"slope": "A"},
    ):
        assert refused(VALUE, KERNEL, edited(MOMENTS, **changes)), changes
    assert refused(VALUE, KERNEL, MOMENTS | {"premises": ["average n", "v", "k"]})
    assert refused(VALUE, KERNEL, MOMENTS | {"premises": ["average m", "k", "v"]})


def test_the_coefficients_of_a_kernel_are_free_of_the_key():
    kernel = line("k", "normal-form", ("equal", "dot(x, A*y) + g", "dot(A.T*x - y, y) + g + norm2(y)"))
    hidden = line("h", "definition", ("equal", "r", "g + norm2(y)"))
    for rest, lines in (("g + norm2(y)", ()), ("r", (hidden,))):
        forged = edited(MOMENTS, push="A.T*x - y", rest=rest)
        assert refused(*lines, VALUE, kernel, forged)
    noisy = edited(MOMENTS, push="A.T*x + z")
    assert refused(VALUE, KERNEL, noisy)


def test_under_a_mask_the_moments_are_those_of_all_positions():
    masked = edited(MOMENTS, right="(V*M2 + w*M1.T)*A.T*x + g*(V*M1 + w*M0)")
    assert follows(VALUE, KERNEL, masked, statement=MASKED)
    assert refused(VALUE, KERNEL, MOMENTS, statement=MASKED)
    for right in ("(V*M2 + w*M1.T)*A.T*x + g*(V*M1 + w)", "(V*M2 + w*alpha.T)*A.T*x + g*(V*M1 + w*M0)"):
        assert refused(VALUE, KERNEL, edited(MOMENTS, right=right), statement=MASKED)
    assert refused(line("1", "normal-form", ("equal", "M2", "Sigma + alpha*alpha.T")), statement=MASKED)
    assert refused(line("1", "normal-form", ("equal", "M0", "1")), statement=MASKED)
    assert follows(line("1", "normal-form", ("equal", "M2", "M2.T")), statement=MASKED)
    assert refused(line("1", "normal-form", ("equal", "M2", "M2.T")))


def test_an_average_depends_on_the_query():
    assert follows(VALUE, KERNEL, MOMENTS)
    moved = "(V*(Sigma + alpha*alpha.T) + w*alpha.T)*A.T*c + g*(V*alpha + w)"
    forged = line("1", "instance", ("equal", "m", moved), ["m"], variable="x", value="c")
    assert refused(VALUE, KERNEL, MOMENTS, forged)
    trivial = line("a", "normal-form", ("equal", "m - n", "m - n"))
    assert refused(
        trivial, line("1", "instance", ("equal", "m - n", "m - n"), ["a"], variable="x", value="y")
    )
    lyapunov = line("a", "normal-form", ("equal", "tr(m*m.T)*Sigma*2", "tr(m*m.T)*Sigma*2"))
    gradient = {"gradient": "tr(m*m.T)*eye(d)"}
    flow = ("local-flow", "U*alpha", "tr(m*m.T)*Sigma*2")
    assert refused(lyapunov, line("1", "cauchy-lipschitz", flow, ["a"], **gradient))


def test_an_average_has_no_second_meaning():
    assert refused(line("1", "definition", ("equal", "m", "V*x")))
    assert refused(line("1", "normal-form", ("equal", "m", "V*alpha + w")))
    assert refused(line("1", "normal-form", ("equal", "m", "n")))
    assert refused(line("1", "normal-form", ("equal", "m", "V*x"), ["average m"]))
    assert refused(line("1", "rewrite", ("equal", "n", "n"), ["average n"]))
    for relation in ("softmax-average", "sinkhorn-average", "kernel-average"):
        assert refused(line("1", "rewrite", (relation, "n", "U*y", "g"), ["average n"]))


# --- doubly stochastic scalings ----------------------------------------------------------------------------

SCORE = "dot(y, B*x) + dot(y, c) + norm2(x)"
SPLIT = line("s", "normal-form", ("equal", SCORE, SCORE))
PLAIN = line("u", "normal-form", ("equal", "U*y", "U*y"))
N = "F.T*B*F"
M = f"(eye(d) + 4*{N}*({N}).T)"
T = f"2*inv(eye(d) + sqrtm({M}))"


def definite_spread():
    """Write T ≻ 0 from the squares up."""
    return [
        line("1", "gram", ("semidefinite", f"{N}*({N}).T"), factor=f"({N}).T"),
        line("2", "scalar-sign", ("nonnegative", "4")),
        line("3", "scale", ("semidefinite", f"4*{N}*({N}).T"), ["1", "2"]),
        line("4", "identity", ("definite", "eye(d)")),
        line("5", "sum", ("definite", M), ["4", "3"]),
        line("6", "definite-root", ("principal-root", M), ["5"]),
        line("7", "root-definite", ("definite", f"sqrtm({M})"), ["5"]),
        line("8", "sum", ("definite", f"eye(d) + sqrtm({M})"), ["4", "7"]),
        line("9", "definite-invertible", ("invertible", f"eye(d) + sqrtm({M})"), ["8"]),
        line("10", "inverse-definite", ("definite", f"inv(eye(d) + sqrtm({M}))"), ["8"]),
        line("t", "sum", ("definite", T), ["10", "10"]),
        line("o", "normal-form", ("equal", f"{T} + {T}*{N}*({N}).T*{T}", "eye(d)")),
    ]


SCALING = line(
    "n",
    "gaussian-scaling",
    ("equal", "n", f"U*(alpha + F*{T}*F.T*B*(x - alpha))"),
    ["average n", "covariance", "s", "t", "o", "u"],
    bilinear="B",
    query_part="norm2(x)",
    key_part="dot(y, c)",
    slope="U",
    offset="zeros(d, 1)",
)
READY = (*definite_spread(), SPLIT, PLAIN)


def test_the_scaling_of_a_gaussian_kernel():
    assert follows(*READY, SCALING)
    for right in (f"U*(alpha + F*{T}*F.T*B*x)", f"U*(alpha + F*{T}*F.T*B.T*(x - alpha))", "U*alpha"):
        assert refused(*READY, edited(SCALING, right=right))
    for changes in (
        {"bilinear": "B.T"}, {"bilinear": "K"}, {"query_part": "norm2(y)"}, {"query_part": "0"},
        {"query_part": "K"}, {"key_part": "dot(x, c)"}, {"slope": "B"}, {"offset": "w"}, {"left": "m"},
    ):  # fmt: skip
        assert refused(*READY, edited(SCALING, **changes)), changes
    for index, other in (
        (0, "average m"),
        (1, "s"),
        (2, "u"),
        (3, "4"),
        (3, "5"),
        (4, "covariance"),
        (5, "s"),
    ):
        premises = [*SCALING["premises"]]
        premises[index] = other
        assert refused(*READY, SCALING | {"premises": premises}), (index, other)


def test_another_solution_is_no_scaling():
    """T = I solves T + TNNᵀT = I for N = 0 only."""
    optimal = line("q", "normal-form", ("equal", "eye(d) + 0*B", "eye(d)"))
    forged = edited(SCALING, right="U*(alpha + F*F.T*B*(x - alpha))")
    assert refused(*READY, optimal, forged | {"premises": ["average n", "covariance", "s", "4", "q", "u"]})
    wrong = line("q", "normal-form", ("equal", f"{T} + {T}*({N}).T*{N}*{T}", "eye(d)"))
    assert refused(*READY, wrong)


def test_the_coupling_is_the_same_for_every_query():
    for name, value in (("q", "B + x*x.T - x*x.T"), ("q", "B*dot(x, x)")):
        hidden = line("h", "definition", ("equal", name, value))
        assert refused(*READY, hidden, edited(SCALING, bilinear=name))


# --- roots -------------------------------------------------------------------------------------------------


def test_a_root_must_exist_before_it_is_written():
    for text in (
        "sqrtm(B)",
        "sqrtm(B)*sqrtm(B)",
        "sqrtm(B - B + eye(d))",
        "sqrtm(eye(d) + B.T*B)",
        "0*sqrtm(B)",
    ):
        assert refused(line("1", "normal-form", ("equal", text, text))), text
    start = [*definite_spread()[:6]]
    assert follows(*start, line("x", "normal-form", ("equal", f"sqrtm({M})*sqrtm({M})", M)))
    assert follows(*start, line("x", "normal-form", ("equal", f"sqrtm({M}).T", f"sqrtm({M})")))
    assert refused(*start, line("x", "normal-form", ("equal", f"sqrtm({M})", M)))
    assert refused(*start, line("x", "normal-form", ("equal", f"sqrtm(4*{M})", f"2*sqrtm({M})")))


def test_roots_exist_for_definite_matrices_and_what_has_their_eigenvalues():
    lines = definite_spread()
    assert refused(*lines[:5], line("x", "definite-root", ("principal-root", "B"), ["5"]))
    assert refused(*lines[:5], line("x", "definite-root", ("principal-root", f"4*{N}*({N}).T"), ["3"]))
    turned = f"-4*B*F*({N}).T*F.T"
    same = f"eye(d) + 4*F.T*B*F*({N}).T"
    exchanged = line(
        "x", "exchange", ("principal-root", same), ["6"], first="F.T", second=f"{turned}*0 + 0*B"
    )
    assert refused(*lines[:6], exchanged)
    good = line(
        "x",
        "exchange",
        ("principal-root", f"eye(d) + 4*B*F*({N}).T*F.T"),
        ["6"],
        first=f"-4*B*F*({N}).T",
        second="F.T",
    )
    assert follows(*lines[:6], good)
    assert refused(*lines[:5], edited(good) | {"premises": ["5"]})
    invertible = edited(good)
    invertible["conclusion"]["relation"] = "invertible"
    assert refused(*lines[:6], invertible)
    definite = edited(good)
    definite["conclusion"]["relation"] = "definite"
    assert refused(*lines[:6], definite)


def test_what_a_root_inherits():
    lines = definite_spread()
    assert refused(*lines[:6], line("x", "root-definite", ("definite", f"sqrtm({M})"), ["6"]))
    assert refused(*lines[:6], line("x", "root-definite", ("definite", M), ["5"]))
    shifted = line("x", "shifted-root", ("invertible", f"eye(d) + sqrtm({M})"), ["6"])
    assert follows(*lines[:6], shifted)
    for text in (f"sqrtm({M}) - eye(d)", f"eye(d) + {M}", f"2*eye(d) - sqrtm({M})"):
        assert refused(*lines[:6], edited(shifted, matrix=text))
    assert refused(*lines[:6], shifted | {"premises": ["5"]})


# --- families ----------------------------------------------------------------------------------------------


def test_an_equality_is_summed_over_the_heads():
    single = line("e", "normal-form", ("equal", "V*(x + x)", "2*V*x"))
    whole = line("f", "family-sum", ("equal", "sum(V*(x + x), H, V)", "2*sum(V, H, V)*x"), ["e"], member="V")
    assert follows(single, whole)
    assert follows(single, edited(whole, member="A"))
    for changes in (
        {"right": "2*V*x"}, {"right": "sum(V, H, V)*x"}, {"left": "V*(x + x)"}, {"member": "U"},
        {"member": "V*A"},
        {"right": "2*sum(V, d, V)*x"}, {"right": "2*sum(V*U, H, U)*x"},
    ):  # fmt: skip
        assert refused(single, edited(whole, **changes)), changes
    assert refused(whole)


def test_an_abbreviation_of_one_head_is_not_summed():
    hidden = line("h", "definition", ("equal", "r", "V*x"))
    single = line("e", "normal-form", ("equal", "V*x", "r"), ["h"])
    assert follows(hidden, line("e", "normal-form", ("equal", "r", "V*x"), ["h"]))
    first = line("e", "combination", ("equal", "V*x", "r"), ["h"], before=["-1"], after=["1"])
    assert follows(hidden, first)
    for right in ("H*r", "sum(V*x, H, V)", "sum(V, H, V)*x"):
        forged = line("f", "family-sum", ("equal", "sum(V*x, H, V)", right), ["e"], member="V")
        assert refused(hidden, first, forged), right
    assert refused(hidden, single | {"rule": "normal-form", "premises": []})


def test_what_is_put_into_a_sum_is_not_captured():
    linear = line("1", "normal-form", ("equal", "sum(V*x, H, V)", "sum(V, H, V)*x"))
    for value in ("V*c", "A*V*c"):
        whole = ("equal", f"sum(V*{value}, H, A, V)", f"sum(V, H, V)*{value}")
        assert refused(linear, line("2", "instance", whole, ["1"], variable="x", value=value)), value
    fine = ("equal", "sum(V*U*c, H, V)", "sum(V, H, V)*U*c")
    assert follows(linear, line("2", "instance", fine, ["1"], variable="x", value="U*c"))
    hidden = line("h", "definition", ("equal", "r", "V*x"))
    wrong = ("equal", "sum(V.T*r, H, V)", "sum(V.T*V, H, V)*x")
    assert refused(hidden, line("2", "normal-form", wrong, ["h"]))


def test_a_sum_runs_over_one_family():
    for text in (
        "sum(U*x, H, U)",
        "sum(V*x, d, V)",
        "sum(V*x, k, V)",
        "sum(sum(V*A*x, H, A), H, V)",
        "sum(V*n, H, V, n)",
    ):
        assert refused(line("1", "normal-form", ("equal", text, text))), text
    assert follows(line("1", "normal-form", ("equal", "sum(V*A*x, H, V, A)", "sum(V*A, H, A, V)*x")))
    assert refused(line("1", "normal-form", ("equal", "sum(V*A*x, H, V, A)", "sum(V, H, V)*sum(A, H, A)*x")))
    assert refused(line("1", "normal-form", ("equal", "sum(V*x, H, V)", "V*x")))
    assert refused(line("1", "normal-form", ("equal", "sum(V*A*x, H, V)", "sum(V*A*x, H, V, A)")))


def test_an_inverse_inside_a_sum_must_exist():
    text = "sum(V*inv(eye(d) + A)*x, H, A, V)"
    assert refused(line("1", "normal-form", ("equal", text, text)))
    root = "sum(V*sqrtm(eye(d) + A)*x, H, A, V)"
    assert refused(line("1", "normal-form", ("equal", root, root)))
    quotient = "sum(V*x/tr(A), H, A, V)"
    assert refused(line("1", "normal-form", ("equal", quotient, quotient)))


def test_a_common_factor_stands_behind_the_sum():
    body, after = "V*alpha*alpha.T*A", "x - alpha"
    given = {"member": "V", "body": body, "after": after}
    outside = f"sum({body}, H, A, V)*({after})"
    good = line("1", "family-factor", ("equal", f"sum({body}*({after}), H, A, V)", outside), **given)
    assert follows(good)
    assert refused(edited(good, after="A*x"))
    assert refused(edited(good, body="V"))
    assert refused(edited(good, right=f"{body}*({after})"))
    assert refused(edited(good, member="U"))
    own = ("equal", "sum(V*A*x, H, A, V)", "sum(V, H, V)*A*x")
    assert refused(line("1", "family-factor", own, member="V", body="V", after="A*x"))
    hidden = line("h", "definition", ("equal", "r", "A*x"))
    own = ("equal", "sum(V*r, H, V)", "sum(V, H, V)*r")
    assert refused(hidden, line("1", "family-factor", own, member="V", body="V", after="r"))


# --- noise -------------------------------------------------------------------------------------------------


def test_noise_needs_a_strength_that_is_not_negative_and_constant():
    statement = STATEMENT | {"heads": []}
    affine = line("v", "normal-form", ("equal", "W*x", "W*alpha + W*(x - alpha)"))
    system = "W*Sigma + Sigma*W.T + 2*e*eye(d)"
    equation = line("c", "normal-form", ("equal", system, system))
    sign = line("s", "scalar-sign", ("nonnegative", "e"), ["sign of e"])
    solution = line(
        "x",
        "linear-diffusion",
        ("gaussian-solution", "W*x", "e", "W*alpha", system),
        ["v", "c", "s"],
        gradient="W",
    )
    assert follows(affine, equation, sign, solution, statement=statement)
    for changes in (
        {"diffusion": "2*e"}, {"diffusion": "g"}, {"diffusion": "0"}, {"mean_rhs": "0*alpha"},
        {"gradient": "W.T"}, {"cov_rhs": "W*Sigma + Sigma*W.T"}, {"velocity": "2*W*x"},
        {"cov_rhs": "W*Sigma + Sigma*W.T + e*eye(d)"},
    ):  # fmt: skip
        assert refused(affine, equation, sign, edited(solution, **changes), statement=statement), changes
    negative = line("s", "scalar-sign", ("nonnegative", "-e"), ["sign of e"])
    assert refused(affine, equation, negative, statement=statement)
    quiet = line(
        "x", "affine-pushforward", ("gaussian-solution", "W*x", "e", "W*alpha", system), ["v", "c", "s"]
    )
    assert refused(affine, equation, sign, quiet, statement=statement)
    state = "tr(Sigma)"
    moving = f"W*Sigma + Sigma*W.T + 2*{state}*eye(d)"
    lines = (
        affine,
        line("c", "normal-form", ("equal", moving, moving)),
        line("g", "gram", ("semidefinite", "F*F.T"), factor="F.T"),
        line("r", "rewrite", ("semidefinite", "Sigma"), ["g", "covariance"]),
        line("s", "trace-sign", ("nonnegative", state), ["r"]),
    )
    assert follows(*lines, statement=statement)
    forged = ("gaussian-solution", "W*x", state, "W*alpha", moving)
    assert refused(
        *lines, line("x", "linear-diffusion", forged, ["v", "c", "s"], gradient="W"), statement=statement
    )


def test_with_noise_the_rank_is_not_constant():
    noisy = {**STATEMENT, "heads": [], "mean_rhs": "W*alpha", "cov_rhs": "W*Sigma + Sigma*W.T + 2*e*eye(d)"}
    proof = {"factor": "F", "noise": "z", "lines": [line("1", "identity", ("definite", "eye(d)"))]}
    outcome = run_chain(proposition("rank-invariance"), noisy, proof)
    assert "with noise the rank is not constant" in outcome.reason


# --- statements --------------------------------------------------------------------------------------------

FIRST, SECOND = STATEMENT["heads"]
BAD = {
    "a member of a family outside": {"output": "V*x"},
    "a sum of averages": {"output": "sum(m, H, m)"},
    "an average in a kernel": {"heads": [FIRST | {"kernel": "dot(x, A*y) + dot(x, m)"}]},
    "a sum of averages in a kernel": {"heads": [FIRST | {"kernel": "dot(x, A*y) + dot(x, sum(m, H, m))"}]},
    "a prefactor of every head": {"heads": [FIRST | {"prefactor": "tr(A)"}]},
    "a prefactor in the query": {"heads": [FIRST | {"prefactor": "dot(x, x)"}]},
    "a member of another family": {"heads": [FIRST, SECOND | {"value": "V*y"}]},
    "a member of two families": {"heads": [FIRST, FIRST | {"average": "n"}]},
    "a scalar member": {"heads": [FIRST | {"members": ["A", "V", "g"]}]},
    "a size as number of heads": {"heads": [FIRST | {"count": "d"}]},
    "a fixed number of heads": {"heads": [FIRST | {"count": "3"}]},
    "a matrix called like the number": {"heads": [FIRST | {"count": "K"}]},
    "a member that is no parameter": {"heads": [FIRST | {"members": ["A", "V", "Q"]}]},
    "too many heads": {"heads": [FIRST] * 9},
    "a kernel that is a matrix": {"heads": [FIRST | {"kernel": "A"}]},
    "a kernel with a corner": {"heads": [FIRST | {"kernel": "Max(0, dot(x, A*y))"}]},
    "a logarithm that cancels": {"heads": [SECOND | {"kernel": "exp(dot(y, B*x) + log(norm2(x)))"}]},
    "a scaling under a mask": {"positions": MASKED["positions"]},
    "a moment called like a parameter": {"heads": [FIRST], "positions": MASKED["positions"] | {"mass": "U"}},
    "moments with one name": {"heads": [FIRST], "positions": {"second": "M", "first": "M", "mass": "M"}},
    "moments that are no names": {"heads": [FIRST], "positions": {"second": 2, "first": 1, "mass": 0}},
    "positions that are no object": {"heads": [FIRST], "positions": ["second", "first", "mass"]},
    "a domain without normaliser": {"domain": "0*B"},
    "a sign of the noise in the state": {"diffusion": "dot(alpha, alpha)"},
}


@pytest.mark.parametrize("name", BAD)
def test_a_statement_that_means_something_else_is_refused(name):
    lines = [line("1", "identity", ("definite", "eye(d)"))]
    proof = {"factor": "F", "noise": "z", "lines": lines}
    outcome = run_chain(proposition("gaussian-preservation"), STATEMENT | BAD[name], proof)
    assert not outcome.accepted
    assert not outcome.lines, "the statement is refused before any line is read"
