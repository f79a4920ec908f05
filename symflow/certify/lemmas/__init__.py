"""The closed list of facts of analysis that certificates may use, each with its source.

Everything else in a certificate is exact algebra. A verdict lists the lemmas it used in ``assumes``; the
replay checks the hypotheses of each lemma, line by line, before it grants the conclusion. A module of this
folder lists its lemmas in ``FACTS``; the folder is scanned.
"""

from __future__ import annotations

import importlib
import pkgutil

from symflow.certify.lemmas.lemma import Lemma

__all__ = ["LEMMAS", "Lemma"]


def _scan() -> dict[str, Lemma]:
    found: dict[str, Lemma] = {}
    for info in pkgutil.iter_modules(__path__, __name__ + "."):
        for lemma in getattr(importlib.import_module(info.name), "FACTS", ()):
            found[lemma.name] = lemma
    return found


LEMMAS: dict[str, Lemma] = _scan()
