"""Functions of numbers as text: NumPy arrays, registers of vectors in C, and plain C."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Add, Mul, Piecewise, Pow, Symbol
from sympy.core.relational import Relational
from sympy.logic.boolalg import And, BooleanFalse, BooleanTrue, Not, Or

from symflow.codegen.scalars import number_text
from symflow.errors import InputError

#: Powers up to here are products.
_MOST_FACTORS = 16


@dataclass(frozen=True)
class Dialect:
    """How one language writes functions, numbers and cases.

    Attributes
    ----------
    functions : mapping
        Name of each function of the grammar.
    number : callable
        Writes a constant, given as text.
    choose : callable
        Writes "the second where the first holds, else the third".
    compare : callable
        Writes a comparison ``<`` or ``<=``.
    logic : (str, str, str)
        And, or, not.
    truth : (str, str)
        True and false.
    """

    functions: Mapping[str, str]
    number: Callable[[str], str]
    choose: Callable[[str, str, str], str]
    compare: Callable[[str, str, str], str]
    logic: tuple[str, str, str]
    truth: tuple[str, str]


_SAME = ("exp", "log", "sqrt", "sin", "cos", "tanh", "erf")


def _infix(a: str, sign: str, b: str) -> str:
    return f"({a} {sign} {b})"


NUMPY = Dialect(
    functions={
        **{name: f"np.{name}" for name in _SAME},
        "erf": "scipy.special.erf",
        "Abs": "np.abs",
        "Max": "np.maximum",
        "Min": "np.minimum",
        "pow": "np.power",
    },
    number=lambda text: text,
    choose=lambda where, a, b: f"np.where({where}, {a}, {b})",
    compare=_infix,
    logic=("&", "|", "~"),
    truth=("np.True_", "np.False_"),
)

PLAIN = Dialect(
    functions={**{name: name for name in _SAME}, "Abs": "fabs", "Max": "fmax", "Min": "fmin", "pow": "pow"},
    number=lambda text: text,
    choose=lambda where, a, b: f"({where} ? {a} : {b})",
    compare=_infix,
    logic=("&&", "||", "!"),
    truth=("1", "0"),
)

VECTOR = Dialect(
    functions={
        **{name: f"symflow_{name}" for name in _SAME},
        "Abs": "symflow_abs",
        "Max": "symflow_max",
        "Min": "symflow_min",
        "pow": "symflow_pow",
        "sigmoid": "symflow_sigmoid",
    },
    number=lambda text: f"symflow_splat({text})",
    choose=lambda where, a, b: f"symflow_select({where}, {a}, {b})",
    compare=lambda a, sign, b: f"symflow_less({a}, {b})" if sign == "<" else f"(~symflow_less({b}, {a}))",
    logic=("&", "|", "~"),
    truth=(
        "symflow_less(symflow_splat(0.0), symflow_splat(1.0))",
        "symflow_less(symflow_splat(1.0), symflow_splat(0.0))",
    ),
)


def text_of(expression: Any, names: Mapping[Symbol, str], dialect: Dialect) -> str:
    """Return the text of a function of numbers.

    Parameters
    ----------
    expression : SymPy expression
        Built from the functions of the grammar, powers, cases and comparisons.
    names : mapping
        Text of every symbol.
    dialect : Dialect
        The language.

    Raises
    ------
    InputError
        If a node has no text.

    Examples
    --------
    >>> from sympy import Max
    >>> s = Symbol("s")
    >>> text_of(Max(0, s) ** 2 / 3, {s: "s"}, NUMPY)
    '(1.0/3.0)*np.maximum(0.0, s)**2'
    """
    return _Text(names, dialect)(expression)


class _Text:
    def __init__(self, names: Mapping[Symbol, str], dialect: Dialect) -> None:
        self.names, self.dialect = names, dialect

    def __call__(self, node: Any) -> str:
        if getattr(node, "is_number", False):
            return self.dialect.number(number_text(node))
        return _text(node, self)

    def call(self, name: str, *arguments: str) -> str:
        return f"{self.dialect.functions[name]}({', '.join(arguments)})"


@functools.singledispatch
def _text(node: Any, text: _Text) -> str:
    raise InputError(
        f"no code can be generated for {type(node).__name__} in the score: {node}; use sums, products, "
        "powers, exp log sqrt sin cos tanh erf Max Min Abs Heaviside sigmoid and Piecewise"
    )


def _rule(*kinds: type) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for kind in kinds:
            _text.register(kind, function)
        return function

    return register


@_rule(Symbol)
def _symbol(node: Any, text: _Text) -> str:
    if node not in text.names:
        raise InputError(f"{node} in the score is neither a number of tokens nor a parameter")
    return text.names[node]


@_rule(Add)
def _sum(node: Any, text: _Text) -> str:
    return "(" + " + ".join(text(term) for term in node.as_ordered_terms()).replace("+ -", "- ") + ")"


@_rule(Mul)
def _product(node: Any, text: _Text) -> str:
    number, rest = node.as_coeff_Mul()
    above = [] if number in (1, -1) else [text(number)]
    below: list[str] = []
    for factor in rest.as_ordered_factors():
        inverse = isinstance(factor, Pow) and factor.exp.is_number and factor.exp.is_negative
        inverse = inverse and _sigmoid(factor, text) is None
        (below if inverse else above).append(text(1 / factor if inverse else factor))
    shown = "*".join(above) or text(sympy.S.One)
    if below:
        shown += f"/{_bound('*'.join(below))}"
    return f"(-{shown})" if number == -1 else shown


@_rule(Pow)
def _power(node: Any, text: _Text) -> str:
    base, exponent = node.args
    sigmoid = _sigmoid(node, text)
    if sigmoid is not None:
        return sigmoid
    if exponent.is_number and exponent.is_negative:
        return f"({text(sympy.S.One)}/{_bound(text(1 / node))})"
    twice = 2 * exponent
    if twice.is_Integer and twice <= 2 * _MOST_FACTORS:
        return _repeated(text(base), int(twice), text)
    return text.call("pow", text(base), text(exponent))


def _sigmoid(node: Any, text: _Text) -> str | None:
    """Return the text of 1/(1 + exp(-z)) where the language has a function of its own for it."""
    if "sigmoid" not in text.dialect.functions or node.exp != -1 or not isinstance(node.base, Add):
        return None
    rest = node.base - 1
    return text.call("sigmoid", text(-rest.args[0])) if isinstance(rest, sympy.exp) else None


def _repeated(base: str, halves: int, text: _Text) -> str:
    whole, half = divmod(halves, 2)
    root = [text.call("sqrt", base)] * half
    if text.dialect is NUMPY:
        return "*".join([f"{_bound(base)}**{whole}" if whole > 1 else base] * bool(whole) + root)
    return "(" + "*".join([base] * whole + root) + ")"


def _bound(text: str) -> str:
    return text if text.isidentifier() or text.endswith(")") else f"({text})"


@_rule(sympy.exp)
def _exponential(node: Any, text: _Text) -> str:
    return text.call("exp", text(node.args[0]))


@_rule(sympy.log, sympy.sin, sympy.cos, sympy.tanh, sympy.erf, sympy.Abs)
def _function(node: Any, text: _Text) -> str:
    return text.call(type(node).__name__, text(node.args[0]))


@_rule(sympy.Max, sympy.Min)
def _extremum(node: Any, text: _Text) -> str:
    name = type(node).__name__
    parts = [text(arg) for arg in sorted(node.args, key=sympy.default_sort_key)]
    return functools.reduce(lambda a, b: text.call(name, a, b), parts)


@_rule(sympy.Heaviside)
def _step(node: Any, text: _Text) -> str:
    z, at_zero = node.args
    zero, one = text(sympy.S.Zero), text(sympy.S.One)
    inner = text(z)
    choose, less = text.dialect.choose, text.dialect.compare
    return choose(less(inner, "<", zero), zero, choose(less(zero, "<", inner), one, text(at_zero)))


@_rule(Piecewise)
def _cases(node: Any, text: _Text) -> str:
    *cases, last = node.args
    if last.cond not in (True, sympy.true):
        raise InputError(
            f"{node} in the score has no value where none of its conditions holds; add (…, True)"
        )
    shown = text(last.expr)
    for case in reversed(cases):
        shown = text.dialect.choose(_text(case.cond, text), text(case.expr), shown)
    return shown


@_rule(Relational)
def _comparison(node: Any, text: _Text) -> str:
    a, b = text(node.lhs), text(node.rhs)
    compare, (both, _, negation) = text.dialect.compare, text.dialect.logic
    if node.rel_op in ("<", "<="):
        return compare(a, node.rel_op, b)
    if node.rel_op in (">", ">="):
        return compare(b, node.rel_op.replace(">", "<"), a)
    equal = f"({compare(a, '<=', b)} {both} {compare(b, '<=', a)})"
    return equal if node.rel_op == "==" else f"({negation}{equal})"


@_rule(And, Or)
def _connected(node: Any, text: _Text) -> str:
    sign = text.dialect.logic[0 if isinstance(node, And) else 1]
    parts = sorted(node.args, key=sympy.default_sort_key)
    return "(" + f" {sign} ".join(_text(arg, text) for arg in parts) + ")"


@_rule(Not)
def _negated(node: Any, text: _Text) -> str:
    return f"({text.dialect.logic[2]}{_text(node.args[0], text)})"


@_rule(BooleanTrue, BooleanFalse)
def _truth(node: Any, text: _Text) -> str:
    return text.dialect.truth[0 if node else 1]
