"""One way to run a command in tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from symflow.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Standard output, which must be exactly one JSON object."""
        value = json.loads(self.stdout, parse_constant=_refuse)
        assert isinstance(value, dict)
        return value


def _refuse(text: str) -> None:
    raise AssertionError(f"{text} is not JSON")


@pytest.fixture(scope="session")
def symflow_command() -> Callable[..., Outcome]:
    """Run ``symflow ARGUMENTS`` in this process."""

    def run(*arguments: str | Path) -> Outcome:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture(scope="session")
def examples() -> Path:
    """The folder of example specs."""
    return Path(__file__).parents[2] / "examples"
