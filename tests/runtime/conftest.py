"""A kernel written by hand against the ABI, so that the runtime is tested without the code generator."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from symflow_ext.contract import HEADER, capsule_name

_SOURCE = r"""
#include "symflow_abi.h"

/* y = (u, v): harmonic oscillator of frequency params[0][0], its work array counts the calls. */
static int oscillator(double t, const double *y, double *dy, const symflow_call *call) {
    double w = call->params[0][0];
    (void)t;
    call->work[0] += 1.0;
    dy[0] = w * y[1];
    dy[1] = -w * y[0];
    return SYMFLOW_OK;
}
static ptrdiff_t oscillator_work(const ptrdiff_t *dims) { (void)dims; return 1; }

/* Y' = A Y through the table, Y of d x r, A = params[1]. */
static int linear(double t, const double *y, double *dy, const symflow_call *call) {
    (void)t;
    call->linalg->gemm(0, 0, call->dims[0], call->dims[1], call->dims[0], 1.0, call->params[1], y, 0.0, dy);
    return SYMFLOW_OK;
}
static ptrdiff_t none(const ptrdiff_t *dims) { (void)dims; return 0; }

/* y' = 1, outside of its domain beyond params[0][0]. */
static int fenced(double t, const double *y, double *dy, const symflow_call *call) {
    (void)t;
    dy[0] = 1.0;
    return y[0] > call->params[0][0] ? SYMFLOW_OUTSIDE_DOMAIN : SYMFLOW_OK;
}

static const symflow_entry entries[] = {
    {"oscillator", oscillator, oscillator_work}, {"linear", linear, none}, {"fenced", fenced, none}};
const symflow_kernel kernel = {"by hand", 3, entries};
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ctypes.CDLL]:
    """Return a function that compiles C against the headers of the runtime."""

    def build(text: str, *flags: str) -> ctypes.CDLL:
        folder = tmp_path_factory.mktemp("library")
        source, library = Path(folder, "source.c"), Path(folder, "library.so")
        source.write_text(text)
        compiler = os.environ.get("CC", "").split() or [
            shutil.which("cc") or sysconfig.get_config_var("CC").split()[0]
        ]
        command = [*compiler, *flags, "-w", "-shared", "-fPIC", f"-I{HEADER.parent}", str(source)]
        subprocess.run([*command, "-o", str(library), "-lm", "-pthread"], check=True)
        return ctypes.CDLL(str(library))

    return build


@pytest.fixture(scope="session")
def hand_kernel(built: Callable[..., ctypes.CDLL]) -> Any:
    """Return a function that puts the kernel into a capsule of the given name."""
    loaded = built(_SOURCE, "-O2")
    names: list[bytes] = []  # a capsule keeps the pointer to its name, not a copy

    def capsule(name: bytes | None = None) -> Any:
        names.append(capsule_name() if name is None else name)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(ctypes.c_char.in_dll(loaded, "kernel")), names[-1], None)

    return capsule
