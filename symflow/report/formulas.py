"""Mathematics for the report: equations of a derivation, and text for pdflatex."""

from __future__ import annotations

from typing import Any

from symflow.algebra.latex import aligned, latex, latex_equation
from symflow.derive.derivation import Derivation

#: Characters that pdflatex cannot set outside mathematics, with their names in it.
_MATH = dict(
    pair.split("=")
    for pair in (
        r"Σ=\Sigma α=\alpha β=\beta λ=\lambda Γ=\Gamma μ=\mu κ=\kappa σ=\sigma ε=\varepsilon Φ=\Phi τ=\tau "
        r"⪰=\succeq ≻=\succ ⪯=\preceq ≺=\prec ≥=\ge ≤=\le ≠=\ne ≈=\approx ∈=\in →=\to ∞=\infty ×=\times ½=\tfrac12 "
        r"ℝ=\mathbb{R} ℓ=\ell ᵀ={}^\top ⁻={}^- ¹={}^1 ²={}^2 ³={}^3 ⁺={}^+ ᵈ={}^d ᵏ={}^k √=\surd ′={}^\prime "
        r"₀={}_0 ₁={}_1 ₂={}_2 ·=\cdot ∫=\int ∂=\partial ∀=\forall ∃=\exists ⟨=\langle ⟩=\rangle −=- ∇=\nabla "
        r"⊂=\subset ∪=\cup ∩=\cap ⊥=\perp ⇒=\Rightarrow ⇔=\Leftrightarrow ∘=\circ ±=\pm ✓=\surd"
    ).split()
)
_SPECIAL = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
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
