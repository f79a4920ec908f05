"""Where the compiled runtime is, if it was built."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.codegen.kernel import BACKENDS, Kernel
from symflow.codegen.kernel import compile as compile_kernel
from symflow.errors import BackendWarning, BuildError, InputError


@lru_cache(maxsize=1)
def runtime() -> Any:
    """Return the module ``symflow_ext.runtime``, or None where its extensions were not built."""
    try:
        return importlib.import_module("symflow_ext.runtime")
    except ImportError:
        return None


def warn_without_runtime() -> None:
    """Say once per call that the slow stepper runs, and how to get the fast one."""
    warnings.warn(
        "the compiled runtime of symflow is missing, steps run in Python; "
        "reinstall symflow with a C compiler on PATH",
        BackendWarning,
        stacklevel=6,
    )


def compiled_for(
    model: Any, backend: str, names: Iterable[str], steps: bool, entry: str | None = None
) -> Kernel:
    """Return the kernel of a model for a run, after checking that the runtime it asks for is there.

    Parameters
    ----------
    model : AttentionModel
    backend : str
    names : iterable of str
        Names of its parameters.
    steps : bool
        Whether the run takes its steps in the runtime.
    entry : str, optional
        ``"tokens"`` for the function of tokens.
    """
    if backend not in BACKENDS:
        raise InputError(f"backend {backend!r} is unknown; choose one of {', '.join(BACKENDS)}")
    if runtime() is None:
        if backend == "compiled":
            raise BuildError("the compiled runtime is missing; reinstall symflow with a C compiler on PATH")
        if steps:
            warn_without_runtime()
    made = _made(model, backend, frozenset(names), entry)
    if made:
        return made[0]
    kernel = compile_kernel(model, backend, names, entry)
    if kernel.backend == "compiled":  # what fell back says so every time
        made.append(kernel)
    return kernel


@lru_cache(maxsize=64)
def _made(model: Any, backend: str, names: frozenset[str], entry: str | None) -> list[Kernel]:
    """Return a place for the kernel of a model: looking one up takes longer than a small run."""
    return []


def covariances(factors: Array) -> Array:
    """Return FFᵀ for each F of (..., d, r): bitwise symmetric, the same for any number of threads."""
    if factors.ndim != 3:
        flat = covariances(factors.reshape(-1, *factors.shape[-2:]))
        return flat.reshape(*factors.shape[:-2], *flat.shape[-2:])
    times, d, _ = factors.shape
    out = np.empty((times, d, d))
    compiled = runtime()
    if compiled is not None:
        compiled.covariances(np.ascontiguousarray(factors), out)
        return out
    for t in range(times):
        lower = np.tril(np.einsum("ij,kj->ik", factors[t], factors[t]))
        out[t] = lower + np.tril(lower, -1).T
    return out
