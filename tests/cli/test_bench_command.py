"""``bench`` on the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from symflow.bench.contest import Result
from symflow.bench.limits import Limits
from symflow.bench.run import Report


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "symflow", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])


def test_json_and_figure(tmp_path: Path) -> None:
    options = ("--size", "small", "--rounds", "1", "--threads", "1", "--threads", "2")
    done = _bench("T1", "T2", *options, "--figure", str(tmp_path / "roof.svg"), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {result["name"] for result in found["results"]} == {"symflow", "NumPy", "SciPy, DOP853"}
    threads = {(result["task"], result["threads"]) for result in found["results"]}
    assert threads == {("T1", 1), ("T1", 2), ("T2", 1)}  # threads do not pay in T2
    assert all(limits["bandwidth"] > 0 for limits in found["limits"].values())
    assert (tmp_path / "roof.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_table(symflow_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report({"machine": "a machine"}, {1: Limits(5e10, 3e-10, 4e10, 2e10)}, missing=["jax"])
    place = {"task": "T1", "case": "n = 64, d = 3", "unit": "ns per pair", "threads": 1}
    report.results += [
        Result(**place, name=name, median=2.0 * ratio, shortest=ratio, ratio=ratio, ratio_of_shortest=1.5,
               first=0.25, error=1e-16, limit=1.0)
        for name, ratio in (("symflow", 1.0), ("NumPy", 3.5))
    ]  # fmt: skip
    report.failed["T1, n = 64, d = 3, KeOps, threads 1"] = "no compiler"
    asked: dict[str, Any] = {}

    def run_bench(tasks: Any, **options: Any) -> Report:
        asked.update(options)
        return report

    monkeypatch.setattr("symflow.bench.run_bench", run_bench)
    done = symflow_command("bench", "--peers", "--realtime")
    assert done.code == 0
    assert (asked["peers"], asked["realtime"], asked["threads"]) == (True, True, (1,))
    assert "50 Gflop/s in registers, 0.3 ns for exp" in done.stdout
    assert "T1: n = 64, d = 3, ns per pair" in done.stdout
    assert re.search(r"NumPy +1 +7 +3.5 +3.5 \(1.5\) +7 +0.25 s +1.0e-16", done.stdout)
    assert "not installed: jax" in done.stdout
    assert "KeOps, threads 1 was left out: no compiler" in done.stderr


def test_bad_requests(symflow_command: Any, tmp_path: Path) -> None:
    assert symflow_command("bench", "--figure", tmp_path / "roof.txt").code == 2
    assert symflow_command("bench", "--figure", tmp_path / "absent" / "roof.svg").code == 2
    assert symflow_command("bench", "--size", "huge").code == 2
