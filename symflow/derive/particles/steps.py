r"""The steps from a model to its system of n tokens, as they are printed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import exp

from symflow.algebra.latex import latex
from symflow.derive.definition import active_heads, definition, field_label, is_superposition
from symflow.derive.particles.checks import (
    KernelOfScore,
    ScoreOfPairings,
    SymmetricScore,
    Tangent,
    WeakForm,
)
from symflow.derive.particles.system import projector, rescaled, system
from symflow.derive.steps import Formula, Step
from symflow.flow import SCORE, Pairing, PairTerm, TokenFlow
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Head, Statement


def steps_of(model: AttentionModel, statement: Statement, flow: TokenFlow) -> tuple[Step, ...]:
    """Return the derivation of a system of tokens."""
    heads = list(zip(active_heads(statement), flow.terms, strict=True))
    several = is_superposition(statement)
    labels = [field_label(statement, index if several else None) for index in range(len(heads))]
    paired = [
        step
        for (head, term), label in zip(heads, labels, strict=True)
        for step in _head_steps(statement, head, term, label if several else "")
    ]
    projection = (_projection(statement),) if flow.space == "sphere" else ()
    return (
        replace(definition(model, statement), check=KernelOfScore(statement)),
        _empirical(statement),
        *paired,
        *projection,
        system(model, statement, flow),
        *rescaled(statement, flow),
    )


def _empirical(statement: Statement) -> Step:
    masked = statement.positions is not None
    atoms = r"\sum_{j=1}^{n}\theta_j\,\delta_{(s_j,x_j)}" if masked else r"\tfrac1n\sum_{j=1}^{n}\delta_{x_j}"
    order = r" with $s_1 < \dots < s_n$, so that $\tau \le s_i$ means $j \le i$" if masked else ""
    at = r"(s_i,x_i)" if masked else "(x_i)"
    left = r"\theta_j" if masked else r"\tfrac1n"
    return Step(
        kind="step",
        title="The law of $n$ tokens",
        statement=rf"For $\mu = {atoms}${order}, integrals against $\mu$ are sums over tokens. Since "
        rf"$\frac{{d}}{{dt}}\sum_j {left}\,\varphi(x_j) = \sum_j {left}\,\langle\nabla\varphi(x_j), "
        r"\dot x_j\rangle$ for every smooth $\varphi$, this $\mu$ solves the equation weakly if",
        formulas=(Formula(r"\dot x_i", rf"{projector(statement.space)}\Gamma_\mu{at}"),),
        rule="chain rule along the tokens",
        reference=statement.reference,
        check=WeakForm(statement),
    )


def _head_steps(statement: Statement, head: Head, term: PairTerm, label: str) -> tuple[Step, ...]:
    paired = Step(
        kind="step",
        title="The score in pairings" + (f" of ${label}$" if label else ""),
        statement=_introduction(term),
        formulas=(*_definitions(term), Formula("s(x,y)", term.score), *_weight(term)),
        rule="normal form of matrix words; a constant factor is applied once per token",
        reference="",
        check=ScoreOfPairings(statement, head, term),
    )
    equations = term.symmetric_if
    return (paired,) if equations is None else (paired, _symmetry(statement, head, equations))


def _introduction(term: PairTerm) -> str:
    if not term.pairings:
        return r"The score does not couple $x$ and $y$:"
    differences = sum(pairing.difference for pairing in term.pairings)
    products = len(term.pairings) - differences
    what = " and ".join(
        text
        for text in (
            "inner products" * bool(products),
            "squared distances" * bool(differences),
        )
        if text
    )
    numbers = ", besides numbers of one token" if term.rows or term.columns else ""
    kept = "; squared distances are not multiplied out" if differences else ""
    return f"Query and key meet only in {what} of a vector of $x$ and one of $y${numbers}{kept}:"


def _definitions(term: PairTerm) -> tuple[Formula, ...]:
    pairings = tuple(Formula(pairing.symbol, _paired(pairing)) for pairing in term.pairings)
    return pairings + tuple(Formula(symbol, value) for symbol, value in (*term.rows, *term.columns))


def _paired(pairing: Pairing) -> str:
    if pairing.difference:
        return rf"|{latex(pairing.left - pairing.right)}|^{{2}}"
    left, right = latex(pairing.left), latex(pairing.right)
    if r"\frac" in left + right:
        return rf"\left\langle {left},\, {right}\right\rangle"
    return rf"\langle {left},\, {right}\rangle"


def _weight(term: PairTerm) -> tuple[Formula, ...]:
    """Return the weight of a score where it is not the exponential."""
    return () if term.weight == exp(SCORE) else (Formula("w", latex(term.weight)),)


def _symmetry(statement: Statement, head: Head, equations: tuple[tuple[Any, Any], ...]) -> Step:
    listed = " and ".join(f"${latex(left)} = {latex(right)}$" for left, right in equations)
    condition = f"If {listed}, then" if equations else "For all parameters"
    return Step(
        kind="step",
        title="Symmetry",
        statement=f"{condition} a pair of tokens has one score, which is computed once:",
        formulas=(Formula("s(x,y)", "s(y,x)"),),
        rule="normal form of matrix words with $x$ and $y$ exchanged",
        reference="",
        check=SymmetricScore(statement, head, equations),
    )


def _projection(statement: Statement) -> Step:
    return Step(
        kind="step",
        title="Tokens stay on the sphere",
        statement=r"With $P_x = I - xx^{\top}$, for every vector $v$,",
        formulas=(
            Formula(r"x^{\top}P_xv", r"(1-|x|^{2})\,x^{\top}v"),
            Formula(r"\frac{d}{dt}|x_i|^{2}", r"2\,(1-|x_i|^{2})\,\langle x_i, \Gamma_\mu(x_i)\rangle"),
        ),
        rule=r"$|x_i|^{2} - 1$ solves a linear equation and is zero at first, so $|x_i| = 1$ for all times",
        reference="GLPR23",
        check=Tangent(statement),
    )
