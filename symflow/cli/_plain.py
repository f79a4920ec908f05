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
    "in": "∈",
}
_WORDS = {
    "alpha": "α",
    "beta": "β",
    "Gamma": "Γ",
    "Phi": "Φ",
    "Sigma": "Σ",
    "lambda": "λ",
    "mu": "μ",
    "tau": "τ",
    "partial": "∂",
    "cdot": "·",
    "infty": "∞",
    "top": "ᵀ",
    "int": "∫",
    "tfrac12": "½",
}
_SUPERSCRIPTS = str.maketrans("0123456789+-/", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᐟ")


def plain(text: str) -> str:
    r"""Return LaTeX text without its markup.

    Examples
    --------
    >>> plain(r"rank $\Sigma(t) = \Phi\Sigma_0\Phi^\top$ for $\Sigma \succeq 0$")
    'rank Σ(t) = ΦΣ₀Φᵀ for Σ ⪰ 0'
    >>> plain(r"$\dot\alpha = V(I + \Sigma A)\alpha$, $G = (I + C)^{-1}$")
    "α' = V(I + ΣA)α, G = (I + C)⁻¹"
    """
    parts = (_mathematics(part) if i % 2 else part for i, part in enumerate(text.split("$")))
    return re.sub(" +", " ", "".join(parts))


def _mathematics(text: str) -> str:
    text = re.sub(r"\\(?:mathcal|mathbb|operatorname|mathrm|text)\{(\w+)\}", r"\1 ", text)
    text = re.sub(r"\\dot\{?(\\?\w+)\}?", r"\1'", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", text)
    text = re.sub(
        r" ?\\([a-z]+)\b ?", lambda m: f" {_RELATIONS[m[1]]} " if m[1] in _RELATIONS else m[0], text
    )
    text = re.sub(r"\\([A-Za-z]+(?:12)?)(?: (?=[\w\\]))?", lambda m: _WORDS.get(m[1], m[1] + " "), text)
    text = re.sub(r"\^\{?([0-9+\-/]+)\}?", lambda m: m[1].translate(_SUPERSCRIPTS), text)
    text = re.sub(r"_(\d)", lambda m: chr(ord("₀") + int(m[1])), text)
    text = text.replace("^ᵀ", "ᵀ").replace("_{max }", "ₘₐₓ").replace("\\,", " ").replace("\\", "")
    return re.sub(r"[{}]", "", text).replace("N (", "N(")
