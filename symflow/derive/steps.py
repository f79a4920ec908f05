"""Steps of a derivation: statement, rule, reference, and a check that shares no code with the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Checked:
    """What an independent check saw: ``passed``, the ``method`` in words, and the ``evidence``."""

    passed: bool
    method: str
    evidence: str


class Check(Protocol):
    """An independent route to the statement of a step; instances pickle."""

    def run(self) -> Checked:
        """Execute the check."""
        ...


@dataclass(frozen=True)
class Formula:
    """A displayed equation ``lhs = rhs``; either side may be SymPy or ready LaTeX text."""

    lhs: Any
    rhs: Any


@dataclass(frozen=True)
class Step:
    r"""One step of a derivation.

    Attributes
    ----------
    kind : str
        ``"definition"``, ``"lemma"``, ``"step"`` or ``"result"``.
    title : str
        A short heading.
    statement : str
        A sentence in LaTeX text with inline mathematics between ``$``.
    formulas : tuple of Formula
        Displayed beneath the statement, aligned at the equality sign.
    rule : str
        What was applied: ``"normal form of matrix words"``, ``"Gaussian tilting"``, ...
    reference : str
        Citation key and place, or empty.
    check : Check
        The independent check.
    """

    kind: str
    title: str
    statement: str
    formulas: tuple[Formula, ...]
    rule: str
    reference: str
    check: Check
