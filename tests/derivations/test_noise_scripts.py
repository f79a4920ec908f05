"""The scripts about common noise run: steps pass, claims are proved, symbols and numbers agree."""

import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "derivations"
SCRIPTS = ("common_noise", "random_layers")
CENTIMETRE = 28.46  #: in pt


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    found = {}
    for name in SCRIPTS:
        folder, lines = tmp_path_factory.mktemp(name), []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [f"{name}.py", str(folder)])
            patch.setattr(
                "builtins.print", lambda *parts, lines=lines: lines.append(" ".join(map(str, parts)))
            )
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        found[name] = "\n".join(lines), {p.stem: p.read_text(encoding="utf-8") for p in folder.iterdir()}
    return found


def test_steps_pass_and_claims_are_proved(done):
    assert all("FAILED" not in shown for shown, _ in done.values())
    assert done["common_noise"][0].count("proved, replayed") == 4
    assert done["common_noise"][0].count("passed: ") == 10
    assert done["random_layers"][0].count("passed: ") == 17


def test_symbols_and_numbers_agree(done):
    pairs = re.findall(r": (-?[\d.]+) and (-?[\d.]+)", done["random_layers"][0])
    assert len(pairs) == 8
    assert all(float(one) == pytest.approx(float(other), abs=2e-12) for one, other in pairs)
    shown = done["common_noise"][0]
    (pair,) = re.findall(r"close to one: (-?[\d.]+) and (-?[\d.]+)", shown)
    assert float(pair[0]) == pytest.approx(float(pair[1]), abs=1e-3)
    drifts = re.findall(r"drift (-?[\d.]+), with the Cholesky factor (-?[\d.]+)", shown)
    assert len(drifts) == 2
    assert all(abs(float(right) - float(wrong)) > 0.02 for right, wrong in drifts)


@pytest.mark.parametrize("name", ["common_noise", "random_layers_relu", "random_layers_erf"])
def test_latex_is_the_accepted_one(done, golden, name):
    files = {stem: text for _, written in done.values() for stem, text in written.items()}
    golden(f"{name}.tex", files[name])


@pytest.mark.parametrize("name", ["common_noise", "random_layers_relu", "random_layers_tanh"])
def test_articles_compile_within_their_margins(done, pdflatex, name):
    files = {stem: text for _, written in done.values() for stem, text in written.items()}
    assert max(pdflatex(files[name]), default=0.0) < CENTIMETRE
