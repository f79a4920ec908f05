"""Identifiers: any name of a parameter becomes a valid, distinct identifier in C, Cython and Python."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable

_C_WORDS = """
auto bool break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
asm main NULL true false complex
"""
_CYTHON_WORDS = (
    "cdef cpdef cimport ctypedef gil include namespace new nogil object operator public ptrdiff_t api DEF IF"
)
_WORDS = frozenset((_C_WORDS + _CYTHON_WORDS).split()) | {*keyword.kwlist, *keyword.softkwlist}


def identifiers(names: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    r"""Return an identifier for each name, different for different names.

    A name that is an identifier already and not a word of a language keeps itself.

    Examples
    --------
    >>> identifiers(["A", r"\alpha", "alpha", "x'", "lambda", "β"])
    {'A': 'A', '\\alpha': 'alpha_2', 'alpha': 'alpha', "x'": 'x_prime', 'lambda': 'lambda_', 'β': 'beta'}
    """
    wanted = list(dict.fromkeys(names))
    taken = {*reserved, *_WORDS}
    plain = [name for name in wanted if _is_plain(name) and name not in taken]
    found = {name: name for name in plain}
    taken |= set(plain)
    for name in wanted:
        if name not in found:
            found[name] = _free(_spelled(name), taken)
            taken.add(found[name])
    return {name: found[name] for name in wanted}


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("_")


def _free(base: str, taken: set[str]) -> str:
    if base in _WORDS:
        base += "_"
    candidate, number = base, 2
    while candidate in taken:
        candidate, number = f"{base}_{number}", number + 1
    return candidate


def _spelled(name: str) -> str:
    """Return an ASCII identifier that reads like the name."""
    parts = [_letter(character) for character in name]
    text = "".join(parts).strip("_") or "x"
    return text if text[0].isalpha() else "x" + text


def _letter(character: str) -> str:
    if character.isascii():
        return character if character.isalnum() else {"'": "_prime", "\\": ""}.get(character, "_")
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        spelled = words[words.index("LETTER") + 1].lower()
        return spelled.capitalize() if "CAPITAL" in words else spelled
    return f"u{ord(character):x}"
