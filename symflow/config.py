"""What is installed and what kernels can be built with: the page that a bug report should include."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import shlex
import sys
from typing import Any

import symflow

_PACKAGES = (
    "sympy",
    "mpmath",
    "numpy",
    "scipy",
    "cython",
    "click",
    "rich",
    "jinja2",
    "safetensors",
    "matplotlib",
)


def show_config() -> dict[str, Any]:
    """Return versions, compiler, compiled parts and the cache folder.

    Returns
    -------
    dict
        ``versions`` by package (``"absent"`` where one is missing), ``python``, ``platform``, ``compiler``
        (None where kernels cannot be built, with the remedy in ``compiler_missing``), ``flags``, ``openmp``
        (whether they ask for it), ``runtime`` (whether the compiled integrator is installed), ``threads`` (of
        large products; ``SYMFLOW_NUM_THREADS``) and ``cache``.

    Examples
    --------
    >>> show_config()["versions"]["symflow"] == symflow.__version__
    True
    """
    from symflow.codegen.build import Missing, compiler, missing
    from symflow.codegen.cache import cache_dir
    from symflow.codegen.versions import COMPILE_FLAGS, OPTIONAL_FLAGS, installed_versions

    lacking, command = missing(), compiler()
    return {
        "versions": {"symflow": symflow.__version__, **installed_versions(_PACKAGES)},
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "compiler": None if lacking or isinstance(command, Missing) else shlex.join(command),
        "compiler_missing": str(lacking) if lacking else None,
        "flags": [*COMPILE_FLAGS, *OPTIONAL_FLAGS],
        "openmp": "-fopenmp" in (*COMPILE_FLAGS, *OPTIONAL_FLAGS),
        "runtime": importlib.util.find_spec("symflow_ext.stepper") is not None,
        "threads": _threads(),
        "cache": str(cache_dir()),
    }


def _threads() -> int:
    """Return how many threads a large product may use; one without the compiled runtime."""
    try:
        return int(importlib.import_module("symflow_ext.runtime").threads())
    except ImportError:
        return 1
