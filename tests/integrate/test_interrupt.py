"""Ctrl-C during a run that stays in compiled code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

_SCRIPT = """
import signal
import sys
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits that it is ignored
from symflow import Gaussian, Softmax, solve
law, params = Gaussian(np.zeros(2), np.eye(2)), {{"V": np.eye(2), "A": -np.eye(2)}}
first = solve(Softmax(), law, params, (0, 1), backend={backend!r})
print("running", flush=True)
try:
    solve(Softmax(), law, params, (0, 1e9), method="rk4", dt=1e-4, t_eval=[1e9], backend={backend!r})
except KeyboardInterrupt:
    again = solve(Softmax(), law, params, (0, 1), backend={backend!r})
    print("interrupted", np.array_equal(again.cov, first.cov), flush=True)
"""


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_an_interrupt_ends_a_long_run_and_leaves_the_interpreter_usable(backend: str) -> None:
    script = [sys.executable, "-c", _SCRIPT.format(backend=backend)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(1.0)
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted True\n"
        assert time.perf_counter() - sent < 2.0
        assert process.wait(timeout=20) == 0
