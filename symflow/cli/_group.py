"""The command group: errors become one line and an exit code, warnings one line on standard error."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

import click

from symflow.cli._codes import BAD_INPUT, FAILED, INTERRUPTED
from symflow.cli._output import print_json
from symflow.errors import ClosureUndecided, InputError, SymflowError


class SymflowGroup(click.Group):
    """A click group whose commands return their exit code; None counts as 0."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of a working day instead of the alphabet."""
        return list(self.commands)

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> None:
        """Run the command line and leave with its exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        extra |= {"standalone_mode": False}
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            sys.exit(_run(super().main, arguments, prog_name, extra))


def _run(run: Any, arguments: list[str], prog_name: str | None, extra: dict[str, Any]) -> int:
    try:
        return int(run(arguments, prog_name, **extra) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return BAD_INPUT
    except click.UsageError as error:
        place = f"{error.ctx.command_path}: " if error.ctx and error.ctx.parent else ""
        return _fail(arguments, "UsageError", f"{place}{error.format_message()} See --help.", BAD_INPUT)
    except click.ClickException as error:
        return _fail(arguments, type(error).__name__, error.format_message(), error.exit_code)
    except ClosureUndecided as error:  # not the fault of the input
        return _fail(arguments, type(error).__name__, str(error), FAILED)
    except InputError as error:
        return _fail(arguments, type(error).__name__, str(error), BAD_INPUT)
    except SymflowError as error:
        return _fail(arguments, type(error).__name__, str(error), FAILED)
    except BrokenPipeError:  # the reader of a pipe, e.g. head, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(arguments, "OSError", f"{place}{error.strerror or error}", BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        click.echo("symflow: interrupted", err=True)
        return INTERRUPTED


def _fail(arguments: Sequence[str], kind: str, message: str, code: int) -> int:
    """Report an error: one line on standard error, and the one JSON object where that was asked for."""
    line = " ".join(message.split())
    click.echo(f"symflow: error: {line}", err=True)
    if "--json" in arguments:
        print_json({"error": kind, "message": line})
    return code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    click.echo(f"symflow: warning: {' '.join(str(message).split())}", err=True)
