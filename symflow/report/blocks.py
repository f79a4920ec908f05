"""What a report is made of: sections of blocks, written once and rendered as HTML and as LaTeX.

Text is LaTeX text with inline mathematics between ``$``; ``kind`` is what a template tells a block by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from symflow.derive.derivation import Argument
from symflow.derive.steps import Checked

GOOD, BAD, PLAIN = "good", "bad", "plain"


@dataclass(frozen=True)
class Badge:
    """A short status: ``state`` is ``"good"``, ``"bad"`` or ``"plain"``."""

    label: str
    value: str
    state: str = PLAIN


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text."""

    text: str
    kind: ClassVar[str] = "paragraph"


@dataclass(frozen=True)
class Callout:
    """A paragraph that must not be overlooked, such as what a theorem says here."""

    text: str
    state: str = PLAIN
    kind: ClassVar[str] = "callout"


@dataclass(frozen=True)
class Display:
    """A displayed formula in LaTeX."""

    latex: str
    kind: ClassVar[str] = "display"


@dataclass(frozen=True)
class Picture:
    """A figure: ``stem`` names the files ``figures/stem.svg``, ``.pdf`` and ``.png``."""

    stem: str
    caption: str
    width: str = "wide"
    kind: ClassVar[str] = "picture"


@dataclass(frozen=True)
class Grid:
    """A table; the last cell of a row is its state where ``judged``.

    ``align`` has a letter for each column; ``tex`` replaces it in LaTeX where columns need a width. With a
    heading ``folded`` the page shows it on request; ``in_article`` tells whether the article has it.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    judged: bool = False
    align: str = ""
    tex: str = ""
    folded: str = ""
    in_article: bool = True
    kind: ClassVar[str] = "grid"


@dataclass(frozen=True)
class Code:
    """A command to copy."""

    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Steps:
    """A derivation, step by step, with what every check saw.

    With a heading ``folded`` the page shows it on request; ``in_article`` tells whether the article has it.
    """

    derivation: Argument
    checked: tuple[tuple[Any, Checked], ...]
    folded: str = ""
    in_article: bool = True
    kind: ClassVar[str] = "steps"


@dataclass(frozen=True)
class Section:
    """A heading, its badges, its blocks and its subsections."""

    title: str
    anchor: str
    blocks: tuple[Any, ...] = ()
    badges: tuple[Badge, ...] = ()
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes
    ----------
    title, lead : str
        Heading and the paragraph beneath it.
    sections : tuple of Section
    summary : dict
        What ``report.json`` holds; JSON-ready.
    passed : bool
        Whether every check, comparison and verification in it holds.
    citations : tuple of str
        Keys of the bibliography.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    summary: dict[str, Any] = field(hash=False)
    passed: bool = True
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """A section together with what it adds to ``report.json`` and whether all of it holds."""

    section: Section
    summary: dict[str, Any]
    passed: bool
    citations: tuple[str, ...] = ()


def mark(holds: bool) -> str:
    """Return the word for a judged cell."""
    return "yes" if holds else "no"


def state(holds: bool) -> str:
    """Return the state of a badge for something that must hold."""
    return GOOD if holds else BAD
