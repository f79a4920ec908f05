"""Pages that the package writes about itself: the table of claims and the help of every command."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from symflow.certify import LEMMAS
from symflow.claims import to_html
from symflow.cli import main


class Claims(Directive):
    """The claims as ``symflow claims --format html`` lists them."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", to_html(fragment=True), format="html")]


class Lemmas(Directive):
    """The closed list of lemmas that certificates may use."""

    def run(self) -> list[nodes.Node]:
        terms = nodes.definition_list()
        for lemma in LEMMAS.values():
            item = nodes.definition_list_item()
            item += nodes.term(text=f"{lemma.name} — {lemma.title}")
            body = nodes.definition()
            lines = StringList(_as_rst(lemma.statement).splitlines())
            self.state.nested_parse(lines, self.content_offset, body)
            body += nodes.paragraph(text=lemma.citation)
            item += body
            terms += item
        return [terms]


def _as_rst(latex: str) -> str:
    """Return LaTeX text with its inline mathematics as a role."""
    return re.sub(r"\$([^$]*)\$", r":math:`\1`", latex)


class Commands(Directive):
    """The ``--help`` text of every command."""

    has_content: ClassVar[bool] = False

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        for name in main.commands:
            command = main.commands[name]
            section = nodes.section(ids=[f"symflow-{name}"])
            section += nodes.title(text=f"symflow {name}")
            with click.Context(command, info_name=f"symflow {name}", max_content_width=100) as context:
                text = command.get_help(context)
            section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("symflow-claims", Claims)
    app.add_directive("symflow-lemmas", Lemmas)
    app.add_directive("symflow-commands", Commands)
    return {"parallel_read_safe": True}
