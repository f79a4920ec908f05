"""Entries of matrices in straight-line code: a number that is known now, or the name of a variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Entry = float | str  #: a number known when code is generated, or a name
Matrix = list[list[Entry]]


@dataclass(frozen=True)
class Assignment:
    """``target = text`` where ``text`` reads the names ``reads``; a mask when ``is_mask``."""

    target: str
    text: str
    reads: tuple[str, ...]
    is_mask: bool = False


def shown(entry: Entry) -> str:
    """Return an entry as an operand."""
    return entry if isinstance(entry, str) else f"({entry!r})" if entry < 0 else repr(entry)


class Block:
    """Collects assignments, each value computed once; zeros and ones vanish on the way.

    Parameters
    ----------
    prefix : str
        Names of the variables are ``prefix`` and a number.
    """

    def __init__(self, prefix: str = "x") -> None:
        self.assignments: list[Assignment] = []
        self._prefix = prefix
        self._known: dict[str, str] = {}

    def name(self, text: str, reads: Iterable[str], is_mask: bool = False) -> str:
        """Return the variable that holds ``text``."""
        if text not in self._known:
            target = f"{self._prefix}{len(self.assignments)}"
            self.assignments.append(Assignment(target, text, tuple(reads), is_mask))
            self._known[text] = target
        return self._known[text]

    def total(self, products: Sequence[tuple[Entry, ...]]) -> Entry:
        """Return the sum of products."""
        constant, texts, reads = 0.0, [], []
        for factors in products:
            number = 1.0
            names = [f for f in factors if isinstance(f, str)]
            for factor in factors:
                number *= factor if not isinstance(factor, str) else 1.0
            if number == 0.0:
                continue
            if not names:
                constant += number
                continue
            reads += names
            head = [] if number == 1.0 else ["-" + names.pop(0)] if number == -1.0 else [shown(number)]
            texts.append("*".join([*head, *names]))
        if not texts:
            return constant
        if constant != 0.0:
            texts.append(shown(constant))
        if len(texts) == 1 and len(reads) == 1 and texts[0] == reads[0]:
            return texts[0]
        return self.name(" + ".join(texts).replace("+ -", "- "), reads)

    def quotient(self, above: Entry, below: Entry) -> Entry:
        """Return ``above / below``."""
        if above == 0.0 or below == 1.0:
            return above
        if not isinstance(above, str) and not isinstance(below, str) and below != 0.0:
            return above / below
        return self.name(f"{value(above)}/{value(below)}", _names(above, below))

    def chosen(self, mask: str, yes: Entry, no: Entry) -> Entry:
        """Return ``yes`` where the mask is set, else ``no``."""
        if yes == no:
            return yes
        return self.name(f"select({mask}, {value(yes)}, {value(no)})", (mask, *_names(yes, no)))

    def absolute(self, entry: Entry) -> Entry:
        """Return ``|entry|``."""
        return self.name(f"absolute({entry})", (entry,)) if isinstance(entry, str) else abs(entry)

    def root(self, entry: Entry) -> Entry:
        """Return the square root of a variable; of a number, only where it has one."""
        if isinstance(entry, str):
            return self.name(f"root({entry})", (entry,))
        return entry**0.5 if entry >= 0.0 else self.name(f"root({value(entry)})", ())

    def less(self, left: Entry, right: Entry) -> str:
        """Return the mask ``left < right``."""
        return self.name(f"less({value(left)}, {value(right)})", _names(left, right), is_mask=True)

    def complement(self, mask: str) -> str:
        """Return the opposite mask."""
        return self.name(f"complement({mask})", (mask,), is_mask=True)


def value(entry: Entry) -> str:
    """Return an entry as a value of its own, for every lane."""
    return entry if isinstance(entry, str) else f"splat({entry!r})"


def _names(*entries: Entry) -> tuple[str, ...]:
    return tuple(entry for entry in entries if isinstance(entry, str))


def needed(assignments: Sequence[Assignment], wanted: Iterable[str]) -> list[Assignment]:
    """Return the assignments on which ``wanted`` depend, in order."""
    live = set(wanted)
    kept = []
    for assignment in reversed(assignments):
        if assignment.target in live:
            live.update(assignment.reads)
            kept.append(assignment)
    return kept[::-1]
