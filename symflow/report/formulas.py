"""Equations of a derivation as LaTeX for display mode."""

from __future__ import annotations

from typing import Any

from symflow.algebra.latex import aligned, latex, latex_equation
from symflow.derive.derivation import Derivation


def closed_equations(derivation: Derivation) -> str:
    """Return the closed equations of a derivation as LaTeX for display mode."""
    flow = derivation.flow
    if flow.chain is not None:  # with the running sums
        return displayed(derivation.steps[-1].formulas)
    return aligned([(rf"\dot{{{latex(s)}}}", rhs) for s, rhs in zip(flow.states, flow.drift, strict=True)])


def displayed(formulas: Any) -> str:
    """Return the formulas of a step as LaTeX for display mode."""
    pairs = [(latex(f.lhs), f.rhs) for f in formulas]
    return latex_equation(*pairs[0]) if len(pairs) == 1 else aligned(pairs)
