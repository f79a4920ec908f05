"""Changed certificates about convexity: accepted exactly where an independent computation finds a proof."""

import copy
import json
from fractions import Fraction

import pytest
from sympy import Matrix, Rational, Symbol, expand, sympify
from sympy import exp as sympy_exp

from symflow.certify import Certificate, replay
from symflow.certify.propositions.convexity import CONVEXITY
from symflow.claims import check
from symflow.energies import Pairwise
from symflow.errors import CertificateError

T = Symbol("t", real=True)


def accepted(record):
    """Whether a record is a certificate that replays."""
    try:
        return replay(record).accepted
    except CertificateError:
        return False


def places(node, path=()):
    """Yield the path of every text in nested lists and objects."""
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))
    if isinstance(node, str):
        yield path


def changed(record, path, value):
    """Return a copy in which one part is another."""
    found = copy.deepcopy(record)
    node = found
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return found


def at(node, path):
    for key in path:
        node = node[key]
    return node


def other_numbers(text):
    """Return numbers near a rational one, and texts that are none."""
    number = Fraction(text)
    near = {number + 1, number - 1, -number, 2 * number, number / 2, Fraction(0), number + Fraction(1, 10**6)}
    return [str(other) for other in near - {number}] + ["", "x", "1/0", "1e3", "0.5", "exp(1)"]


# ---- atoms


WELL, BUMP = Pairwise("", "norm2(x)**2 - norm2(x)"), Pairwise("exp(-norm2(x - y))", "norm2(x)/2")
DENSITIES = {
    "well": (WELL, lambda x, y: 0, lambda x: x**4 - x**2),
    "bump": (BUMP, lambda x, y: sympy_exp(-((x - y) ** 2)), lambda x: x**2 / 2),
}


def is_rational(text):
    try:
        return "." not in text and "e" not in text and Fraction(text) is not None
    except (ValueError, ZeroDivisionError):
        return False


def proves(witness, pair, potential):
    """Decide by SymPy whether atoms on the line, moved along straight lines, bend the energy downwards."""
    numbers = [
        *witness["weights"],
        *(c for part in ("points", "velocities") for v in witness[part] for c in v),
    ]
    if not all(is_rational(text) for text in numbers):
        return False
    weights = [Rational(text) for text in witness["weights"]]
    points, velocities = ([Rational(v[0]) for v in witness[part]] for part in ("points", "velocities"))
    if min(weights) <= 0 or sum(weights) != 1 or len(set(points)) < len(points):
        return False
    moved = [x + T * v for x, v in zip(points, velocities, strict=True)]
    energy = sum(w * potential(x) for w, x in zip(weights, moved, strict=True))
    energy += sum(w * u * pair(x, y) for w, x in zip(weights, moved, strict=True)
                  for u, y in zip(weights, moved, strict=True)) / 2  # fmt: skip
    second = expand(sympify(energy).diff(T, 2).subs(T, 0))
    length = sum(w * v**2 for w, v in zip(weights, velocities, strict=True))
    try:
        value, square = (sympify(witness[part]) for part in ("value", "length"))
    except (SyntaxError, TypeError, ValueError):
        return False
    if value.free_symbols or square.free_symbols or not (value.is_finite and square.is_finite):
        return False
    return expand(second - value) == 0 and expand(length - square) == 0 and bool(second < 0)


@pytest.mark.parametrize("name", DENSITIES)
def test_changed_atoms_prove_only_what_they_prove(name):
    energy, pair, potential = DENSITIES[name]
    record = check("convexity", energy, dimension=1).certificate.to_record()
    witness = record["proof"]["witnesses"][0]
    assert proves(witness, pair, potential)
    tried = refused = 0
    for path in places(witness):
        if path == ("type",):
            continue
        for text in _others(at(witness, path)):
            mutated = changed(witness, path, text)
            valid = proves(mutated, pair, potential) and text not in ("", "0.5", "1e3")
            assert accepted(changed(record, ("proof", "witnesses", 0), mutated)) == valid, (path, text)
            tried, refused = tried + 1, refused + (not valid)
    assert tried >= 50
    assert refused >= 40


def _others(text):
    if is_rational(text):
        return other_numbers(text)
    return [
        f"-({text})",
        f"2*({text})",
        f"{text} + 1/1000000",
        text.replace("exp", "sin"),
        "0",
        "-1",
        "exp(d)",
    ]


