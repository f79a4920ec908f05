"""The table of public fault reports names tests that exist, in files that name the report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_TABLE = (ROOT / "docs" / "cases.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([A-Z]\d{3}) \| [^|]+ \| (.+) \|$", _TABLE, re.MULTILINE)


def test_every_report_has_one_row() -> None:
    ids = [identifier for identifier, _ in ROWS]
    assert len(ids) == len(set(ids)) == _TABLE.count("\n| ") - 1


@pytest.mark.parametrize(("identifier", "tests"), ROWS, ids=[identifier for identifier, _ in ROWS])
def test_tests_exist_and_their_files_name_the_report(identifier: str, tests: str) -> None:
    named = re.findall(r"`([^`]+)::([^`]+)`", tests)
    assert named
    for file, function in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {function}\(", source, re.MULTILINE), f"{file} has no {function}"
        assert identifier in source, f"{file} does not name {identifier}"
