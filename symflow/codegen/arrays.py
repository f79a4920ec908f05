"""What a caller may give in place of an array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from symflow.errors import InputError


def listed(value: Any, name: str) -> Any:
    """Return ``value`` in a form that NumPy reads: other iterables become lists, sparse arrays dense.

    Raises
    ------
    InputError
        If it is a set or a mapping, which have no order of numbers, or an array with masked entries.

    Examples
    --------
    >>> listed((i * i for i in range(3)), "t_eval")
    [0, 1, 4]
    """
    if isinstance(value, (set, frozenset, Mapping)):
        raise InputError(f"{name} is a {type(value).__name__}, which does not order its numbers; give a list")
    if np.ma.is_masked(value):
        raise InputError(f"{name} has masked entries; fill them in")
    if hasattr(value, "toarray"):  # SciPy's sparse arrays
        return value.toarray()
    read = hasattr(value, "__array__") or isinstance(value, (str, bytes, Sequence))
    return value if read or not isinstance(value, Iterable) else list(value)
