"""The scripts about the long time run; what they print and write holds the verdicts that are documented."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from symflow.claims import claims

FOLDER = Path(__file__).parents[2] / "derivations"
SCRIPTS = {
    "blow_up_time": ["blow-up-time"],
    "low_rank_limit": ["low-rank-limit", "low-rank-limit-commuting"],
    "blow_up_criterion": ["blow-up-criterion", "blow-up-positive"],
    "bounded_positive": ["bounded-positive", "bounded-adjoint"],
    "limit_zero_positive": ["limit-zero-positive"],
    "l2_no_blow_up": ["l2-no-blow-up", "l2-no-blow-up-any-k"],
    "l2_same_limit": ["l2-same-limit"],
    "sinkhorn_decoupling": ["sinkhorn-decoupling"],
    "sinkhorn_bures_flow": ["sinkhorn-bures-flow"],
}


@pytest.fixture(scope="module", params=SCRIPTS)
def done(request, tmp_path_factory):
    """Run a script; return its claims, what it printed and the folder that it wrote."""
    folder = tmp_path_factory.mktemp(request.param)
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"{request.param}.py", str(folder)])
        patch.setattr("builtins.print", lambda *parts: lines.append(" ".join(map(str, parts))))
        runpy.run_path(str(FOLDER / f"{request.param}.py"), run_name="__main__")
    return SCRIPTS[request.param], "\n".join(lines), folder


def test_a_script_reaches_the_documented_verdicts(done):
    names, shown, _ = done
    for name in names:
        assert f"CACP25/{name}: {claims()[f'CACP25/{name}'].documented}" in shown
    assert shown.count("accepted") == len(names)
    assert "rejected" not in shown


def test_the_documents_compile(done, pdflatex):
    names, _, folder = done
    assert {path.stem for path in folder.iterdir()} == {f"CACP25-{name}" for name in names}
    body = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.iterdir()))
    page = r"\documentclass{article}\usepackage{amsmath,amssymb,textcomp}\begin{document}"
    overfull = pdflatex(page + body + r"\end{document}")
    assert max(overfull, default=0.0) < 60


def test_bounds_that_are_printed_hold():
    shown = run("limit_zero_positive")
    pairs = re.findall(r"([\d.]+) ≤ ([\d.]+)", shown)
    assert len(pairs) == 4
    assert all(float(left) <= float(right) for left, right in pairs)
    theorem, measured = re.search(r"theorem ([\d.]+), run blow-up at ([\d.]+)", run("blow_up_time")).groups()
    assert float(theorem) == pytest.approx(float(measured), rel=1e-6)


def run(name: str) -> str:
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [f"{name}.py"])
        patch.setattr("builtins.print", lambda *parts: lines.append(" ".join(map(str, parts))))
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    return "\n".join(lines)
