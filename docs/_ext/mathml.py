"""Mathematics as MathML, by the package's own converter, so that the pages need no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from symflow.derive.markup import display_to_html, math_to_html


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(str(math_to_html(f"${node.astext()}$")))
    raise nodes.SkipNode


def _display(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{display_to_html(node.astext())}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True}
