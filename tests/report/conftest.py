"""One default report for all tests of this folder; verification, tested elsewhere, is one stand-in row."""

import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock

import symflow.report.write as writing
from symflow.report import write_report
from symflow.report.write import Written
from symflow.verify import Row, Table

ROW = Row("softmax", "A, V", "right-hand side", "a stand-in", 1, 0.5, 64.0, True)


@contextmanager
def _stand_in(*args, **kwargs):
    yield lambda: Table((ROW,))


@pytest.fixture
def no_verification(monkeypatch):
    monkeypatch.setattr(writing, "verifying", _stand_in)


@pytest.fixture(scope="session")
def default_report(tmp_path_factory):
    """What ``write_report`` returned for the shipped models; the first worker that asks writes it for all."""
    pytest.importorskip("matplotlib", reason="figures are an extra")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    out = shared / "default-report" / "out"
    with FileLock(f"{out.parent}.lock"):
        if not out.exists():
            out.parent.mkdir(exist_ok=True)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(writing, "verifying", _stand_in)
                write_report(out)
    summary = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return Written(out, summary["passed"], summary)


@pytest.fixture(scope="session")
def examples():
    """The folder of example specs."""
    return Path(__file__).parents[2] / "examples"
