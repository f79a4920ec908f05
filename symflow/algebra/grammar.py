r"""The small grammar: text ↔ SymPy expressions, without ``eval`` or ``sympify``.

.. code-block:: text

    dot(Q*x, K*y)/sqrt(d) + beta*dot(c, y)     -norm2(Q*x - K*y)     y.T*A*x     V*y + bv

Numbers are exact (``0.1`` is 1/10, ``1/2`` is one half), ``.T`` or ``ᵀ`` transposes, ``dot(u, v)`` is
``Trace(u.T*v)``, ``norm2(u)`` is ``Trace(u.T*u)``, ``sqrtm(P)`` is the principal square root, and
``sum(V*S*A, H, A, V)`` is the sum over h = 1, …, H of the expression in the h-th matrices of the arrays A
and V, which follow the size H; further functions are ``inv tr eye zeros exp log sqrt sin cos tanh erf Max
Min Abs Heaviside sigmoid``. A 1×1 product such as ``y.T*A*x`` is a scalar.

``Piecewise(a, u < v, b, u == v, c)`` is a where u < v, else b where u = v, else c: values and conditions in
turn, the first condition that holds decides, and the last value has none. Conditions are comparisons
``< <= > >= == !=`` of scalars and ``And(…)``, ``Or(…)``, ``Not(…)`` of conditions.

``Heaviside(0)`` is one half, and so is the slope of ``Max(u, 0)`` at u = 0; the slope of ``Abs(u)`` there
is zero. A slope at which a value jumps is no number: ``DiracDelta`` is not in the grammar.
Only declared names are known, and any name can be declared: ``E``, ``I``, ``S``, ``beta``, ``lambda`` are
plain symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import MatrixSymbol, Rational, Symbol

from symflow.algebra.families import FamilySum
from symflow.algebra.symbols import dimension, matrix
from symflow.algebra.text.shapes import Size
from symflow.algebra.text.signature import TOKENS, Shape, signature
from symflow.algebra.text.syntax import (
    Call,
    Comparison,
    Name,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Transposed,
    fail,
    is_condition,
    read,
)
from symflow.algebra.writer import to_text

__all__ = ["Operations", "Parsed", "parse", "parse_score", "parse_vector", "parse_with_operations", "to_text"]

_SCALAR_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": sympy.exp,
    "log": sympy.log,
    "sqrt": sympy.sqrt,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tanh": sympy.tanh,
    "erf": sympy.erf,
    "Max": sympy.Max,
    "Min": sympy.Min,
    "Abs": sympy.Abs,
    "Heaviside": sympy.Heaviside,
    "sigmoid": lambda z: 1 / (1 + sympy.exp(-z)),
}
_RELATIONS: dict[str, Callable[..., Any]] = {
    "<": sympy.Lt,
    "<=": sympy.Le,
    ">": sympy.Gt,
    ">=": sympy.Ge,
    "==": sympy.Eq,
    "!=": sympy.Ne,
}
_CONNECTED: dict[str, Callable[..., Any]] = {"And": sympy.And, "Or": sympy.Or, "Not": sympy.Not}
_MAX_BITS = 4096  #: of a number that a power may produce
_MAX_CONSTANT_BITS = 64  #: of a number given to a function


@dataclass(frozen=True)
class Parsed:
    """What a text in ``x``, ``y`` and named parameters says.

    Attributes
    ----------
    expression : Expr or MatrixExpr
        The scalar score, or the vector.
    x, y : MatrixSymbol
        Query and key token of shape (d, 1).
    parameters : tuple of MatrixSymbol or Symbol
        In order of first appearance in the text.
    dimensions : tuple of Symbol
        Sizes that occur, ``d`` first.
    shapes : tuple of (str, tuple)
        Shape of each parameter in the form that ``parse_score(..., parameters=dict(shapes))`` takes.
    """

    expression: Any
    x: MatrixSymbol
    y: MatrixSymbol
    parameters: tuple[MatrixSymbol | Symbol, ...]
    dimensions: tuple[Symbol, ...]
    shapes: tuple[tuple[str, tuple[Size, ...]], ...]


def parse(text: str, symbols: Mapping[str, Any]) -> Any:
    """Return the SymPy expression that ``text`` says in the declared ``symbols``.

    Parameters
    ----------
    text : str
        Text of the small grammar.
    symbols : mapping of str to Expr
        Every name that may occur. Sizes of the matrix symbols are known to ``eye`` and ``zeros``.

    Raises
    ------
    GrammarError
        For unknown names, misfitting shapes or anything that is not in the grammar; names the place.

    Examples
    --------
    >>> d = dimension("d")
    >>> parse("dot(y, A*x)/2", {"A": matrix("A", d, d), "x": matrix("x", d, 1), "y": matrix("y", d, 1)})
    Trace(y.T*A*x)/2
    >>> sorted(map(str, parse("beta*S + E*Q + lambda*I", {n: Symbol(n) for n in
    ...     ("beta", "S", "E", "Q", "lambda", "I")}).free_symbols))
    ['E', 'I', 'Q', 'S', 'beta', 'lambda']
    """
    return _Builder(text, symbols).result(read(text))


Operations = tuple[tuple[str, tuple[Any, ...]], ...]


def parse_with_operations(text: str, symbols: Mapping[str, Any]) -> tuple[Any, Operations]:
    """Return the expression of ``text`` and every inverse, division and scalar function that it writes.

    Reading cancels ``a/a`` and ``inv(A)*A``; a proof about the text has to look at what was there before.

    Parameters
    ----------
    text, symbols
        As for :func:`parse`.

    Returns
    -------
    expression : Expr or MatrixExpr
        As from :func:`parse`.
    operations : tuple of (str, tuple of Expr)
        Name and arguments: ``"inv"`` for matrices, ``"/"`` for scalars, else the name of the function.

    Raises
    ------
    GrammarError
        As :func:`parse`.

    Examples
    --------
    >>> a, A = Symbol("a"), matrix("A", dimension("d"), dimension("d"))
    >>> parse_with_operations("a/a*inv(A)*A", {"a": a, "A": A})
    (I, (('/', (a,)), ('inv', (A,))))
    """
    builder = _Builder(text, symbols)
    expression = builder.result(read(text))
    return expression, tuple(builder.operations)


def parse_score(
    text: str, parameters: Mapping[str, Sequence[Size | Symbol]] | None = None, kind: str = "scalar"
) -> Parsed:
    """Return the score ``text`` in the tokens ``x, y`` ∈ ℝᵈ, inferring the shape of every parameter.

    Parameters
    ----------
    text : str
        A scalar of the small grammar in ``x``, ``y`` and parameters.
    parameters : mapping of str to sequence, optional
        Shapes that are declared, ``{"Q": ("k", "d"), "bq": ("k",), "s": ()}``; the others follow from the
        text. Where it leaves a choice, a lower-case name in front of another factor is a scalar and an
        upper-case name a matrix.
    kind : {"scalar", "vector"}
        What the whole text must be; a vector lies in ℝᵈ.

    Raises
    ------
    GrammarError
        If the text cannot be read, is not of that kind, or its shapes contradict each other.

    Examples
    --------
    >>> score = parse_score("beta*dot(Q*x, K*y)")
    >>> score.expression, score.shapes
    (beta*Trace(x.T*Q.T*K*y), (('beta', ()), ('Q', ('k', 'd')), ('K', ('k', 'd'))))
    """
    found = signature(text, parameters, kind)
    sizes = {name: dimension(name) for name in found.sizes}
    shapes = {**TOKENS, **found.shapes}
    names = [name for name, _ in found.parameters]
    symbols = sizes | {name: _symbol(name, shapes[name], sizes) for name in (*TOKENS, *names)}
    return Parsed(
        _Builder(text, symbols).result(found.node),
        symbols["x"],
        symbols["y"],
        tuple(symbols[name] for name in names),
        tuple(sizes.values()),
        found.parameters,
    )


def parse_vector(text: str, parameters: Mapping[str, Sequence[Size | Symbol]] | None = None) -> Parsed:
    """Return the vector of ℝᵈ that ``text`` says, as :func:`parse_score` does for scalars.

    Examples
    --------
    >>> parse_vector("V*y + bv").shapes
    (('V', ('d', 'd')), ('bv', ('d',)))
    """
    return parse_score(text, parameters, kind="vector")


def _symbol(name: str, shape: Shape, sizes: Mapping[str, Symbol]) -> Any:
    if shape == (1, 1):
        return Symbol(name, real=True)
    rows, cols = (size if isinstance(size, int) else sizes[size] for size in shape)
    return matrix(name, rows, cols)


class _Builder:
    """Turns a syntax tree into SymPy, checking shapes."""

    def __init__(self, text: str, symbols: Mapping[str, Any]) -> None:
        self._text = text
        self._symbols = symbols
        declared = [s.shape for s in symbols.values() if _is_matrix(s)]
        self._sizes = {str(n): n for shape in declared for n in shape if getattr(n, "is_Symbol", False)}
        self.operations: list[tuple[str, tuple[Any, ...]]] = []

    def result(self, node: Node) -> Any:
        """Return the expression of the whole text."""
        value = self.build(node)
        if value.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
            raise fail("the value is not a finite number", self._text, node.position)
        return value

    def build(self, node: Node) -> Any:
        """Return the expression of ``node``."""
        if is_condition(node):
            raise fail("a condition stands in Piecewise only", self._text, node.position)
        match node:
            case Number(value=value):
                return Rational(value.numerator, value.denominator)
            case Name(name=name):
                return self._name(node, name)
            case Sum(terms=terms):
                return self._sum([(sign, self.build(term), term) for sign, term in terms])
            case Product(factors=factors):
                return self._product(factors)
            case Power(base=base, exponent=exponent):
                return self._power(self._scalar(base), exponent, node)
            case Transposed(operand=operand):
                value = self.build(operand)
                return value.T if _is_matrix(value) else value
            case Call():
                return self._call(node)
        raise fail("cannot read this", self._text, node.position)

    def _name(self, node: Node, name: str) -> Any:
        if name in self._symbols:
            return self._symbols[name]
        if name in self._sizes:
            return self._sizes[name]
        known = ", ".join(sorted(self._symbols)) or "none"
        raise fail(f"unknown name {name!r}; declared are {known}", self._text, node.position)

    def _scalar(self, node: Node) -> Any:
        value = self.build(node)
        if not _is_matrix(value):
            return value
        if tuple(value.shape) == (1, 1):
            return _trace(value)
        raise fail(f"a scalar is needed here, not {_show(value)}", self._text, node.position)

    def _sum(self, terms: list[tuple[int, Any, Node]]) -> Any:
        shapes = {_shape(value) for _, value, _ in terms}
        if shapes == {(1, 1)} and not all(_is_matrix(value) for _, value, _ in terms):
            return sympy.Add(*(sign * _as_scalar(value) for sign, value, _ in terms))
        first = terms[0][1]
        for _, value, node in terms[1:]:
            if _shape(value) != _shape(first):
                raise fail(f"cannot add {_show(value)} to {_show(first)}", self._text, node.position)
        if not _is_matrix(first):
            return sympy.Add(*(sign * value for sign, value, _ in terms))
        return sympy.MatAdd(*(sign * value for sign, value, _ in terms)).doit(deep=False)

    def _product(self, factors: tuple[tuple[bool, Node], ...]) -> Any:
        scalars: list[Any] = []
        value: Any = None
        for is_divisor, node in factors:
            if is_divisor:
                scalars.append(self._power(self._scalar(node), -1, node))
                continue
            factor = self.build(node)
            if not _is_matrix(factor):
                scalars.append(factor)
            elif value is None:
                value = factor
            else:
                value = self._multiply(value, factor, node)
                if not _is_matrix(value):
                    scalars.append(value)
                    value = None
        scale = sympy.Mul(*scalars)
        return scale if value is None else value if scale == 1 else scale * value

    def _multiply(self, left: Any, right: Any, node: Node) -> Any:
        if left.shape[1] == right.shape[0]:
            value = left * right
            is_inner = _shape(value) == (1, 1) and any(
                tuple(symbol.shape) != (1, 1) for symbol in value.atoms(MatrixSymbol)
            )
            return _trace(value) if is_inner else value
        if (1, 1) in (_shape(left), _shape(right)):
            return _as_scalar(left) * right if _shape(left) == (1, 1) else left * _as_scalar(right)
        raise fail(f"cannot multiply {_show(left)} by {_show(right)}", self._text, node.position)

    def _power(self, base: Any, exponent: int, node: Node) -> Any:
        if exponent < 0 and base.is_zero:
            raise fail("division by zero", self._text, node.position)
        if exponent < 0:
            self.operations.append(("/", (base,)))
        if base.is_Rational and abs(exponent) * max(base.p.bit_length(), base.q.bit_length()) > _MAX_BITS:
            raise fail("the power is too large a number", self._text, node.position)
        return base**exponent

    def _call(self, node: Call) -> Any:
        match node.function:
            case "eye":
                return sympy.Identity(self._size(node.arguments[0]))
            case "zeros":
                return sympy.ZeroMatrix(*(self._size(argument) for argument in node.arguments))
            case "dot" | "norm2":
                return self._dot(node)
            case "inv" | "sqrtm" | "tr":
                return self._square(node)
            case "sum":
                return self._family(node)
            case "Piecewise":
                return self._cases(node)
        arguments = [self._scalar(argument) for argument in node.arguments]
        for argument, where in zip(arguments, node.arguments, strict=True):
            self._refuse_large_constant(argument, where)
        self.operations.append((node.function, tuple(arguments)))
        return _SCALAR_FUNCTIONS[node.function](*arguments)

    def _cases(self, node: Call) -> Any:
        *paired, last = node.arguments
        pairs = [
            (self._scalar(value), self._condition(condition))
            for value, condition in zip(paired[::2], paired[1::2], strict=True)
        ]
        otherwise = self._scalar(last)
        self.operations.append((node.function, (*(value for value, _ in pairs), otherwise)))
        return sympy.Piecewise(*pairs, (otherwise, True))

    def _condition(self, node: Node) -> Any:
        match node:
            case Comparison(operator=operator, left=left, right=right):
                sides = [self._scalar(side) for side in (left, right)]
                for side, where in zip(sides, (left, right), strict=True):
                    self._refuse_large_constant(side, where)
                return _RELATIONS[operator](*sides)
            case Call(function=function, arguments=arguments) if function in _CONNECTED:
                return _CONNECTED[function](*(self._condition(argument) for argument in arguments))
        raise fail("a condition is needed here", self._text, node.position)

    def _size(self, node: Node) -> Any:
        if isinstance(node, Number) and node.value.denominator == 1 and node.value > 0:
            return sympy.Integer(int(node.value))
        size = self._name(node, node.name) if isinstance(node, Name) else None
        if size is None or _is_matrix(size) or not (size.is_integer and size.is_positive):
            raise fail("a size is a declared dimension or a positive integer", self._text, node.position)
        return size

    def _dot(self, node: Call) -> Any:
        left, right = (self.build(node.arguments[index]) for index in (0, -1))
        if _shape(left) != _shape(right):
            place = node.arguments[-1].position
            raise fail(f"dot of shapes {_show(left)} and {_show(right)}", self._text, place)
        if not (_is_matrix(left) and _is_matrix(right)):
            return _as_scalar(left) * _as_scalar(right)
        return _trace(left.T * right)

    def _family(self, node: Call) -> Any:
        body, size, *names = node.arguments
        members = [self.build(name) for name in names if isinstance(name, Name)]
        if len(members) < len(names) or not all(isinstance(m, MatrixSymbol) for m in members):
            raise fail("after its size a sum lists names of matrices", self._text, names[0].position)
        value = self.build(body)
        if not any(m in value.free_symbols for m in members):
            raise fail("the sum contains none of its members", self._text, node.position)
        count = self._size(size)
        if _is_matrix(value):
            return FamilySum(value, members, count)
        is_word = isinstance(value, sympy.Trace) and _shape(value.arg) == (1, 1)
        return sympy.Trace(FamilySum(value.arg if is_word else value * sympy.Identity(1), members, count))

    def _square(self, node: Call) -> Any:
        value = self.build(node.arguments[0])
        if not _is_matrix(value) and node.function == "sqrtm":
            raise fail("sqrtm takes a matrix; write sqrt", self._text, node.position)
        if not _is_matrix(value):
            return value if node.function == "tr" else self._power(value, -1, node)
        if value.shape[0] != value.shape[1]:
            message = f"{node.function} needs a square matrix, not {_show(value)}"
            raise fail(message, self._text, node.arguments[0].position)
        if node.function == "tr":
            return _trace(value)
        if node.function == "sqrtm":
            self.operations.append(("sqrtm", (value,)))
            return sympy.MatPow(value, sympy.S.Half)
        if value.is_ZeroMatrix:
            raise fail("the zero matrix has no inverse", self._text, node.position)
        self.operations.append(("inv", (value,)))
        return value if isinstance(value, sympy.Identity) else sympy.Inverse(value)

    def _refuse_large_constant(self, argument: Any, node: Node) -> None:
        # SymPy evaluates functions of constants numerically to compare them, so towers are refused first.
        if argument.free_symbols or argument.atoms(MatrixSymbol):
            return
        sizes = [max(abs(n.p), n.q).bit_length() for n in argument.atoms(Rational)]
        if argument.atoms(sympy.Function) or max(sizes, default=0) > _MAX_CONSTANT_BITS:
            raise fail("a function of so large or nested a constant", self._text, node.position)


def _is_matrix(value: Any) -> bool:
    return bool(getattr(value, "is_Matrix", False) or getattr(value, "is_MatrixExpr", False))


def _shape(value: Any) -> tuple[Any, ...]:
    return tuple(value.shape) if _is_matrix(value) else (1, 1)


def _show(value: Any) -> str:
    return f"a matrix of shape {tuple(value.shape)}" if _is_matrix(value) else "a scalar"


def _as_scalar(value: Any) -> Any:
    return _trace(value) if _is_matrix(value) else value


def _trace(value: Any) -> Any:
    """Return the trace with scalar factors in front, so that ``beta*dot(u, v)`` reads one way only."""
    if value.is_ZeroMatrix:
        return sympy.S.Zero
    if isinstance(value, sympy.Identity):
        return value.shape[0]
    if isinstance(value, sympy.MatMul):
        scale, rest = value.as_coeff_matrices()
        return scale * sympy.Trace(sympy.MatMul(*rest)) if rest else scale
    return sympy.Trace(value)
