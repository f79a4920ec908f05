r"""Convexity that follows from how an expression is built.

A polynomial of degree at most two is convex if its matrix is semidefinite. Everything else follows by rules:
sums and positive multiples; exp of a convex function; even powers of an affine one, powers of a convex one
≥ 0; the root of a polynomial ≥ 0 of degree two, which is a norm of something affine; maxima; the logarithm of
a sum of exponentials of convex functions; one over a concave one > 0. A function about which nothing follows
may be convex all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from symflow.algebra.text.syntax import Call, Node, Power, Product, Sum
from symflow.certify.taylor.matrices import Evaluation
from symflow.certify.taylor.quadratics import Quadratic, Quadratics, is_semidefinite, negated
from symflow.certify.terms import Rejected

_SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 64))  #: of a constant term, tried as a lower bound


@dataclass(frozen=True)
class Shape:
    """What is known of a function on the whole space.

    Attributes
    ----------
    convex, concave, nonnegative, nonpositive, positive : bool
    log_convex : bool
        The function is positive and its logarithm is convex.
    reason : str
        The outermost rule.
    """

    convex: bool = False
    concave: bool = False
    nonnegative: bool = False
    nonpositive: bool = False
    positive: bool = False
    log_convex: bool = False
    reason: str = "no rule applies"

    @property
    def affine(self) -> bool:
        """Whether the function is affine."""
        return self.convex and self.concave

    def times(self, factor: Fraction) -> Shape:
        """Return the shape of a multiple."""
        if factor > 0:
            return self
        return Shape(
            convex=self.concave,
            concave=self.convex,
            nonnegative=self.nonpositive,
            nonpositive=self.nonnegative,
            reason=f"minus: {self.reason}",
        )


@dataclass(frozen=True)
class Term:
    """One summand of an expression: a coefficient, and a polynomial or what is none."""

    coefficient: Fraction
    node: Node
    polynomial: Quadratic | None


class Rules:
    """Shapes of functions of the coordinates of tokens.

    Parameters
    ----------
    parameters : mapping
        Values of parameters: matrices of polynomials that are constant.
    tokens : mapping
        Tokens as columns of variables.
    size : int
        Number of variables.
    dimension : int
        d.
    """

    def __init__(
        self, parameters: Mapping[str, Any], tokens: Mapping[str, Any], size: int, dimension: int
    ) -> None:
        self.arithmetic = Quadratics(size)
        self.has_pairs = len(tokens) == 2
        self._evaluation = Evaluation(self.arithmetic, {**parameters, **tokens}, {"d": dimension})

    def polynomial(self, node: Node) -> Quadratic | None:
        """Return an expression as a polynomial of degree at most two, None if it is none."""
        try:
            found: Quadratic = self._evaluation.number(node)
        except Rejected:  # of higher degree, or no polynomial
            return None
        return found

    def exponent(self, node: Node) -> Quadratic | None:
        """Return s of an expression e^s, s of degree at most two; None for any other."""
        if isinstance(node, Call) and node.function == "exp":
            return self.polynomial(node.arguments[0])
        return None

    def terms(self, node: Node, coefficient: Fraction = Fraction(1)) -> list[Term]:
        """Return the summands of an expression, products of a number and a sum multiplied out."""
        polynomial = self.polynomial(node)
        if polynomial is not None:
            return [Term(coefficient, node, polynomial.scaled(coefficient))]
        if isinstance(node, Sum):
            return [part for sign, term in node.terms for part in self.terms(term, sign * coefficient)]
        if isinstance(node, Product):
            factor, rest = self._numbers_apart(node)
            if factor and len(rest) == 1 and not rest[0][0]:
                return self.terms(rest[0][1], coefficient * factor)
        return [Term(coefficient, node, None)]

    def shape(self, node: Node) -> Shape:
        """Return what follows of an expression."""
        polynomial = self.polynomial(node)
        if polynomial is not None:
            return _shape_of_polynomial(polynomial)
        match node:
            case Sum():
                return self._sum(node)
            case Product():
                return self._product(node)
            case Power(base=base, exponent=exponent):
                return _power(self.shape(base), exponent)
            case Call(function=function, arguments=arguments):
                return self._call(function, arguments)
        return Shape()

    def _numbers_apart(self, node: Product) -> tuple[Fraction, list[tuple[bool, Node]]]:
        """Return the product of the factors that are numbers, and the other factors."""
        number, rest = Fraction(1), []
        for divides, factor in node.factors:
            polynomial = self.polynomial(factor)
            if polynomial is None or not polynomial.is_constant or (divides and not polynomial.value):
                rest.append((divides, factor))
            else:
                number *= 1 / polynomial.value if divides else polynomial.value
        return number, rest

    def _sum(self, node: Sum) -> Shape:
        parts = self.terms(node)
        polynomials = [part.polynomial for part in parts if part.polynomial is not None]
        shapes = [self.shape(part.node).times(part.coefficient) for part in parts if part.polynomial is None]
        if polynomials:
            shapes.append(_shape_of_polynomial(reduce(lambda a, b: a + b, polynomials)))
        return Shape(
            convex=all(shape.convex for shape in shapes),
            concave=all(shape.concave for shape in shapes),
            nonnegative=all(shape.nonnegative for shape in shapes),
            nonpositive=all(shape.nonpositive for shape in shapes),
            positive=all(shape.nonnegative for shape in shapes) and any(shape.positive for shape in shapes),
            log_convex=all(shape.log_convex for shape in shapes),
            reason="sum",
        )

    def _product(self, node: Product) -> Shape:
        number, rest = self._numbers_apart(node)
        shapes = [
            _power(self.shape(factor), -1) if divides else self.shape(factor) for divides, factor in rest
        ]
        if not number:  # zero times what may have no value everywhere
            return Shape()
        if len(shapes) == 1:
            return shapes[0].times(number)
        signs = {
            "nonnegative": all(shape.nonnegative for shape in shapes),
            "positive": all(shape.positive for shape in shapes),
        }
        log_convex = all(shape.log_convex for shape in shapes)
        whole = Shape(convex=log_convex, log_convex=log_convex, reason="product of exponentials", **signs)
        return whole.times(number)

    def _call(self, name: str, arguments: tuple[Node, ...]) -> Shape:
        if name in ("Max", "Min"):
            return _extreme(name, [self.shape(argument) for argument in arguments])
        if len(arguments) != 1 or name not in _CALLS:
            return Shape()
        inner = self.shape(arguments[0])
        if name == "sqrt":
            return _root(inner, self.polynomial(arguments[0]))
        found: Shape = _CALLS[name](inner)
        return found


def _shape_of_polynomial(q: Quadratic) -> Shape:
    convex, concave = is_semidefinite(q.hessian), is_semidefinite(negated(q.hessian))
    nonnegative = is_semidefinite(q.homogenised())
    positive = (
        nonnegative
        and q.value > 0
        and any(
            is_semidefinite(Quadratic(q.value * (1 - share), q.slope, q.hessian).homogenised())
            for share in _SHARES
        )
    )
    return Shape(
        convex=convex,
        concave=concave,
        nonnegative=nonnegative,
        nonpositive=is_semidefinite((-q).homogenised()),
        positive=positive,
        log_convex=q.is_constant and q.value > 0,
        reason="affine" if q.is_affine else "polynomial of degree two with a semidefinite matrix",
    )


def _power(base: Shape, exponent: int) -> Shape:
    even = exponent % 2 == 0
    signs = {
        "nonnegative": even or base.nonnegative,
        "positive": base.positive,
    }
    if exponent < 0:
        inverse = Shape(
            convex=base.concave and base.positive,
            nonnegative=base.positive,
            positive=base.positive,
            reason="one over a concave function > 0",
        )
        return _power(inverse, -exponent) if exponent < -1 else inverse
    if exponent == 0:
        return Shape(
            convex=True, concave=True, nonnegative=True, positive=True, log_convex=True, reason="one"
        )
    if exponent == 1:
        return base
    grows = (base.convex and base.nonnegative) or (even and base.concave and base.nonpositive)
    return Shape(
        convex=grows or (even and base.affine) or base.log_convex,
        log_convex=base.log_convex,
        reason="even power of an affine function"
        if even and base.affine
        else "power of a convex function ≥ 0",
        **signs,
    )


def _exp(inner: Shape) -> Shape:
    return Shape(
        convex=inner.convex,
        nonnegative=True,
        positive=True,
        log_convex=inner.convex,
        reason="exponential of " + ("an affine function" if inner.affine else "a convex function"),
    )


def _log(inner: Shape) -> Shape:
    return Shape(
        convex=inner.log_convex and inner.positive,
        concave=inner.concave and inner.positive,
        reason="logarithm of a sum of exponentials"
        if inner.log_convex
        else "logarithm of a concave function > 0",
    )


def _root(inner: Shape, polynomial: Quadratic | None) -> Shape:
    return Shape(
        convex=polynomial is not None and inner.nonnegative,
        concave=inner.concave and inner.nonnegative,
        nonnegative=inner.nonnegative,
        positive=inner.positive,
        reason="norm of an affine function" if polynomial is not None else "root of a concave function ≥ 0",
    )


def _modulus(inner: Shape) -> Shape:
    return Shape(
        convex=inner.affine or (inner.convex and inner.nonnegative) or (inner.concave and inner.nonpositive),
        nonnegative=True,
        positive=inner.positive,
        reason="modulus of an affine function" if inner.affine else "modulus of a function of one sign",
    )


def _sigmoid(_inner: Shape) -> Shape:
    return Shape(nonnegative=True, positive=True)


def _extreme(name: str, shapes: list[Shape]) -> Shape:
    largest = name == "Max"
    return Shape(
        convex=largest and all(shape.convex for shape in shapes),
        concave=not largest and all(shape.concave for shape in shapes),
        nonnegative=(any if largest else all)(shape.nonnegative for shape in shapes),
        nonpositive=(all if largest else any)(shape.nonpositive for shape in shapes),
        positive=(any if largest else all)(shape.positive for shape in shapes),
        reason="maximum of convex functions" if largest else "minimum of concave functions",
    )


_CALLS: dict[str, Any] = {"exp": _exp, "log": _log, "sqrt": _root, "Abs": _modulus, "sigmoid": _sigmoid}
