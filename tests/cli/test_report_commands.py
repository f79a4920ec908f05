"""``verify`` and ``report`` as commands; what they contain is tested in their own rooms."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_verify_one_model(symflow_command: Any) -> None:
    done = symflow_command("verify", "softmax", "--json")
    assert done.code == 0
    assert done.json["passed"] is True
    assert {row["model"] for row in done.json["rows"]} == {"softmax"}


def test_verify_of_a_spec_file_is_shown_as_a_table(symflow_command: Any, examples: Path) -> None:
    done = symflow_command("verify", examples / "own-score.toml")
    assert done.code == 0
    assert "mpmath" in done.stdout
