"""From a criterion and its exact data to a result whose derivation can be checked and printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from symflow.algebra.exact.numbers import fraction_latex, matrix_latex
from symflow.algebra.exact.rational import rational_matrix
from symflow.algebra.latex import latex_name
from symflow.derive.derivation import Derivation
from symflow.derive.steps import Check, Formula, Step
from symflow.longtime.checks import Holds
from symflow.longtime.reading import ExactProblem
from symflow.longtime.result import Criterion, LongTime

#: Matrices wider than this are not written out.
_WIDEST = 6


def steps_of(
    exact: ExactProblem, criterion: Criterion, lemma: Check, formulas: Sequence[Formula], result: Check
) -> Derivation:
    """Return definition, closed equations, data, criterion and result as one derivation.

    Parameters
    ----------
    exact : ExactProblem
    criterion : Criterion
    lemma : Check
        Independent route to the criterion.
    formulas : sequence of Formula
        What follows for the data.
    result : Check
        Independent route to ``formulas``.
    """
    closure = exact.derivation
    steps = (
        closure.steps[0],
        replace(closure.steps[-1], kind="step"),
        _data_step(exact),
        Step(
            kind="lemma",
            title="Criterion",
            statement=criterion.statement,
            formulas=(),
            rule="exact arithmetic" if not criterion.reference else "",
            reference=criterion.reference,
            check=lemma,
        ),
        Step(
            kind="result",
            title="Long time",
            statement=" ".join(f"{h.statement}: {h.decided}." for h in criterion.hypotheses) + " Hence",
            formulas=tuple(formulas),
            rule="the criterion",
            reference="",
            check=result,
        ),
    )
    return Derivation(closure.model, closure.statement, steps, closure.flow)


def undecided(exact: ExactProblem, reason: str, **known: Any) -> LongTime:
    """Return a result that says why nothing is known."""
    closure = exact.derivation
    steps = (closure.steps[0], replace(closure.steps[-1], kind="step"), _data_step(exact))
    derivation = Derivation(closure.model, closure.statement, steps, closure.flow)
    return LongTime(derivation, reason=reason, **known)


def _data_step(exact: ExactProblem) -> Step:
    """Return the step that states the numbers; its check reads them a second time, as floats."""
    notes = "".join(f" Note: {note}." for note in exact.notes)
    return Step(
        kind="step",
        title="The data",
        statement="Every number is exact; a decimal stands for the double that it denotes." + notes,
        formulas=tuple(_written(exact)),
        rule="the input",
        reference="",
        check=Holds(partial(_reads_alike, exact), "floats of the exact numbers", "equal to the input"),
    )


def _written(exact: ExactProblem) -> list[Formula]:
    if exact.dim > _WIDEST:
        return [Formula("d", str(exact.dim))]
    formulas = []
    for symbol in exact.problem.statement.parameters:
        value = exact.values[symbol.name]
        if isinstance(value, Fraction):
            formulas.append(Formula(latex_name(symbol.name), fraction_latex(value)))
        elif not isinstance(value[0][0], list):
            formulas.append(Formula(latex_name(symbol.name), matrix_latex(rational_matrix(value))))
    formulas.append(Formula(r"\alpha_0", matrix_latex(exact.alpha)))
    return [*formulas, Formula(r"\Sigma_0", matrix_latex(exact.sigma))]


def _reads_alike(exact: ExactProblem) -> bool:
    import numpy as np

    for symbol in exact.problem.statement.parameters:
        given = exact.problem.values[symbol.name]
        read = np.array(exact.values[symbol.name], dtype=float).reshape(given.shape)
        if not np.array_equal(given, read):
            return False
    return True
