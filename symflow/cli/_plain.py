"""LaTeX prose with inline mathematics, as a terminal shows it."""

from __future__ import annotations

import re

_RELATIONS = {
    "ge": "≥",
    "le": "≤",
    "preceq": "⪯",
    "succeq": "⪰",
    "prec": "≺",
    "succ": "≻",
    "to": "→",
    "neq": "≠",
    "ne": "≠",
    "in": "∈",
}
_WORDS = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "Gamma": "Γ",
    "delta": "δ",
    "Delta": "Δ",
    "ell": "ℓ",
    "epsilon": "ε",
    "varepsilon": "ε",
    "theta": "θ",
    "Theta": "Θ",
    "kappa": "κ",
    "lambda": "λ",
    "Lambda": "Λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "Pi": "Π",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "Sigma": "Σ",
    "tau": "τ",
    "phi": "φ",
    "Phi": "Φ",
    "omega": "ω",
    "Omega": "Ω",
    "nabla": "∇",
    "partial": "∂",
    "cdot": "·",
    "pm": "±",
    "infty": "∞",
    "top": "ᵀ",
    "int": "∫",
    "sum": "∑",
    "tfrac12": "½",
}
_SUPERSCRIPTS = str.maketrans("0123456789+-/", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᐟ")
_SUBSCRIPTS = str.maketrans("0123456789hijk", "₀₁₂₃₄₅₆₇₈₉ₕᵢⱼₖ")


def plain(text: str) -> str:
    r"""Return LaTeX text without its markup.

    Examples
    --------
    >>> plain(r"rank $\Sigma(t) = \Phi\Sigma_0\Phi^\top$ for $\Sigma \succeq 0$")
    'rank Σ(t) = ΦΣ₀Φᵀ for Σ ⪰ 0'
    >>> plain(r"$\dot\alpha = V(I + \Sigma A)\alpha$, $G = (I + C)^{-1}$")
    "α' = V(I + ΣA)α, G = (I + C)⁻¹"
    >>> plain(r"$|\Sigma(t)| \le e^{2\ell t}|\Sigma_0|$, $\frac{3}{8}V_h^{\top}$")
    '|Σ(t)| ≤ e^(2ℓt)|Σ₀|, 3/8Vₕᵀ'
    """
    parts = (_mathematics(part) if i % 2 else part for i, part in enumerate(text.split("$")))
    return re.sub(" +", " ", "".join(parts))


def _mathematics(text: str) -> str:
    text = re.sub(r"\\(?:mathcal|mathbb|operatorname|mathrm|text|bar)\{(\\?\w+)\}", r"\1 ", text)
    text = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", text)
    text = re.sub(r"\\dot ?\{?(\\?\w+)\}?", r"\1'", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", text)
    text = re.sub(r"\^\{?\\top\}?", "ᵀ", text).replace("^*", "*").replace(r"\bar ", "")
    text = re.sub(
        r" ?\\([a-z]+)\b ?", lambda m: f" {_RELATIONS[m[1]]} " if m[1] in _RELATIONS else m[0], text
    )
    text = re.sub(r"\\([A-Za-z]+(?:12)?)(?: (?=[\w\\]))?", lambda m: _WORDS.get(m[1], m[1] + " "), text)
    text = re.sub(r"\^\{([0-9+\-/]+)\}|\^([0-9])", lambda m: (m[1] or m[2]).translate(_SUPERSCRIPTS), text)
    text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
    text = re.sub(r"_([0-9])|_([hijk])(?![a-z])", _subscript, text)
    text = text.replace("_{max }", "ₘₐₓ").replace("\\,", " ").replace("\\!", "").replace("\\", "")
    return re.sub(r"[{}]", "", text).replace("N (", "N(")


def _subscript(match: re.Match[str]) -> str:
    return (match[1] or match[2]).translate(_SUBSCRIPTS)
