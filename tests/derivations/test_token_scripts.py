"""The scripts about tokens run: steps pass, bounds that are printed hold, LaTeX is the accepted one."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "derivations"
#: Each script with its documents, and whether these are articles of their own.
SCRIPTS = {
    "token_system": (
        ("softmax", "softmax_sphere", "l2", "sinkhorn_sphere", "sigmoid", "linear", "unnormalised_sphere",
         "multihead", "masked"),
        True,
    ),
    "fast_sums": (("circle", "sphere", "moments"), True),
    "stability": (
        ("softmax", "softmax_sphere", "l2", "sinkhorn", "sigmoid", "linear", "unnormalised", "multihead",
         "masked"),
        True,
    ),
    "common_cosine": (("softmax", "unnormalised", "linear"), False),
    "uniform_instability": (("softmax", "unnormalised"), False),
}  # fmt: skip
ACCEPTED = [
    "token_system_softmax",
    "token_system_softmax_sphere",
    "token_system_masked",
    "fast_sums_circle",
    "fast_sums_moments",
    "stability_softmax",
    "stability_l2",
    "common_cosine_softmax",
    "uniform_instability_softmax",
]
CENTIMETRE = 28.46  #: in pt


def _run(name: str, *arguments: str) -> str:
    """Run a script and return what it prints."""
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"{name}.py", *arguments])
        patch.setattr("builtins.print", lambda *parts: lines.append(" ".join(map(str, parts))))
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> dict[str, tuple[str, dict[str, str]]]:
    """Run every script once; return what each one printed and wrote."""
    found = {}
    for name in SCRIPTS:
        folder = tmp_path_factory.mktemp(name)
        shown = _run(name, str(folder))
        found[name] = shown, {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_step_passes_and_every_document_is_written(done, name):
    shown, files = done[name]
    assert "FAILED" not in shown
    documents, articles = SCRIPTS[name]
    assert {f"{name}_{document}" for document in documents} <= set(files)
    assert ("passed" in shown) == articles


@pytest.mark.parametrize("document", ACCEPTED)
def test_latex_is_the_accepted_one(done, golden, document):
    files = {stem: text for _, written in done.values() for stem, text in written.items()}
    golden(f"{document}.tex", files[document])


@pytest.mark.parametrize("document", ["token_system_multihead", "fast_sums_sphere", "stability_sinkhorn"])
def test_articles_compile_within_their_margins(done, pdflatex, document):
    files = {stem: text for _, written in done.values() for stem, text in written.items()}
    assert max(pdflatex(files[document]), default=0.0) < CENTIMETRE


@pytest.mark.parametrize("name", ["common_cosine", "uniform_instability"])
def test_formulas_compile(done, pdflatex, name):
    body = "\n".join(done[name][1].values())
    page = r"\documentclass{article}\usepackage{amsmath,amssymb,textcomp}\begin{document}"
    assert max(pdflatex(page + body + r"\end{document}"), default=0.0) < 60


def test_what_is_measured_is_what_is_predicted(done):
    shown = {name: text for name, (text, _) in done.items()}
    bounds = re.findall(r"([\d.e-]+) ≤ ([\d.e-]+)", shown["fast_sums"] + "\n" + shown["stability"])
    assert len(bounds) == 6
    assert all(float(left) <= float(right) for left, right in bounds)
    for name, count, tolerance in (("common_cosine", 3, 1e-8), ("uniform_instability", 4, 1e-11)):
        pairs = re.findall(r": ([\d.]+) and ([\d.]+)", shown[name])
        assert len(pairs) == count
        assert all(float(a) == pytest.approx(float(b), abs=tolerance) for a, b in pairs)
    theorem, run = re.search(r"theorem ([\d.]+), run ([\d.]+)", shown["uniform_instability"]).groups()
    assert float(theorem) == pytest.approx(float(run), rel=1e-7)
    assert "GLPR23/orthogonal-start: proved" in shown["common_cosine"]
    assert "accepted" in shown["common_cosine"]


def test_what_has_no_system_is_refused_with_the_reason(done):
    shown = done["token_system"][0]
    assert "only doubly stochastic triangular matrix is diagonal" in shown
    assert "stochastic equation" in shown
