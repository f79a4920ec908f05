"""One default report for all tests of this folder; verification, tested elsewhere, is one stand-in row."""

from contextlib import contextmanager
from pathlib import Path

import pytest

import symflow.report.write as writing
from symflow.report import write_report
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
    """What ``write_report`` returned for the shipped models."""
    pytest.importorskip("matplotlib", reason="figures are an extra")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "verifying", _stand_in)
        return write_report(tmp_path_factory.mktemp("report") / "out")


@pytest.fixture(scope="session")
def examples():
    """The folder of example specs."""
    return Path(__file__).parents[2] / "examples"