def test_changed_gaussian_laws_are_refused():
    """F = −½·2s = −s of N(m, s): along b + S(x − m) the second derivative is −2S²s, and |v|² = b² + S²s."""
    record = check("convexity", Pairwise("-norm2(x - y)"), "bures", dimension=1).certificate.to_record()
    witness = record["proof"]["witnesses"][0]
    assert witness["type"] == "gaussian"
    tried = 0
    for path in places(witness):
        if path == ("type",):
            continue
        for text in other_numbers(at(witness, path)):
            mutated = changed(witness, path, text)
            valid = _is_gaussian_proof(mutated)
            assert accepted(changed(record, ("proof", "witnesses", 0), mutated)) == valid, (path, text)
            tried += 1
    assert tried >= 50


def _is_gaussian_proof(witness):
    numbers = [witness["mean"][0], witness["covariance"][0][0], witness["shift"][0], witness["slope"][0][0]]
    if not all(map(is_rational, numbers)):
        return False
    if not all(is_rational(witness[key]) or witness[key] in ("0.5", "1e3") for key in ("value", "length")):
        return False
    _, s, b, S = map(Fraction, numbers)
    value, length = Fraction(witness["value"]), Fraction(witness["length"])
    return s > 0 and value == -2 * S**2 * s and length == b**2 + S**2 * s and value < 0


def test_balls_must_hold_what_they_claim():
    record = check("convexity", Pairwise("", "tanh(norm2(x))"), dimension=1).certificate.to_record()
    value = record["proof"]["witnesses"][0]["value"]
    wide = {"midpoint": value["midpoint"], "radius": "1/1000"}
    assert accepted(changed(record, ("proof", "witnesses", 0, "value"), wide))
    for ball in (
        {"midpoint": str(-Fraction(value["midpoint"])), "radius": value["radius"]},
        {"midpoint": str(Fraction(value["midpoint"]) + 1), "radius": "1/2"},
        {"midpoint": value["midpoint"], "radius": "-1"},
        {"midpoint": value["midpoint"], "radius": "0"},
        {"midpoint": value["midpoint"]},
        {"midpoint": -1.5, "radius": 0.1},
    ):
        assert not accepted(changed(record, ("proof", "witnesses", 0, "value"), ball))


# ---- Diracs in every dimension: x'' = 2⟨v, x⟩v − |v|²x and |x|² − 1


def test_changed_families_of_diracs_are_refused():
    record = check("CACP25/no-upper-bound").certificate.to_record()
    wrong = {
        "acceleration": ["zeros(d, 1)", "2*dot(v, x)*v", "dot(v, v)*x - 2*dot(v, x)*v", "-dot(v, v)*x",
                         "2*dot(v, x)*v - dot(v, v)*v", "2*dot(v, x)*x - dot(v, v)*x", "dot(v, v)", "w", ""],
        "ratio": ["dot(x, x) + 1", "dot(x, x)", "2*dot(x, x) - 1", "-1", "1 - dot(x, x)", "dot(x, x)**2 - 1",
                  "dot(x, v) - 1", "x", "exp(dot(x, x)) - 1", ""],
        "radius": ["1", "2", "-1/2", "x", "11/10"],
        "type": ["atoms", "gaussian", ""],
    }  # fmt: skip
    for key, texts in wrong.items():
        for text in texts:
            assert not accepted(changed(record, ("proof", "witnesses", 0, key), text)), (key, text)
    for key, text in (
        ("radius", "9/10"),
        ("ratio", "-1 + dot(x, x)"),
        ("ratio", "norm2(x) - 1"),
        ("acceleration", "2*v*dot(x, v) - x*norm2(v)"),
    ):
        assert accepted(changed(record, ("proof", "witnesses", 0, key), text)), text


def test_every_part_of_the_claim_needs_its_witness():
    record = check("CACP25/non-convexity").certificate.to_record()
    witnesses = record["proof"]["witnesses"]
    for index in range(len(witnesses)):
        rest = witnesses[:index] + witnesses[index + 1 :]
        assert not accepted(changed(record, ("proof", "witnesses"), rest))
    assert not accepted(changed(record, ("assumes",), []))
    assert accepted(changed(record, ("proof", "witnesses"), witnesses[::-1]))
    assert accepted(changed(record, ("proof", "witnesses"), [*witnesses, witnesses[1]]))


# ---- quadratic energies: P and P + S


