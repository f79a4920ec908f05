"""Mathematics for the report: equations of a derivation, and text for pdflatex."""

from __future__ import annotations

from typing import Any

from symflow.algebra.latex import aligned, latex, latex_equation
from symflow.derive.derivation import Derivation

#: Characters that pdflatex cannot set outside mathematics, with their names in it.
_MATH = dict(
    pair.split("=")
    for pair in [
        r"Σ=\Sigma",
        r"α=\alpha",
        r"β=\beta",
        r"λ=\lambda",
        r"Γ=\Gamma",
        r"μ=\mu",
        r"κ=\kappa",
        r"σ=\sigma",
        r"ε=\varepsilon",
        r"Φ=\Phi",
        r"τ=\tau",
        r"⪰=\succeq",
        r"≻=\succ",
        r"⪯=\preceq",
        r"≺=\prec",
        r"≥=\ge",
        r"≤=\le",
        r"≠=\ne",
        r"≈=\approx",
        r"∈=\in",
        r"→=\to",
        r"∞=\infty",
        r"×=\times",
        r"½=\tfrac12",
        r"ℝ=\mathbb{R}",
        r"ℓ=\ell",
        r"ᵀ={}^\top",
        r"⁻={}^-",
        r"¹={}^1",
        r"²={}^2",
        r"³={}^3",
        r"⁺={}^+",
        r"ᵈ={}^d",
        r"ᵏ={}^k",
        r"√=\surd",
        r"′={}^\prime",
        r"₀={}_0",
        r"₁={}_1",
        r"₂={}_2",
        r"·=\cdot",
        r"∫=\int",
        r"∂=\partial",
        r"∀=\forall",
        r"∃=\exists",
        r"⟨=\langle",
        r"⟩=\rangle",
        r"−=-",
        r"∇=\nabla",
        r"⊂=\subset",
        r"∪=\cup",
        r"∩=\cap",
        r"⊥=\perp",
        r"⇒=\Rightarrow",
        r"⇔=\Leftrightarrow",
        r"∘=\circ",
        r"±=\pm",
        r"✓=\surd",
    ]
)
_SPECIAL = {
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_SPECIAL |= {"“": "``", "”": "''"}


def closed_equations(derivation: Derivation) -> str:
    """Return the closed equations of a derivation as LaTeX for display mode."""
    flow = derivation.flow
    return aligned([(rf"\dot{{{latex(s)}}}", rhs) for s, rhs in zip(flow.states, flow.drift, strict=True)])


def displayed(formulas: Any) -> str:
    """Return the formulas of a step as LaTeX for display mode."""
    pairs = [(latex(f.lhs), f.rhs) for f in formulas]
    return latex_equation(*pairs[0]) if len(pairs) == 1 else aligned(pairs)


def text_to_latex(text: str) -> str:
    """Return text with ``$mathematics$`` for pdflatex: special characters escaped, Unicode symbols named."""
    parts = enumerate(text.split("$"))
    return "".join(f"${part}$" if index % 2 else "".join(map(_character, part)) for index, part in parts)


def _character(char: str) -> str:
    return rf"\ensuremath{{{_MATH[char]}}}" if char in _MATH else _SPECIAL.get(char, char)
