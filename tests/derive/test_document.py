"""Derivations as LaTeX articles, fragments, HTML pages and notebook displays."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from sympy import MatAdd, MatMul

from symflow.algebra.symbols import dimension, matrix
from symflow.derive.closure import gaussian_closure
from symflow.derive.document import repr_latex, to_html, to_latex
from symflow.derive.steps import Formula
from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention

CENTIMETRE = 28.46  #: in pt
ALLOWED_PACKAGES = {"amsmath", "mathtools", "amssymb", "amsthm", "booktabs", "hyperref", "microtype"}


@pytest.fixture(scope="module")
def softmax():
    return gaussian_closure(Softmax())


@pytest.fixture(scope="module")
def affine():
    return gaussian_closure(Softmax(), {"Q", "K", "V", "bq", "bk", "bv", "bo"})


@pytest.fixture(scope="module")
def third():
    """A third variant: a term in yᵀCy, a linear term, and a title that is hostile to both formats."""
    model = Attention(
        "dot(Q*x, K*y) + dot(y, C*y)/2 + dot(c, y)", title="R&D <b>50%</b> of β_1 ~ #1 {x} \\x^2 \"q\" 'p'"
    )
    return gaussian_closure(model)


def _with_long_result(derivation, count):
    d = dimension("d")
    v, sigma = matrix("V", d, d), matrix("Sigma", d, d)
    terms = [MatMul(matrix(f"W_{h}", d, d), v, sigma, matrix(f"A_{h}", d, d), sigma) for h in range(count)]
    long = dataclasses.replace(derivation.steps[-1], formulas=(Formula(r"\dot\Sigma", MatAdd(*terms)),))
    return dataclasses.replace(derivation, steps=(*derivation.steps[:-1], long))


@pytest.mark.parametrize("name", ["softmax", "affine", "third"])
def test_article_compiles(name, request, pdflatex):
    source = to_latex(request.getfixturevalue(name))
    assert max(pdflatex(source), default=0.0) < CENTIMETRE


@pytest.mark.parametrize("count", [40, 200])
def test_long_results_compile(softmax, pdflatex, count):
    source = to_latex(_with_long_result(softmax, count))
    assert source.count("W_{") == count
    assert max(pdflatex(source), default=0.0) < CENTIMETRE


def test_article_has_every_part(softmax):
    source = to_latex(softmax)
    assert (
        set(re.findall(r"\w+", ",".join(re.findall(r"\\usepackage(?:\[.*?\])?\{(.*?)\}", source))))
        == ALLOWED_PACKAGES
    )
    for part in ("definition", "lemma", "theorem", "thebibliography"):
        assert rf"\begin{{{part}}}" in source
        assert rf"\end{{{part}}}" in source
    assert r"\paragraph{Step 3" in source
    assert r"\bibitem[CACP25]{CACP25}" in source
    assert r"\cite{CACP25}" in source
    assert r"\dot{\alpha} &= V(I+\Sigma A)\alpha" in source
    assert r"A = K^{\top}Q" in source


def test_every_citation_has_an_entry(affine):
    source = to_latex(affine)
    cited = {key for keys in re.findall(r"\\cite(?:\[.*?\])?\{(.*?)\}", source) for key in keys.split(",")}
    assert cited == set(re.findall(r"\\bibitem\[.*?\]\{(.*?)\}", source))


def test_same_derivation_same_text():
    first, second = gaussian_closure(L2()), gaussian_closure(L2())
    assert to_latex(first) == to_latex(second)
    assert to_html(first) == to_html(second)
    assert not re.search(r"\\today|20\d\d-\d\d-\d\d", to_latex(first))


def test_compiled_twice_gives_the_same_pdf(softmax, pdflatex, tmp_path):
    pdflatex(to_latex(softmax))
    first = (tmp_path / "document.pdf").read_bytes()
    pdflatex(to_latex(softmax))
    assert (tmp_path / "document.pdf").read_bytes() == first


def test_fragment_pastes_into_a_paper(third, pdflatex):
    fragment = to_latex(third, fragment=True)
    assert r"\documentclass" not in fragment
    assert r"\usepackage" not in fragment
    paper = "\n".join(
        [
            r"\documentclass[10pt]{article}\usepackage{amsmath,amssymb}\begin{document}",
            fragment,
            r"\begin{thebibliography}{9}\bibitem{CACP25} x\end{thebibliography}\end{document}",
        ]
    )
    assert max(pdflatex(paper), default=0.0) < CENTIMETRE


def test_checks_become_a_column(softmax):
    checked = softmax.checked()
    source, page = to_latex(softmax, checked=checked), to_html(softmax, checked=checked)
    assert "Checked by" in source
    assert "Checked by" in page
    assert all(seen.method in page for _, seen in checked)
    with pytest.raises(InputError, match="another derivation"):
        to_latex(softmax, checked=checked[1:])


def test_article_with_checks_compiles(softmax, pdflatex):
    assert max(pdflatex(to_latex(softmax, checked=softmax.checked())), default=0.0) < CENTIMETRE


def test_unknown_kind_is_refused(softmax):
    odd = dataclasses.replace(softmax, steps=(dataclasses.replace(softmax.steps[0], kind="remark"),))
    with pytest.raises(InputError, match="remark"):
        to_latex(odd)


# ---- HTML ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "affine", "third"])
def test_page_is_well_formed_and_self_contained(name, request):
    page = to_html(request.getfixturevalue(name))
    body = page[page.index("<main>") : page.index("</main>") + len("</main>")]
    tree = ElementTree.fromstring(body.replace("<br>", "<br/>"))
    assert len(tree.findall(".//math")) > 20
    assert not re.search(
        r"<script|<link|<img|src=|@import|url\(|\\(?:Sigma|alpha|top|frac)(?![^<]*</pre>)", page
    )
    outside = {a.get("href") for a in tree.findall(".//a")}
    assert {href for href in outside if not href.startswith("#")} == {"https://arxiv.org/abs/2501.18322"}
    ids = {e.get("id") for e in tree.iter() if e.get("id")}
    assert {href[1:] for href in outside if href.startswith("#")} <= ids


def test_hostile_title_is_text(third):
    page = to_html(third)
    assert "<b>" not in page
    assert "&lt;b&gt;50%&lt;/b&gt;" in page


def test_page_survives_a_long_result(softmax):
    page = to_html(_with_long_result(softmax, 200))
    assert page.count("<math") > 40


# ---- notebooks -------------------------------------------------------------------------------------


def test_notebook_display(softmax):
    """L112."""
    shown = softmax._repr_latex_()
    assert shown == repr_latex(softmax)
    assert shown.startswith(
        "$$\\begin{aligned}\n\\dot{\\alpha} &= V(I+\\Sigma A)\\alpha \\\\\n\\dot{\\Sigma} &= "
    )
    assert shown.endswith("\\end{aligned}$$")
    assert "\n" not in repr(softmax)


_EVERYTHING = """
import hashlib
from symflow import Attention, check, gaussian_closure
model = Attention("dot(Q*x, K*y) + dot(y, C*y)/2 + s*dot(c, y)")
derivation = gaussian_closure(model)
verdict = check("gaussian-preservation", model)
text = [derivation.to_latex(), derivation.to_html(), repr(derivation), verdict.to_json()]
print(hashlib.sha256("".join(text).encode()).hexdigest())
"""


def test_same_text_in_every_process():
    """C041: article, page and certificate depend on no salted hash."""
    found = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-c", _EVERYTHING]
        found.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(found) == 1
