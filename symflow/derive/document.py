r"""Derivation → LaTeX article, LaTeX fragment, HTML page with MathML, notebook display.

A template holds the structure; the formulas come from :mod:`symflow.algebra.latex`. The output depends on the
derivation only: no date, no version, no path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from sympy import Symbol

from symflow.algebra.latex import DEFAULT_WIDTH, aligned, latex, latex_equation, width
from symflow.derive.derivation import Argument
from symflow.derive.markup import display_to_html, math_to_html
from symflow.derive.steps import Checked, Step
from symflow.derive.templating import html_environment, latex_environment
from symflow.derive.tex import tex_escape, tex_text
from symflow.errors import InputError
from symflow.models.statement import Statement
from symflow.references import cite, keys_in, reference

_ENVIRONMENTS = {"definition": "definition", "lemma": "lemma", "result": "theorem", "step": ""}
_LABELS = {"definition": "Definition", "lemma": "Lemma", "result": "Theorem", "step": "Step"}
_TALL = 20  #: lines of a display that may need a page break
Seen = Sequence[tuple[Step, Checked]]


@dataclass(frozen=True)
class _Block:
    """One step, ready for a template; every text is LaTeX or HTML."""

    kind: str
    environment: str
    number: int
    label: str
    title: Any
    statement: Any
    display: Any
    note: Any
    citation: Any
    rule: Any
    check: Any


def to_latex(derivation: Argument, fragment: bool = False, *, checked: Seen = ()) -> str:
    """Return the derivation as a complete article, or as a fragment to paste into a paper.

    Parameters
    ----------
    derivation : Argument
        What to print.
    fragment : bool
        Without preamble: paragraphs and displayed formulas that need amsmath and amssymb only.
    checked : sequence of (Step, Checked)
        What ``derivation.checked()`` returned, to add a column with the independent checks.

    Raises
    ------
    InputError
        If ``checked`` belongs to another derivation, or a step is of an unknown kind.
    """
    blocks = _blocks(derivation, checked, _Latex())
    keys = _cited(derivation)
    template = "fragment.tex.jinja" if fragment else "article.tex.jinja"
    text: str = (
        latex_environment("symflow.derive")
        .get_template(template)
        .render(
            title=tex_text(derivation.model.title),
            blocks=blocks,
            has_checks=bool(checked),
            references=cite(*keys, format="latex") if keys else "",
            widest=max(keys, key=len, default=""),
            keys=", ".join(keys),
        )
    )
    return text


def to_html(derivation: Argument, *, checked: Seen = ()) -> str:
    """Return the derivation as one self-contained HTML page; formulas are MathML.

    Parameters
    ----------
    derivation : Argument
        What to print.
    checked : sequence of (Step, Checked)
        What ``derivation.checked()`` returned, to add a column with the independent checks.

    Raises
    ------
    InputError
        If ``checked`` belongs to another derivation, or a formula has no MathML.
    """
    entries = [reference(key) for key in _cited(derivation)]
    text: str = (
        html_environment("symflow.derive")
        .get_template("page.html.jinja")
        .render(
            title=derivation.model.title,
            blocks=_blocks(derivation, checked, _Html()),
            has_checks=bool(checked),
            references=[
                {"key": e.key, "text": e.to_text().removesuffix(e.get("url")), "url": e.get("url")}
                for e in entries
            ],
            fragment=to_latex(derivation, fragment=True),
        )
    )
    return text


def repr_latex(derivation: Argument) -> str:
    r"""Return the equations of the theorem as an ``aligned`` block for notebooks.

    Examples
    --------
    >>> from symflow.derive.closure import gaussian_closure
    >>> from symflow.models.attention.softmax import Softmax
    >>> print(repr_latex(gaussian_closure(Softmax())))
    $$\begin{aligned}
    \dot{\alpha} &= V(I+\Sigma A)\alpha \\
    \dot{\Sigma} &= V\Sigma A\Sigma + \Sigma A^{\top}\Sigma V^{\top}
    \end{aligned}$$
    """
    theorem = next(step for step in derivation.steps if step.kind == "result")
    equations = [(_dotted(formula.lhs), formula.rhs) for formula in theorem.formulas]
    return f"$${aligned(equations)}$$"


class _Latex:
    """How the parts of a step are written in LaTeX."""

    text = staticmethod(tex_text)

    def rich(self, text: str) -> str:
        """Return LaTeX text, which it is already."""
        return text

    def display(self, text: str) -> str:
        """Return a displayed formula; ``align*`` is a display of its own."""
        return text if "{align*}" in text else f"\\[\n{text}\n\\]"

    def citation(self, text: str) -> str:
        """Return a key and a place as ``\\cite[place]{key}``."""
        keys = keys_in(text)
        if not keys or not text.startswith(keys[0]):
            return tex_escape(text)
        place = text.removeprefix(keys[0]).lstrip(", ")
        option = f"[{tex_escape(place)}]" if place else ""
        return rf"\cite{option}{{{keys[0]}}}"


class _Html:
    """How the parts of a step are written in HTML."""

    text = staticmethod(math_to_html)
    rich = staticmethod(math_to_html)
    display = staticmethod(display_to_html)

    def citation(self, text: str) -> Any:
        """Return a key and a place, the key linked to the list of references."""
        keys = keys_in(text)
        if not keys or not text.startswith(keys[0]):
            return text
        return Markup('<a href="#{}">{}</a>{}').format(keys[0], keys[0], text.removeprefix(keys[0]))


def _blocks(derivation: Argument, checked: Seen, write: _Latex | _Html) -> list[_Block]:
    if checked and [step for step, _ in checked] != list(derivation.steps):
        raise InputError("checked belongs to another derivation; pass derivation.checked()")
    seen = {id(step): result for step, result in checked}
    numbers: dict[str, int] = {}
    blocks = []
    for step in derivation.steps:
        if step.kind not in _LABELS:
            raise InputError(f"step {step.title!r} is of kind {step.kind!r}; known are {', '.join(_LABELS)}")
        numbers[step.kind] = numbers.get(step.kind, 0) + 1
        extra = _parameters(derivation) if step.kind == "definition" else ""
        blocks.append(_block(step, numbers[step.kind], extra, seen.get(id(step)), write))
    return blocks


def _block(step: Step, number: int, extra: str, seen: Checked | None, write: Any) -> _Block:
    equations = [(_dotted(formula.lhs), formula.rhs) for formula in step.formulas]
    return _Block(
        kind=step.kind,
        environment=_ENVIRONMENTS[step.kind],
        number=number,
        label=f"{_LABELS[step.kind]} {number}",
        title=write.text(step.title),
        statement=write.rich(step.statement),
        display=write.display(_display(equations, step.kind == "result")) if equations else "",
        note=write.rich(extra) if extra else "",
        citation=write.citation(step.reference) if step.reference else "",
        rule=write.rich(step.rule),
        check=write.text(seen.method) if seen else "",
    )


def _display(equations: list[tuple[Any, Any]], always_aligned: bool) -> str:
    """Return the equations punctuated as a sentence: short ones on one line, others aligned."""
    marks = [","] * (len(equations) - 1) + ["."]
    short = [(latex(lhs), latex(rhs)) for lhs, rhs in equations]
    if (
        not always_aligned
        and len(short) > 1
        and sum(width(lhs) + width(rhs) + 6 for lhs, rhs in short) < DEFAULT_WIDTH
    ):
        return r" \qquad ".join(f"{lhs} = {rhs}{mark}" for (lhs, rhs), mark in zip(short, marks, strict=True))
    rows = [(lhs, rhs + mark) for (lhs, rhs), mark in zip(short, marks, strict=True)]
    text = latex_equation(*rows[0]) if len(rows) == 1 else aligned(rows)
    return aligned(rows, environment="align*") if text.count(r" \\") >= _TALL else text


def _dotted(lhs: Any) -> str:
    r"""Write ``\dot\alpha`` as ``\dot{\alpha}``, one spelling for every reader."""
    return re.sub(r"\\dot\s*(\\[A-Za-z]+|[A-Za-z])", r"\\dot{\1}", latex(lhs))


def _parameters(derivation: Argument) -> str:
    """Return the sentence that gives every parameter its space."""
    statement: Statement = derivation.statement
    own = [symbol for symbol in statement.parameters if symbol.name in statement.stacked]
    shared = [symbol for symbol in statement.parameters if symbol.name not in statement.stacked]
    count = "".join(sorted({latex(size) for size in statement.stacked.values()}))
    listed = " and ".join(
        text
        for text in (f"{_in_spaces(own)} for each of ${count}$ heads" if own else "", _in_spaces(shared))
        if text
    )
    if not listed:
        return ""
    product = _is_product(derivation)
    meaning = (
        r" Here $A = K^{\top}Q$, so that $\langle Qx, Ky\rangle = \langle Ax, y\rangle$." if product else ""
    )
    return f"The parameters are {listed}.{meaning}"


def _in_spaces(symbols: Sequence[Any]) -> str:
    spaces: dict[str, list[str]] = {}
    for symbol in symbols:
        spaces.setdefault(_space(symbol), []).append(latex(symbol))
    return ", ".join(rf"${', '.join(names)} \in {space}$" for space, names in spaces.items())


def _space(symbol: Any) -> str:
    if isinstance(symbol, Symbol):
        return r"\mathbb{R}"
    rows, cols = (latex(size) for size in symbol.shape)
    return rf"\mathbb{{R}}^{{{rows}}}" if cols == "1" else rf"\mathbb{{R}}^{{{rows}\times {cols}}}"


def _is_product(derivation: Argument) -> bool:
    """Whether A stands for KᵀQ: the model states Q and K, the statement has A."""
    names = {symbol.name for symbol in derivation.statement.parameters}
    stated = set(derivation.model.parameters)
    return "A" in names - stated and {"Q", "K"} <= stated - names


def _cited(derivation: Argument) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for step in derivation.steps for key in keys_in(step.reference)))
