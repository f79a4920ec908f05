"""Spectral norms of matrix expressions as nonnegative scalars."""

from __future__ import annotations

from typing import Any

from sympy import Abs, Expr, Identity, Integer, MatMul, S, Trace, Transpose

from symflow.algebra.transposition import transposed


class SpectralNorm(Expr):  # type: ignore[misc]  # SymPy is untyped
    r"""The spectral norm :math:`\|M\|`, the Euclidean norm of a column.

    Scalar factors are drawn out, and of a matrix and its transpose the one with fewer transposes is kept.

    Parameters
    ----------
    matrix : MatrixExpr

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> A = matrix("A", dimension("d"), dimension("d"))
    >>> SpectralNorm(-2 * A.T)
    2*SpectralNorm(A)
    """

    is_commutative = True
    is_real = True
    is_finite = True
    is_nonnegative = True

    def __new__(cls, matrix: Any) -> Any:
        """Return a number where the norm is one."""
        matrix = matrix.doit()
        if isinstance(matrix, MatMul):
            scale, rest = matrix.as_coeff_mmul()
            if scale != 1:
                return Abs(scale) * cls(rest)
        if matrix.is_ZeroMatrix:
            return S.Zero
        if isinstance(matrix, Identity):
            return S.One
        if tuple(matrix.shape) == (1, 1):
            return Abs(Trace(matrix))
        other = transposed(matrix)
        kept = min((matrix, other), key=lambda m: (_count_transposes(m), str(m)))
        return Expr.__new__(cls, kept)

    @property
    def matrix(self) -> Any:
        """The matrix."""
        return self.args[0]

    def _latex(self, printer: Any) -> str:
        text = printer._inside(self.matrix) if hasattr(printer, "_inside") else printer._print(self.matrix)
        mark = "|" if self.matrix.shape[1] == Integer(1) else r"\|"
        return f"{mark}{text}{mark}"


def _count_transposes(matrix: Any) -> int:
    return int(matrix.count(Transpose)) if matrix.has(Transpose) else 0
