r"""The second derivative of an energy along geodesics of Diracs, at symbolic size.

On Diracs the energy is :math:`F(\delta_x) = \tfrac12 W(x, x) + U(x)` and the metric a multiple of
⟨v, v⟩, so that geodesics solve an equation for one vector. A stored acceleration is put into the equation
that defines it, for every direction w; then the second derivative along :math:`x + tv + \tfrac12t^2a` is
compared with what is claimed, by the normal form of matrix words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import QQ, Identity, Poly, Rational, S, Symbol, Trace

from symflow.algebra.grammar import parse
from symflow.algebra.symbols import dimension, vector
from symflow.algebra.variation import gateaux
from symflow.algebra.words import identical, normal_form
from symflow.certify.propositions.convexity import Multiple, StatedEnergy
from symflow.certify.terms import Rejected

_D = dimension("d")
_X, _V, _W = (vector(name, _D) for name in ("x", "v", "w"))
_RADIUS = Symbol("r", real=True)


@dataclass(frozen=True)
class DiracCurve:
    """Energy and metric of a Dirac, as functions of its position."""

    energy: Any
    weight: Any  #: the metric is weight · ⟨v, v⟩

    def check_geodesic(self, acceleration: Any) -> None:
        """Check g(a, w) = −(Dg[v](v, w) − ½ Dg[w](v, v)) for every w; raises :class:`Rejected`."""
        left = self.weight * _dot(acceleration, _W)
        along_v, along_w = (gateaux(self.weight, {_X: direction}) for direction in (_V, _W))
        right = S.Half * along_w * _dot(_V, _V) - along_v * _dot(_V, _W)
        if not identical(left, right):
            raise Rejected("the stated acceleration does not solve the equation of geodesics of Diracs")

    def check_second_derivative(self, acceleration: Any, ratio: Any) -> None:
        """Check d²F/dt² = ratio · g(v, v) along x + tv + ½t²a; raises :class:`Rejected`."""
        first = gateaux(self.energy, {_X: _V})
        found = gateaux(first, {_X: _V}) + gateaux(self.energy, {_X: acceleration})
        if not identical(found, ratio * self.weight * _dot(_V, _V)):
            raise Rejected("the second derivative is not the stated multiple of the squared length")


def dirac_curve(stated: StatedEnergy) -> DiracCurve:
    """Return energy and metric of a Dirac in every dimension; raises :class:`Rejected` on the sphere."""
    if stated.space != "euclidean" or stated.dimension is not None:
        raise Rejected("a family of Diracs belongs to an energy on ℝᵈ for every d")
    values = {name: _symbolic(value) for name, value in stated.parameters.items()}
    pair, potential = (parse(text, {"x": _X, "y": _X, **values}) if text else S.Zero for text in stated.texts)
    weight = S.One
    if stated.metric.name == "twisted":
        V, A = stated.metric.value, stated.metric.score
        if not (isinstance(V, Multiple) and isinstance(A, Multiple) and V.factor and A.factor):
            raise Rejected("V and A of the twisted metric must be multiples of I, and not zero")
        kernel = parse("exp(dot(x, A*y))", {"x": _X, "y": _X, "A": _symbolic(A)})
        weight = _rational(abs(A.factor / V.factor)) * kernel
    return DiracCurve(S.Half * pair + potential, weight)


def read_vector(text: Any) -> Any:
    """Return a vector in x and v that a text writes."""
    found = _read(text, {"x": _X, "v": _V})
    if getattr(found, "shape", None) != _X.shape:
        raise Rejected(f"{text} must be a vector of size d")
    return found


def read_ratio(text: Any) -> Any:
    """Return a number in x that a text writes."""
    found = _read(text, {"x": _X})
    if getattr(found, "is_Matrix", False) or hasattr(found, "shape"):
        raise Rejected(f"{text} must be a number")
    return found


def radial_polynomial(ratio: Any) -> Poly:
    """Return a number that depends on x by |x| alone as a polynomial in r = |x|; refuses any other."""
    radial = normal_form(ratio).to_sympy().xreplace({Trace(_X.T * _X): _RADIUS**2})
    if radial.has(_X) or radial.free_symbols - {_RADIUS}:
        raise Rejected(f"{ratio} is no polynomial in |x|")
    return Poly(radial, _RADIUS, domain=QQ)


def value_at_radius(polynomial: Poly, radius: Fraction) -> Fraction:
    """Return the value where |x| = radius."""
    found = polynomial.eval(_rational(radius))
    return Fraction(int(found.p), int(found.q))


def is_unbounded_above(polynomial: Poly) -> bool:
    """Whether a polynomial in r has no upper bound on r ≥ 0."""
    return bool(polynomial.degree() > 0 and polynomial.LC() > 0)


def _read(text: Any, symbols: Mapping[str, Any]) -> Any:
    if not isinstance(text, str) or len(text) > 500:
        raise Rejected("an expression must be text of at most 500 characters")
    return parse(text, {**symbols, "d": _D})


def _symbolic(value: Any) -> Any:
    return _rational(value.factor) * Identity(_D) if isinstance(value, Multiple) else _rational(value)


def _rational(value: Fraction) -> Any:
    return Rational(value.numerator, value.denominator)


def _dot(one: Any, other: Any) -> Any:
    return Trace(one.T * other)
