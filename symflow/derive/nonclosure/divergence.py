"""Scores whose normaliser is infinite for every Gaussian that is not a point."""

from __future__ import annotations

from sympy import Expr, Poly, PolynomialError, exp

from symflow.derive.nonclosure.reduction import Integral, X, Y, at_size_one
from symflow.errors import InputError, NormaliserDiverges
from symflow.models.statement import Statement


def diverging_normaliser(statement: Statement) -> NormaliserDiverges | None:
    r"""Return the refusal of a score that grows faster than a quadratic in the key, or None.

    .. math:: \int e^{s(x,y)}\,d\mathcal{N}(\alpha,\sigma^2)(y) = \infty \quad \text{for every } \sigma > 0

    Decided at size one, for some x: the score is a polynomial in y of degree n ≥ 3 with n odd or a positive
    leading coefficient, or the exponential of one of odd degree. None does not say that it is finite.

    Parameters
    ----------
    statement : Statement
        A model; heads with weights other than exp(s) are not looked at.

    Examples
    --------
    >>> from symflow.models.attention.user import Attention
    >>> diverging_normaliser(Attention("dot(x, y) + dot(y, y)**2").statement()) is None
    False
    >>> diverging_normaliser(Attention("dot(x, y) - dot(y, y)**2").statement()) is None
    True
    """
    try:
        integrals = at_size_one(statement)
    except InputError:
        return None
    for integral in integrals:
        growth = growth_beyond_quadratic(integral)
        if growth is not None:
            return NormaliserDiverges(
                f"{statement.name}: ∫exp(s(x, y))dμ(y) = ∞ for every Gaussian μ of positive variance: at "
                f"size one the score grows like {growth}; subtract that term or let its coefficient be "
                "negative"
            )
    return None


def growth_beyond_quadratic(integral: Integral) -> Expr | None:
    """Return the term of a score that tends to infinity faster than y², for some query, or None."""
    if not isinstance(integral.kernel, exp):
        return None
    return _leading_term(integral.kernel.args[0]) or _exponential_term(integral.kernel.args[0])


def _leading_term(score: Expr) -> Expr | None:
    try:
        polynomial = Poly(score, Y)
    except PolynomialError:
        return None
    leading, degree = polynomial.LC(), polynomial.degree()
    if degree < 3:
        return None
    positive = any(_is_positive(leading.subs(X, side)) for side in (1, -1))
    return leading * Y**degree if degree % 2 or positive else None


def _exponential_term(score: Expr) -> Expr | None:
    """Return a score that is a positive multiple of the exponential of a polynomial of odd degree."""
    factor, rest = score.as_independent(X, Y)
    if not (isinstance(rest, exp) and _is_positive(factor)):
        return None
    try:
        degree = Poly(rest.args[0], Y).degree()
    except PolynomialError:
        return None
    return score if degree % 2 else None


def _is_positive(number: Expr) -> bool:
    return bool(number.is_nonnegative and number != 0)
