"""Derivation: a list of steps from a model to its flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symflow.derive.steps import Checked, Step
from symflow.errors import CheckFailed, InputError
from symflow.flow import Flow
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement


@dataclass(frozen=True)
class Argument:
    """An argument about a model: steps, each with its own check.

    Attributes
    ----------
    model : AttentionModel
        The model.
    statement : Statement
        Its definition at symbolic size.
    steps : tuple of Step
        Definition, lemmas, steps, result.
    """

    model: AttentionModel
    statement: Statement
    steps: tuple[Step, ...]

    def check(self) -> bool:
        """Execute the independent check of every step.

        Returns
        -------
        bool
            True.

        Raises
        ------
        CheckFailed
            At the first step that its check contradicts, with the evidence.
        """
        for step, seen in self.checked():
            if not seen.passed:
                raise CheckFailed(f"step {step.title!r} failed: {seen.method}: {seen.evidence}", step, seen)
        return True

    def checked(self) -> list[tuple[Step, Checked]]:
        """Return every step with what its check saw."""
        return [(step, step.check.run()) for step in self.steps]

    def to_latex(self, fragment: bool = False) -> str:
        """Return the argument as a LaTeX document, or as a fragment to paste into a paper."""
        from symflow.derive.document import to_latex

        return to_latex(self, fragment=fragment)

    def to_html(self) -> str:
        """Return the argument as one HTML page with MathML that opens offline."""
        from symflow.derive.document import to_html

        return to_html(self)

    def _repr_latex_(self) -> str:
        from symflow.derive.document import repr_latex

        return repr_latex(self)


@dataclass(frozen=True)
class Derivation(Argument):
    """What follows from a model, step by step: the closed equations.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`Argument`.
    flow : Flow
        The differential equations for the kernels.
    """

    flow: Flow

    @property
    def mean_rhs(self) -> Any:
        """Right-hand side of α' as a SymPy matrix expression."""
        return self.flow.drift[0]

    @property
    def cov_rhs(self) -> Any:
        """Right-hand side of Σ' as a SymPy matrix expression."""
        return self.flow.drift[1]

    def substitute(self, values: Mapping[Any, Any]) -> tuple[Any, Any]:
        """Return (α', Σ') with scalar or matrix symbols replaced by name.

        Names are matched, also where a symbol is given, because SymPy treats symbols of equal name but
        different assumptions as different.

        Parameters
        ----------
        values : mapping of str or symbol to SymPy expression
            By name; a matrix is replaced by one of its shape.

        Raises
        ------
        InputError
            If a name does not occur or a shape does not fit.
        """
        present = {s.name: s for e in self.flow.drift for s in e.free_symbols if s.is_symbol}
        named = {getattr(key, "name", key): value for key, value in values.items()}
        unknown = sorted(set(named) - set(present), key=str)
        if unknown:
            raise InputError(f"{unknown[0]!r} does not occur; the symbols are {', '.join(sorted(present))}")
        for name, value in named.items():
            wanted, found = (tuple(getattr(s, "shape", ())) for s in (present[name], value))
            if wanted != found:
                raise InputError(f"{name} has shape {wanted}, the value given for it has shape {found}")
        table = {present[name]: value for name, value in named.items()}
        mean, cov = (e.subs(table) for e in self.flow.drift)
        return mean, cov

    def __repr__(self) -> str:
        return f"Derivation({self.statement.name}: α' = {self.mean_rhs}, Σ' = {self.cov_rhs})"
