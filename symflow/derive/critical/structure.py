r"""An energy as functions of few numbers: what a second derivative is assembled from.

A pair of tokens enters through products :math:`x^\top By + p^\top x + q^\top y + c`, distances
:math:`|Lx + l - Ry - r|^2` and numbers of one token; those are functions of quadratic polynomials in it. All
of these have constant second derivatives, so that every second derivative of the energy is a sum of products
of scalar functions with vectors and constant matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Add, DiracDelta, Dummy, Expr, MatrixSymbol, Mul, S, Symbol, Trace, Transpose
from sympy.core.function import Derivative, Subs

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import identical, normal_form
from symflow.derive.particles.pairings import PairedScore, paired_score
from symflow.errors import InputError, NotAffine
from symflow.models.energies.statement import EnergyStatement


@dataclass(frozen=True)
class Product:
    r"""The number :math:`u = x^\top By + p^\top x + q^\top y + c` of a pair."""

    symbol: Symbol
    B: Any
    p: Any
    q: Any
    c: Expr


@dataclass(frozen=True)
class Distance:
    r"""The number :math:`u = |Lx + l - Ry - r|^2` of a pair."""

    symbol: Symbol
    L: Any
    l: Any
    R: Any
    r: Any


@dataclass(frozen=True)
class Quadratic:
    r"""The number :math:`s = \tfrac12x^\top Sx + c^\top x + k` of a token."""

    symbol: Symbol
    S: Any
    c: Any
    k: Expr


@dataclass(frozen=True)
class Jet:
    """A function of numbers with its first and second derivatives.

    Attributes
    ----------
    variables : tuple of Symbol
    value : Expr
    first : tuple of Expr
        By each variable.
    second : tuple of tuple of Expr
        Row m has the derivatives by the variables m and 0, …, m.
    """

    variables: tuple[Symbol, ...]
    value: Expr
    first: tuple[Expr, ...]
    second: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True)
class EnergyStructure:
    r"""The energy of n tokens with equal weights, in the numbers that it is made of.

    .. math:: F = \frac{1}{2n^2}\Big(\sum_{i\neq j} W(x_i, x_j) + \sum_i W(x_i, x_i)\Big)
              + \frac1n\sum_i U(x_i)

    Attributes
    ----------
    statement : EnergyStatement
    space : str
        On the sphere |x|² = 1 has been used in W(x, x): there it is what the term of a token with itself
        would otherwise lose its digits by.
    products, distances : tuple
        What couples two tokens.
    atoms : tuple of Quadratic
        Numbers of a token.
    rows, columns : tuple of Jet
        The numbers of x and of y in W, functions of atoms.
    pair : Jet
        W in products, distances, rows and columns, in this order.
    diagonal, potential : Jet
        W(x, x) and U(x), functions of atoms.
    symmetric : bool
        Whether W(x, y) = W(y, x) as far as the normal form shows.
    """

    statement: EnergyStatement
    space: str
    products: tuple[Product, ...]
    distances: tuple[Distance, ...]
    atoms: tuple[Quadratic, ...]
    rows: tuple[Jet, ...]
    columns: tuple[Jet, ...]
    pair: Jet
    diagonal: Jet
    potential: Jet
    symmetric: bool


def structure(statement: EnergyStatement, space: str | None = None) -> EnergyStructure:
    """Return the numbers that an energy is made of.

    Parameters
    ----------
    statement : EnergyStatement
    space : {"sphere", "euclidean"}, optional
        Where tokens live; the statement's own space by default.

    Raises
    ------
    InputError
        If the energy has more than pairs and tokens, if tokens enter by something else, such as the inverse
        of a matrix that contains them, if a scalar function has no second derivative, or if the energy of a
        token with itself is infinite.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> found = structure(Interaction().statement())
    >>> found.pair.value, found.products[0].B, found.diagonal.value
    (exp(u_1)/beta, beta*I, exp(beta)/beta)
    """
    require_pairs(statement)
    space = statement.space if space is None else space
    taken = [str(symbol.name) for symbol in (*statement.parameters, *statement.dimensions)]
    split = paired_score(statement.pair, statement.x, statement.y, taken)
    reader = _TokenReader(statement, taken)
    products, distances = _pairings(split, statement)
    rows = tuple(reader.jet(expr, statement.x) for _, expr in split.rows)
    columns = tuple(reader.jet(expr, statement.y) for _, expr in split.columns)
    diagonal = reader.jet(_diagonal(statement, space), statement.x)
    potential = reader.jet(statement.potential, statement.x)
    return EnergyStructure(
        statement=statement,
        space=space,
        products=products,
        distances=distances,
        atoms=tuple(reader.atoms),
        rows=tuple(_over(jet, reader.atoms) for jet in rows),
        columns=tuple(_over(jet, reader.atoms) for jet in columns),
        pair=_jet(split.score, _features(split, products, distances)),
        diagonal=_over(diagonal, reader.atoms),
        potential=_over(potential, reader.atoms),
        symmetric=_is_symmetric(statement),
    )


def require_pairs(statement: EnergyStatement) -> None:
    """Refuse an energy that is more than sums over pairs and over tokens.

    Raises
    ------
    InputError
        If it has a rest.
    """
    if statement.rest != 0:
        raise InputError(
            f"the {statement.name} energy is no sum over pairs of tokens: {statement.rest} is left over; "
            "Hessians are there for ½∬W dμdμ + ∫U dμ"
        )


def _features(
    split: PairedScore, products: Sequence[Product], distances: Sequence[Distance]
) -> tuple[Symbol, ...]:
    couplings = (*(u.symbol for u in products), *(u.symbol for u in distances))
    return (*couplings, *(symbol for symbol, _ in (*split.rows, *split.columns)))


def _pairings(
    split: PairedScore, statement: EnergyStatement
) -> tuple[tuple[Product, ...], tuple[Distance, ...]]:
    products, distances = [], []
    for pairing in split.pairings:
        L, l = _affine(pairing.left, statement.x)
        R, r = _affine(pairing.right, statement.y)
        if pairing.difference:
            distances.append(Distance(pairing.symbol, L, l, R, r))
            continue
        B, p, q = (product(Transpose(a).doit(), b) for a, b in ((L, R), (L, r), (R, l)))
        c = S.Zero if l.is_ZeroMatrix or r.is_ZeroMatrix else Trace(l.T * r)
        products.append(Product(pairing.symbol, B, p, q, c))
    return tuple(products), tuple(distances)


def _affine(vector: Any, token: MatrixSymbol) -> tuple[Any, Any]:
    try:
        return affine_parts(vector, token)
    except NotAffine as error:
        raise InputError(
            f"no Hessian can be assembled: tokens are paired through {vector}, which is not affine in "
            f"{token}; use products and distances of affine functions"
        ) from error


class _TokenReader:
    """Collects the quadratic polynomials in one token of which its numbers are functions."""

    def __init__(self, statement: EnergyStatement, taken: Iterable[str]) -> None:
        self.x = statement.x
        self.atoms: list[Quadratic] = []
        self._taken = set(taken)

    def jet(self, expr: Any, token: MatrixSymbol) -> Jet:
        """Return a number of ``token`` as a function of atoms."""
        read = self._read(expr.xreplace({token: self.x}))
        used = tuple(atom.symbol for atom in self.atoms if atom.symbol in read.free_symbols)
        return _jet(read, used)

    def _read(self, expr: Any, expanded: bool = False) -> Any:
        if self.x not in expr.free_symbols and not expr.has(Trace):
            return expr
        if not isinstance(expr, Trace):
            if not isinstance(expr, Expr) or not expr.args:
                raise self._refusal(expr)
            return expr.func(*(self._read(part, expanded) for part in expr.args))
        atom = self._quadratic(expr)
        if atom is not None:
            return atom.symbol
        if expanded:
            raise self._refusal(expr)
        return self._read(normal_form(expr).to_sympy(), expanded=True)

    def _refusal(self, expr: Any) -> InputError:
        return InputError(
            f"no Hessian can be assembled: {expr} is no function of quadratic polynomials in the token; "
            "write it with dot and norm2"
        )

    def _quadratic(self, trace: Any) -> Quadratic | None:
        """Return the atom of a trace, or None where its second derivative is not constant.

        Traces of parameters alone are atoms too, so that they are computed once.
        """
        h, k = (MatrixSymbol(Dummy(name).name + "'", *self.x.shape) for name in ("h", "k"))
        slope = gateaux(trace, {self.x: h})
        curvature = normal_form(gateaux(slope, {self.x: k}) if slope != 0 else S.Zero).to_sympy()
        if self.x in curvature.free_symbols:
            return None
        zero = self.x * S.Zero
        at_zero = slope.xreplace({self.x: zero}).doit() if slope != 0 else S.Zero
        c = zero if at_zero == 0 else normal_form(gradient(at_zero, h)).to_sympy()
        matrix = zero * zero.T if curvature == 0 else affine_parts(gradient(curvature, k), h)[0]
        constant = normal_form(trace.xreplace({self.x: zero}).doit()).to_sympy()
        for known in self.atoms:
            if (known.S, known.c, known.k) == (matrix, c, constant):
                return known
        atom = Quadratic(self._symbol(), matrix, c, constant)
        self.atoms.append(atom)
        return atom

    def _symbol(self) -> Symbol:
        name = f"s_{len(self.atoms) + 1}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return Symbol(name, real=True)


def _diagonal(statement: EnergyStatement, space: str) -> Any:
    """Return W(x, x), on the sphere with |x|² = 1."""
    x = statement.x
    together = statement.pair.xreplace({statement.y: x})
    reduced = together.replace(lambda e: isinstance(e, Trace), lambda e: normal_form(e).to_sympy())
    if space == "sphere":
        reduced = reduced.xreplace({Trace(x.T * x): S.One})
    if reduced.has(S.ComplexInfinity, S.Infinity, S.NegativeInfinity, S.NaN):
        raise InputError(
            f"the energy of a token with itself is {reduced}: the pair energy must be finite at x = y"
        )
    return reduced


def _is_symmetric(statement: EnergyStatement) -> bool:
    swapped = statement.pair.xreplace({statement.x: statement.y, statement.y: statement.x})
    difference = Add(statement.pair, Mul(S.NegativeOne, swapped))
    return difference == 0 or bool(identical(statement.pair, swapped))


def _jet(value: Any, variables: tuple[Symbol, ...]) -> Jet:
    first = tuple(_slope(value, v) for v in variables)
    second = tuple(tuple(_slope(slope, w) for w in variables[: m + 1]) for m, slope in enumerate(first))
    return Jet(variables, value, first, second)


def _over(jet: Jet, atoms: Sequence[Quadratic]) -> Jet:
    """Return the same function with every atom as a variable."""
    return _jet(jet.value, tuple(atom.symbol for atom in atoms))


def _slope(expr: Any, variable: Symbol) -> Any:
    slope = expr.diff(variable)
    if slope.has(Derivative, Subs, DiracDelta):
        raise InputError(f"{expr} has no second derivative that is a function; use a smooth energy")
    return slope
