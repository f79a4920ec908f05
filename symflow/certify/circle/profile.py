r"""The pair interaction of two tokens on the circle.

With W(x, y) = w(⟨x, y⟩) the energy of angles is :math:`E = \frac1{2n^2}\sum_{ij}w(\cos(\theta_i - \theta_j))`
and n² times its gradient is the sum of the *torques* h(s) = sin(s) w'(cos s) of a token at angle s ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symflow.algebra.text.syntax import Call, Name, Node, Number, Power, Product, Sum, read
from symflow.certify.sphere.energy import combination
from symflow.certify.taylor.enclosed import EnclosedSeries, exact
from symflow.certify.taylor.tree import evaluate
from symflow.certify.terms import Rejected

_COSINE = "c"
_ORDER = 2


class Profile:
    """The function w of the cosine, from the text of W(x, y), where tokens occur in inner products only.

    Parameters
    ----------
    pair : str
        W(x, y) in the small grammar.
    parameters : mapping of str to Fraction
        A number for every other name.

    Raises
    ------
    Rejected
        If the text has a token outside of an inner product, or a name without a number.
    """

    def __init__(self, pair: str, parameters: Mapping[str, Fraction]) -> None:
        if _COSINE in parameters:
            raise Rejected(f"no parameter may be called {_COSINE}")
        self._tree = _with_cosine(read(pair), frozenset(parameters))
        self._series = EnclosedSeries(_ORDER)
        self._values = {name: self._series.number(value) for name, value in parameters.items()}

    def slopes(self, cosine: Any) -> tuple[Any, Any]:
        """Return w'(c) and w''(c) for a ball c."""
        from flint import acb, acb_series

        argument = acb_series([acb(cosine), acb(1)], prec=_ORDER + 1)
        found = evaluate(self._tree, {**self._values, _COSINE: argument}, self._series)
        return found[1].real, 2 * found[2].real

    def torque(self, turns: Any) -> tuple[Any, Any]:
        """Return h(s) and h'(s) = cos(s) w' − sin²(s) w'' for a ball s, in turns."""
        sine, cosine = (2 * turns).sin_cos_pi()
        first, second = self.slopes(cosine)
        return sine * first, cosine * first - sine * sine * second

    def ends(self) -> tuple[Any, Any]:
        """Return w'(1) and w'(−1)."""
        return self.slopes(exact(Fraction(1)).real)[0], self.slopes(exact(Fraction(-1)).real)[0]


def _with_cosine(node: Node, names: frozenset[str]) -> Node:
    """Return the tree with one name for the inner product of the two tokens, and one for squared lengths."""
    match node:
        case Call(function="dot" | "norm2", arguments=arguments):
            left, right = combination(arguments[0]), combination(arguments[-1])
            if left is None or right is None:
                raise Rejected("tokens may occur in inner products of tokens only")
            cosine, one = Name(node.position, _COSINE), Number(node.position, Fraction(1))
            products = [(s * t, one if a == b else cosine) for s, a in left for t, b in right]
            return Sum(node.position, tuple(products))
        case Call(function="exp" | "sin" | "cos" | "tanh" | "erf" | "sqrt" | "sigmoid", arguments=arguments):
            return Call(node.position, node.function, tuple(_with_cosine(a, names) for a in arguments))
        case Name(name=name):
            if name not in names:
                raise Rejected(f"{name} has no number, or stands outside of an inner product")
            return node
        case Number():
            return node
        case Sum(terms=terms):
            return Sum(node.position, tuple((sign, _with_cosine(term, names)) for sign, term in terms))
        case Product(factors=factors):
            return Product(node.position, tuple((under, _with_cosine(f, names)) for under, f in factors))
        case Power(base=base, exponent=exponent):
            return Power(node.position, _with_cosine(base, names), exponent)
    raise Rejected(f"{type(node).__name__} cannot be part of an interaction on the circle")
