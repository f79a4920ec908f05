r"""The theorem of a token derivation, the system itself, and its form in the frame z = e^{−tV}x."""

from __future__ import annotations

from typing import Any

from sympy import MatrixSymbol, Symbol

from symflow.algebra.latex import latex
from symflow.derive.definition import is_superposition
from symflow.derive.particles.checks import RescaledVelocity, TokenVelocities
from symflow.derive.steps import Formula, Step
from symflow.flow import SCORE, PairTerm, TokenFlow
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement

#: Stands for the score of a pair until its name with two indices is put there.
_PLACE = Symbol("s_0", real=True)


def system(model: AttentionModel, statement: Statement, flow: TokenFlow) -> Step:
    """Return the system of tokens as a step."""
    several = is_superposition(statement)
    pairs = [(term, _mark(term, index) if several else "") for index, term in enumerate(flow.terms, 1)]
    summands = [text for term, mark in pairs for text in _summands(term, mark)]
    if not flow.background.is_ZeroMatrix:
        query = MatrixSymbol("x_i", *flow.x.shape)
        summands.append(latex(flow.background.xreplace({flow.x: query})))
    velocity = " + ".join(summands).replace("+ -", "- ") or "0"
    if flow.space == "sphere" and summands:
        velocity = rf"{projector(flow.space)}({velocity})"
    averages = [formula for term, mark in pairs for formula in _averages(term, mark, flow)]
    return Step(
        kind="result",
        title=f"The system of tokens: {model.title}",
        statement=_introduction(flow),
        formulas=(Formula(r"\dot x_i", velocity), *averages),
        rule="sums over tokens in place of integrals",
        reference=statement.reference,
        check=TokenVelocities(statement, flow),
    )


def _mark(term: PairTerm, index: int) -> str:
    """Return the superscript of a head."""
    return rf"^{{({'h' if term.family else index})}}"


def projector(space: str) -> str:
    """Return the LaTeX of what is applied to velocities."""
    return r"P_{x_i}" if space == "sphere" else ""


def _introduction(flow: TokenFlow) -> str:
    text = r"With $s_{ij} = s(x_i,x_j)$"
    if len(flow.terms) > 1 or any(term.family for term in flow.terms):
        text += ", where an upper index is that of the head,"
    if any(term.normalise == "sinkhorn" for term in flow.terms):
        text += (
            r" and $f_i$, $g_j$ such that $\frac1n\sum_j e^{f_i+s_{ij}+g_j} = "
            r"\frac1n\sum_i e^{f_i+s_{ij}+g_j} = 1$,"
        )
    return f"{text} the tokens solve"


def _summands(term: PairTerm, mark: str) -> list[str]:
    """Return the LaTeX of M·average and c·mass, with the factor of the term and its sum over heads."""
    parts = []
    if not term.matrix.is_ZeroMatrix:
        matrix = "" if term.matrix.is_Identity else latex(term.matrix)
        parts.append((f"({matrix})" if term.matrix.is_MatAdd else matrix) + rf"\,m{mark}_i" * bool(matrix))
        parts[-1] = parts[-1] or f"m{mark}_i"
    if not term.offset.is_ZeroMatrix:
        offset = f"({latex(term.offset)})" if term.offset.is_MatAdd else latex(term.offset)
        parts.append(offset if term.normalise != "none" else rf"{offset}\,\omega{mark}_i")
    if not parts:
        return []
    sums = rf"\sum_{{h=1}}^{{{latex(term.family.count)}}}" if term.family else ""
    factor = "" if term.prefactor == 1 else "-" if term.prefactor == -1 else latex(term.prefactor) + r"\,"
    text = " + ".join(parts)
    if len(parts) > 1 and (sums or factor):
        text = f"({text})"
    return [f"{factor}{sums}{text}"]


