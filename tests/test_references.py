"""The bibliography: read strictly, printed as BibTeX, text and bibitems; no heavy import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from symflow.errors import InputError
from symflow.references import bibliography, cite, keys_in, read_bibtex, reference


def test_the_three_papers_are_there():
    assert bibliography()["CACP25"]["eprint"] == "2501.18322"
    assert bibliography()["GLPR23"]["eprint"] == "2312.10794"
    assert bibliography()["ABGSR26"]["eprint"] == "2604.26898"


def test_bibtex_round_trip():
    entries = read_bibtex(cite())
    assert {entry.key: entry for entry in entries} == {key: reference(key) for key in bibliography()}


def test_every_entry_is_complete():
    for key, fields in bibliography().items():
        assert {"author", "title", "year", "kind"} <= set(fields), key
        assert fields["kind"] != "article" or fields["journal"]


def test_text_and_bibitems():
    assert cite("HNW93", format="text") == (
        "[HNW93] Ernst Hairer, Syvert Paul Nørsett and Gerhard Wanner. Solving Ordinary Differential "
        "Equations I: Nonstiff Problems. 2nd edition, Springer, 1993."
    )
    item = cite("SymPy17", format="latex")
    assert item.startswith(r"\bibitem[SymPy17]{SymPy17} Aaron Meurer et al. \emph{{SymPy}: ")
    assert item.endswith(r"\url{https://doi.org/10.7717/peerj-cs.103}")


def test_keys_in_a_reference():
    assert keys_in("CACP25, Section 2; see HNW93 and CACP25") == ("CACP25", "HNW93")
    assert keys_in("XYZ99, Theorem 1") == ()


def test_unknown_key_and_format_are_refused():
    with pytest.raises(InputError, match="'NOPE99' is unknown; known keys are CACP25"):
        cite("NOPE99")
    with pytest.raises(InputError, match="format"):
        cite(format="ris")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@misc{A, title = {x},}\n@misc{A, title = {y},}", "twice"),
        ("@misc{A, title = {x", "open brace"),
        ('@misc{A, title = "x"}', "malformed"),
        ("@misc{A, title = {x}, year}", "malformed"),
    ],
)
def test_malformed_entries_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_bibtex(text)


def test_import_is_light():
    heavy = "[m for m in ('sympy', 'numpy', 'scipy') if m in sys.modules]"
    script = f"import sys, symflow; symflow.cite(); print({heavy})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
