"""Writing an identity chain: expressions in, text lines out."""

from __future__ import annotations

from typing import Any

from symflow.algebra.grammar import to_text


class ChainWriter:
    """Collects the lines of an identity chain; ids count up from ``L1``."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.lemmas: set[str] = set()

    def add(
        self,
        rule: str,
        relation: str,
        terms: dict[str, Any],
        premises: tuple[str, ...] = (),
        **arguments: Any,
    ) -> str:
        """Append a line and return its id; lists in ``arguments`` become lists of text."""
        line_id = f"L{len(self.lines) + 1}"
        given = {
            name: [to_text(part) for part in value] if isinstance(value, list) else to_text(value)
            for name, value in arguments.items()
        }
        conclusion = {"relation": relation, **{name: to_text(term) for name, term in terms.items()}}
        self.lines.append(
            {"id": line_id, "conclusion": conclusion, "rule": rule, "premises": list(premises), "with": given}
        )
        return line_id

    def lemma(
        self, name: str, relation: str, terms: dict[str, Any], premises: tuple[str, ...], **arguments: Any
    ) -> str:
        """Append a line that uses a named lemma."""
        self.lemmas.add(name)
        return self.add(name, relation, terms, premises, **arguments)

    def equal(
        self, rule: str, left: Any, right: Any, premises: tuple[str, ...] = (), **arguments: Any
    ) -> str:
        """Append an equality."""
        return self.add(rule, "equal", {"left": left, "right": right}, premises, **arguments)
