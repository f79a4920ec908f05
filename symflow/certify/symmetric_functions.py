"""Signs of a quadratic form along one parameter, by the coefficients of its characteristic polynomial.

A symmetric matrix is positive semidefinite exactly if every elementary symmetric function of its eigenvalues
is non-negative, and definite exactly if every one is positive.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy.polys.matrices import DomainMatrix

from symflow.algebra.exact.roots import is_nonnegative, is_positive
from symflow.certify.propositions.definiteness import StatedForm
from symflow.certify.rational import CLOCK, FIELD, Evaluator, numerator_and_denominator, roots_in
from symflow.certify.terms import Rejected


def signs_on_interval(stated: StatedForm, *, strictly: bool) -> bool:
    """Whether the form, or its negative, is positive semidefinite (or definite) on the whole interval.

    Raises
    ------
    Rejected
        If there is not exactly one parameter, or an entry is no rational function or has a pole.
    """
    if len(stated.box) != 1:
        raise Rejected("the coefficients decide for one parameter")
    ((low, high),) = stated.box
    evaluator = Evaluator({stated.names[0]: CLOCK}, {})
    rows = [[FIELD.convert(evaluator(text)) for text in row] for row in stated.texts]
    for divisor in evaluator.divisors:
        if roots_in(numerator_and_denominator(FIELD.convert(divisor))[0], low, high):
            raise Rejected("an entry has a pole in the interval")
    matrix = DomainMatrix(rows, (stated.size, stated.size), FIELD)
    doubled = (matrix + matrix.transpose()) * FIELD.convert(stated.side)
    # det(x + M) has the elementary symmetric functions of the eigenvalues of M as coefficients.
    return all(_has_sign(c, low, high, strictly) for c in (-doubled).charpoly()[1:])


def _has_sign(coefficient: Any, low: Fraction, high: Fraction, strictly: bool) -> bool:
    top, bottom = numerator_and_denominator(FIELD.convert(coefficient))
    if top.is_zero:
        return not strictly
    # The denominator has no root in the interval, so that the product has the sign of the quotient.
    polynomial = [Fraction(int(c.p), int(c.q)) for c in reversed((top * bottom).all_coeffs())]
    return is_positive(polynomial, low, high).holds if strictly else is_nonnegative(polynomial, low, high)
