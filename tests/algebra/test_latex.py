"""LaTeX of matrix expressions: notation, order of terms, names, valid scripts, lines that fit."""

from __future__ import annotations

import re

import pytest
import sympy
from sympy import Identity, Inverse, MatAdd, MatMul, Matrix, MatrixSymbol, Rational, Symbol, Trace, ZeroMatrix

from symflow.algebra.determinant import LogDet
from symflow.algebra.latex import DEFAULT_WIDTH, aligned, latex, latex_equation, latex_name, latex_rows, width
from symflow.algebra.symbols import dimension, matrix, vector
from symflow.errors import InputError

D, K_SIZE = dimension("d"), dimension("k")
A, B, C, V, SIGMA = (matrix(name, D, D) for name in ("A", "B", "C", "V", "Sigma"))
SIGMA_0 = matrix("Sigma_0", D, D)
Q, K = matrix("Q", K_SIZE, D), matrix("K", K_SIZE, D)
X, Y, ALPHA, SMALL_C = (vector(name, D) for name in ("x", "y", "alpha", "c"))
BQ = vector("bq", K_SIZE)
BETA, TEMPERATURE = Symbol("beta", positive=True), Symbol("temperature", positive=True)
EYE = Identity(D)
CENTIMETRE = 28.46  #: in pt

PREAMBLE = r"\documentclass{article}\usepackage{amsmath,amssymb}\begin{document}" + "\n"


def _document(formulas):
    return PREAMBLE + "\n".join(f"\\[\n{formula}\n\\]" for formula in formulas) + "\n\\end{document}\n"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (V * (SIGMA * A + EYE) * ALPHA, r"V(I+\Sigma A)\alpha"),
        (
            MatAdd(SIGMA * A.T * SIGMA * V.T, V * SIGMA * A * SIGMA),
            r"V\Sigma A\Sigma + \Sigma A^{\top}\Sigma V^{\top}",
        ),
        (
            V * Inverse(2 * SIGMA * K.T * K + EYE) * (2 * SIGMA * K.T * Q + EYE) * ALPHA,
            r"V(I+2\Sigma K^{\top}K)^{-1}(I+2\Sigma K^{\top}Q)\alpha",
        ),
        (
            Inverse(EYE - SIGMA * C) * (SIGMA * (B * X + SMALL_C) + ALPHA),
            r"(I-\Sigma C)^{-1}(\alpha+\Sigma(Bx+c))",
        ),
        (Q * X + BQ, r"Qx + b_{q}"),
        (V * (X - ALPHA), r"V(x-\alpha)"),
        (MatAdd(ZeroMatrix(D, 1), A * X), "Ax"),
        (ZeroMatrix(D, 1), "0"),
        (-2 * K.T * K, r"-2K^{\top}K"),
        (A / 2, r"\tfrac{1}{2}A"),
        (Rational(-2, 3) * A, r"-\tfrac{2}{3}A"),
        (BETA / TEMPERATURE * A * X, r"\frac{\beta}{\tau}Ax"),
        (Trace(X.T * Y), r"\langle x, y\rangle"),
        (Trace(X.T * X), r"|x|^{2}"),
        (Trace(X.T * X) ** 3, r"|x|^{6}"),
        (Trace(SIGMA) ** 2, r"\operatorname{tr}(\Sigma)^{2}"),
        (BETA * Trace(X.T * Q.T * K * Y) / TEMPERATURE, r"\frac{\beta}{\tau}\,\langle Qx, Ky\rangle"),
        (-Trace((X.T * Q.T - Y.T * K.T) * (Q * X - K * Y)), r"-|Qx-Ky|^{2}"),
        (Trace((BQ.T + X.T * Q.T) * K * Y), r"\langle Qx+b_{q}, Ky\rangle"),
        (
            Trace(SMALL_C.T * Y) + Trace(Y.T * C * Y) / 2 + Trace(Y.T * B * X),
            r"\langle y, Bx\rangle + \tfrac{1}{2}\,\langle y, Cy\rangle + \langle c, y\rangle",
        ),
        (Trace(SIGMA * A), r"\operatorname{tr}(\Sigma A)"),
        (LogDet(EYE - SIGMA * C), r"\log|\det(I-\Sigma C)|"),
        (Inverse(A.T), r"A^{-\top}"),
        (Inverse(SIGMA_0), r"\Sigma_{0}^{-1}"),
        (SIGMA_0.T, r"\Sigma_{0}^{\top}"),
        (SIGMA_0[0, 0], r"(\Sigma_{0})_{0,0}"),
        (vector("m_{k}", D)[1, 0], r"(m_{k})_{1}"),
        (matrix("x_1", D, 1).T * A, r"x_{1}^{\top}A"),
        (vector("x'", D).T * A, r"{x'}^{\top}A"),
        (1 / (1 + sympy.exp(-Trace(X.T * Y))), r"\frac{1}{e^{-\langle x, y\rangle} + 1}"),
        (sympy.Integer(3), "3"),
    ],
)
def test_reads_like_a_paper(expression, expected):
    """L109: also entries, transposes and inverses of symbols with scripts."""
    assert latex(expression) == expected


