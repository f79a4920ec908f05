"""The script about gradient flows runs: steps pass, claims are proved, rates integrate to the growth."""

import re
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "derivations" / "gradient_flow.py"
CENTIMETRE = 28.46  #: in pt


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder, lines = tmp_path_factory.mktemp("gradient_flow"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [SCRIPT.name, str(folder)])
        patch.setattr("builtins.print", lambda *parts: lines.append(" ".join(map(str, parts))))
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return "\n".join(lines), {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_steps_pass_and_claims_are_proved(done):
    shown, files = done
    assert "FAILED" not in shown
    assert shown.count("passed") > 15
    assert shown.count(": proved") == 4
    assert "rejected" not in shown
    assert shown.count("δ(") >= 3
    assert len(files) == 6


def test_rates_integrate_to_the_growth_of_the_energy(done):
    (pair,) = re.findall(r"energy: ([\d.]+) and ([\d.]+)", done[0])
    assert float(pair[0]) == pytest.approx(float(pair[1]), abs=1e-11)


@pytest.mark.parametrize("name", ["softmax", "sinkhorn", "refuted_2"])
def test_articles_compile_within_their_margins(done, pdflatex, name):
    assert max(pdflatex(done[1][f"gradient_flow_{name}"]), default=0.0) < CENTIMETRE
