"""Pages that the package writes about itself: models, claims, lemmas, and the help of every command."""

from __future__ import annotations

import re
from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from symflow.certify import LEMMAS
from symflow.claims import claims_table
from symflow.cli import main
from symflow.derive.derivation import Derivation
from symflow.derive.outcome import closure_status, derive_or_refute
from symflow.models.registry import COMBINATORS, attention_models, compositions
from symflow.report.formulas import closed_equations, displayed
from symflow.report.subjects import subjects


class _Page(Directive):
    """A directive whose content is computed."""

    def prose(self, latex: str) -> list[nodes.Node]:
        """Return LaTeX prose with inline mathematics as paragraphs."""
        text = re.sub(r"\$([^$]*)\$", r":math:`\1`", latex)
        holder = nodes.container()
        self.state.nested_parse(StringList([text], source="generated"), self.content_offset, holder)
        return list(holder.children)

    def grid(self, head: list[str], rows: list[list[str]]) -> nodes.table:
        """Return a table of text."""
        group = nodes.tgroup("", cols=len(head))
        group += [nodes.colspec(colwidth=1) for _ in head]
        group += nodes.thead("", self._row(head))
        group += nodes.tbody("", *(self._row(row) for row in rows))
        return nodes.table("", group)

    @staticmethod
    def _row(cells: list[str]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph(text=cell)) for cell in cells))

    def terms(self, entries: list[tuple[str, list[nodes.Node]]]) -> nodes.definition_list:
        """Return a definition list."""
        result = nodes.definition_list()
        for term, content in entries:
            result += nodes.definition_list_item("", nodes.term(text=term), nodes.definition("", *content))
        return result


class Variants(_Page):
    """Every model: its definition, and the closed equations or the witness that there are none."""

    def run(self) -> list[nodes.Node]:
        return [self._section(subject) for subject in subjects()]

    def _section(self, subject: Any) -> nodes.section:
        found = derive_or_refute(subject.model)
        section = nodes.section(ids=[f"variant-{subject.anchor}"])
        section += nodes.title(text=subject.title)
        definition = found.steps[0]
        section += self.prose(f"{definition.statement}")
        section += nodes.math_block("", displayed(definition.formulas), nowrap=False, number=None)
        if isinstance(found, Derivation):
            section += self.prose("Closed: a Gaussian law stays Gaussian, its mean and covariance solve")
            section += nodes.math_block("", closed_equations(found), nowrap=False, number=None)
        else:
            left, value = found.witness.inequality()
            section += self.prose(
                f"Not closed. In dimension one a Gaussian solution has an affine velocity, but for "
                f"{found.witness.setting()}"
            )
            section += nodes.math_block("", f"{left} = {value}", nowrap=False, number=None)
        return section


class Closures(_Page):
    """A table of what is closed: alone, with several heads, under a mask."""

    def run(self) -> list[nodes.Node]:
        composed = compositions()
        rows = [
            [
                name,
                *(
                    closure_status(model)
                    for model in (variant(), *(composed[f"{c}-{name}"] for c in COMBINATORS))
                ),
            ]
            for name, variant in attention_models().items()
        ]
        return [self.grid(["model", "alone", "several heads", "causal mask"], rows)]


class Claims(_Page):
    """Every claim: as usually quoted, what holds, witness, replay command."""

    def run(self) -> list[nodes.Node]:
        return [self._section(row) for row in claims_table()]

    def _section(self, row: Any) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(row.id)])
        section += nodes.title(text=f"{row.id}: {row.status}")
        text = row.command.replace(" && ", "\n")
        command = nodes.literal_block(text, text, language="bash")
        section += self.terms(
            [
                ("as usually quoted", self.prose(row.quoted)),
                ("what holds", self.prose(row.holds)),
                ("hypotheses", self.prose(row.hypotheses)),
                ("witness", self.prose(row.witness)),
                ("replay", [command]),
            ]
        )
        return section


class Lemmas(_Page):
    """The closed list of lemmas that certificates may use."""

    def run(self) -> list[nodes.Node]:
        entries = [
            (
                f"{lemma.title} ({lemma.name})",
                [*self.prose(lemma.statement), nodes.paragraph(text=lemma.citation)],
            )
            for lemma in LEMMAS.values()
        ]
        return [self.terms(entries)]


class Commands(_Page):
    """The ``--help`` text of every command."""

    def run(self) -> list[nodes.Node]:
        return [self._section(name, command) for name, command in main.commands.items()]

    def _section(self, name: str, command: click.Command) -> nodes.section:
        section = nodes.section(ids=[f"symflow-{name}"])
        section += nodes.title(text=f"symflow {name}")
        with click.Context(command, info_name=f"symflow {name}", max_content_width=90) as context:
            text = command.get_help(context)
        section += nodes.literal_block(text, text, language="text")
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("symflow-variants", Variants)
    app.add_directive("symflow-closures", Closures)
    app.add_directive("symflow-claims", Claims)
    app.add_directive("symflow-lemmas", Lemmas)
    app.add_directive("symflow-commands", Commands)
    return {"parallel_read_safe": True}
