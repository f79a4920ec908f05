"""LaTeX text and formulas as HTML with MathML, plain text as LaTeX."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from symflow.derive.markup import display_to_html, math_to_html
from symflow.derive.tex import tex_escape, tex_prose, tex_text
from symflow.errors import InputError


def _tree(html):
    return ElementTree.fromstring(f"<p>{html}</p>")


def test_text_is_escaped_and_mathematics_converted():
    html = str(math_to_html(r"a < b & \emph{c} for $\Sigma \succeq 0$, ``d'' -- e~f \$5"))
    assert "a &lt; b &amp; <em>c</em>" in html
    assert "“d” – e\u00a0f $5" in html
    tree = _tree(html)
    assert [e.text for e in tree.findall(".//mi")] == ["Σ"]
    assert tree.find(".//mi").get("mathvariant") == "normal"  # upright, as TeX sets it
    assert tree.find(".//mo").text == "⪰"


def test_punctuation_stays_with_its_formula():
    html = str(math_to_html("if $x$, then $y$ is"))
    assert html.count("nowrap") == 1
    assert ",</span> then" in html


def test_html_in_text_is_not_markup():
    assert _tree(math_to_html("<script>alert(1)</script>")).findall(".//script") == []


def test_aligned_becomes_rows_with_two_cells():
    html = display_to_html(
        r"\begin{aligned}a &= \left(\begin{array}{cc}1&2\\3&4\end{array}\right) \\ &\quad + b\end{aligned}"
    )
    rows = _tree(html).findall(".//table/tr")
    assert [len(row.findall("td")) for row in rows] == [2, 2]
    assert len(rows[0].findall(".//mtr")) == 2
    assert rows[1].find("td").text is None


def test_page_breaking_display_is_understood():
    text = "\\begingroup\\allowdisplaybreaks\n\\begin{align*}\na &= b \\\\\nc &= d\n\\end{align*}\n\\endgroup"
    assert len(_tree(display_to_html(text)).findall(".//tr")) == 2


def test_delimiters_are_optional():
    assert display_to_html("$$a = b$$") == display_to_html(r"\[a = b\]") == display_to_html("a = b")
    assert 'display="block"' in display_to_html("a")


@pytest.mark.parametrize(
    ("latex", "letter"),
    [(r"\mathbf{\Sigma}_{0}", "𝚺"), (r"\boldsymbol{\alpha}", "𝜶"), (r"\boldsymbol{\lambda}", "𝝀")],
)
def test_bold_greek(latex, letter):
    assert [e.text for e in _tree(math_to_html(f"${latex}$")).iter("mi")] == [letter]


def test_a_sign_is_not_a_difference():
    signs = [e.get("form") for e in _tree(math_to_html("$x = -y - z$")).iter("mo") if e.text == "−"]
    assert signs == ["prefix", None]


def test_unknown_command_is_refused():
    with pytest.raises(InputError, match="foo"):
        math_to_html(r"$\foo{x}$")
    with pytest.raises(InputError, match="odd number"):
        math_to_html("costs $5")


def test_tex_escape():
    assert tex_escape("a_b & 50% #1 {x} ~ ^ \\ $") == (
        r"a\_b \& 50\% \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} \$"
    )
    assert tex_escape("Σ and λ of Peyré") == r"\ensuremath{\Sigma} and \ensuremath{\lambda} of Peyré"
    assert tex_text(r"50% of $\Sigma_0$") == r"50\% of $\Sigma_0$"


def test_prose_keeps_its_commands():
    assert tex_prose(r"\textbf{S_0 & 50%} ⪰ $x_1$") == r"\textbf{S\_0 \& 50\%} \ensuremath{\succeq} $x_1$"
    with pytest.raises(InputError, match="odd number"):
        tex_prose("costs $5")
