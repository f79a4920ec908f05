"""Spec files: one run — model, parameters, initial law, time, solver — written down in TOML.

:func:`load_spec` reads a file into a frozen :class:`Spec`. Everything is checked while it is read: a key that
is unknown, a shape that does not fit, a number that is not finite are refused by section, key and index.
"""

from symflow.spec.reading import load_spec, parse_spec
from symflow.spec.record import Spec

__all__ = ["Spec", "load_spec", "parse_spec"]
