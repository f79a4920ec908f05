"""Linear combinations of expressions that vanish for all values of their parameters.

Every function in an expression counts as one more variable, told apart by how it is written. So what vanishes
here vanishes wherever it is defined, and the converse is not claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from sympy import QQ
from sympy.polys.fields import FracField

from symflow.algebra.exact.rational import fractions, kernel, rational_matrix
from symflow.algebra.text.syntax import Call, Name, Node, Number, Power, Product, Sum
from symflow.certify.terms import Rejected

MAX_VARIABLES = 12  #: names and different functions
MAX_EXPONENT = 12  #: of a power
_Key = tuple[Any, ...]


def vanishes(nodes: Sequence[Node], weights: Sequence[Fraction]) -> bool:
    """Whether Σ weight · expression is zero as a rational function of names and functions.

    Raises
    ------
    Rejected
        If the expressions are too large to decide it, or divide by zero.
    """
    values = _values(nodes)
    terms = [
        QQ(weight.numerator, weight.denominator) * value
        for value, weight in zip(values, weights, strict=True)
        if weight
    ]
    return not any(terms) or bool(sum(terms[1:], terms[0]) == 0)


def constant_kernel(rows: Sequence[Sequence[Node]]) -> list[tuple[Fraction, ...]]:
    """Return a basis of the rational vectors v with Σ_j v_j · expression_ij = 0 in every row i.

    Over a common denominator the expressions of a row are polynomials, and the coefficient of every monomial
    has to vanish.

    Raises
    ------
    Rejected
        If the expressions are too large, or divide by zero.
    """
    equations: list[list[Any]] = []
    for row in rows:
        values = _values(row)
        common = reduce(lambda a, b: a.lcm(b), [value.denom for value in values])
        tops = [value.numer * common.exquo(value.denom) for value in values]
        monomials = sorted({monomial for top in tops for monomial in top})
        equations += [[top.get(monomial, 0) for top in tops] for monomial in monomials]
    if not equations:
        return [tuple(Fraction(int(i == j)) for j in range(len(rows[0]))) for i in range(len(rows[0]))]
    exact = [[Fraction(int(c.numerator), int(c.denominator)) for c in row] for row in equations]
    return [tuple(vector) for vector in fractions(kernel(rational_matrix(exact)).transpose())]


def _values(nodes: Sequence[Node]) -> list[Any]:
    """Return expressions as rational functions of the names and functions in them."""
    keys = sorted({key for node in nodes for key in _variables(node)}, key=repr)
    if len(keys) > MAX_VARIABLES:
        raise Rejected(f"more than {MAX_VARIABLES} names and functions are too many")
    field = FracField([f"v{k}" for k in range(max(1, len(keys)))], QQ)
    values = dict(zip(keys, field.gens, strict=False))
    return [_value(node, values, field) for node in nodes]


def _key(node: Node) -> _Key:
    """Return what two trees share exactly if they are written alike."""
    match node:
        case Number(value=value):
            return ("number", value)
        case Name(name=name):
            return ("name", name)
        case Sum(terms=terms):
            return ("sum", *((sign, _key(term)) for sign, term in terms))
        case Product(factors=factors):
            return ("product", *((divides, _key(factor)) for divides, factor in factors))
        case Power(base=base, exponent=exponent):
            return ("power", _key(base), exponent)
        case Call(function=function, arguments=arguments):
            return ("call", function, *(_key(argument) for argument in arguments))
    raise Rejected(f"{type(node).__name__} is no number")


def _variables(node: Node) -> set[_Key]:
    match node:
        case Name() | Call():
            return {_key(node)}
        case Sum(terms=terms):
            parts = [term for _, term in terms]
        case Product(factors=factors):
            parts = [factor for _, factor in factors]
        case Power(base=base):
            parts = [base]
        case _:
            parts = []
    return {key for part in parts for key in _variables(part)}


def _value(node: Node, values: Mapping[_Key, Any], field: Any) -> Any:
    match node:
        case Number(value=value):
            return field(QQ(value.numerator, value.denominator))
        case Sum(terms=terms):
            return sum((sign * _value(term, values, field) for sign, term in terms), field.zero)
        case Product(factors=factors):
            return reduce(lambda a, b: a * b, [_factor(*part, values, field) for part in factors])
        case Power(base=base, exponent=exponent) if abs(exponent) <= MAX_EXPONENT:
            value = _value(base, values, field)
            return _inverse(value) ** -exponent if exponent < 0 else value**exponent
        case Power():
            raise Rejected(f"a power beyond {MAX_EXPONENT} is too large")
    return values[_key(node)]


def _factor(divides: bool, node: Node, values: Mapping[_Key, Any], field: Any) -> Any:
    value = _value(node, values, field)
    return _inverse(value) if divides else value


def _inverse(value: Any) -> Any:
    if value == 0:
        raise Rejected("a division by zero")
    return 1 / value
