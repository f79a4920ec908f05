"""Work in processes of its own, while the sections of a report are written."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from symflow.errors import SymflowError
from symflow.models.attention.model import AttentionModel
from symflow.verify import Table, verify

_CHILD = """
import pickle, sys

function, arguments = pickle.load(sys.stdin.buffer)
found = function(*arguments)
with open(sys.argv[1], "wb") as file:
    pickle.dump(found, file)
"""


def verifying(
    model: AttentionModel | None = None, given: Iterable[str] | None = None
) -> AbstractContextManager[Callable[[], Table]]:
    """Start :func:`symflow.verify.verify` and yield a function that waits for its table.

    Parameters
    ----------
    model, given
        As for ``verify``; a model must pickle.

    Raises
    ------
    SymflowError
        From the function, if the process fails; the message holds its output.
    """
    return beside("the verification", verify, model, None if given is None else frozenset(given))


@contextmanager
def beside(what: str, function: Callable[..., Any], *arguments: Any) -> Iterator[Callable[[], Any]]:
    """Start ``function(*arguments)`` in another process and yield a function that waits for its result.

    Parameters
    ----------
    what : str
        For the message of an error.
    function : callable
        Of a module; arguments and result must pickle.

    Raises
    ------
    SymflowError
        From the function, if the process fails; the message holds its output.
    """
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)
    with tempfile.TemporaryDirectory(prefix="symflow-") as folder:
        answer = os.path.join(folder, "answer")
        # -P: the package that runs here, not a source tree that happens to lie in the working directory.
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD, answer],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

        def wait() -> Any:
            _, said = child.communicate()
            if child.returncode:
                raise SymflowError(f"{what} failed:\n{said.decode('utf-8', 'replace').strip()}")
            with open(answer, "rb") as file:
                return pickle.load(file)

        try:
            _ask(child, what, (function, arguments))
            yield wait
        finally:
            child.kill()
            child.wait()
            if child.stderr is not None:
                child.stderr.close()


def _ask(child: subprocess.Popen[bytes], what: str, question: tuple[Callable[..., Any], Any]) -> None:
    """Send what is to be done; less than a pipe holds, so this does not wait."""
    if child.stdin is None:
        raise SymflowError(f"{what} has no input")
    with child.stdin as pipe:
        pickle.dump(question, pipe)
    child.stdin = None
