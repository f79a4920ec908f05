r"""Averages over one and two centred Gaussian variables, without an integral.

One variable, of variance q: Stein's identity E[Z f(Z)] = q E f'(Z) lowers powers; a point mass leaves the
density at zero; and, by completing the square, E[f(Z)e^{−bZ²}] = (1 + 2bq)^{−1/2}E f(Z') with Z' of variance
q/(1 + 2bq). Two variables, of the covariance c: Price's theorem

.. math:: \frac{\partial}{\partial c}E[f(Z_1)g(Z_2)] = E[f'(Z_1)g'(Z_2)]

down to an average that is known: of a point mass (what is left is one variable of variance q − c²/q), or of
two bells (completing the square); and back up by antiderivatives, with E f · E g at c = 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Expr, Rational, S, Symbol, pi, sqrt

from symflow.derive.noise.activations import (
    BELL,
    ERROR,
    PLAIN,
    POINT,
    NoClosedForm,
    Term,
    Terms,
    derivative,
)
from symflow.derive.noise.antiderivative import ArcSine

VARIANCE = Symbol("q", positive=True)
COVARIANCE = Symbol("c", real=True)


def mean(terms: Terms, variance: Expr = VARIANCE) -> Expr:
    """Return E f(Z), Z of the given variance."""
    return sum((_mean(term, variance) for term in terms), S.Zero)


def _mean(term: Term, q: Any) -> Any:
    n, c = term.power, term.factor
    if term.kind == POINT:
        return c / sqrt(2 * pi * q) if n == 0 else S.Zero
    if term.kind == BELL:
        width = 1 + 2 * term.rate * q
        return c * _mean(Term(S.One, n), q / width) / sqrt(width)
    if term.kind in (PLAIN, ERROR) and (n + (term.kind == ERROR)) % 2:
        return S.Zero
    if n == 0:
        return c if term.kind == PLAIN else c / 2  # a step: Z > 0 with probability one half
    lowered = replace(term, factor=S.One, power=n - 1)
    return c * q * mean(lowered.derivative(), q)


def pair_mean(first: Terms, second: Terms) -> Expr:
    """Return E[f(Z₁)g(Z₂)] as an expression in the variance q and the covariance c.

    Raises
    ------
    NoClosedForm
        If an antiderivative is outside the span of tᵏ, tᵏ√(1 − t²)ʲ and tᵏ arcsin t, t = c/ϱ.
    """
    return sum((_pair(f, g) for f in first for g in second), S.Zero)


def _pair(f: Term, g: Term) -> Expr:
    constants: list[Any] = []
    left: Terms = (f,)
    right: Terms = (g,)
    while left and right and not _is_known(left, right):
        constants.append(mean(left) * mean(right))
        left, right = derivative(left), derivative(right)
    if not left or not right:
        return sum((c * COVARIANCE**k / _factorial(k) for k, c in enumerate(constants)), S.Zero)
    scale, known = _known(left, right)
    return _raised(scale, known, constants)


def _factorial(k: int) -> Rational:
    product = S.One
    for i in range(2, k + 1):
        product *= i
    return product


def _raised(scale: Expr, value: ArcSine, constants: list[Any]) -> Expr:
    """Integrate by c = scale·t as often as there are constants, which are the values at c = 0."""
    for constant in reversed(constants):
        value = value.antiderivative().times(scale)
        value = value.shifted(constant - value.at_zero())
    return value.expression(COVARIANCE / scale)


def _is_known(left: Terms, right: Terms) -> bool:
    kinds = [{term.kind for term in side} for side in (left, right)]
    return {POINT} in kinds or kinds == [{BELL}, {BELL}]


def _known(left: Terms, right: Terms) -> tuple[Expr, ArcSine]:
    """Return ϱ and the average in t = c/ϱ."""
    if {term.kind for term in right} == {POINT} and {term.kind for term in left} != {POINT}:
        left, right = right, left
    if {term.kind for term in left} == {POINT}:
        return _at_point(left, right)
    return _bells(left, right)


def _at_point(points: Terms, others: Terms) -> tuple[Expr, ArcSine]:
    """E[δ(Z₁)g(Z₂)] is the density at zero times E g(W), W of variance q(1 − r²), r = c/q."""
    q = VARIANCE
    density = mean(points)
    rates = {_width(term) for term in others if term.kind in (BELL, ERROR)}
    if len(rates) > 1:
        raise NoClosedForm("bells of several widths meet a kink")
    scale = sqrt(q * (1 + 2 * next(iter(rates)) * q) / (2 * next(iter(rates)))) if rates else q
    total = ArcSine.zero()
    for term in others:
        total = total.plus(_conditional(term, scale).times(density))
    return scale, total


def _width(term: Term) -> Expr:
    """Return b of the bell e^{−bz²} that a term is, or has as its derivative."""
    return term.rate**2 if term.kind == ERROR else term.rate


def _conditional(term: Term, scale: Expr) -> ArcSine:
    """Return E g(W), W of variance s = q(1 − r²)."""
    q, n = VARIANCE, term.power
    spread = ArcSine.polynomial((q, 0, -(scale**2) / q))
    if (n + (term.kind == ERROR)) % 2 and term.kind in (BELL, ERROR):
        return ArcSine.zero()
    if term.kind == BELL:  # 1 + 2bs = (1 + 2bq)(1 − t²)
        total = ArcSine.polynomial((term.factor * (1 + 2 * term.rate * q) ** Rational(-(n + 1), 2),))
        for k in range(1, n, 2):
            total = total.product(spread).times(k)
        return total.over_root(n + 1)
    if term.kind == ERROR:
        lowered = replace(term, power=n - 1).derivative()
        total = ArcSine.zero()
        for part in lowered:
            total = total.plus(_conditional(part, scale))
        return total.product(spread)
    # E g(W) = E g(Z) (1 − r²)^{n/2}, resp. (1 − r²)^{−1/2} for a point mass
    return ArcSine.root_power(-1 if term.kind == POINT else n).times(_mean(term, q))


def _bells(left: Terms, right: Terms) -> tuple[Expr, ArcSine]:
    q = VARIANCE
    pairs = [(f, g) for f in left for g in right]
    rates = {(f.rate, g.rate) for f, g in pairs}
    if len(rates) > 1:
        raise NoClosedForm("bells of several widths in one activation")
    (a, b) = next(iter(rates))
    widths = (1 + 2 * a * q) * (1 + 2 * b * q)
    scale = sqrt(widths / (4 * a * b))
    total = ArcSine.zero()
    for f, g in pairs:
        total = total.plus(_tilted(f, g, scale).times(f.factor * g.factor / sqrt(widths)))
    return scale, total


def _tilted(f: Term, g: Term, scale: Expr) -> ArcSine:
    """Return E[Z₁ⁿZ₂ᵐ] under the tilted law, times (1 − t²)^{−1/2}, by Isserlis' theorem."""
    q, a, b = VARIANCE, f.rate, g.rate
    widths = (1 + 2 * a * q) * (1 + 2 * b * q)
    square = (q**2, 0, -(scale**2))
    own, other = (ArcSine.polynomial((q + 2 * rate * square[0], 0, 2 * rate * square[2])) for rate in (b, a))
    cross = ArcSine.polynomial((0, scale))
    parts = [part.times(1 / widths) for part in (own, cross, other)]
    moment = _isserlis(f.power, g.power, parts)
    # every entry of the tilted covariance has the denominator widths·(1 − t²)
    return moment.over_root(f.power + g.power + 1)


def _isserlis(n: int, m: int, covariance: list[ArcSine]) -> ArcSine:
    """E[Z₁ⁿZ₂ᵐ]: pair the first factor with every other one."""
    if n == 0 and m == 0:
        return ArcSine.polynomial((1,))
    own, cross, other = covariance
    if n == 0:
        return ArcSine.zero() if m == 1 else _isserlis(0, m - 2, covariance).product(other).times(m - 1)
    total = ArcSine.zero()
    if n > 1:
        total = total.plus(_isserlis(n - 2, m, covariance).product(own).times(n - 1))
    if m > 0:
        total = total.plus(_isserlis(n - 1, m - 1, covariance).product(cross).times(m))
    return total