def quadratic(A, B):
    """Return the certificate that ½∬⟨x, Ay⟩ + ½∫⟨x, Bx⟩ is convex."""
    return check("convexity", Pairwise("dot(x, A*y)", "dot(x, B*x)/2", A=A, B=B)).certificate.to_record()


def test_changed_factorisations_are_refused():
    record = quadratic([[-1, 1], [1, 0]], [[3, 1], [1, 2]])
    proof = record["proof"]
    wanted = {"fluctuation": Matrix([[3, 1], [1, 2]]), "mean": Matrix([[2, 2], [2, 2]])}
    tried = 0
    for path in places(proof):
        for text in other_numbers(at(proof, path)):
            mutated = changed(proof, path, text)
            part = mutated[path[0]]
            valid = is_rational(text) and _is_factor(part, wanted[path[0]])
            assert accepted(changed(record, ("proof",), mutated)) == valid, (path, text)
            tried += 1
    assert tried >= 100


def _is_factor(part, wanted):
    read = [Matrix([[Rational(c) for c in row] for row in part[key]]) for key in ("matrix", "L")]
    D = [Rational(c) for c in part["D"]]
    return read[0] == wanted and read[1] * Matrix.diag(*D) * read[1].T == wanted and min(D) >= 0


@pytest.mark.parametrize("entry", ["-4", "-1", "0", "1/2", "1", "2", "5/2", "17"])
def test_a_proof_of_one_energy_is_none_of_another(entry):
    """With another parameter the matrices differ; the scope is adapted, so that only the proof is wrong."""
    record = quadratic([[1, 0], [0, 1]], [[1, 0], [0, 1]])
    other = changed(record, ("statement", "parameters", "A", 0, 0), entry)
    other["scope"] = CONVEXITY.scope(other["statement"])
    assert accepted(other) == (entry == "1")


@pytest.mark.parametrize("modulus", ["1/10", "1", "-1", "3/2"])
def test_a_proof_for_one_modulus_is_none_for_another(modulus):
    record = quadratic([[1, 0], [0, 1]], [[1, 0], [0, 1]])
    other = changed(record, ("statement", "modulus"), modulus)
    other["scope"] = CONVEXITY.scope(other["statement"])
    assert not accepted(other)


def test_rules_are_named_as_they_apply():
    record = check("convexity", Pairwise("exp(norm2(x - y))", "sqrt(1 + norm2(x))")).certificate.to_record()
    terms = record["proof"]["terms"]
    assert len(terms) == 2
    for other in ([], terms[:1], terms[::-1], [*terms, terms[0]], ["sum", terms[1]], "terms", None):
        assert not accepted(changed(record, ("proof", "terms"), other))
    concave = changed(record, ("statement", "potential"), "-sqrt(1 + norm2(x))")
    concave["scope"] = CONVEXITY.scope(concave["statement"])
    assert not accepted(concave)


# ---- boxes: U'' = 12x² − 2 on [a, 2] has the least value 12a² − 2


@pytest.fixture(scope="module")
def bound():
    domain = {"box": [[Fraction(1, 2), 2]]}
    return check("convexity", Pairwise("", "norm2(x)**2 - norm2(x)"), domain=domain).certificate.to_record()


@pytest.mark.parametrize("modulus", ["-5", "0", "1/2", "1", "3/2", "2", "45"])
def test_boxes_prove_a_modulus_below_the_least_value_only(bound, modulus):
    other = changed(bound, ("statement", "modulus"), modulus)
    other["scope"] = CONVEXITY.scope(other["statement"])
    if Fraction(modulus) >= 1:
        assert not accepted(other)
    elif Fraction(modulus) <= 0:
        assert accepted(other)


@pytest.mark.parametrize(("low", "convex"), [("1/3", False), ("0", False), ("-2", False), ("1", True)])
def test_boxes_prove_a_domain_where_the_energy_is_convex_only(bound, low, convex):
    other = changed(bound, ("statement", "domain", "box", 0, 0), low)
    other["scope"] = CONVEXITY.scope(other["statement"])
    assert accepted(other) == convex


def test_a_partition_must_cover_the_domain(bound):
    partition = bound["proof"]["partition"]
    assert len(partition) > 1
    for k in range(len(partition)):
        assert not accepted(changed(bound, ("proof", "partition"), partition[:k]))
        assert not accepted(changed(bound, ("proof", "partition"), partition[:k] + partition[k + 1 :]))
    for other in ([], [-1], [*partition, -1], [1], [True], ["-1"], [-2], "partition", {}, [0] * 30000):
        assert not accepted(changed(bound, ("proof", "partition"), other))
    finer = [node for kept in partition for node in ([0, -1, -1] if kept == -1 else [kept])]
    assert accepted(changed(bound, ("proof", "partition"), finer))


