"""The logarithm of a determinant as a scalar of symbolic size."""

from __future__ import annotations

from typing import Any

from sympy import Expr, MatrixExpr

from symflow.errors import InputError


class LogDet(Expr):  # type: ignore[misc]
    r"""The scalar :math:`\log|\det M|` of a square matrix expression.

    Its variation is :math:`\delta\log|\det M| = \operatorname{tr}(M^{-1}\,\delta M)`.

    Parameters
    ----------
    argument : MatrixExpr, shape (n, n)
        The matrix M.

    Raises
    ------
    InputError
        When the argument is not a square matrix expression.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix
    >>> LogDet(matrix("M", dimension("d"), dimension("d")))
    LogDet(M)
    """

    is_commutative = True
    is_real = True

    def __new__(cls, argument: Any) -> LogDet:
        if not isinstance(argument, MatrixExpr) or argument.rows != argument.cols:
            raise InputError(f"LogDet needs a square matrix expression, got {argument}")
        node: LogDet = Expr.__new__(cls, argument)
        return node

    @property
    def arg(self) -> Any:
        """The matrix whose determinant is taken."""
        return self.args[0]

    def doit(self, **hints: Any) -> LogDet:
        """Evaluate the argument, keep the logarithm of its determinant."""
        return LogDet(self.arg.doit(**hints)) if hints.get("deep", True) else self
