"""Scores whose normaliser is infinite for every Gaussian that is not a point."""

from __future__ import annotations

from sympy import Expr, Poly, PolynomialError, exp

from symflow.derive.nonclosure.reduction import Integral, X, Y, at_size_one
from symflow.errors import InputError, NormaliserDiverges
from symflow.models.statement import Statement


def diverging_normaliser(statement: Statement) -> NormaliserDiverges | None:
    r"""Return the refusal of a score that grows faster than a quadratic in the key, or None.

    .. math:: \int e^{s(x,y)}\,d\mathcal{N}(\alpha,\sigma^2)(y) = \infty \quad \text{for every } \sigma > 0

    Decided at size one: the score is a polynomial in y of degree n ≥ 3 whose leading coefficient is positive
    for some x, or n is odd. None does not say that the normaliser is finite.

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
            coefficient, degree = growth
            return NormaliserDiverges(
                f"{statement.name}: ∫exp(s(x, y))dμ(y) = ∞ for every Gaussian μ of positive variance: at "
                f"size one the score grows like ({coefficient})·y**{degree}; subtract the term, or let its "
                "coefficient be negative"
            )
    return None


def growth_beyond_quadratic(integral: Integral) -> tuple[Expr, int] | None:
    """Return (coefficient, degree) of a score that tends to infinity faster than y², for some query."""
    if not isinstance(integral.kernel, exp):
        return None
    try:
        polynomial = Poly(integral.kernel.args[0], Y)
    except PolynomialError:
        return None
    leading, degree = polynomial.LC(), polynomial.degree()
    if degree < 3:
        return None
    positive = any(_is_positive(leading.subs(X, side)) for side in (1, -1))
    return (leading, int(degree)) if degree % 2 or positive else None


def _is_positive(number: Expr) -> bool:
    return bool(number.is_nonnegative and number != 0)