# ---- what holds for all of them


@pytest.fixture(scope="module")
def records(bound):
    claims = ("CACP25/non-convexity", "CACP25/no-upper-bound")
    others = [check(name).certificate.to_record() for name in claims]
    return [bound, quadratic([[1, 0], [0, 1]], [[1, 0], [0, 1]]), *others,
            check("convexity", WELL, dimension=1).certificate.to_record()]  # fmt: skip


def test_frames_count(records):
    names = (
        "convexity",
        "CACP25/non-convexity",
        "CACP25/no-upper-bound",
        "gaussian-preservation",
        "CACP25/none",
    )
    kinds = ("second-variation", "convex-terms", "hessian-bound", "identity-chain", "none")
    for record in records:
        for key, values in (("claim", names), ("kind", kinds), ("status", ("proved", "refuted", "true"))):
            for value in values:
                assert accepted(changed(record, (key,), value)) == (value == record[key]), (key, value)
        for key in ("scope", "assumes", "statement", "proof"):
            for junk in ("", [], {}, None, ["displacement", "coincident-atoms"]):
                if junk != record[key]:
                    assert not accepted(changed(record, (key,), junk))


def test_statements_count(records):
    for record in records:
        for key in record["statement"]:
            for junk in ("", "x", "3", [], {}, None, 1, {"name": "bures"}, "norm2(x)", {"box": [["0", "1"]]}):
                if junk != record["statement"][key]:
                    other = changed(record, ("statement", key), junk)
                    assert not accepted(other)
        lost = copy.deepcopy(record)
        del lost["statement"]["modulus"]
        assert not accepted(lost)


def test_a_size_does_not_hide_in_a_trace():
    """(3/2 − tr I)|x|² is convex in dimension one only."""
    record = check("convexity", Pairwise("", "norm2(x)/2")).certificate.to_record()
    statement = {**record["statement"], "parameters": {"J": {"identity": "1"}}}
    hidden = "dot(dot(x, x)*J, J*(1 + 0*dot(x, x)))"
    for text in ("tr(J)*norm2(x)", "norm2(J)*norm2(x)", "dot(J, J)*dot(x, x)", hidden):
        other = {**record, "statement": {**statement, "potential": f"3/2*norm2(x) - {text}"}}
        with pytest.raises(CertificateError, match="may depend on d"):
            CONVEXITY.scope(other["statement"])
        assert not accepted(other)
    plain = {
        **record["statement"],
        "potential": "norm2(x)/2 + 0*dot(x, J*x)",
        "parameters": statement["parameters"],
    }
    assert accepted({**record, "statement": plain, "scope": CONVEXITY.scope(plain)})


def test_towers_of_powers_are_refused_quickly():
    record = check("convexity", WELL, dimension=1).certificate.to_record()
    for text in ("((((x + 1/3)**99)**99)**99)**99", "exp(x)**99*" * 20 + "x", "((((2**99)**99)**99)**99)*x"):
        other = changed(record, ("statement", "potential"), text)
        other["scope"] = CONVEXITY.denial(other["statement"])
        assert not accepted(other)


def test_harmless_changes_are_accepted(records):
    for record in records:
        reordered = {key: record[key] for key in reversed(record)}
        reordered["proof"] = {key: record["proof"][key] for key in reversed(record["proof"])}
        reordered["statement"] = {key: record["statement"][key] for key in reversed(record["statement"])}
        assert accepted(json.loads(json.dumps(reordered)))
        assert accepted({**record, "versions": {"symflow": "99"}})
        assert accepted(json.loads(Certificate.from_record(record).to_json(indent=None)))


def test_equal_fractions_are_the_same_number(records):
    record = records[-1]
    witness = record["proof"]["witnesses"][0]
    twice = [[_unreduced(c) for c in x] for x in witness["points"]]
    assert accepted(changed(record, ("proof", "witnesses", 0, "points"), twice))
    assert accepted(changed(record, ("proof", "witnesses", 0, "value"), _unreduced(witness["value"])))


def _unreduced(text):
    number = Fraction(text)
    return f"{3 * number.numerator}/{3 * number.denominator}"
