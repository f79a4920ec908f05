"""The scripts about energies run: steps pass, claims are decided, both sides of a line agree."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "derivations"
CENTIMETRE = 28.46  #: in pt
#: Each script with its documents, and how many verdicts it replays.
SCRIPTS = {
    "first_variations": (
        {f"first_variation_{name}" for name in (
            "dissipation", "entropy", "exponential", "interaction", "log_partition", "self_transport", "own"
        )},
        0,
    ),
    "second_variation": (
        {f"second_variation_{name}" for name in ("wasserstein", "bures", "twisted", "sphere")},
        0,
    ),
    "hessian_on_spheres": ({"hessian_form", "hessian_metric_independence"}, 1),
    "energy_landscape": (
        {"landscape"} | {f"GLPR23-{name}" for name in (
            "block-rotation", "small-beta-saddles", "consensus-maximum", "uniform-minimiser"
        )},
        4,
    ),
    "non_convexity": (
        {f"convexity_{name}" for name in ("non_convexity", "no_upper_bound", "well", "score")},
        4,
    ),
}  # fmt: skip
ACCEPTED = ["first_variation_interaction", "second_variation_twisted", "hessian_form", "landscape"]


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> dict[str, tuple[str, dict[str, str]]]:
    """Run every script once; return what each one printed and wrote."""
    found = {}
    for name in SCRIPTS:
        folder, lines = tmp_path_factory.mktemp(name), []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", [f"{name}.py", str(folder)])
            patch.setattr("builtins.print", lambda *parts, to=lines: to.append(" ".join(map(str, parts))))
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
        found[name] = "\n".join(lines), {p.stem: p.read_text(encoding="utf-8") for p in folder.iterdir()}
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_steps_pass_and_verdicts_replay(done, name):
    shown, files = done[name]
    documents, replayed = SCRIPTS[name]
    assert set(files) == documents
    assert "FAILED" not in shown
    assert shown.count("replayed: True") == replayed
    assert "replayed: False" not in shown


@pytest.mark.parametrize("name", ["first_variations", "second_variation"])
def test_numbers_beside_each_other_agree(done, name):
    pairs = re.findall(r": (-?[\d./]+) and (-?[\d./]+)$", done[name][0], flags=re.MULTILINE)
    assert len(pairs) == (1 if name == "first_variations" else 4)
    for one, other in pairs:
        assert one == other


def test_the_promised_eigenvalue_is_there(done):
    lines = re.findall(r"at least ([\d.]+), at the polygon ([\d.]+)", done["energy_landscape"][0])
    assert len(lines) == 3
    for promised, found in lines:
        assert 0 < float(promised) <= float(found)


def test_own_energies_are_decided(done):
    shown = done["non_convexity"][0]
    assert "well: proved" in shown
    assert "score: refuted" in shown


@pytest.mark.parametrize("name", ACCEPTED)
def test_latex_is_the_accepted_one_and_compiles(done, golden, pdflatex, name):
    (text,) = [files[name] for _, files in done.values() if name in files]
    golden(f"energies_{name}.tex", text)
    assert max(pdflatex(text), default=0.0) < CENTIMETRE