def _averages(term: PairTerm, mark: str, flow: TokenFlow) -> list[Formula]:
    feature = latex(term.feature.xreplace({flow.y: MatrixSymbol("x_j", *flow.y.shape)}))
    feature = f"({feature})" if term.feature.is_MatAdd else feature
    low = r"\sum_{j\le i}\theta_j\," if flow.weights is not None else r"\sum_{j=1}^{n} "
    weight = _weight(term, mark)
    share = "" if flow.weights is not None else r"\frac{1}{n}"
    mean = rf"{share}{low}{weight}\,{feature}"
    if term.normalise == "softmax":
        mean = rf"\frac{{{low}{weight}\,{feature}}}{{{low}{weight}}}"
    found = [] if term.matrix.is_ZeroMatrix else [Formula(rf"m{mark}_i", mean)]
    if term.normalise == "none" and not term.offset.is_ZeroMatrix:
        found.append(Formula(rf"\omega{mark}_i", rf"{share}{low}{weight}"))
    return found


def _weight(term: PairTerm, mark: str) -> str:
    score = f"s{mark}_{{ij}}"
    if term.normalise == "sinkhorn":
        return f"e^{{f_i+{score}+g_j}}"
    text = latex(term.weight.xreplace({SCORE: _PLACE})).replace(latex(_PLACE), score)
    return rf"\left({text}\right)" if term.weight.is_Add else text


# ---- rescaled ---------------------------------------------------------------------------------------


def rescaled(statement: Statement, flow: TokenFlow) -> tuple[Step, ...]:
    r"""Return the system for :math:`z_i = e^{-tV}x_i`, where there is one, as a step.

    That needs one softmax average of V y and nothing else: the weights sum to one and V commutes with its
    exponential.
    """
    if not has_rescaled_frame(flow):
        return ()
    matrix = rescaling(flow)
    shown = latex(matrix)
    shown = f"({shown})" if matrix.is_MatAdd or shown.startswith("-") else shown
    short = "" if matrix.is_Identity else shown
    exponent = rf"-t{short}" if short else "-t"
    low = r"\sum_{j\le i}" if flow.weights is not None else r"\sum_{j=1}^{n} "
    step = Step(
        kind="result",
        title="The rescaled frame",
        statement=rf"The weights $w_{{ij}}$ of the average sum to one, so that $\dot x_i - {short} x_i = "
        rf"\sum_j w_{{ij}}\,{short}(x_j - x_i)$; ${short or 'I'}$ commutes with $e^{{{exponent}}}$. Hence "
        rf"$z_i = e^{{{exponent}}}x_i$ solves, with $w_{{ij}}$ at $x_i = e^{{{exponent[1:]}}}z_i$,",
        formulas=(Formula(r"\dot z_i", rf"{low}w_{{ij}}\,{short}(z_j - z_i)"),),
        rule="product rule",
        reference="GLPR23",
        check=RescaledVelocity(statement, matrix),
    )
    return (step,)


def has_rescaled_frame(flow: TokenFlow) -> bool:
    r"""Whether :math:`z_i = e^{-tV}x_i` moves by differences of tokens alone.

    Examples
    --------
    >>> from symflow.derive.particles import token_flow
    >>> from symflow.models.attention.linear import Linear
    >>> from symflow.models.attention.softmax import Softmax
    >>> [has_rescaled_frame(token_flow(model).flow) for model in (Softmax(), Linear())]
    [True, False]
    """
    if flow.space != "euclidean" or len(flow.terms) != 1 or not flow.background.is_ZeroMatrix:
        return False
    (term,) = flow.terms
    is_mean = term.normalise == "softmax" and term.feature == flow.y and term.offset.is_ZeroMatrix
    return bool(is_mean and term.family is None and not term.matrix.is_ZeroMatrix)


def rescaling(flow: TokenFlow) -> Any:
    """Return the V of the rescaled frame."""
    (term,) = flow.terms
    return term.matrix if term.prefactor == 1 else (term.prefactor * term.matrix).doit(deep=False)
