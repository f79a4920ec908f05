r"""One table from symbol names to LaTeX: ``Sigma_0`` ↦ ``\Sigma_{0}``, ``bq`` ↦ ``b_{q}``."""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

_COMMANDS = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi
    psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega varepsilon vartheta varphi varrho ell
"""
_GREEK = frozenset(_COMMANDS.split())
#: Capitals that look Latin have no command of their own.
_LATIN_LOOK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True))
_LATIN_NAMES = "Alpha Beta Epsilon Zeta Eta Iota Kappa Mu Nu Omicron Rho Tau Chi omicron"
_LATIN_WORDS = dict(zip(_LATIN_NAMES.split(), "ABEZHIKMNOPTXo", strict=True))
#: Names whose letters stand for something; all others follow the rules of :func:`latex_name`.
_WORDS = {
    "bq": "b_{q}",
    "bk": "b_{k}",
    "bv": "b_{v}",
    "bo": "b_{o}",
    "temperature": r"\tau",
    "eps": r"\varepsilon",
    "diffusion": r"\varepsilon",
}
_ESCAPES = {mark: f"\\{mark}" for mark in "#%&${} _"}
_ESCAPES |= {"~": r"\sim ", "\\": r"\backslash ", '"': r"\prime\prime ", "^": r"\wedge "}
_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹", "01234567890123456789")


def latex_name(name: str, bold: bool = False) -> str:
    r"""Return the LaTeX of a symbol name: one base with at most one subscript and one superscript.

    Parameters
    ----------
    name : str
        Any text. ``_`` starts a subscript, ``^`` a superscript, trailing digits are a subscript, ``'`` is
        a prime; a single letter stays, a Greek name becomes its command, a longer word is upright.
    bold : bool
        Whether the base is bold (subscripts are not).

    Examples
    --------
    >>> [latex_name(n) for n in ("alpha", "Sigma_0", "bq", "x'", "β", "rate", "m_{k}")]
    ['\\alpha', '\\Sigma_{0}', 'b_{q}', "x'", '\\beta', '\\mathrm{rate}', 'm_{k}']
    >>> latex_name("Sigma_0", bold=True)
    '\\mathbf{\\Sigma}_{0}'
    """
    if name in _WORDS:
        base, _, sub = _WORDS[name].partition("_")
        return _bold(base, bold) + (f"_{sub}" if sub else "")
    stem, _, sup = name.partition("^")
    stem, _, sub = stem.partition("_")
    if not stem:  # a leading mark is part of the word
        return rf"\mathrm{{{_escaped(name)}}}"
    stripped = stem.rstrip("'′")
    primes = "'" * (len(stem) - len(stripped))
    stripped, digits = _trailing_digits(stripped)
    subs = [part for part in (digits, *_unbrace(sub).split("_")) if part]
    base = _bold(_letter(stripped), bold)
    superscript = _unbrace(sup)
    if superscript and primes:
        primes, superscript = "", r"\prime" * len(primes) + _script(superscript)
    elif superscript:
        superscript = _script(superscript)
    below = f"_{{{','.join(_script(part) for part in subs)}}}" if subs else ""
    return base + primes + below + (f"^{{{superscript}}}" if superscript else "")


def indexed(text: str, index: str) -> str:
    r"""Return the LaTeX of a symbol with one more subscript.

    Examples
    --------
    >>> indexed("V", "h"), indexed("b_{q}", "h"), indexed("K^{(1)}", "h")
    ('V_{h}', 'b_{q,h}', 'K_{h}^{(1)}')
    """
    depths = accumulate((mark == "{") - (mark == "}") for mark in text)
    marks = [i for i, depth in enumerate(depths) if depth == 0 and text[i] in "_^"]
    place = marks[0] if marks else len(text)
    if text[place : place + 1] != "_":
        return f"{text[:place]}_{{{index}}}{text[place:]}"
    end = text.index("}", place)
    return f"{text[:end]},{index}{text[end:]}"


def has_superscript(text: str) -> bool:
    """Whether the LaTeX of one symbol already carries a superscript or a prime."""
    outside = text.replace(r"\{", "").replace(r"\}", "")
    while (opened := re.sub(r"\{[^{}]*\}", "", outside)) != outside:  # groups, from the inside out
        outside = opened
    return "^" in outside or "'" in outside


def _trailing_digits(stem: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?[^0-9₀-₉⁰-⁹¹²³])([0-9₀-₉⁰-⁹¹²³]+)", stem)
    return (found[1], found[2].translate(_DIGITS)) if found else (stem, "")


def _unbrace(text: str) -> str:
    return text.replace("{", "").replace("}", "").replace("^", "")


def _script(text: str) -> str:
    plain, digits = _trailing_digits(text)
    if text.translate(_DIGITS).isdigit():
        return text.translate(_DIGITS)
    return _letter(plain) + digits


def _letter(word: str) -> str:
    """Return a word without scripts: a Greek command, a letter, or upright text."""
    bare = word[1:] if word.startswith("\\") else word
    if bare in _GREEK:
        return f"\\{bare}"
    if bare in _LATIN_WORDS:
        return rf"\mathrm{{{_LATIN_WORDS[bare]}}}"
    if len(word) == 1:
        return _one_letter(word)
    if word.isdigit():
        return word
    return rf"\mathrm{{{_escaped(word)}}}"


def _one_letter(char: str) -> str:
    if char in _LATIN_LOOK:
        return rf"\mathrm{{{_LATIN_LOOK[char]}}}"
    if char.isascii():
        return _ESCAPES.get(char, char)
    return _greek(char) or rf"\mathrm{{{_escaped(char)}}}"


def _greek(char: str) -> str:
    words = unicodedata.name(char, "").split()
    if words[:1] != ["GREEK"] or words[-2:-1] != ["LETTER"]:
        return r"\mu" if char == "µ" else ""
    name = {"lamda": "lambda"}.get(words[-1].lower(), words[-1].lower())
    name = name.capitalize() if "CAPITAL" in words else name
    return f"\\{name}" if name in _GREEK else ""


def _escaped(word: str) -> str:
    return "".join(_ascii(char) for char in word)


def _ascii(char: str) -> str:
    if char.isascii():
        return _ESCAPES.get(char, char)
    if greek := _greek(char):
        return f"{greek} "
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return plain or f"U{{+}}{ord(char):X}"


def _bold(base: str, bold: bool) -> str:
    if not bold:
        return base
    if base.startswith(r"\mathrm{"):
        return r"\mathbf{" + base[len(r"\mathrm{") :]
    # \mathbf has no lower-case Greek; \boldsymbol of amsmath has.
    lower_greek = base.startswith("\\") and base[1:2].islower()
    return rf"\boldsymbol{{{base}}}" if lower_greek else rf"\mathbf{{{base}}}"
