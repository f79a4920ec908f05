"""A report as HTML and as LaTeX: the templates hold the structure, filters write text and formulas."""

from __future__ import annotations

import re
from importlib import resources

from jinja2 import Environment

import symflow
from symflow.derive.document import to_latex
from symflow.derive.markup import display_to_html, math_to_html
from symflow.derive.templating import html_environment, latex_environment
from symflow.derive.tex import tex_prose
from symflow.references import cite, reference
from symflow.report.blocks import Grid, Report, Steps
from symflow.report.formulas import displayed

#: Share of the text width for a column of prose in a table of so many columns.
_PROSE = {2: "p{0.22\\textwidth}p{0.7\\textwidth}"}


def render_html(report: Report, has_pdf: bool) -> str:
    """Return the whole page; it refers to nothing but files beside it."""
    css = resources.files("symflow.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    text: str = (
        _html()
        .get_template("index.html.jinja")
        .render(
            report=report,
            css=css,
            has_pdf=has_pdf,
            version=symflow.__version__,
            references=[_entry(key) for key in report.citations],
        )
    )
    return text


def render_latex(report: Report) -> str:
    """Return the article; its figures lie in ``figures``."""
    bibliography = cite(*report.citations, format="latex") if report.citations else ""
    text: str = (
        _latex()
        .get_template("report.tex.jinja")
        .render(report=report, version=symflow.__version__, bibliography=bibliography)
    )
    return text


def _entry(key: str) -> dict[str, str]:
    entry = reference(key)
    url = entry.get("url")
    return {"key": key, "text": entry.to_text().removesuffix(url), "url": url}


def _plain(text: str) -> str:
    """Return text without mathematics markup, for titles and alternative texts."""
    return re.sub(r"\\[A-Za-z]+|[$\\{}^_]", " ", text).replace("  ", " ").strip()


def _columns(grid: Grid) -> str:
    if grid.tex or grid.align:
        return grid.tex or grid.align
    return _PROSE.get(len(grid.head), "l" * len(grid.head))


def _fragment(steps: Steps) -> str:
    return to_latex(steps.derivation, fragment=True, checked=steps.checked)


def _html() -> Environment:
    return html_environment(
        "symflow.report", rich=math_to_html, display=display_to_html, displayed=displayed, plain=_plain
    )


def _latex() -> Environment:
    return latex_environment("symflow.report", rich=tex_prose, columns=_columns, fragment=_fragment)
