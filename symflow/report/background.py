"""Verification in a process of its own, while the sections of a report are written."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from symflow.errors import SymflowError
from symflow.models.attention.model import AttentionModel
from symflow.verify import Table

_CHILD = """
import pickle, sys
from symflow.verify import verify

table = verify(*pickle.load(sys.stdin.buffer))
with open(sys.argv[1], "wb") as file:
    pickle.dump(table, file)
"""


@contextmanager
def verifying(
    model: AttentionModel | None = None, given: Iterable[str] | None = None
) -> Iterator[Callable[[], Table]]:
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
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)
    with tempfile.TemporaryDirectory(prefix="symflow-") as folder:
        answer = os.path.join(folder, "table")
        # -P: the package that runs here, not a source tree that happens to lie in the working directory.
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD, answer],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

        def wait() -> Table:
            _, said = child.communicate()
            if child.returncode:
                raise SymflowError(f"the verification failed:\n{said.decode('utf-8', 'replace').strip()}")
            with open(answer, "rb") as file:
                table: Table = pickle.load(file)
            return table

        try:
            _ask(child, (model, None if given is None else frozenset(given)))
            yield wait
        finally:
            child.kill()
            child.wait()
            if child.stderr is not None:
                child.stderr.close()


def _ask(
    child: subprocess.Popen[bytes], question: tuple[AttentionModel | None, frozenset[str] | None]
) -> None:
    """Send what is to be verified; less than a pipe holds, so this does not wait."""
    if child.stdin is None:
        raise SymflowError("the verification has no input")
    with child.stdin as pipe:
        pickle.dump(question, pipe)
    child.stdin = None
