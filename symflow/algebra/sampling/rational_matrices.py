"""Exact linear algebra on nested lists of fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symflow.errors import InputError

Matrix = list[list[Fraction]]


class SingularPoint(InputError):
    """An inverse does not exist at the chosen point."""


def identity(size: int) -> Matrix:
    """Return the identity matrix."""
    return [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]


def transpose(a: Matrix) -> Matrix:
    """Return the transpose."""
    return [list(column) for column in zip(*a, strict=True)]


def add(a: Any, b: Any) -> Any:
    """Return the sum of two matrices or of two numbers."""
    if isinstance(a, list) != isinstance(b, list):
        raise InputError("a matrix and a scalar cannot be added")
    if not isinstance(a, list):
        return a + b
    if len(a) != len(b) or len(a[0]) != len(b[0]):
        shapes = f"{len(a)}×{len(a[0])} and {len(b)}×{len(b[0])}"
        raise InputError(f"matrices of shapes {shapes} cannot be added")
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def multiply(a: Any, b: Any) -> Any:
    """Return the product of matrices and numbers."""
    if not isinstance(a, list) and not isinstance(b, list):
        return a * b
    if not isinstance(a, list) or not isinstance(b, list):
        scalar, matrix = (b, a) if isinstance(a, list) else (a, b)
        return [[scalar * x for x in row] for row in matrix]
    if len(a[0]) != len(b):
        shapes = f"{len(a)}×{len(a[0])} and {len(b)}×{len(b[0])}"
        raise InputError(f"matrices of shapes {shapes} cannot be multiplied")
    columns = transpose(b)
    return [[sum((x * y for x, y in zip(r, c, strict=True)), Fraction(0)) for c in columns] for r in a]


def eliminate(matrix: Matrix) -> tuple[Matrix, Any]:
    """Return inverse and determinant by Gauss–Jordan elimination."""
    size = len(matrix)
    if any(len(row) != size for row in matrix):
        raise InputError(f"a matrix of shape {size}×{len(matrix[0])} has no inverse")
    zero = 0 * matrix[0][0]  # of the kind of number that the entries are
    units = [[zero + entry for entry in row] for row in identity(size)]
    work = [list(row) + unit for row, unit in zip(matrix, units, strict=True)]
    determinant: Any = Fraction(1)
    for i in range(size):
        pivot = next((r for r in range(i, size) if work[r][i] != 0), None)
        if pivot is None:
            raise SingularPoint("a matrix under an inverse is singular at this point")
        if pivot != i:
            work[i], work[pivot], determinant = work[pivot], work[i], -determinant
        determinant = determinant * work[i][i]
        head = work[i][i]
        work[i] = [x / head for x in work[i]]
        for r in range(size):
            if r != i and work[r][i] != 0:
                factor = work[r][i]
                work[r] = [x - factor * y for x, y in zip(work[r], work[i], strict=True)]
    return [row[size:] for row in work], determinant
