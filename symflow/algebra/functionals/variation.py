r"""Variations of functionals of a law, and their gradients in space.

A functional is a function of averages :math:`a_k = \int f_k\,d\mu`, :math:`f_k` may contain μ again:

.. math:: \frac{\delta F}{\delta\mu}(x) = \sum_k\frac{\partial F}{\partial a_k}
          \Bigl(f_k(x) + \int\frac{\delta f_k(z)}{\delta\mu}(x)\,d\mu(z)\Bigr)

Variations are known up to a constant, because the mass of a law does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from sympy import Add, Dummy, Expr, MatrixExpr, S

from symflow.algebra.assembly import total
from symflow.algebra.functionals.average import Average, average, averages
from symflow.algebra.functionals.nodes import Density, Potential, TransportCost, law_functions
from symflow.algebra.variation import gateaux, gradient
from symflow.errors import InputError

__all__ = ["first_variation", "law_derivative", "spatial_gradient"]


def first_variation(functional: Expr, x: Any) -> Expr:
    r"""Return :math:`\delta F/\delta\mu(x)`, where dF(η) = ∫ δF/δμ dη for every η of mass zero.

    Parameters
    ----------
    functional : Expr
        F, a function of averages, of the density under the averages over its own point, and of the
        entropic cost of transport to itself.
    x : MatrixExpr, shape (d, 1)
        Where the variation is taken.

    Returns
    -------
    Expr
        In averages over μ; the variation of this one is the second variation of F.

    Raises
    ------
    InputError
        If F contains a node whose variation is not known.

    Examples
    --------
    >>> from sympy import Trace, log
    >>> from symflow.algebra.symbols import dimension, vector
    >>> x, y, z = (vector(name, dimension("d")) for name in "xyz")
    >>> first_variation(log(Average(Trace(z.T * y), z)), x)
    Trace(x.T*y)/(Average(Trace(x.T*y), x))
    """
    slots, body = _slots(functional)
    return Add(*(_slope(body, node, slots) * _kernel(node, x) for node in slots))


def law_derivative(functional: Expr, direction: Any, like: Any) -> Expr:
    r"""Return the Gateaux derivative :math:`\int\frac{\delta F}{\delta\mu}\,d\eta` in the direction η.

    Parameters
    ----------
    functional : Expr
        F.
    direction : Symbol
        The name η of the direction, a measure of mass zero.
    like : MatrixSymbol, shape (d, 1)
        A vector of the space; only its shape counts.
    """
    return Average(first_variation(functional, like), like, direction)


def spatial_gradient(expr: Expr, x: Any, symmetric: Sequence[Any] = ()) -> Any:
    r"""Return :math:`\nabla_x` of a number that may contain averages.

    Parameters
    ----------
    expr : Expr
        The number.
    x : MatrixSymbol, shape (d, 1)
        The point.
    symmetric : sequence of MatrixSymbol
        Symbols with ``X.T = X``.

    Returns
    -------
    MatrixExpr, shape (d, 1)

    Raises
    ------
    InputError
        If the density stands in it, whose gradient is no expression of averages.

    Examples
    --------
    >>> from sympy import Trace
    >>> from symflow.algebra.symbols import dimension, vector
    >>> x, y = (vector(name, dimension("d")) for name in "xy")
    >>> spatial_gradient(Average(Trace(x.T * y) ** 2, y), x)
    Average((2*Trace(y.T*x))*y, y)
    """
    slots, body = _slots(expr)
    own = gradient(body, x, symmetric).xreplace({slot: node for node, slot in slots.items()})
    parts = [own] + [
        _times(_slope(body, node, slots), _space_derivative(node, x, symmetric))
        for node in slots
        if x in node.free_symbols
    ]
    return total(*parts)


def _slots(expr: Any) -> tuple[dict[Any, Dummy], Any]:
    """Return a number for every node that stands in no other, and the expression in these numbers."""
    nodes = [*averages(expr), *law_functions(expr)]
    vectors = [node for node in nodes if isinstance(node, MatrixExpr)]
    if vectors:
        raise InputError(f"{expr} contains the average of a vector, {vectors[0]}; only numbers can be varied")
    slots = {node: Dummy(f"a_{k}", real=True) for k, node in enumerate(nodes)}
    return slots, expr.xreplace(slots)


def _slope(body: Any, node: Any, slots: dict[Any, Dummy]) -> Any:
    """Return the partial derivative by the number of a node."""
    slope = S(gateaux(body, {slots[node]: S.One}))
    return slope.xreplace({slot: other for other, slot in slots.items()})


def _times(scalar: Any, matrix: Any) -> Any:
    return matrix if matrix.is_ZeroMatrix or scalar == 1 else (scalar * matrix).doit(deep=False)


@singledispatch
def _kernel(node: Any, x: Any) -> Any:
    """Return the variation of one node at x."""
    raise InputError(f"the variation of {node} in the law is not known")


@_kernel.register(Average)
def _(node: Any, x: Any) -> Any:
    body, z = node.opened(x)
    slots, inner = _slots(body)
    terms = [body.xreplace({z: x})]
    for part in slots:
        slope = _slope(inner, part, slots)
        if isinstance(part, Density) and part.point == z:
            # ∫ h(z)·(dη/dx)(z) dμ(z) = ∫ h(z)·(dμ/dx)(z) dη(z)
            terms.append((slope * part).xreplace({z: x}))
        else:
            terms.append(average(slope * _kernel(part, x), z, node.law))
    return Add(*terms)


@_kernel.register(TransportCost)
def _(node: Any, x: Any) -> Any:
    # the coupling and the potentials are optimal, so that only the marginals count (envelope theorem)
    return Add(*node.potentials(x))


@singledispatch
def _space_derivative(node: Any, x: Any, symmetric: Sequence[Any]) -> Any:
    """Return the gradient of one node in x."""
    raise InputError(f"the gradient of {node} in {x} is no expression of averages")


@_space_derivative.register(Average)
def _(node: Any, x: Any, symmetric: Sequence[Any]) -> Any:
    body, z = node.opened(x)
    return average(spatial_gradient(body, x, symmetric), z, node.law)


@_space_derivative.register(Potential)
def _(node: Any, x: Any, symmetric: Sequence[Any]) -> Any:
    if node.point != x:
        raise InputError(f"the gradient of {node} in {x} is known at the point {x} only")
    # e^{−a(x)} = ∫ e^{s(x,y) + b(y)} dμ(y), so that ∇a(x) = −∫ ∇s k dμ
    score, weight, other = node.coupling()
    return average(_times(-weight, gradient(score, x, symmetric)), other)
