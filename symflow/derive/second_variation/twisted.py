r"""The twisted metric: its density, and the acceleration of its geodesics, as integrands of symbolic size.

With :math:`K(x,y) = e^{\langle Ax, y\rangle}`, :math:`G_\mu(x) = \int K(x,y)\,d\mu(y)` and
:math:`m(x) = \langle v(x), |M|v(x)\rangle` the squared length of a velocity is :math:`\int m\,G_\mu\,d\mu`.
Everything below is read off K by derivatives; K may be any positive function of two tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sympy import Expr, Inverse, MatMul, MatrixSymbol, Rational, Symbol, Trace, exp

from symflow.algebra.symbols import dimension, matrix, vector
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import normal_form


@dataclass(frozen=True)
class TwistedMetric:
    r"""The integrands from which geodesics of the twisted metric are put together.

    .. math:: G_\mu(x)\,a(x) = |M|^{-1}\int \text{force}\,d\mu(y) - \Bigl(\int \text{rate}\,d\mu(y)\Bigr)v(x)

    Attributes
    ----------
    kernel : Expr
        K(x, y).
    x, y, v, w : MatrixSymbol, (d, 1)
        Two tokens and their velocities.
    size : MatrixSymbol, (d, d)
        The matrix :math:`|M|`, symmetric and positive definite.
    density : Symbol
        Stands for :math:`G_\mu(x)`.
    rate : Expr
        Integrand of the change of :math:`G_\mu(x)` along the motion.
    force : MatrixExpr, (d, 1)
        Integrand of the change of the momentum :math:`G_\mu |M| v`.
    parameters : tuple of MatrixSymbol
        Of the kernel.
    symmetric : tuple of MatrixSymbol
        Symbols that equal their transpose.
    """

    kernel: Expr
    x: MatrixSymbol
    y: MatrixSymbol
    v: MatrixSymbol
    w: MatrixSymbol
    size: MatrixSymbol
    density: Symbol
    rate: Any
    force: Any
    parameters: tuple[MatrixSymbol, ...]
    symmetric: tuple[MatrixSymbol, ...]

    def square(self, velocity: Any) -> Expr:
        r"""Return :math:`\langle v, |M|v\rangle`."""
        return Trace(velocity.T * self.size * velocity)

    def acceleration(self, force: Any, rate: Any, velocity: Any) -> Any:
        """Return the acceleration of a token from the averages of force and rate."""
        return (MatMul(Inverse(self.size), force) - rate * velocity) / self.density


@cache
def twisted_metric() -> TwistedMetric:
    """Return the twisted metric of softmax attention, for symmetric A.

    Examples
    --------
    >>> twisted_metric().rate
    exp(Trace(x.T*A*y))*Trace(v.T*A*y) + exp(Trace(x.T*A*y))*Trace(w.T*A*x)
    """
    d = dimension("d")
    A = matrix("A", d, d)
    return metric_of(exp(Trace(vector("x", d).T * A * vector("y", d))), (A,), (A,))


def metric_of(
    kernel: Expr, parameters: tuple[MatrixSymbol, ...] = (), symmetric: tuple[MatrixSymbol, ...] = ()
) -> TwistedMetric:
    r"""Return the metric whose density is :math:`G_\mu(x) = \int K(x,y)\,d\mu(y)`.

    The kinetic energy :math:`T = \tfrac12\int m\,G_\mu\,d\mu` is the Lagrangian: the momentum
    :math:`\delta T/\delta v = G_\mu|M|v` changes by the gradient of :math:`\delta T/\delta\mu`.
    """
    d = dimension("d")
    x, y, v, w = (vector(name, d) for name in "xyvw")
    size = matrix("N", d, d)
    symmetric = (*symmetric, size)
    turned = kernel.xreplace({x: y, y: x})
    squares = [Trace(u.T * size * u) for u in (v, w)]
    first_variation = Rational(1, 2) * (squares[0] * kernel + squares[1] * turned)
    return TwistedMetric(
        kernel=kernel,
        x=x,
        y=y,
        v=v,
        w=w,
        size=size,
        density=Symbol("G", positive=True),
        rate=normal_form(gateaux(kernel, {x: v, y: w}), symmetric).to_sympy(),
        force=gradient(first_variation, x, symmetric),
        parameters=parameters,
        symmetric=symmetric,
    )
