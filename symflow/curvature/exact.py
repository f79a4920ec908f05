"""Exact numbers as they enter and leave second derivatives: read, decided, sorted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Rational as RationalNumber
from typing import Any

from symflow.codegen.arrays import listed
from symflow.errors import InputError

__all__ = ["elements", "is_exact", "nested", "plain", "relative_spectrum", "together"]

Rows = Sequence[Sequence[Any]]


def is_exact(entry: Any) -> bool:
    """Whether a number is exact: an integer, a fraction, an exact real SymPy number, a ring element."""
    if isinstance(entry, bool):
        return False
    if isinstance(entry, RationalNumber) or hasattr(entry, "to_sympy"):
        return True
    atoms = getattr(entry, "atoms", None)
    if atoms is None:
        return False
    from sympy import Expr, Float

    return isinstance(entry, Expr) and not entry.free_symbols and not atoms(Float)


def nested(value: Any, name: str) -> tuple[list[Any], tuple[int, ...]]:
    """Return the entries of an array-like of any depth in a row, and its shape.

    Raises
    ------
    InputError
        If it is ragged or has no order.
    """
    value = listed(value, name)
    if hasattr(value, "tolist"):  # NumPy's and SymPy's arrays keep exact entries
        value = value.tolist()
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        return [value], ()
    parts = [nested(part, name) for part in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise InputError(f"{name} is ragged: its rows differ in length; give a rectangular array")
    entries = [entry for part, _ in parts for entry in part]
    return entries, (len(parts), *(shapes.pop() if shapes else ()))


def plain(entries: Iterable[Any]) -> list[Any]:
    """Return rational entries as fractions, others as they are."""
    return [_plain(entry) for entry in entries]


def _plain(entry: Any) -> Any:
    if isinstance(entry, RationalNumber):
        return Fraction(int(entry.numerator), int(entry.denominator))
    if getattr(entry, "is_Rational", False) is True:
        return Fraction(int(entry.p), int(entry.q))
    return entry


def elements(entries: Iterable[Any]) -> list[Any]:
    """Return exact entries as fractions or elements of one number field."""
    found = plain(entries)
    if not any(hasattr(entry, "free_symbols") for entry in found):
        return found
    from symflow.algebra.exact.fields import from_sympy

    return list(from_sympy([entry.to_sympy() if hasattr(entry, "to_sympy") else entry for entry in found]))


def together(rows: Rows, vector: Sequence[Any]) -> tuple[Rows, Sequence[Any]]:
    """Return a matrix and a vector with all numbers in one field, so that they can be multiplied."""
    from symflow.algebra.exact.fields import FieldElement, common_field, from_sympy

    mine = common_field([scalar for row in rows for entry in row for scalar in _scalars(entry)])
    its = common_field([c for c in vector if isinstance(c, FieldElement)])
    if mine is None or its is None or mine == its:
        return rows, vector
    generators = [field.generator.to_sympy() for field in (mine, its)]
    images = dict(zip((mine, its), from_sympy(generators), strict=True))
    return [[_moved(entry, images) for entry in row] for row in rows], [_moved(c, images) for c in vector]


def _scalars(entry: Any) -> list[Any]:
    """Return the coefficients and exponents of an exact number."""
    if hasattr(entry, "numerator") and hasattr(entry.numerator, "terms"):
        return [*_scalars(entry.numerator), *_scalars(entry.denominator)]
    if hasattr(entry, "terms"):
        return [scalar for term in entry.terms.items() for scalar in term]
    return [entry]


def _moved(entry: Any, images: Mapping[Any, Any]) -> Any:
    """Return an exact number with the generator of its field replaced by its image in a larger one."""
    from symflow.algebra.exact.exponentials import ExpFraction, ExpSum
    from symflow.algebra.exact.fields import FieldElement

    if isinstance(entry, FieldElement):
        powers = enumerate(entry.coefficients)
        return sum((images[entry.field] ** k * c for k, c in powers), images[entry.field] * 0)
    if isinstance(entry, ExpSum):
        return ExpSum({_moved(a, images): _moved(c, images) for a, c in entry.terms.items()})
    if isinstance(entry, ExpFraction):
        return ExpFraction(_moved(entry.numerator, images), _moved(entry.denominator, images))
    return entry


def relative_spectrum(rows: Rows, gram: Rows | None) -> list[Any]:
    """Return the λ with det(H − λG) = 0, ascending, with multiplicity; G = I where it is not given.

    Raises
    ------
    Undecided
        If a polynomial becomes too large.
    """
    from symflow.algebra.exact.spectrum import spectrum

    if gram is None:
        return spectrum(rows)
    factor = gram[0][0]
    if all(entry == (factor if i == j else 0) for i, row in enumerate(gram) for j, entry in enumerate(row)):
        return spectrum([[_over(entry, factor) for entry in row] for row in rows])
    return _pencil(rows, gram)


def _over(entry: Any, factor: Any) -> Any:
    from symflow.algebra.exact.exponentials import ExpSum

    zero = ExpSum({})
    return entry / factor if not isinstance(factor, ExpSum) else (zero + entry) / (zero + factor)


def _pencil(rows: Rows, gram: Rows) -> list[Any]:
    """Return the roots of det(x − G⁻¹H), all of which are real as G is positive definite."""
    from functools import cmp_to_key

    from sympy import Inverse, MatrixSymbol

    from symflow.algebra.exact.evaluation import evaluate_exact
    from symflow.algebra.exact.polynomials import by_multiplicity, characteristic_polynomial
    from symflow.algebra.exact.root import Root

    G, H = (MatrixSymbol(name, len(rows), len(rows)) for name in ("G", "H"))
    relative = evaluate_exact(Inverse(G) * H, {G: [list(r) for r in gram], H: [list(r) for r in rows]})
    found = []
    for factor, multiplicity in by_multiplicity(characteristic_polynomial(relative)):
        for index in range(len(factor) - 1):
            root = -factor[0] / factor[1] if len(factor) == 2 else Root(tuple(factor), index)
            found += [root] * multiplicity
    return sorted(found, key=cmp_to_key(_order))


def _order(a: Any, b: Any) -> int:
    return -1 if a < b else int(a > b)
