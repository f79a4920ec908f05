"""What a cache entry depends on besides its source: versions, platform, processor, compiler flags, generator.

Everything here works without importing NumPy, SciPy or Cython: a cached kernel must load in milliseconds.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

#: Packages whose version is part of every cache key.
PACKAGES = ("cython", "numpy", "scipy", "sympy")

#: Flags of every kernel: the work is in the runtime's products, so -O1 costs nothing and compiles faster.
#: Never -ffast-math: loading such a library flushes denormals for the whole process.
COMPILE_FLAGS = ("-O1", "-fPIC", "-DNDEBUG", "-fno-math-errno", "-ffp-contract=off", "-w")

#: Flags that a compiler may refuse; the kernel is then built without them.
OPTIONAL_FLAGS = ("-march=native",)

_DIST = re.compile(r"^(?P<name>[A-Za-z0-9_.]+?)-(?P<version>\d[^-]*)\.(?:dist|egg)-info$")


def installed_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the installed version of each package, ``"absent"`` where there is none.

    Read from the names of the ``.dist-info`` folders on the import path: no package is imported.
    """
    found = _distributions(tuple(sys.path))
    return {name: found.get(name, "absent") for name in sorted(names)}


@functools.lru_cache(maxsize=4)
def _distributions(path: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in path:
        try:
            listing = os.listdir(entry or ".")
        except OSError:
            continue  # zip files and folders that do not exist hold no distributions of ours
        for item in listing:
            match = _DIST.match(item) if item.endswith("-info") else None
            if match is not None:
                found.setdefault(match["name"].lower().replace("_", "-"), match["version"])
    return found


@functools.lru_cache(maxsize=1)
def cpu_features() -> str:
    """Return a hash of the processor's features: ``-march=native`` means another thing on another machine."""
    return hashlib.sha256(f"{os.uname().machine} {_cpu_flags()}".encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=1)
def register_bits() -> int:
    """Return the width of the vector registers that kernels of pairs have a copy for; 0 for the least one."""
    words = set(_cpu_flags().split())
    return 512 if "avx512f" in words else 256 if {"avx2", "fma"} <= words else 0


def _cpu_flags() -> str:
    """Return model and feature flags of the first processor."""
    lines = []
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break
                if line.split(":")[0].strip() in ("flags", "Features", "cpu family", "model", "CPU part"):
                    lines.append(" ".join(line.split()))
    except OSError:
        return sys.platform  # no such file on macOS; one architecture name has to do
    return "\n".join(lines)


@functools.lru_cache(maxsize=1)
def generator_hash() -> str:
    """Return a hash of the sources that turn a model into text: a change there outdates every kernel."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    digest = hashlib.sha256()
    for room in ("algebra", "codegen", "derive", "models"):
        for folder, folders, files in os.walk(os.path.join(root, room)):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                if name.endswith((".py", ".jinja")):
                    _feed(digest, root, os.path.join(folder, name))
    _feed(digest, root, os.path.join(root, "flow.py"))
    return digest.hexdigest()[:32]


def _feed(digest: Any, root: str, path: str) -> None:
    """Add name and content of one file; there are many, and plain paths take half the time of objects."""
    with open(path, "rb") as file:
        digest.update(path[len(root) :].encode() + b"\0" + file.read() + b"\0")


def package_version() -> str:
    """Return the version of symflow."""
    return str(importlib.import_module("symflow").__version__)


def stamp() -> dict[str, str]:
    """Return everything that a compiled kernel depends on besides its source."""
    from symflow_ext.contract import abi_hash

    return {
        "symflow": package_version(),
        "generator": generator_hash(),
        "abi": abi_hash(),
        "python": sys.version.split()[0] + "-" + (sys.implementation.cache_tag or ""),
        **installed_versions(),
        "platform": f"{sys.platform}-{os.uname().machine}",
        "flags": " ".join((*COMPILE_FLAGS, *OPTIONAL_FLAGS)),
        "cpu": cpu_features(),
    }


def digest(*parts: str) -> str:
    """Return a short hash of texts."""
    joined = "\0".join(parts)
    return hashlib.sha256(joined.encode()).hexdigest()[:32]
