"""Results on disk: an ``.npz`` file of arrays and a header in JSON, written whole or not at all."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from symflow.errors import InputError

_FORMAT = 1


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write an ``.npz`` file and return its path.

    Raises
    ------
    InputError
        If the folder does not exist.
    """
    target = Path(path)
    target = target if target.suffix == ".npz" else target.with_name(target.name + ".npz")
    if not target.parent.is_dir():
        raise InputError(f"{target} cannot be written: the folder {target.parent} does not exist")
    text = np.array(json.dumps({"format": _FORMAT, **header}))
    part = target.with_name(f".{target.name}-{os.getpid()}")  # an interrupted run leaves no half a file
    try:
        with part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, header=text, **arrays)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target


def read_archive(path: str | os.PathLike[str], what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and arrays of what :func:`write_archive` wrote.

    Parameters
    ----------
    path : path
    what : str
        How messages call it, e.g. ``"trajectory"``.

    Raises
    ------
    InputError
        If the file is not such an archive.
    """
    name = os.fspath(path)
    if not zipfile.is_zipfile(path):
        Path(path).stat()  # a file that is not there says so
        raise InputError(f"{name} is not a saved {what}: it is not an .npz file")
    with np.load(path, allow_pickle=False) as data:
        if "header" not in data:
            raise InputError(f"{name} is not a saved {what}: it has no header")
        header: dict[str, Any] = json.loads(str(data["header"]))
        if header.pop("format", None) != _FORMAT:
            raise InputError(f"{name} has an unknown format; save it again with this version")
        return header, {key: data[key] for key in data.files if key != "header"}
