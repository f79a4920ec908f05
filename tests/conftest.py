"""Rules for every test: in CI a skipped test is a failed test, unless the machine lacks an accelerator."""

from __future__ import annotations

import os
from typing import Any

import pytest

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
