"""The registry of claims: generic claims are decided as documented; all are listed and rendered."""

import html.parser
import re
import shutil
import subprocess
import time

import pytest

from symflow.certify import replay
from symflow.claims import check, claim, claims, claims_table, render_claims
from symflow.derive.closure import gaussian_closure
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax

ABOUT_A_MODEL = [name for name, entry in claims().items() if "model" in entry.arguments]
MEASURED = [name for name, entry in claims().items() if entry.experiment is not None]
#: Of the sizes of an experiment, those that make it long.
SMALL = {
    "replicates": 2,
    "starts": 2,
    "paths": 8,
    "tokens": 32,
    "smallest": 8,
    "doublings": 2,
    "reference": 64,
    "times": 1,
    "high dimension": 128,
    "time": 2.0,
    "longest": 100.0,
}


@pytest.mark.parametrize("name", ABOUT_A_MODEL)
@pytest.mark.parametrize("model", [Softmax(), L2()], ids=["softmax", "l2"])
def test_a_generic_claim_is_decided_as_documented(name, model):
    verdict = check(name, model)
    assert verdict.status == claim(name).documented
    assert verdict.method == claim(name).method


@pytest.mark.parametrize("name", MEASURED)
def test_a_measurement_repeats_bit_for_bit(name):
    """At sizes that decide nothing: the seed and the sizes fix every number."""
    experiment = claim(name).experiment
    sizes = {key: min(size, SMALL[key]) for key, size in experiment.sizes.items() if key in SMALL}
    measurement = experiment.measure(sizes=sizes)
    assert experiment.repeat(measurement).to_record() == measurement.to_record()
    other = experiment.measure(seed=experiment.seed + 1, sizes=sizes)
    assert other.estimates != measurement.estimates


def test_a_paper_states_its_own_system_not_another():
    record = check("CACP25/gaussian-softmax").certificate.to_record()
    generic = check(
        "gaussian-preservation", Softmax().with_symbolic_scale(), {"Q", "K", "V"}
    ).certificate.to_record()
    assert replay(generic | {"claim": "CACP25/gaussian-softmax"}).accepted
    assert replay(record | {"claim": "gaussian-preservation"}).accepted
    for model in (Softmax(), L2().with_symbolic_scale(), Softmax(beta=2)):
        given = {"Q", "K", "V"}
        other = check("gaussian-preservation", model, given).certificate.to_record()
        outcome = replay(other | {"claim": "CACP25/gaussian-softmax"})
        assert not outcome.accepted
        assert "CACP25/gaussian-softmax" in outcome.reason


def test_cases_need_every_part():
    record = check("CACP25/rank-invariance").certificate.to_record()
    assert "softmax: " in record["scope"]
    assert "l2: " in record["scope"]
    swapped = {"softmax": record["proof"]["l2"], "l2": record["proof"]["softmax"]}
    assert not replay(record | {"proof": swapped}).accepted
    for part in ("statement", "proof"):
        lost = {"softmax": record[part]["softmax"]}
        assert not replay(record | {part: lost}).accepted
        same = dict.fromkeys(("softmax", "l2"), record[part]["softmax"])
        assert not replay(record | {part: same}).accepted
    assert not replay(record | {"kind": "identity-chain"}).accepted
    assert not replay(record | {"scope": "everything"}).accepted


def test_a_derivation_is_as_good_as_its_model():
    derivation = gaussian_closure(Softmax())
    assert check("gaussian-preservation", derivation) == check("gaussian-preservation", Softmax())
    with pytest.raises(InputError, match="already fixes"):
        check("gaussian-preservation", derivation, {"A", "V"})


def test_an_unknown_claim_lists_near_matches():
    with pytest.raises(
        InputError, match="'gaussian-presevation' is unknown; did you mean gaussian-preservation"
    ):
        check("gaussian-presevation", Softmax())
    with pytest.raises(InputError, match="known claims are"):
        check("zzzzzz")


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(InputError, match=r"takes the arguments: model, given\?; 0 were given"):
        check("gaussian-preservation")
    with pytest.raises(InputError, match="takes the arguments: none; 1 were given"):
        check("CACP25/gaussian-softmax", Softmax())
    with pytest.raises(InputError, match="a model or a derivation is needed, got str"):
        check("gaussian-preservation", "softmax")
    with pytest.raises(InputError, match="'Z' is unknown"):
        check("gaussian-preservation", Softmax(), {"Z", "V"})


@pytest.mark.parametrize("limit", [0, -1, float("nan"), True])
def test_a_wall_time_is_positive(limit):
    with pytest.raises(InputError, match="max_wall_time"):
        check("gaussian-preservation", Softmax(), max_wall_time=limit)


def test_out_of_time_is_undecided():
    verdict = check("gaussian-preservation", Softmax(), max_wall_time=1e-9)
    assert verdict.status == "undecided"
    assert "max_wall_time" in verdict.reason


def test_the_check_of_softmax_is_fast():
    check("gaussian-preservation", Softmax())  # imports
    start = time.process_time()
    check("gaussian-preservation", Softmax())
    assert time.process_time() - start < 1.0


def test_the_table_has_a_row_for_every_claim():
    table = claims_table()
    assert [row.id for row in table] == list(claims())
    for row in table:
        assert row.command.startswith(f"symflow check {row.id}")
        assert "symflow replay" in row.command
        for text in (row.quoted, row.holds, row.hypotheses):
            assert text
            assert text.count("$") % 2 == 0
            assert text.isprintable(), "a backslash sequence was read as a control character"


class _Balanced(html.parser.HTMLParser):
    """Counts open elements."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_html_page_is_balanced_and_needs_no_network():
    page = render_claims(claims_table(), "html")
    parser = _Balanced()
    parser.feed(page)
    assert parser.open == []
    assert parser.seen.count("article") == len(claims())
    assert "math" in parser.seen
    assert "$" not in re.sub(r"<style>.*?</style>", "", page, flags=re.S)
    assert not re.search(r"(src|href)=", page)
    assert "&amp;&amp; symflow replay" in page


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match="use 'html' or 'latex'"):
        render_claims(claims_table(), "pdf")


def test_the_latex_page_compiles(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (tmp_path / "claims.tex").write_text(render_claims(claims_table(), "latex"), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "claims.tex"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert all(width < 28.45 for width in wide), "an overfull box above 1 cm"
