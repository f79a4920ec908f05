"""Certificates that were written to deceive: what is refused, and that refusing is quick."""

import copy
import json
import random
import time

import pytest

from symflow.certify import Certificate, Verdict, replay
from symflow.certify.names import check_names
from symflow.certify.size import MAX_SIZE, expanded_size
from symflow.claims import check
from symflow.errors import CertificateError, InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention


@pytest.fixture(scope="module")
def softmax():
    return check("gaussian-preservation", Softmax())


@pytest.fixture(scope="module")
def l2():
    return check("gaussian-preservation", L2().with_symbolic_scale()).certificate.to_record()


@pytest.fixture
def record(softmax):
    return copy.deepcopy(softmax.certificate.to_record())


def refusal(record):
    """Return why a record is not accepted."""
    try:
        outcome = replay(record)
    except CertificateError as error:
        return str(error)
    assert not outcome.accepted
    return outcome.reason


def renamed(record, old, new):
    """Return the record with every letter ``old`` of its texts and keys replaced."""
    if isinstance(record, str):
        return record.replace(old, new)
    if isinstance(record, dict):
        return {renamed(key, old, new): renamed(value, old, new) for key, value in record.items()}
    return [renamed(part, old, new) for part in record] if isinstance(record, list) else record


# --- texts that read as something else ---------------------------------------------------------------------


def test_a_consistent_renaming_is_accepted(record):
    assert replay(renamed(record, "A", "Β_1")).accepted


@pytest.mark.parametrize("letter", ["\u202e", "\u200b", "\x85", "\u2028", "\xa0", "\ud800", "\x1b[2J", "\n"])
@pytest.mark.parametrize("place", ["name", "id", "scope", "version"])
def test_characters_that_do_not_print_are_refused(record, letter, place):
    if place == "name":
        record = renamed(record, "A", f'"A{letter}"')
    elif place == "id":
        record["proof"]["lines"][-1]["id"] = f"L9{letter}accepted"
    elif place == "scope":
        record["scope"] += letter
    else:
        record["versions"] = {"python": letter}
    assert "cannot be printed" in refusal(record)


@pytest.mark.parametrize(
    "name",
    [
        "k (k ≠ 7)",
        "beta. Global existence is shown",
        "A*x",
        "_A",
        "А",
        "µ",
        "\U0001d400",
        "A\u0301",
        "A" * 61,
        "",
        "0",
        "٣",
    ],
)
def test_a_name_is_a_plain_word(l2, name):
    record = copy.deepcopy(l2)
    symbols = {key: [name if size == "k" else size for size in shape]
               for key, shape in record["statement"]["symbols"].items()}  # fmt: skip
    record["statement"]["symbols"] = symbols
    record["scope"] = record["scope"].replace("d, k", f"d, {name}" if name > "d" else f"{name}, d")
    assert "cannot be a name" in refusal(record)
    with pytest.raises(CertificateError, match="cannot be a name"):
        check_names([name])


@pytest.mark.parametrize("pair", [("K", "Κ"), ("A", "Α"), ("o_1", "ο_1"), ("x", "x")])
def test_names_that_look_alike_are_refused(pair):
    with pytest.raises(CertificateError, match=r"look alike|used twice"):
        check_names(["y", *pair])


def test_a_parameter_that_looks_like_the_key_is_not_proved():
    verdict = check("gaussian-preservation", Attention("dot(x, A*у) + dot(y, c)"))
    assert verdict.status == "undecided"
    assert "cannot be a name" in verdict.reason


def test_a_definition_does_not_look_like_a_symbol(record):
    record["proof"]["lines"].insert(
        0,
        {
            "id": "W",
            "conclusion": {"relation": "equal", "left": "Α", "right": "V"},
            "rule": "definition",
            "premises": [],
            "with": {},
        },
    )
    assert "look alike" in refusal(record)


def test_a_fixed_size_is_not_called_every_size(l2):
    fixed = copy.deepcopy(l2)
    for name in ("Q", "K"):
        fixed["statement"]["symbols"][name] = ["3", "d"]
    assert "the scope is" in refusal(fixed | {"scope": l2["scope"].replace("d, k", "3, d")})
    honest = l2["scope"].replace("every size d, k", "every size d, others fixed to 3")
    assert replay(fixed | {"scope": honest}).accepted


# --- verdicts and files that say more than their certificate -----------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("claim", "CACP25/gaussian-l2"),
        ("status", "refuted"),
        ("scope", "everything"),
        ("assumes", []),
        ("assumes", ["riemann"]),
    ],
)
def test_a_stored_verdict_agrees_with_its_certificate(softmax, tmp_path, key, value):
    text = json.dumps(json.loads(softmax.to_json()) | {key: value})
    with pytest.raises(CertificateError, match=f"another '{key}'"):
        Verdict.from_json(text)
    path = tmp_path / "verdict.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CertificateError, match=f"another '{key}'"):
        replay(path)


def test_an_undecided_verdict_cannot_be_edited_to_proved():
    text = Verdict("gaussian-preservation", "undecided", reason="why").to_json()
    with pytest.raises(CertificateError, match="needs a certificate"):
        Verdict.from_json(text.replace("undecided", "proved"))


def test_an_unknown_lemma_of_an_unreplayed_verdict_is_printed_as_unknown(record):
    stored = Certificate.from_record(record | {"assumes": ["riemann_hypothesis"]})
    text = Verdict.from_certificate(stored).to_latex()
    assert r"riemann\_hypothesis" in text
    assert "does not replay" in text


