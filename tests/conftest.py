"""Rules and fixtures for every test.

In CI a skipped test is a failed test, unless the machine lacks an accelerator.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"

_ALLOWED = "no accelerator"  #: the only reason for which CI may skip


def _fail_if_skipped(report: Any) -> None:
    """Turn a skip into a failure; an expected failure (xfail) is not a skip."""
    if not os.environ.get("CI") or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if _ALLOWED not in reason:
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped, which CI does not accept: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Any:
    report = yield
    _fail_if_skipped(report)
    return report


def pytest_addoption(parser: Any) -> None:
    parser.addoption(
        "--accept-golden",
        action="store_true",
        help="overwrite the files of tests/golden with what the tests produce",
    )


@pytest.fixture
def golden(request: Any) -> Callable[[str, str], None]:
    """``golden(name, text)`` compares a text with ``tests/golden/name`` and shows the difference."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--accept-golden"):
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != expected:
            diff = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"tests/golden/{name}", "produced", lineterm=""
            )
            pytest.fail("\n".join([*diff, "", "accept with: pytest tests --accept-golden"]), pytrace=False)

    return compare


@pytest.fixture
def pdflatex(tmp_path: Path) -> Callable[[str], list[float]]:
    """``pdflatex(source)`` compiles a document and returns the widths in pt by which boxes are overfull."""
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed")

    def compile_document(source: str) -> list[float]:
        (tmp_path / "document.tex").write_text(source, encoding="utf-8")
        command = [program, "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
        for _ in range(2):  # the second run resolves citations
            run = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
            log = run.stdout.decode("utf-8", "replace")
            assert run.returncode == 0, log[-2000:]
        assert "undefined references" not in log
        return [float(width) for width in re.findall(r"Overfull \\[hv]box \(([\d.]+)pt too", log)]

    return compile_document
