r"""Functions P(t) + R(t)(1 − t²)^{1/2 − m} + A(t) arcsin t, P, R, A polynomials, and their antiderivatives.

An antiderivative is sought among such functions by matching derivatives,

.. math:: \frac{d}{dt}\Big(S\,w^{1-2k}\Big) = w^{-1-2k}\big(S'(1 - t^2) - (1 - 2k)\,t\,S\big), \qquad
          \frac{d}{dt}\big(A\arcsin t\big) = A'\arcsin t + A\,w^{-1}, \qquad w = \sqrt{1 - t^2},

which is a linear system in rational numbers for every power of t.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Matrix, Rational, S, asin, cancel, zeros

from symflow.derive.noise.activations import NoClosedForm

Coefficients = tuple[Any, ...]  # of 1, t, t², …


def _add(a: Coefficients, b: Coefficients) -> Coefficients:
    size = max(len(a), len(b))
    padded = [(*c, *([S.Zero] * (size - len(c)))) for c in (a, b)]
    return _trimmed([cancel(x + y) for x, y in zip(*padded, strict=True)])


def _trimmed(values: Sequence[Any]) -> Coefficients:
    kept = list(values)
    while kept and kept[-1] == 0:
        kept.pop()
    return tuple(kept)


def _multiply(a: Coefficients, b: Coefficients) -> Coefficients:
    found = [S.Zero] * max(len(a) + len(b) - 1, 0)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            found[i + j] += x * y
    return _trimmed([cancel(value) for value in found])


def _scale(a: Coefficients, factor: Any) -> Coefficients:
    return _trimmed([factor * x for x in a])


def _integral(a: Coefficients) -> Coefficients:
    return _trimmed([S.Zero, *(x / (k + 1) for k, x in enumerate(a))])


_SQUARE: Coefficients = (S.One, S.Zero, S.NegativeOne)  # 1 − t²


@dataclass(frozen=True)
class ArcSine:
    """P + R(1 − t²)^{1/2 − m} + A arcsin t.

    Attributes
    ----------
    plain, root, arc : tuple of Expr
        Coefficients of P, R, A.
    depth : int
        m ≥ 1.
    """

    plain: Coefficients = ()
    root: Coefficients = ()
    arc: Coefficients = ()
    depth: int = 1

    @classmethod
    def zero(cls) -> ArcSine:
        """Return 0."""
        return cls()

    @classmethod
    def polynomial(cls, coefficients: Sequence[Any]) -> ArcSine:
        """Return P alone."""
        return cls(plain=_trimmed([S.One * c for c in coefficients]))

    @classmethod
    def root_power(cls, exponent: int) -> ArcSine:
        """Return (1 − t²)^{exponent/2}."""
        return cls.polynomial((1,)).over_root(-exponent)

    def over_root(self, count: int) -> ArcSine:
        """Return a polynomial divided by (1 − t²)^{count/2}.

        Raises
        ------
        NoClosedForm
            If that leaves a rational function.
        """
        if self.root or self.arc:
            raise NoClosedForm("a quotient by a root is taken of polynomials only")
        if count % 2 == 0:
            if count > 0 and self.plain:
                raise NoClosedForm("a rational function of the cosine has to be integrated")
            return ArcSine(plain=_multiply(self.plain, _power(-count // 2)))
        depth = (count + 1) // 2
        extra = max(1 - depth, 0)
        return ArcSine(root=_multiply(self.plain, _power(extra)), depth=depth + extra)

    def plus(self, other: ArcSine) -> ArcSine:
        """Return the sum."""
        depth = max(self.depth, other.depth)
        roots = [_multiply(side.root, _power(depth - side.depth)) for side in (self, other)]
        return ArcSine(
            _add(self.plain, other.plain), _add(roots[0], roots[1]), _add(self.arc, other.arc), depth
        )

    def times(self, factor: Any) -> ArcSine:
        """Return a multiple."""
        plain, root, arc = (_scale(part, factor) for part in (self.plain, self.root, self.arc))
        return ArcSine(plain, root, arc, self.depth)

    def product(self, other: ArcSine) -> ArcSine:
        """Return the product with a polynomial."""
        if other.root or other.arc:
            raise NoClosedForm("products are taken with polynomials only")
        plain, root, arc = (_multiply(part, other.plain) for part in (self.plain, self.root, self.arc))
        return ArcSine(plain, root, arc, self.depth)

    def shifted(self, constant: Any) -> ArcSine:
        """Return the sum with a constant."""
        return self.plus(ArcSine.polynomial((constant,)))

    def at_zero(self) -> Any:
        """Return the value at t = 0."""
        return sum((part[0] for part in (self.plain, self.root) if part), S.Zero)

    def antiderivative(self) -> ArcSine:
        """Return an antiderivative.

        Raises
        ------
        NoClosedForm
            If there is none among such functions.
        """
        found = ArcSine(plain=_integral(self.plain))
        for power, value in enumerate(self.root):
            found = found.plus(_root_integral(power, self.depth).times(value))
        for power, value in enumerate(self.arc):
            # ∫ tᵏ arcsin t = (t^{k+1} arcsin t − ∫ t^{k+1}/w)/(k + 1)
            raised = ArcSine(arc=_monomial(power + 1)).plus(_root_integral(power + 1, 1).times(-1))
            found = found.plus(raised.times(value / (power + 1)))
        return found

    def expression(self, t: Expr) -> Expr:
        """Return the function at t."""
        root, depth = self.root, self.depth
        while root and (quotient := _divided(root)) is not None:
            root, depth = quotient, depth - 1
        plain, lead, arc = (
            sum((cancel(value) * t**k for k, value in enumerate(part)), S.Zero)
            for part in (self.plain, root, self.arc)
        )
        return plain + lead * (1 - t**2) ** (Rational(1, 2) - depth) + arc * asin(t)


def _divided(a: Coefficients) -> Coefficients | None:
    """Return a/(1 − t²), None where that is no polynomial."""
    rest, quotient = list(a), [S.Zero] * max(len(a) - 2, 0)
    for k in range(len(a) - 1, 1, -1):
        quotient[k - 2] = -rest[k]
        rest[k - 2] += rest[k]
    return _trimmed(quotient) if all(cancel(x) == 0 for x in rest[:2]) else None


def _monomial(power: int) -> Coefficients:
    return (*([S.Zero] * power), S.One)


@functools.cache
def _power(count: int) -> Coefficients:
    """Return (1 − t²)^count."""
    return (S.One,) if count == 0 else _multiply(_power(count - 1), _SQUARE)


@functools.cache
def _root_integral(power: int, depth: int) -> ArcSine:
    """Return S w^{3 − 2m} + A₀ arcsin t with the derivative tᵏ w^{1 − 2m}."""
    size = power + 2 * depth
    slopes = []
    for k in range(size):  # the derivative of tᵏ w^{3 − 2m}, over w^{1 − 2m}
        own = _scale(_multiply(_monomial(k - 1), _SQUARE), k) if k else ()
        slopes.append(_add(own, _scale(_monomial(k + 1), -(3 - 2 * depth))))
    columns = [*slopes, _power(depth - 1)]
    rows = max(len(column) for column in columns)
    system = zeros(rows, len(columns))
    for j, column in enumerate(columns):
        for i, value in enumerate(column):
            system[i, j] = value
    try:
        solution, free = system.gauss_jordan_solve(Matrix(rows, 1, lambda i, _: Rational(int(i == power))))
    except ValueError as error:  # the system has no solution
        raise NoClosedForm(f"t^{power} (1 - t^2)^(1/2 - {depth}) has no such antiderivative") from error
    values = list(solution.subs(dict.fromkeys(free, 0)))
    root = ArcSine(root=_trimmed(values[:-1]), depth=depth - 1) if depth > 1 else _lowered(values[:-1])
    return root.plus(ArcSine(arc=_trimmed(values[-1:])))


def _lowered(values: Sequence[Any]) -> ArcSine:
    """Return S w with m = 1."""
    return ArcSine(root=_multiply(_trimmed(values), _SQUARE), depth=1)
