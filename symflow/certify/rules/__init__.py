"""Rules of inference: each checks that one conclusion follows from its premises, exactly.

A module of this folder lists its rules in ``RULES``; the folder is scanned, so a new family is one file.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from symflow.certify.rules.rule import Rule

__all__ = ["Rule", "rules"]


@functools.cache
def rules() -> dict[str, Rule]:
    """Return every rule by name.

    Examples
    --------
    >>> "normal-form" in rules()
    True
    """
    found: dict[str, Rule] = {}
    for info in pkgutil.iter_modules(__path__, __name__ + "."):
        for rule in getattr(importlib.import_module(info.name), "RULES", ()):
            found[rule.name] = rule
    return found
