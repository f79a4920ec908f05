"""Figures of the gallery: those that a block of a script assigns to a name; pyplot knows none of ours."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def new_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures that a block has assigned and return the text that shows them.

    Parameters
    ----------
    block : (str, str, int)
        Kind, text and first line of a block.
    block_vars : dict
        What the gallery knows about the script, its variables among it.
    gallery_conf : dict

    Returns
    -------
    str
        ReStructuredText.
    """
    kind, text, *_ = block
    if kind != "code":
        return ""
    names = dict.fromkeys(
        node.id
        for statement in ast.parse(text).body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    found = [block_vars["example_globals"].get(name) for name in names]
    files = []
    for figure in found:
        if isinstance(figure, Figure):
            file = Path(next(block_vars["image_path_iterator"]))
            figure.savefig(file, dpi=150, facecolor="white")
            files.append(str(file))
    return figure_rst(files, gallery_conf["src_dir"])
