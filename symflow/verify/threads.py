"""Equal bits for one and two BLAS threads: the same kernel in two processes that differ in nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from symflow.errors import SymflowError
from symflow.verify.table import Row

#: Large enough that OpenBLAS would split a product between threads.
SIZE = 200

_CHILD = """
import hashlib, sys
from symflow.codegen.kernel import compile
from symflow.derive.closure import gaussian_closure
from symflow.models.registry import attention_model
from symflow.verify.points import random_points

for name in sys.argv[2:]:
    model = attention_model(name)().with_symbolic_scale()
    for given in model.parametrisations()[:1]:
        derivation = gaussian_closure(model, given)
        kernel = compile(derivation)
        (point,) = random_points(derivation.flow, int(sys.argv[1]), 1, 0)
        digest = hashlib.sha256()
        for array in kernel(0.0, *point.state, **point.params):
            digest.update(array.tobytes())
        print(name, digest.hexdigest())
"""


def equal_bits(names: Sequence[str]) -> list[Row]:
    """Return one row per shipped model: the number of models whose bits differ between thread counts.

    Parameters
    ----------
    names : sequence of str
        Names of shipped models.

    Raises
    ------
    SymflowError
        If a process fails; the message holds its output.
    """
    one, two = (_digests(names, threads) for threads in (1, 2))
    return [
        Row(
            model=name,
            parametrisation="",
            quantity=f"right-hand side, d = {SIZE}",
            witness="1 against 2 BLAS threads",
            points=1,
            error=0.0 if one[name] == two[name] else 1.0,
            tolerance=0.0,
            passed=one[name] == two[name],
            note="equal bits; each in a process of its own, OPENBLAS_CORETYPE unset",
        )
        for name in names
    ]


def _digests(names: Sequence[str], threads: int) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    environment |= {
        "OPENBLAS_NUM_THREADS": str(threads),
        "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path),
    }
    # -P: the package that runs here, not a source tree that happens to lie in the working directory.
    command = [sys.executable, "-P", "-c", _CHILD, str(SIZE), *names]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    if run.returncode:
        raise SymflowError(f"the process with {threads} BLAS threads failed:\n{run.stderr.strip()}")
    return dict(line.split() for line in run.stdout.splitlines())
