"""Which names a certificate may use: what is printed of it must not read as something else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from symflow.errors import CertificateError

_NAME = re.compile(r"[A-Za-zΑ-ΡΣ-Ωα-ω][A-Za-zΑ-ΡΣ-Ωα-ω0-9_]{0,59}")
_FIXED_SIZE = re.compile(r"[1-9][0-9]{0,5}")

#: Greek letters that look like Latin ones
_LOOK_ALIKES = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEZHIKMNOPTYXo")


def is_fixed_size(size: str) -> bool:
    """Whether a size is a number instead of a name.

    Examples
    --------
    >>> is_fixed_size("3"), is_fixed_size("k")
    (True, False)
    """
    return _FIXED_SIZE.fullmatch(size) is not None


def check_names(names: Iterable[str]) -> None:
    """Refuse names that are not plain words, and two names that are equal or look alike.

    Raises
    ------
    CertificateError
        Naming the fault and the remedy.
    """
    listed = list(names)
    for name in listed:
        if not _NAME.fullmatch(name):
            raise CertificateError(
                f"{name!r} cannot be a name: use Latin or Greek letters, digits and _, at most 60"
            )
    for name, times in Counter(listed).items():
        if times > 1:
            raise CertificateError(f"the name {name!r} is used twice; give every symbol its own name")
    looks: dict[str, str] = {}
    for name in listed:
        other = looks.setdefault(name.translate(_LOOK_ALIKES), name)
        if other != name:
            raise CertificateError(f"the names {other!a} and {name!a} look alike; rename one of them")