def test_text_is_left_alone():
    assert latex(r"\Gamma_\mu(x)") == r"\Gamma_\mu(x)"


def test_order_does_not_depend_on_the_order_given():
    terms = [EYE, SIGMA * A, -A.T * SIGMA, V, 2 * B * A * C, matrix("W2", D, D) * A, matrix("W10", D, D) * A]
    orders = [terms[i:] + terms[:i] for i in range(7)] + [terms[::-1]]
    written = {latex(MatAdd(*order)) for order in orders}
    assert len(written) == 1
    text = written.pop()
    assert text.startswith("I ")
    assert text.index("W_{2}") < text.index("W_{10}")
    assert text.endswith(r"- A^{\top}\Sigma")


def test_bold_style():
    """L113."""
    assert latex(SIGMA_0, matrix_style="bold") == r"\mathbf{\Sigma}_{0}"
    assert latex(V * ALPHA, matrix_style="bold") == r"\mathbf{V}\boldsymbol{\alpha}"
    assert latex(BETA * EYE, matrix_style="bold") == r"\beta\mathbf{I}"
    with pytest.raises(InputError, match="matrix_style"):
        latex(A, matrix_style="italic")


# ---- names and scripts -----------------------------------------------------------------------------

ODD_NAMES = [
    r"\alpha",
    r"\foo",
    "x'",
    "x''",
    "x y",
    "β",
    "Σ_0",
    "Σ₀",
    "µ",
    "m_{k}",
    "x_1^T",
    "x'^2",
    "x'_1",
    "W12",
    "x^ab",
    "x^a^b",
    "a_b^c_d",
]
ODD_NAMES += [
    "Chi",
    "Lambda",
    "rate",
    "_a",
    "a_b_c",
    "100%",
    "a&b",
    "$",
    "é",
    "日本",
    "#",
    "~",
    "^",
    "{",
    'say "hi"',
]


def _has_double_script(text: str) -> bool:
    """Whether a base carries two subscripts or two superscripts (primes are superscripts)."""
    group = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
    sub, sup = rf"_(?:{group}|\w)", rf"(?:\^(?:{group}|\w)|'+)"
    doubled = rf"{sub}(?:{sup})?{sub}|{sup}(?:{sub})?\^|\^(?:{group}|\w)(?:{sub})?'"
    return re.search(doubled, text.replace(r"\_", "").replace(r"\^", "")) is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("alpha", r"\alpha"),
        ("Sigma_0", r"\Sigma_{0}"),
        ("bq", "b_{q}"),
        ("Σ₀", r"\Sigma_{0}"),
        ("β", r"\beta"),
        (r"\alpha", r"\alpha"),
        ("W12", "W_{12}"),
        ("Chi", r"\mathrm{X}"),
        ("x y", r"\mathrm{x\ y}"),
        ("sigma_max", r"\sigma_{\mathrm{max}}"),
        ("x_1^T", "x_{1}^{T}"),
    ],
)
def test_names(name, expected):
    assert latex_name(name) == expected


def test_no_double_scripts_and_balanced_braces():
    """L109."""
    for name in ODD_NAMES:
        square = matrix(name, D, D)
        for expression in (
            square.T,
            Inverse(square),
            Inverse(square.T),
            square[0, 1],
            square**2,
            Symbol(name) ** 2,
        ):
            text = latex(expression)
            bare = text.replace(r"\{", "").replace(r"\}", "")
            assert bare.count("{") == bare.count("}"), (name, text)
            assert not _has_double_script(text), (name, text)


def test_odd_names_compile(pdflatex):
    """L109."""
    formulas = []
    for name in ODD_NAMES:
        square = matrix(name, D, D)
        shown = [square.T * A, Inverse(square.T), square[0, 1], Symbol(name) ** 2 / Symbol("x'") ** 2]
        formulas += [", ".join(latex(e) for e in shown), latex(square.T * square, matrix_style="bold")]
    assert max(pdflatex(_document(formulas)), default=0.0) < CENTIMETRE


