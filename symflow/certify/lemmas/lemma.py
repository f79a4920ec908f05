"""What a lemma is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symflow.certify.rules.rule import Inference, Rule


@dataclass(frozen=True)
class Lemma:
    r"""A cited fact.

    Attributes
    ----------
    name : str
        As written in certificates and in ``Verdict.assumes``.
    title : str
        For readers.
    statement : str
        The precise statement, LaTeX text.
    hypotheses : tuple of str
        What the premises of a line that uses it must be, in order.
    citation : str
        Where it is proved.
    rule : Rule
        Checks the hypotheses and the conclusion of a line.
    """

    name: str
    title: str
    statement: str
    hypotheses: tuple[str, ...]
    citation: str
    rule: Rule


def lemma(
    name: str,
    title: str,
    statement: str,
    hypotheses: tuple[str, ...],
    citation: str,
    check: Callable[[Inference], None],
    arguments: tuple[str, ...] = (),
) -> Lemma:
    """Return a lemma whose line is checked by ``check``; ``arguments`` are the terms that a line gives."""
    return Lemma(name, title, statement, hypotheses, citation, Rule(name, title, check, arguments))
