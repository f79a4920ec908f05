r"""Text as LaTeX for pdflatex: special characters escaped, signs outside its alphabet as mathematics."""

from __future__ import annotations

import re
import unicodedata

from symflow.errors import InputError

_ESCAPES = {mark: rf"\{mark}" for mark in "&#%_"}
_ESCAPES |= {"^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}"}
_ESCAPES |= {"“": "``", "”": "''"}
#: What is markup in prose and a character in plain text.
_MARKUP = {mark: rf"\{mark}" for mark in "{}$"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
#: Signs that are mathematics; Greek letters follow from their names.
_SIGNS = {
    "⪰": r"\succeq",
    "≻": r"\succ",
    "⪯": r"\preceq",
    "≺": r"\prec",
    "≥": r"\ge",
    "≤": r"\le",
    "≠": r"\ne",
    "≈": r"\approx",
    "∈": r"\in",
    "→": r"\to",
    "∞": r"\infty",
    "×": r"\times",
    "½": r"\tfrac12",
    "ℝ": r"\mathbb{R}",
    "ℓ": r"\ell",
    "ᵀ": r"{}^\top",
    "⁻": r"{}^-",
    "¹": r"{}^1",
    "²": r"{}^2",
    "³": r"{}^3",
    "⁺": r"{}^+",
    "ᵈ": r"{}^d",
    "ᵏ": r"{}^k",
    "√": r"\surd",
    "′": r"{}^\prime",
    "₀": r"{}_0",
    "₁": r"{}_1",
    "₂": r"{}_2",
    "·": r"\cdot",
    "∫": r"\int",
    "∬": r"\iint",
    "∂": r"\partial",
    "∀": r"\forall",
    "∃": r"\exists",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "−": r"-",
    "∇": r"\nabla",
    "⊂": r"\subset",
    "∪": r"\cup",
    "∩": r"\cap",
    "⊥": r"\perp",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "∘": r"\circ",
    "±": r"\pm",
    "✓": r"\surd",
}


def tex_escape(text: str) -> str:
    r"""Return plain text as LaTeX text.

    Signs of the field become mathematics; what has neither a sign nor a letter is written in ASCII.

    Examples
    --------
    >>> print(tex_escape("50 % of β_1 ⪰ 0"))
    50 \% of \ensuremath{\beta}\_1 \ensuremath{\succeq} 0
    """
    return "".join(_MARKUP.get(char) or _character(char) for char in text)


def tex_text(text: str) -> str:
    r"""Return text with ``$…$`` as LaTeX: mathematics as it is, the rest escaped.

    Examples
    --------
    >>> tex_text(r"A & B with $\Sigma$")
    'A \\& B with $\\Sigma$'
    """
    return "".join(f"${part}$" if is_math else tex_escape(part) for is_math, part in split_math(text))


def tex_prose(text: str) -> str:
    r"""Return prose with ``$…$`` and commands such as ``\emph{…}`` as LaTeX: only the characters are escaped.

    Examples
    --------
    >>> print(tex_prose(r"\textbf{50 %} of $\Sigma$"))
    \textbf{50 \%} of $\Sigma$
    """
    parts = split_math(text)
    return "".join(f"${part}$" if is_math else "".join(map(_character, part)) for is_math, part in parts)


def split_math(text: str) -> list[tuple[bool, str]]:
    """Split text at ``$`` into (is mathematics, part); an escaped ``$`` is a character.

    Raises
    ------
    InputError
        If a formula is not closed.
    """
    parts = re.split(r"(?<!\\)\$", text)
    if len(parts) % 2 == 0:
        raise InputError(f"text with an odd number of $: {text[:80]!r}")
    return [(index % 2 == 1, part) for index, part in enumerate(parts) if part]


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char in _SIGNS:
        return rf"\ensuremath{{{_SIGNS[char]}}}"
    if char.isascii() or "LATIN" in unicodedata.name(char, "") or char in "–—‘’…":
        return char
    words = unicodedata.name(char, "").split()
    if words[:1] == ["GREEK"] and words[-2:-1] == ["LETTER"]:
        return _greek_command(words)
    return unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode() or f"U+{ord(char):X}"


def _greek_command(words: list[str]) -> str:
    name = {"LAMDA": "LAMBDA", "OMICRON": "o"}.get(words[-1], words[-1]).lower()
    if "CAPITAL" not in words:
        return rf"\ensuremath{{\{name}}}" if name != "o" else "o"
    upright = {"gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "upsilon", "phi", "psi", "omega"}
    return rf"\ensuremath{{\{name.capitalize()}}}" if name in upright else name[0].upper()
