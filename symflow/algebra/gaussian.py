r"""Gaussian tilting: what ``exp(s(x, y))`` does to a Gaussian law of y, by completing the square.

The density of N(α, Σ) times e^{s(x,y)} is exp(−½yᵀHy + bᵀy + r) with H = Σ⁻¹ − C and b = Σ⁻¹α + Bx + c. Both
are read off from the exponent; the results are then rewritten until no Σ⁻¹ is left, so that they hold by
continuity for every Σ ⪰ 0 with λ_max(Σ^{1/2}CΣ^{1/2}) < 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Add, Expr, Identity, Inverse, MatAdd, MatMul, Rational, S, Trace, cancel, exp, log, pi, sift

from symflow.algebra.assembly import product, total
from symflow.algebra.definite import is_negative_semidefinite
from symflow.algebra.determinant import LogDet
from symflow.algebra.quadratic import QuadraticForm, quadratic_form
from symflow.algebra.words import identical, normal_form
from symflow.errors import InputError, SymflowError

_HALF = Rational(1, 2)


@dataclass(frozen=True)
class _Exponent:
    """The exponent −½yᵀHy + bᵀy + r of the tilted density, without the normalisation of N(α, Σ)."""

    H: Any
    b: Any
    r: Any
    symmetric: tuple[Any, ...]


def tilted_mean(form: QuadraticForm, alpha: Any, Sigma: Any, x: Any) -> Any:
    r"""Return the mean of the law proportional to :math:`e^{s(x,y)}N(\alpha,\Sigma)(dy)`.

    .. math:: (I - \Sigma C)^{-1}\bigl(\alpha + \Sigma(Bx + c)\bigr)

    It is :math:`H^{-1}b` after completing the square, in a form free of :math:`\Sigma^{-1}`.

    Parameters
    ----------
    form : QuadraticForm
        The score.
    alpha : MatrixExpr, shape (n, 1)
        Mean.
    Sigma : MatrixSymbol, shape (n, n)
        Covariance, positive semidefinite with :math:`\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1`.
    x : MatrixExpr, shape (m, 1)
        The query, put in the place of ``form.x``.

    Returns
    -------
    MatrixExpr, shape (n, 1)
        Without any inverse when C = 0.

    Raises
    ------
    InputError
        When a shape does not fit.

    References
    ----------
    CACP25 (Gaussian tilting).

    Examples
    --------
    >>> from sympy import Trace
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, Sigma = matrix("A", d, d), matrix("Sigma", d, d)
    >>> x, y, alpha = vector("x", d), vector("y", d), vector("alpha", d)
    >>> tilted_mean(quadratic_form(Trace(y.T * A * x), x, y), alpha, Sigma, x)
    Sigma*A*x + alpha
    """
    exponent = _complete_square(form, alpha, Sigma, x)
    source = total(product(form.B, x), form.c)
    solved = product(_resolvent(form, Sigma, exponent.symmetric), total(alpha, product(Sigma, source)))
    return _guarded(solved, exponent.H, exponent.b, exponent.symmetric)


def tilted_covariance(form: QuadraticForm, Sigma: Any) -> Any:
    r"""Return the covariance of the law proportional to :math:`e^{s(x,y)}N(\alpha,\Sigma)(dy)`.

    .. math:: (I - \Sigma C)^{-1}\Sigma = H^{-1}, \qquad H = \Sigma^{-1} - C

    Parameters
    ----------
    form : QuadraticForm
        The score.
    Sigma : MatrixSymbol, shape (n, n)
        Covariance, positive semidefinite with :math:`\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1`.

    Returns
    -------
    MatrixExpr, shape (n, n)
        Equal to ``Sigma`` when C = 0.
    """
    exponent = _complete_square(form, form.y * S.Zero, Sigma, form.x)
    solved = product(_resolvent(form, Sigma, exponent.symmetric), Sigma)
    return _guarded(solved, exponent.H, Identity(form.y.rows), exponent.symmetric)


def log_normaliser(form: QuadraticForm, alpha: Any, Sigma: Any, x: Any) -> Any:
    r"""Return :math:`\log\int e^{s(x,y) - r(x)}\,dN(\alpha,\Sigma)(y)`, free of :math:`\Sigma^{-1}`.

    .. math:: -\tfrac12\log\det(I-\Sigma C) + \tfrac12 b^\top H^{-1}b - \tfrac12\alpha^\top\Sigma^{-1}\alpha

    Parameters
    ----------
    form : QuadraticForm
        The score; its ``rest`` is left out.
    alpha : MatrixExpr, shape (n, 1)
        Mean.
    Sigma : MatrixSymbol, shape (n, n)
        Covariance, positive semidefinite with :math:`\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1`.
    x : MatrixExpr, shape (m, 1)
        The query, put in the place of ``form.x``.

    Returns
    -------
    Expr
        A scalar over ``Trace`` and ``LogDet``.

    Examples
    --------
    >>> from sympy import Trace
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> A, Sigma = matrix("A", d, d), matrix("Sigma", d, d)
    >>> x, y, alpha = vector("x", d), vector("y", d), vector("alpha", d)
    >>> log_normaliser(quadratic_form(Trace(y.T * A * x), x, y), alpha, Sigma, x)
    Trace(alpha.T*A*x) + Trace(x.T*A.T*Sigma*A*x)/2
    """
    exponent = _complete_square(form, alpha, Sigma, x)
    gauss = Trace(exponent.b.T * Inverse(exponent.H) * exponent.b) * _HALF
    value = gauss + exponent.r - LogDet(exponent.H) * _HALF - LogDet(Sigma) * _HALF
    result = normal_form(value, exponent.symmetric).to_sympy()
    if form.y.rows == 1:
        logarithms, rational = sift(Add.make_args(result), lambda term: term.has(LogDet, log), binary=True)
        result = Add(*logarithms) + cancel(Add(*rational))
    if result.has(Inverse(Sigma), 1 / Trace(Sigma)):
        raise SymflowError(f"the inverse of {Sigma} could not be removed from the log-normaliser {result}")
    return result


def gaussian_integral(H: Any, b: Any) -> Expr:
    r"""Return the Gaussian integral of symbolic size.

    .. math:: \int e^{-\frac12 y^\top Hy + b^\top y}\,dy
              = (2\pi)^{n/2}\,\det(H)^{-1/2}\,e^{\frac12 b^\top H^{-1}b}

    Parameters
    ----------
    H : MatrixExpr, shape (n, n)
        Symmetric positive definite.
    b : MatrixExpr, shape (n, 1)
        Linear term.

    Raises
    ------
    InputError
        When the shapes do not fit, or when H is known not to be positive definite: a nonpositive multiple of
        the identity, or minus a sum of squares XᵀX.

    Examples
    --------
    >>> from sympy import Identity, Symbol
    >>> from symflow.algebra.symbols import vector
    >>> a = Symbol("a", negative=True)
    >>> gaussian_integral(-2 * a * Identity(1), 2 * a * Identity(1))
    sqrt(pi)*exp(-a)/sqrt(-a)
    """
    if H.rows != H.cols or b.shape != (H.rows, 1):
        raise InputError(f"H of shape {H.shape} and b of shape {b.shape} must be (n, n) and (n, 1)")
    scale = _identity_multiple(H)
    if is_negative_semidefinite(H) if scale is None else scale.is_nonpositive:
        raise InputError(f"the integral diverges: H = {H} is not positive definite")
    square = normal_form(Trace(b.T * Inverse(H) * b)).to_sympy() * _HALF
    determinant = exp(-LogDet(H) * _HALF) if scale is None else scale ** (-H.rows * _HALF)
    return (2 * pi) ** (H.rows * _HALF) * determinant * exp(square)


def _identity_multiple(H: Any) -> Any:
    """Return c where H = cI, else None."""
    terms = normal_form(H).terms
    return terms.get(((), ()), S.Zero) if terms.keys() <= {((), ())} else None


def _complete_square(form: QuadraticForm, alpha: Any, Sigma: Any, x: Any) -> _Exponent:
    """Read H, b and the constant off the exponent of the tilted density, for invertible Σ."""
    n = form.y.rows
    for name, value, shape in (("alpha", alpha, (n, 1)), ("Sigma", Sigma, (n, n)), ("x", x, form.x.shape)):
        if tuple(value.shape) != tuple(shape):
            raise InputError(f"{name} has shape {tuple(value.shape)}, the score needs {tuple(shape)}")
    symmetric = tuple(dict.fromkeys((*form.symmetric, Sigma)))
    centred = MatAdd(form.y, -alpha)
    gaussian = -Trace(centred.T * Inverse(Sigma) * centred) * _HALF
    tilted = quadratic_form(gaussian + form.score() - form.rest, form.x, form.y, symmetric)
    b = total(product(tilted.B, x), tilted.c)
    H = normal_form(-tilted.C, symmetric).to_matrix()
    return _Exponent(H, b, tilted.rest, symmetric)


def _resolvent(form: QuadraticForm, Sigma: Any, symmetric: tuple[Any, ...]) -> Any:
    """Return (I − ΣC)⁻¹, the identity when C = 0."""
    size = Identity(form.y.rows)
    inner = normal_form(size - Sigma * form.C, symmetric)
    return size if inner == normal_form(size) else Inverse(inner.to_matrix())


def _guarded(result: Any, H: Any, right: Any, symmetric: tuple[Any, ...]) -> Any:
    """Return the result after proving that it solves ``H·result = right``, as the completed square does."""
    if not identical(MatMul(H, result), right, symmetric):
        raise SymflowError(f"the normal form does not show that {result} solves ({H})·X = {right}")
    return result
