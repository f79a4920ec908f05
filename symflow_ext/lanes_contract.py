"""The name under which kernels of fixed size and their runtime find each other."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

_INCLUDE = Path(__file__).parent / "include"

#: What a kernel of fixed size is compiled with: the types, and the steps.
HEADERS = (_INCLUDE / "symflow_lanes.h", _INCLUDE / "symflow_lanes_dop853.h")


@lru_cache(maxsize=1)
def lanes_hash() -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the headers."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in HEADERS)).hexdigest()[:16]


def lanes_capsule_name() -> bytes:
    """Return the name of the capsule in which a module hands over its ``symflow_lanes_kernel``."""
    return f"symflow.lanes.{lanes_hash()}".encode()