# --- types and sizes ---------------------------------------------------------------------------------------

JUNK = [None, True, 1.0, float("nan"), [], {}, [[]], ["0"], ["d", "d", "d"], {"x": ["d"]}]


def places(node, path=()):
    """Yield the path of every part of a record."""
    yield path
    for key, part in (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    ):
        yield from places(part, (*path, key))


def with_part(record, path, part):
    """Return a copy of the record with another part at ``path``."""
    changed = copy.deepcopy(record)
    node = changed
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = copy.deepcopy(part)
    return changed


def test_a_part_of_a_wrong_type_is_a_refusal_and_never_another_error(record):
    rng, accepted = random.Random(3), set()
    for path in places(record):
        for junk in rng.sample(JUNK, 1 if path[:2] == ("proof", "lines") else 6):
            try:
                if path and replay(with_part(record, path, junk)).accepted:
                    accepted.add((path, str(junk)))
            except InputError:
                continue
    # what is accepted is true: A or V is a real number, the versions are not given, or nothing has changed
    numbers = {(("statement", "symbols", name), "[]") for name in "AV"}
    assert accepted - set(unchanged(record, accepted)) <= {*numbers, (("versions",), "{}")}


def unchanged(record, found):
    """Return those replacements that leave the record as it was."""
    for path, junk in found:
        node = record
        for key in path:
            node = node[key]
        if str(node) == junk:
            yield path, junk


@pytest.mark.parametrize("version", [1.0, float("nan"), "1", [1], 10**30])
def test_another_version_is_refused(record, version):
    assert "cannot be read" in refusal(record | {"version": version})


@pytest.mark.parametrize("text", ["1" * 5000, '{"a":' * 50_000, "NaN", '{"a": 1, "a": 2}'])
def test_odd_json_is_refused(text):
    for kind in (Certificate, Verdict):
        with pytest.raises(CertificateError):
            kind.from_json(text)


def test_data_that_json_does_not_have_is_refused(record):
    record["proof"]["lines"] = {1, 2}
    assert "cannot be part of a certificate" in refusal(record)
    with pytest.raises(CertificateError, match="must be an object"):
        Certificate("gaussian-preservation", "proved", "identity-chain", None, "", (), {})


SUM = "(a + b + c + e)"
LARGE = {
    "power of a sum": f"{SUM}**60",
    "power of a power": "(((a + b)**90)**90)**90",
    "product of sums": "*".join([SUM] * 40),
    "product of matrix sums": "dot(x, " + "*".join(["(A + V + eye(d))"] * 40) + "*y)",
    "trace of a long word": "tr(" + "*".join(["A", "V", "A.T"] * 200) + ")",
    "many denominators": "a/" + "/".join(f"(1 + exp({n}*{m}))" for n in "abc" for m in "bce"),
    "power of an inverse": f"1/(1 + exp{SUM} + exp(b))**90",
    "exponential of a power": f"exp({SUM}**40)",
    "many trigonometric terms": "(" + "+".join(f"sin({n} + {i})" for i in range(40) for n in "abc") + ")**2",
}


@pytest.mark.parametrize("name", LARGE)
def test_a_text_that_stands_for_too_much_is_refused_at_once(record, name):
    score = f"dot(x, A*y) + {LARGE[name]}"
    record["statement"]["symbols"] |= {letter: [] for letter in "abce"}
    record["statement"]["heads"][0]["kernel"] = f"exp({score})"
    record["proof"]["lines"][0]["conclusion"] |= {"left": score, "right": score}
    start = time.process_time()
    reason = refusal(record)
    assert any(word in reason for word in ("too large", "too long", "more than", "larger than")), reason
    assert time.process_time() - start < 2.0


def test_many_lines_of_moderate_size_are_too_much(record):
    def line(index):
        power = f"(a + b)**{40 + index % 50}"
        conclusion = {
            "relation": "equal",
            "left": f"{power}*(a + {index})",
            "right": f"(a + {index})*{power}",
        }
        return {
            "id": f"X{index}",
            "conclusion": conclusion,
            "rule": "normal-form",
            "premises": [],
            "with": {},
        }

    record["statement"]["symbols"] |= {"a": [], "b": []}
    record["proof"]["lines"] = [line(index) for index in range(300)]
    assert "the proof is too large" in refusal(record)
    record["proof"]["lines"] *= 2
    assert "at most" in refusal(record)


def test_many_symbols_are_too_much(record):
    record["statement"]["symbols"] |= {f"n{index}": [] for index in range(200)}
    assert "more than" in refusal(record)


def test_the_size_bound_counts_terms_and_letters():
    from symflow.algebra.grammar import parse
    from symflow.algebra.symbols import dimension, matrix

    d = dimension("d")
    symbols = {name: matrix(name, d, d) for name in "AB"} | {"d": d}
    assert expanded_size(parse("A", symbols)) == 1
    assert expanded_size(parse("(A + B)*(A - B)", symbols)) == 4 * 2
    assert expanded_size(parse("(A + B)*(A + B)", symbols)) == 4 * 2, "matrices do not commute"
    assert expanded_size(parse("tr(inv(A + B))*A", symbols)) == 3 * 2
    assert expanded_size(parse("A/(1 + exp(tr(A)))", symbols)) == 2 * 2
    with pytest.raises(CertificateError, match=f"exceeds {MAX_SIZE}"):
        expanded_size(parse("*".join(["(A + B)"] * 12), symbols))
