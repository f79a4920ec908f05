r"""Text with ``$…$`` and displayed formulas as HTML with MathML.

latex2mathml does the conversion; what browsers following MathML Core need differently is mended here: aligned
columns, upright Greek capitals, bold symbols, word operators.
"""

from __future__ import annotations

import re
import unicodedata

from latex2mathml.converter import convert
from markupsafe import Markup, escape

from symflow.derive.tex import split_math
from symflow.errors import InputError

_TEXT_COMMANDS = {"emph": "em", "textit": "em", "textbf": "strong", "texttt": "code"}
_OUTER = r"\\begin\{(aligned|align\*)\}(.*)\\end\{\1\}"
_ALIGNED = re.compile(r"\\(begin|end)\{(?:aligned|align\*?)\}")
#: After these a minus is a sign, not a difference.
_BEFORE_SIGN = r"<mo>&#x0003D;</mo>|<mo[^>]*>&#x00028;</mo>|<mo>&#x0002C;</mo>"
_UPRIGHT = re.compile(r"<mi>((?:&#x003(?:9[1-9A-F]|A[0-9]);)|[Α-Ω])</mi>")


def math_to_html(text: str) -> Markup:
    r"""Return LaTeX text with inline ``$…$`` as HTML with MathML.

    Parameters
    ----------
    text : str
        Text; ``\emph``, ``\textbf``, ``\texttt``, ``~``, ``--`` and quotes are understood, everything
        else outside ``$`` is plain text and escaped.

    Raises
    ------
    InputError
        If a formula uses a command that has no MathML.

    Examples
    --------
    >>> str(math_to_html("a < b"))
    'a &lt; b'
    """
    html = Markup("")
    parts = split_math(text)
    for index, (is_math, part) in enumerate(parts):
        if not is_math:
            html += _text(part)
            continue
        formula = _math(part, "inline")
        following = parts[index + 1][1] if index + 1 < len(parts) else ""
        if following[:1] in tuple(",.;:)"):  # no line break before punctuation
            parts[index + 1] = (False, following[1:])
            formula = Markup('<span style="white-space:nowrap">{}{}</span>').format(formula, following[0])
        html += formula
    return html


def display_to_html(latex: str) -> Markup:
    r"""Return a displayed formula, perhaps ``aligned``, as MathML.

    Raises
    ------
    InputError
        If the formula uses a command that has no MathML.
    """
    body = latex.strip().removeprefix("$$").removesuffix("$$").removeprefix(r"\[").removesuffix(r"\]").strip()
    outer = re.fullmatch(
        r"(?:\\begingroup\\allowdisplaybreaks\s*)?" + _OUTER + r"(?:\s*\\endgroup)?", body, re.DOTALL
    )
    return _aligned(outer[2]) if outer else _math(body, "block")


def _aligned(body: str) -> Markup:
    """Lay the lines out as an HTML table: MathML Core has no columns that align at a sign."""
    cell = Markup('<td style="text-align:{};padding:.25em 0;border:0;vertical-align:baseline">{}</td>')
    rows = Markup("")
    for line in _split_outside(body, r"\\"):
        sides = [side.strip() for side in _split_outside(line, "&")]
        cells = (cell.format("right" if i % 2 == 0 else "left", _cell(side)) for i, side in enumerate(sides))
        rows += Markup("<tr>{}</tr>").format(Markup("").join(cells))
    return Markup(
        '<table class="aligned" style="margin:0 auto;width:auto;border-collapse:collapse">{}</table>'
    ).format(rows)


def _cell(side: str) -> Markup:
    return _math(side, "inline", ' style="math-style:normal"') if side else Markup("")


def _split_outside(text: str, mark: str) -> list[str]:
    """Split at a mark that is outside braces and inner environments."""
    parts, depth, start, position = [], 0, 0, 0
    while position < len(text):
        if depth == 0 and text.startswith(mark, position):
            parts.append(text[start:position])
            start = position = position + len(mark)
            continue
        opening = text[position] == "{" or text.startswith(r"\begin", position)
        closing = text[position] == "}" or text.startswith(r"\end", position)
        depth += opening - closing
        position += 2 if text[position] == "\\" and not (opening or closing) else 1
    return [*parts, text[start:]]


def _text(text: str) -> Markup:
    html = str(escape(text.replace(r"\$", "$").replace(r"\&", "&").replace(r"\%", "%").replace(r"\_", "_")))
    html = re.sub(r"``|&#39;&#39;", lambda quote: "“" if quote.group() == "``" else "”", html)
    html = html.replace("---", "—").replace("--", "–").replace("~", "\u00a0")
    for command, tag in _TEXT_COMMANDS.items():
        html = re.sub(rf"\\{command}\{{([^{{}}]*)\}}", rf"<{tag}>\1</{tag}>", html)
    return Markup(html)


def _math(latex: str, display: str, attributes: str = "") -> Markup:
    source = _ALIGNED.sub(r"\\\1{split}", latex).replace(r"\#", "#")
    source = re.sub(r"(?<!\\)\\\s", r"\\; ", source)  # a space that does not stretch
    source = re.sub(r"\\(?:mathbf|boldsymbol)\{\\([A-Za-z]+)\}", _bold_greek, source)
    source = source.replace(r"\\", r"\\ ")
    html = convert(source, display=display)
    unknown = re.search(r"<m[io]>\\+([A-Za-z]*)", html)
    if unknown:
        raise InputError(f"the LaTeX command \\{unknown[1]} has no MathML: {latex[:80]!r}")
    return Markup(_mend(html).replace("<math ", f"<math{attributes} ", 1))


def _bold_greek(match: re.Match[str]) -> str:
    name = {"lambda": "lamda"}.get(match[1].lower(), match[1].lower())
    size, first, base = ("CAPITAL", 0x1D6A8, 0x391) if match[1][0].isupper() else ("SMALL", 0x1D736, 0x3B1)
    try:
        letter = unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}")
    except KeyError:
        return match[0]
    return chr(first + ord(letter) - base)


def _mend(html: str) -> str:
    html = _UPRIGHT.sub(r'<mi mathvariant="normal">\1</mi>', html)
    html = re.sub(
        r"<mo>([A-Za-z]{2,})</mo>(?=<m)(?!<mo[^>]*>&#x00028;)", r'<mi>\1</mi><mspace width="0.17em"/>', html
    )
    html = re.sub(r"<mo>([A-Za-z]{2,})</mo>", r"<mi>\1</mi>", html)
    html = re.sub(
        r"<m[io]>(&#x0(?:2AB0|2AAF|227A|227B);)</m[io]>", r'<mo lspace="0.28em" rspace="0.28em">\1</mo>', html
    )
    html = re.sub(rf"({_BEFORE_SIGN})<mo>&#x02212;</mo>", r'\1<mo form="prefix">&#x02212;</mo>', html)
    html = html.replace("<mi>:</mi><mo>&#x0003D;</mo>", "<mo>&#x02254;</mo>")  # one sign: is defined as
    html = html.replace("<mo>&#x02202;</mo>", "<mi>&#x02202;</mi>")
    html = html.replace(
        '<mo stretchy="false">&#x0007C;</mo>', '<mo stretchy="false" lspace="0" rspace="0">|</mo>'
    )
    html = re.sub(r"<mo>(&#x0(?:002E|002F|22A4);)</mo>", r'<mo lspace="0" rspace="0">\1</mo>', html)
    return html.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
