"""The literature that the package rests on, read from ``references.bib``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from symflow.errors import InputError

_FORMATS = ("bibtex", "text", "latex")


@dataclass(frozen=True)
class Reference:
    """One entry of the bibliography.

    Attributes
    ----------
    key : str
        Citation key, e.g. ``"CACP25"``.
    kind : str
        ``"article"``, ``"book"`` or ``"misc"``.
    fields : tuple of (str, str)
        In the order of the file, values in UTF-8 with TeX braces.
    """

    key: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """Return a field, empty when it is absent."""
        return dict(self.fields).get(name, "")

    @property
    def authors(self) -> tuple[str, ...]:
        """Names as they are printed: given names first."""
        return tuple(_given_first(name) for name in self.get("author").split(" and ") if name)

    def to_bibtex(self) -> str:
        """Return the entry as BibTeX."""
        width = max(len(name) for name, _ in self.fields)
        lines = [f"  {name:<{width}} = {{{value}}}," for name, value in self.fields]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def to_text(self) -> str:
        """Return the entry as one line of plain text."""
        parts = [self._names(), f"{_plain(self.get('title'))}.", self._place()]
        return " ".join(part for part in parts if part) + (f" {self.get('url')}" if self.get("url") else "")

    def to_latex(self) -> str:
        """Return the entry as the body of a ``bibitem``."""
        title = rf"\emph{{{self.get('title')}}}."
        link = rf" \url{{{self.get('url')}}}" if self.get("url") else ""
        return (
            " ".join(
                part
                for part in (_tex(self._names(plain=False)), title, _tex(self._place(plain=False)))
                if part
            )
            + link
        )

    def _names(self, plain: bool = True) -> str:
        names = ["et al." if name == "others" else name for name in self.authors]
        if len(names) > 1 and names[-1] != "et al.":
            names[-2:] = [f"{names[-2]} and {names[-1]}"]
        joined = ", ".join(names).replace(", et al.", " et al.")
        return f"{_plain(joined) if plain else joined}".removesuffix(".") + "." if joined else ""

    def _place(self, plain: bool = True) -> str:
        number = f"({self.get('number')})" if self.get("number") else ""
        pages = f":{self.get('pages')}" if self.get("pages") else ""
        if self.get("journal"):
            parts = [f"{self.get('journal')} {self.get('volume')}{number}{pages}"]
        elif self.get("eprint"):
            parts = [f"arXiv:{self.get('eprint')}"]
        else:
            series = f"{self.get('series')} {self.get('volume')}".strip()
            edition = f"{self.get('edition')} edition" if self.get("edition") else ""
            parts = [part for part in (series, edition, self.get("publisher")) if part]
        text = ", ".join([*parts, self.get("year")]) + "."
        return _plain(text) if plain else text


def _given_first(name: str) -> str:
    family, _, given = (part.strip() for part in name.partition(","))
    return f"{given} {family}" if given else family


def _plain(text: str) -> str:
    return text.replace("--", "–").replace(r"\&", "&").replace("{", "").replace("}", "")


def _tex(text: str) -> str:
    """Keep sentence spacing after initials."""
    return re.sub(r"(?<=\b[A-Z]\.) ", "~", text)


@lru_cache(maxsize=1)
def _entries() -> dict[str, Reference]:
    text = files("symflow").joinpath("references.bib").read_text(encoding="utf-8")
    return {entry.key: entry for entry in read_bibtex(text)}


def read_bibtex(text: str) -> list[Reference]:
    """Read the subset of BibTeX that ``references.bib`` is written in: braced values, no macros.

    Parameters
    ----------
    text : str
        Entries ``@kind{key, name = {value}, …}``; lines outside entries are comments.

    Raises
    ------
    InputError
        If an entry is malformed or a key occurs twice; names the key.

    Examples
    --------
    >>> read_bibtex("@misc{K, title = {A {B}}, year = {2020},}")[0].get("title")
    'A {B}'
    """
    entries: list[Reference] = []
    for match in re.finditer(r"^@(\w+)\s*\{\s*([^\s,{}]+)\s*,", text, re.MULTILINE):
        key = match[2]
        if any(entry.key == key for entry in entries):
            raise InputError(f"references: the key {key!r} occurs twice")
        entries.append(Reference(key, match[1].lower(), tuple(_fields(text, match.end(), key))))
    return entries


def _fields(text: str, position: int, key: str) -> Iterable[tuple[str, str]]:
    pattern = re.compile(r"\s*(\w+)\s*=\s*\{")
    while (match := pattern.match(text, position)) is not None:
        end = _closing_brace(text, match.end(), key)
        yield match[1].lower(), " ".join(text[match.end() : end].split())
        comma = re.compile(r"\s*,?").match(text, end + 1)
        position = comma.end() if comma else end + 1
    if not re.compile(r"\s*\}").match(text, position):
        raise InputError(f"references: entry {key!r} is malformed near {text[position : position + 30]!r}")


def _closing_brace(text: str, position: int, key: str) -> int:
    depth = 1
    for index in range(position, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    raise InputError(f"references: entry {key!r} has an open brace")


def bibliography() -> dict[str, dict[str, str]]:
    """Return every entry by key, as plain data.

    Examples
    --------
    >>> bibliography()["CACP25"]["year"]
    '2025'
    """
    return {key: {"kind": entry.kind, **dict(entry.fields)} for key, entry in _entries().items()}


def reference(key: str) -> Reference:
    """Return one entry.

    Raises
    ------
    InputError
        If the key is unknown; names the known ones.
    """
    if key not in _entries():
        raise InputError(f"reference {key!r} is unknown; known keys are {', '.join(_entries())}")
    return _entries()[key]


def keys_in(text: str) -> tuple[str, ...]:
    """Return the known keys that a text such as ``"CACP25, Section 2"`` mentions, in order.

    Examples
    --------
    >>> keys_in("CACP25, Section 2; HNW93")
    ('CACP25', 'HNW93')
    """
    found = [key for key in re.findall(r"[A-Za-z]\w*\d\d", text) if key in _entries()]
    return tuple(dict.fromkeys(found))


def cite(*keys: str, format: str = "bibtex") -> str:
    """Return references as text.

    Parameters
    ----------
    *keys : str
        Citation keys; all entries when none is given.
    format : {"bibtex", "text", "latex"}
        BibTeX entries, one line of plain text each, or ``bibitem`` bodies.

    Raises
    ------
    InputError
        If a key or the format is unknown.

    Examples
    --------
    >>> print(cite("GLPR23", format="text"))  # doctest: +ELLIPSIS
    [GLPR23] Borjan Geshkovski, Cyril Letrouit, Yury Polyanskiy and Philippe Rigollet. A mathematical ...
    """
    if format not in _FORMATS:
        raise InputError(f"format = {format!r} is not one of {', '.join(map(repr, _FORMATS))}")
    entries = [reference(key) for key in keys] or list(_entries().values())
    if format == "bibtex":
        return "\n\n".join(entry.to_bibtex() for entry in entries)
    if format == "text":
        return "\n".join(f"[{entry.key}] {entry.to_text()}" for entry in entries)
    return "\n".join(rf"\bibitem[{entry.key}]{{{entry.key}}} {entry.to_latex()}" for entry in entries)
