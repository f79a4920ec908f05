"""The gallery script of the closure theorem runs, and its LaTeX is the accepted one."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "derivations" / "gaussian_closure.py"
CENTIMETRE = 28.46  #: in pt
MODELS = ["softmax", "l2", "linear", "sinkhorn", "multihead", "masked_linear", "layer_and_noise"]
KINDS = [".tex", "_fragment.tex", ".html"]


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("gallery")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(SCRIPT), str(folder)])
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", KINDS)
def test_latex_is_the_accepted_one(written, golden, model, kind):
    name = f"gaussian_closure_{model}{kind}"
    golden(name, written[name])


@pytest.mark.parametrize("model", MODELS)
def test_accepted_document_compiles(written, pdflatex, model):
    overfull = pdflatex(written[f"gaussian_closure_{model}.tex"])
    assert max(overfull, default=0.0) < CENTIMETRE


def test_pages_are_written(written):
    assert all(f"gaussian_closure_{model}.html" in written for model in MODELS)


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    shown = capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert r"V(I+\Sigma A)\alpha" in shown
    assert "FAILED" not in shown
    assert shown.count("does not keep Gaussians Gaussian") == 3
