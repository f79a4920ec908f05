"""Where built kernels live on disk: one folder per kernel, put in place by one rename.

``ROOT/kernels/KEY`` holds ``kernel.so``, ``kernel.pyx`` and ``kernel.json``; the latter is written last and
has size and SHA-256 of the library, so that nothing truncated is ever loaded. ``ROOT/index/KEY`` maps a
model's own text to a kernel, so that a hit needs neither derivation nor lowering.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDERS = ("index", "kernels", "locks")


@dataclass(frozen=True, eq=False)
class Entry:
    """A built kernel on disk: its library, its generated text, and what ``kernel.json`` says."""

    library: Path
    text: Path
    data: dict[str, Any]


def cache_dir() -> Path:
    """Return the absolute path of the cache; nothing is created.

    ``SYMFLOW_CACHE_DIR`` if set, else the user's cache folder of this system.
    """
    chosen = os.environ.get("SYMFLOW_CACHE_DIR")
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    if _platform() == "linux":  # what platformdirs answers here, without its import time
        base = os.environ.get("XDG_CACHE_HOME", "")
        return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "symflow")
    from platformdirs import user_cache_path

    return Path(user_cache_path("symflow", appauthor=False))


def _platform() -> str:
    return sys.platform


def writable_dir() -> Path:
    """Return a cache in which kernels can be built: the usual one, else a private one with a warning."""
    root = cache_dir()
    try:
        for name in _FOLDERS:
            (root / name).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root / "locks"):
            return root
    except OSError as error:
        private = _private_dir(str(root))
        warnings.warn(
            f"cache {root} cannot be written ({error.strerror}); kernels of this run go to {private}. "
            "Set SYMFLOW_CACHE_DIR to a folder that you may write",
            UserWarning,
            stacklevel=2,
        )
        return private


def readable_dirs() -> tuple[Path, ...]:
    """Return the folders in which a kernel may lie: the cache, and a private one that this process made."""
    root = cache_dir()
    private = _PRIVATE.get(str(root))
    return (root,) if private is None else (root, private)


#: The private folder that stands in for a cache that cannot be written, by the path of that cache.
_PRIVATE: dict[str, Path] = {}


def _private_dir(root: str) -> Path:
    """Return one temporary cache per process and root; only this user can read it, until the process ends."""
    if root not in _PRIVATE:
        path = Path(tempfile.mkdtemp(prefix="symflow-"))
        for name in _FOLDERS:
            (path / name).mkdir()
        atexit.register(shutil.rmtree, path, ignore_errors=True)
        _PRIVATE[root] = path
    return _PRIVATE[root]


def lookup(index_key: str, stamp: dict[str, str], roots: tuple[Path, ...]) -> Entry | None:
    """Return the kernel that ``index_key`` points to, or None where there is none that can be trusted."""
    for root in roots:
        try:
            key = json.loads((root / "index" / f"{index_key}.json").read_bytes())["kernel"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        found = find(str(key), stamp, root)
        if found is not None:
            return found
    return None


def find(key: str, stamp: dict[str, str], root: Path) -> Entry | None:
    """Return the kernel ``key`` if its library is whole and was built under the same stamp."""
    folder = root / "kernels" / key
    try:
        data = json.loads((folder / "kernel.json").read_bytes())
        library = (folder / "kernel.so").read_bytes()
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or data.get("stamp") != stamp or data.get("size") != len(library):
        return None
    if data.get("sha256") != hashlib.sha256(library).hexdigest():
        return None
    return Entry(folder / "kernel.so", folder / "kernel.pyx", data)


def point(index_key: str, key: str, root: Path) -> None:
    """Let ``index_key`` lead to the kernel ``key``, by one rename."""
    write_atomically(root / "index" / f"{index_key}.json", json.dumps({"kernel": key}).encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that no reader ever sees a part of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


def install(folder: Path, key: str, data: dict[str, Any], root: Path) -> Entry:
    """Complete ``folder`` with ``kernel.json`` and rename it into place; the caller holds the lock."""
    library = (folder / "kernel.so").read_bytes()
    data = {**data, "size": len(library), "sha256": hashlib.sha256(library).hexdigest()}
    (folder / "kernel.json").write_text(json.dumps(data, indent=1), encoding="utf-8")
    target = root / "kernels" / key
    if target.exists():  # truncated, or of another version: whoever has it mapped keeps the old file
        grave = Path(tempfile.mkdtemp(dir=root / "kernels", prefix=".old-"))
        os.replace(target, grave / "kernel")
        shutil.rmtree(grave, ignore_errors=True)
    os.replace(folder, target)
    return Entry(target / "kernel.so", target / "kernel.pyx", data)


def cache_info() -> dict[str, Any]:
    """Return path, number of kernels, bytes on disk, and the kernels by name."""
    root = cache_dir()
    kernels = []
    for path in sorted((root / "kernels").glob("[!.]*/kernel.json")):
        try:
            name = json.loads(path.read_bytes())["interface"]["name"]
            size = sum(file.stat().st_size for file in path.parent.iterdir())
        except (OSError, ValueError, KeyError, TypeError):
            continue  # being replaced by another process, or damaged: not a kernel that would load
        kernels.append({"key": path.parent.name, "name": name, "bytes": size})
    total = sum(int(kernel["bytes"]) for kernel in kernels)
    return {"path": str(root), "entries": len(kernels), "bytes": total, "kernels": kernels}


def clear_cache() -> dict[str, Any]:
    """Remove every cached kernel; locks stay, since another process may hold one.

    Returns
    -------
    dict
        ``path``, and ``entries`` and ``bytes`` that were removed.
    """
    info = cache_info()
    for name in ("index", "kernels"):
        shutil.rmtree(cache_dir() / name, ignore_errors=True)
    return {"path": info["path"], "entries": info["entries"], "bytes": info["bytes"]}
