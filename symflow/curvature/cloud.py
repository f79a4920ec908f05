"""Weighted atoms and matrices as they enter a second derivative: read exactly where they are exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import real_array
from symflow.curvature.exact import is_exact, nested, plain
from symflow.energies.exact import exact_value
from symflow.errors import InputError

Numbers = NDArray[Any]  #: floats, or exact numbers of dtype object
Rows = list[list[Fraction]]
#: How far the sum of weights in floats may be from one, and a matrix in floats from its transpose.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Cloud:
    """Atoms (n, d) and their weights (n,), both exact or both floats."""

    tokens: Numbers
    weights: Numbers

    @property
    def exact(self) -> bool:
        """Whether the numbers are exact."""
        return self.tokens.dtype == object


def read_cloud(at: Any, weights: Any = None) -> Cloud:
    """Return the atoms of a law.

    Parameters
    ----------
    at : array_like, (n, d)
        Integers, fractions, exact SymPy numbers and elements of a number field stay exact.
    weights : array_like, (n,), optional
        Positive, of sum one; equal where left out. Floats beside exact atoms are read as the fractions they
        are.

    Raises
    ------
    InputError
        If a shape is wrong, a weight is not positive, or the sum differs from one.
    """
    entries, shape = nested(at, "at")
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"at has shape {shape}; give tokens of shape (n, d), or a Gaussian")
    exact = all(is_exact(entry) for entry in entries)
    tokens = _objects(_in_a_field(plain(entries)), shape) if exact else real_array(at, "at")
    n = shape[0]
    if weights is None:
        found = [Fraction(1, n)] * n
    else:
        found = exact_value(weights, "weights")
        _refuse_weights(found, n)
    return Cloud(tokens, _objects(found, (n,)) if exact else np.array([float(w) for w in found]))


def _refuse_weights(found: Any, n: int) -> None:
    if not isinstance(found, list) or len(found) != n or any(isinstance(w, list) for w in found):
        raise InputError(f"weights must be {n} numbers, one for each token")
    bad = next((i for i, w in enumerate(found) if not w > 0), None)
    if bad is not None:
        raise InputError(f"weights[{bad}] = {found[bad]} is not positive; leave the token out")
    if abs(sum(found) - 1) > _ROUNDING:
        raise InputError(f"weights add up to {float(sum(found)):.12g}, not to one; divide them by their sum")


def _in_a_field(entries: list[Any]) -> list[Any]:
    """Return exact SymPy numbers as elements of one number field."""
    if not any(hasattr(entry, "free_symbols") for entry in entries):
        return entries
    from symflow.algebra.exact.fields import from_sympy

    return list(from_sympy(entries))


def _objects(entries: list[Any], shape: tuple[int, ...]) -> Numbers:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array.reshape(shape)


def read_square(value: Any, name: str, size: int) -> Rows:
    """Return a d × d matrix as fractions, floats as the fractions that they are.

    Raises
    ------
    InputError
        If it is no matrix of that size.
    """
    read = exact_value(value, name)
    rows: Rows = [[read]] if size == 1 and not isinstance(read, list) else read
    if not isinstance(rows, list) or len(rows) != size or any(not _is_row(row, size) for row in rows):
        raise InputError(
            f"{name} must be a matrix of shape ({size}, {size}), as the tokens have {size} coordinates"
        )
    return rows


def _is_row(row: Any, size: int) -> bool:
    return isinstance(row, list) and len(row) == size and not any(isinstance(e, list) for e in row)
