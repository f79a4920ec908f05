"""The name under which kernels and runtime find each other: it changes with the ABI header."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

#: The header that kernels and runtime are compiled against.
HEADER = Path(__file__).parent / "include" / "symflow_abi.h"


@lru_cache(maxsize=1)
def abi_hash() -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of the ABI header."""
    return hashlib.sha256(HEADER.read_bytes()).hexdigest()[:16]


@lru_cache(maxsize=1)
def pairs_hash() -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of every header that token kernels include."""
    digest = hashlib.sha256()
    for path in sorted(HEADER.parent.glob("*.h")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def capsule_name() -> bytes:
    """Return the name of the capsule in which a kernel module hands over its ``symflow_kernel``."""
    return f"symflow.kernel.{abi_hash()}".encode()
