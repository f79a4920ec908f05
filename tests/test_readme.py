"""What the README shows is run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def _block(heading: str, language: str) -> str:
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    assert len(blocks) == 1
    return blocks[0]


def test_set_up_is_two_commands_that_each_create_their_own_environment() -> None:
    lines = _block("Set-up", "bash").splitlines()
    assert len(lines) == 2
    assert "symflow report" in lines[0]
    assert "-m pytest" in lines[1]
    folders = [re.match(r"python3 -m venv (\S+) && ", line) for line in lines]
    assert all(folders)
    assert len({match[1] for match in folders if match}) == 2
    assert not any(line.endswith("\\") or line.startswith("$") for line in lines)


def test_python_example_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    source = _block("In Python", "python")
    assert sum(bool(line.strip()) for line in source.splitlines()) <= 15
    exec(compile(source, "README.md", "exec"), {})  # our own text
    printed = capsys.readouterr().out
    promised = re.findall(r"print\(.*\)  # (.*)", source)
    for comment in promised:
        if "paste" not in comment:
            assert comment.removesuffix("...") in printed


def test_variant_shown_is_the_shipped_one() -> None:
    shown = [line.strip() for line in _block("Add a variant", "python").splitlines()]
    shipped = (Path(__file__).parent.parent / "symflow/models/attention/l2.py").read_text(encoding="utf-8")
    assert all(line in shipped for line in shown)


def test_command_table_names_every_command() -> None:
    from symflow.cli import main

    section = README.split("\n## On the command line\n", 1)[1].split("\n## ", 1)[0]
    assert set(main.commands) == set(re.findall(r"symflow ([a-z-]+)", section))
