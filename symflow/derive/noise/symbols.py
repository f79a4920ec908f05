r"""Names of the common noise: the cosine u, the covariance κ(u) of the field, and its derivative."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Function, Symbol, Trace

from symflow.algebra.symbols import dimension, vector

COSINE = Symbol("u", real=True)
BETA = Symbol("beta", positive=True)
ORDER = Symbol("p", positive=True)  #: of a moment of the distance
SIZE: Any = dimension("d")
X, Y = vector("x", SIZE), vector("y", SIZE)


class kappa_slope(Function):  # type: ignore[misc]
    r"""κ'(u), the derivative of the covariance of the field by the cosine."""

    nargs = 1
    is_real = True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _applied(r"\kappa'", self.args[0], printer, exp)


class kappa(Function):  # type: ignore[misc]
    r"""κ(u), the covariance of one coordinate of the field at two points of the sphere with the cosine u."""

    nargs = 1
    is_real = True

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return κ'."""
        slope: Expr = kappa_slope(self.args[0])
        return slope

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _applied(r"\kappa", self.args[0], printer, exp)


def _applied(name: str, argument: Any, printer: Any, power: str | None) -> str:
    raised = "" if power is None else f"^{{{power}}}"
    return f"{name}{raised}({printer.doprint(argument)})"


def on_the_sphere(expr: Any) -> Any:
    """Return a scalar of x and y at |x| = |y| = 1, ⟨x, y⟩ = u."""
    ones = {Trace(X.T * X): 1, Trace(Y.T * Y): 1, Trace(X.T * Y): COSINE, Trace(Y.T * X): COSINE}
    return expr.xreplace(ones)