# ---- long formulas ---------------------------------------------------------------------------------


def _sum(count):
    return MatAdd(
        *(MatMul(matrix(f"W{h}", D, D), V, SIGMA, matrix(f"A_{h}", D, D), SIGMA) for h in range(1, count + 1))
    )


def test_terms_per_line():
    """L108."""
    rows = latex_rows([("a", _sum(40))], terms_per_line=4)
    assert len(rows) == 10
    assert [left for left, _ in rows] == ["a"] + [""] * 9
    assert all(right.startswith("+") for _, right in rows[1:])
    assert "".join(right for _, right in rows).count("W_{") == 40


def test_short_equations_stay_on_one_line():
    assert latex_equation("L", V * SIGMA) == r"L = V\Sigma"
    assert aligned([("a", "b"), ("c", "d")]).count(r"\\") == 1


def test_lines_are_not_wider_than_asked():
    for expression in (_sum(40), V * Inverse(_sum(40)) * ALPHA, Trace(_sum(40))):
        for limit in (30, DEFAULT_WIDTH):
            rows = latex_rows([(r"\dot\Sigma", expression)], max_width=limit)
            assert len(rows) > 1
            assert max(width(left) + width(right) for left, right in rows) <= limit + 2


def test_breaking_loses_nothing():
    whole = latex(V * Inverse(_sum(12)) * ALPHA)
    rows = latex_rows([("m", V * Inverse(_sum(12)) * ALPHA)], max_width=30)
    assert "".join(right for _, right in rows).replace(" ", "") == whole.replace(" ", "")


def test_options_are_checked():
    with pytest.raises(InputError, match="terms_per_line"):
        latex_rows([("a", "b")], terms_per_line=0)
    with pytest.raises(InputError, match="max_width"):
        latex_rows([("a", "b")], max_width=3)


def _jacobian(size):
    x = sympy.symbols(f"x1:{size + 1}", real=True)
    total = sum(sympy.exp(BETA * z) for z in x)
    drift = Matrix([z * sympy.exp(BETA * z) / total for z in x])
    return drift.jacobian(x)


def test_long_formulas_fit_the_page(pdflatex):
    """L108: a sum of forty terms and an 8 × 8 matrix."""
    scalars = sum(Symbol(f"a_{i}") * Symbol(f"b_{i}") ** 2 for i in range(40))
    weights = Matrix(
        8, 8, lambda i, j: Symbol(f"x_{i}") * Symbol(f"x_{j}") * sympy.exp(-BETA * Symbol(f"x_{i}"))
    )
    formulas = [
        latex_equation(r"\dot\Sigma", _sum(40)),
        latex_equation(r"\dot\Sigma", _sum(40), terms_per_line=2),
        latex_equation("m", V * Inverse(_sum(40)) * ALPHA),
        latex_equation("E", scalars),
        latex_equation("f", BETA / TEMPERATURE * (scalars + 1)),
        latex_equation("J", weights),
        latex_equation("g", sympy.Mul(*(Symbol(f"a_{i}") + Symbol(f"b_{i}") for i in range(16)))),
        latex_equation("h", r"\frac{" + latex(scalars) + r"}{\beta}"),
    ]
    assert max(pdflatex(_document(formulas)), default=0.0) < CENTIMETRE


def test_jacobian_of_long_entries_breaks_across_pages(pdflatex):
    """L108."""
    text = aligned([("J", _jacobian(8))], environment="align*")
    assert text.count("J_{") == 64
    source = PREAMBLE + text + "\n\\end{document}\n"
    assert max(pdflatex(source), default=0.0) < CENTIMETRE


def test_wide_matrix_becomes_named_blocks():
    rows = latex_rows([("J", Matrix(2, 30, lambda i, j: Symbol(f"a_{i}") * Symbol(f"b_{j}")))])
    assert rows[0][1].count("J^{(") == len(rows) - 1 > 1
    assert [left for left, _ in rows[1:3]] == ["J^{(1)}", "J^{(2)}"]
    entries = "".join(right for _, right in rows[1:])
    assert entries.count("b_{") == 60


def test_double_script_finder_finds():
    assert _has_double_script("x_{1}_{2}")
    assert _has_double_script("x^{1}_{2}^{3}")
    assert _has_double_script("x'^{2}")
    assert not _has_double_script(r"{x'}^{\top}x_{1}^{2}")


def test_matrix_symbol_of_numeric_size():
    assert latex(MatrixSymbol("A", 2, 2) * MatrixSymbol("x", 2, 1)) == "Ax"
