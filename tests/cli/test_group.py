"""Exit codes, one-line errors, JSON and nothing else on standard output."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import click
import pytest

from symflow.cli import main
from symflow.cli._output import jsonable
from symflow.errors import BackendWarning, BuildError, CheckFailed, InputError


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["derive", "sofmax"], ["'sofmax'", "Did you mean 'softmax'", "l2"]),
        (["derive", "absent.toml"], ["absent.toml", "no such file"]),
        (["derive", "folder/absent"], ["folder/absent", "no such file"]),
        (["simulate", "absent.toml"], ["absent.toml", "no such file"]),
        (["simulate"], ["simulate", "SPEC"]),
        (["derive", "softmax", "--format", "word"], ["word", "latex"]),
        (["derive", "softmax", "--fragment", "--format", "html"], ["--fragment", "latex"]),
        (["derive", "softmax", "--bogus"], ["--bogus"]),
        (["derive", "softmax", "extra"], ["extra"]),
        (["check", "gaussian-preservaton", "softmax"], ["'gaussian-preservaton'", "gaussian-preservation"]),
        (["replay", "absent.json"], ["absent.json"]),
        (["build"], ["--all"]),
        (["build", "sofmax"], ["'sofmax'", "softmax"]),
        (["cite", "NOBODY99"], ["NOBODY99"]),
        (["verify", "sofmax"], ["'sofmax'"]),
        (["frobnicate"], ["frobnicate"]),
    ],
)
def test_bad_input_is_one_line_with_code_two(
    symflow_command: Any, arguments: list[str], words: list[str]
) -> None:
    plain = symflow_command(*arguments)
    assert plain.code == 2
    assert plain.stdout == ""
    (line,) = plain.stderr.strip().splitlines()
    assert line.startswith("symflow: error: ")
    for word in words:
        assert word in line

    machine = symflow_command(*arguments, "--json")
    assert machine.code == 2
    assert machine.json["message"]
    assert machine.json["error"]


def _command(**errors: BaseException) -> click.Group:
    """Return a group of the package's class with one command per error."""
    group = type(main)("test")
    for name, error in errors.items():

        def fail(error: BaseException = error) -> None:
            raise error

        group.add_command(click.Command(name, callback=fail))
    return group


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("V[0, 1] is nan;\n give finite numbers"), 2),
        (CheckFailed("step 3"), 1),
        (BuildError("no compiler"), 1),
        (FileNotFoundError(2, "No such file", "x"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_map_to_codes(error: BaseException, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        _command(fail=error).main(["fail"])
    assert stopped.value.code == code
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_fault_of_ours_is_not_dressed_up_as_bad_input() -> None:
    with pytest.raises(ZeroDivisionError):
        _command(fail=ZeroDivisionError()).main(["fail"])


def test_warnings_are_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    group = type(main)("test")
    message = "no compiler on PATH;\n using NumPy"

    @group.command()
    def warn() -> None:
        warnings.simplefilter("default")
        warnings.warn(message, BackendWarning, stacklevel=1)

    with pytest.raises(SystemExit):
        group.main(["warn"])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "symflow: warning: no compiler on PATH; using NumPy\n"


def test_every_command_has_help_and_json(symflow_command: Any) -> None:
    for name, command in main.commands.items():
        leaves = command.commands.values() if isinstance(command, click.Group) else [command]
        assert symflow_command(name, "--help").code == 0
        for leaf in leaves:
            assert any("--json" in parameter.opts for parameter in leaf.params), leaf.name
            assert leaf.help


def test_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "symflow", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("symflow ")


def test_jsonable_of_numbers() -> None:
    import numpy as np
    from sympy import sqrt

    assert jsonable({"a": np.array([1.0, np.nan]), "b": np.float64(2), "c": Path("x"), "d": sqrt(2)}) == {
        "a": [1.0, None],
        "b": 2.0,
        "c": "x",
        "d": "sqrt(2)",
    }
