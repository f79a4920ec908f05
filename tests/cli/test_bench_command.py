"""``bench`` on the command line, in a process of its own: it confines itself to cores and threads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "symflow", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])


def test_json_and_figure(tmp_path: Path) -> None:
    done = _bench("T1", "--size", "small", "--rounds", "1", "--figure", str(tmp_path / "roof.svg"), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {result["name"] for result in found["results"]} == {"symflow", "NumPy"}
    assert found["threads"] == 1
    assert found["limits"]["bandwidth"] > 0
    assert (tmp_path / "roof.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_bad_requests(symflow_command: Any, tmp_path: Path) -> None:
    assert symflow_command("bench", "--figure", tmp_path / "roof.txt").code == 2
    assert symflow_command("bench", "--figure", tmp_path / "absent" / "roof.svg").code == 2
    assert symflow_command("bench", "--size", "huge").code == 2
