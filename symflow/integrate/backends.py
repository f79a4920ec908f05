"""Where the compiled runtime is, if it was built."""

from __future__ import annotations

import importlib
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from symflow.errors import BackendWarning
from symflow.integrate.checking import Array


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
        stacklevel=4,
    )


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
