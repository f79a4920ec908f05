"""Public fault reports as kernels of tokens: names, cases, processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import symflow
from symflow import Attention, Kernel, Masked, Softmax, compile
from symflow.errors import InputError

BACKENDS = ("compiled", "numpy")
ROOT = Path(symflow.__file__).parents[1]
X = np.random.default_rng(1).standard_normal((5, 3))
V = np.random.default_rng(2).standard_normal((3, 3))
D = sympy.Symbol("d", integer=True, positive=True)
DOT = sympy.Trace(sympy.MatrixSymbol("x", D, 1).T * sympy.MatrixSymbol("y", D, 1))


def average(scores: Any) -> Any:
    """Return the velocity that scores give, with softmax weights."""
    w = np.exp(scores - scores.max(axis=1, keepdims=True))
    return w @ X @ V.T / w.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_names_of_every_kind(backend: str) -> None:
    """C027, C029, C030, C034: temporaries, keywords, no identifiers, alike when cleaned; fractions."""
    names = [
        r"\alpha",
        "β",
        "x'",
        "x y",
        "x_y",
        "lambda",
        "x0",
        "theta",
        "t",
        "y0",
        "E",
        "I",
        "d0",
        "double",
        "i",
    ]
    names += ["self", "job", "mass", "average", "None", "params"]
    weights = {name: 0.5 ** (k + 1) for k, name in enumerate(names)}
    factor = sum(sympy.Rational(1, 2) * sympy.Symbol(name) * (k + 1) for k, name in enumerate(names))
    kernel = compile(Attention((factor + sympy.Rational(1, 3)) * DOT), backend, entry="tokens")
    expected = sum(0.5 * value * (k + 1) for k, value in enumerate(weights.values())) + 1 / 3
    assert_allclose(kernel(0.0, X, V=V, **weights), average(expected * X @ X.T), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["n", "x"])
def test_names_of_the_tokens_themselves_are_refused(name: str) -> None:
    """C027: nothing is taken for something else."""
    with pytest.raises(InputError, match=f"'{name}'|shapes differ"):
        compile(Attention(sympy.Symbol(name) * DOT), "numpy", entry="tokens")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", BACKENDS)
def test_only_the_branch_that_is_chosen_counts(backend: str) -> None:
    """C033: sin θ/θ with its value at 0; C031: a kink, and a jump with the value ½ at 0."""
    case = sympy.Piecewise((1, sympy.Eq(DOT, 0)), (sympy.sin(DOT) / DOT, True))
    kernel = compile(Attention(case + sympy.Max(DOT, 0) + sympy.Heaviside(DOT)), backend, entry="tokens")
    tokens = np.diag([1.0, 1e-150, 2.0])
    u = tokens @ tokens.T
    assert (u == 0).sum() == 6
    s = np.where(u == 0, 1.5, np.sin(u) / np.where(u == 0, 1, u) + u + 1)
    w = np.exp(s)
    assert_allclose(kernel(0.0, tokens, V=V), w @ tokens @ V.T / w.sum(axis=1)[:, None], rtol=0, atol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_constant_scores_keep_the_shape(backend: str) -> None:
    """C036: KᵀQ = 0 averages all tokens, or all before; V = 0 gives zeros."""
    zero, mean = np.zeros((3, 3)), np.tile(X.mean(axis=0), (5, 1))
    for model, seen in (
        (Softmax(), mean),
        (Masked(Softmax()), X.cumsum(axis=0) / np.arange(1.0, 6.0)[:, None]),
        (Softmax(space="sphere"), mean),
    ):
        kernel = compile(model, backend, entry="tokens")
        tokens = X / np.linalg.norm(X, axis=1)[:, None] if "sphere" in repr(model) else X
        found = kernel(0.0, tokens, Q=zero, K=zero, V=V)  # the masked kernel of other tests
        if tokens is X:
            assert_allclose(found, seen @ V.T, rtol=0, atol=1e-14)
        assert found.shape == (5, 3)
        found = kernel(0.0, tokens, Q=zero, K=zero, V=zero)
        assert (found.shape, found.dtype) == ((5, 3), np.float64)
        assert not found.any()


def _evaluate(job: tuple[Kernel, float]) -> Any:
    kernel, beta = job
    return kernel(0.0, X / np.linalg.norm(X, axis=1)[:, None], beta=beta)


def test_pools_of_processes() -> None:
    """B060: a kernel of tokens, and a right-hand side, in other processes."""
    for backend in BACKENDS:
        kernel = compile(Softmax(space="sphere"), backend)
        jobs = [(kernel, beta) for beta in (0.5, 2.0, 1e5)]
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            for a, b in zip(pool.map(_evaluate, jobs), map(_evaluate, jobs), strict=True):
                assert np.array_equal(a, b)


def test_a_second_process_needs_no_compiler(tmp_path: Path) -> None:
    """B058: kernels of tokens come from the cache, and are what they were."""
    code = (
        "import json, logging, sys, time\n"
        "import numpy as np\n"
        "from symflow import Attention, compile\n"
        "lines = []\n"
        "keep = logging.Handler()\n"
        "keep.emit = lambda record: lines.append(record.getMessage())\n"
        "logger = logging.getLogger('symflow.build')\n"
        "logger.addHandler(keep), logger.setLevel(logging.INFO)\n"
        "start = time.perf_counter()\n"
        "kernel = compile(Attention('5*dot(x, y)/7'), 'compiled', entry='tokens')\n"
        "wall = time.perf_counter() - start\n"
        "x = kernel(0.0, [[1, 0], [0.5, 2], [-1, 1]], V=[[1, 2], [0, 1]])\n"
        "print(json.dumps([x.tolist(), wall, lines]))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "SYMFLOW_CACHE_DIR": str(tmp_path / "k")}
    found = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", code], env=env | extra, check=True, capture_output=True, text=True
            ).stdout
        )
        for extra in ({}, {"PATH": "/nonexistent", "CC": ""})
    ]
    assert found[0][0] == found[1][0]
    assert found[1][1] < 1.0
    assert any("cache hit" in line for line in found[1][2])
