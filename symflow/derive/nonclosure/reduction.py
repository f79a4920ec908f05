"""A statement at size one, where every matrix is a number."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, Integer, Symbol

from symflow.errors import InputError
from symflow.models.statement import Statement

X = Symbol("x", real=True)
Y = Symbol("y", real=True)


@dataclass(frozen=True)
class Integral:
    r"""One head at size one, as functions of the numbers :data:`X` and :data:`Y`.

    .. math:: p \cdot \int v(y)\,k(x,y)\,d\mu(y), \quad \text{divided by} \int k(x,y)\,d\mu(y)
              \text{ where normalised}

    Attributes
    ----------
    kernel, value : Expr
        k(x, y) and v(y).
    normalised : bool
        Whether it is an average.
    prefactor : Expr
        p, free of x and y.
    """

    kernel: Expr
    value: Expr
    normalised: bool
    prefactor: Expr

    def substitute(self, values: Mapping[Symbol, Any]) -> Integral:
        """Return the integral with numbers for the parameters."""
        kernel, value, prefactor = (e.subs(values) for e in (self.kernel, self.value, self.prefactor))
        return Integral(kernel, value, self.normalised, prefactor)

    def __str__(self) -> str:
        weight = f"[{self.kernel}]"
        average = f"E[({self.value})·{weight}]" + (f"/E{weight}" if self.normalised else "")
        return average if self.prefactor == 1 else f"({self.prefactor})·{average}"


def parameters(statement: Statement) -> tuple[Symbol, ...]:
    """Return the parameters of a statement as numbers, without the weights of positions."""
    weights = None if statement.positions is None else statement.positions.weights
    return tuple(_number(symbol) for symbol in statement.parameters if symbol != weights)


def at_size_one(statement: Statement) -> tuple[Integral, ...]:
    """Return the integrals of a statement where every size, and the number of heads, is one.

    Raises
    ------
    InputError
        If an expression has no meaning at size one, or the weights are those of Sinkhorn.
    """
    found = []
    for head in statement.heads:
        if head.normalise == "sinkhorn":
            raise InputError(f"{statement.name}: doubly stochastic weights are no function of two tokens")
        kernel, value = (
            scalar(e).xreplace({_number(statement.x): X, _number(statement.y): Y})
            for e in (head.kernel, head.value)
        )
        found.append(Integral(kernel, value, head.normalise == "softmax", scalar(head.prefactor)))
    return tuple(found)


def _number(symbol: Any) -> Symbol:
    """Return the number that a matrix symbol is at size one."""
    return Symbol(symbol.name, real=True) if symbol.is_Matrix else symbol


@functools.singledispatch
def scalar(expr: Any) -> Expr:
    """Return a scalar or matrix expression at size one as a scalar."""
    if not expr.args:
        return expr
    return expr.func(*(scalar(part) for part in expr.args))


@scalar.register
def _(expr: sympy.Symbol) -> Expr:
    return Integer(1) if expr.is_integer and expr.is_positive else expr


@scalar.register
def _(expr: sympy.MatrixSymbol) -> Expr:
    return _number(expr)


@scalar.register(sympy.Trace)
@scalar.register(sympy.Transpose)
def _(expr: Any) -> Expr:
    return scalar(expr.arg)


@scalar.register
def _(expr: sympy.Inverse) -> Expr:
    return 1 / scalar(expr.arg)


@scalar.register
def _(expr: sympy.MatPow) -> Expr:
    return scalar(expr.base) ** scalar(expr.exp)


@scalar.register
def _(expr: sympy.MatMul) -> Expr:
    return sympy.Mul(*(scalar(part) for part in expr.args))


@scalar.register
def _(expr: sympy.MatAdd) -> Expr:
    return sympy.Add(*(scalar(part) for part in expr.args))


@scalar.register
def _(expr: sympy.Identity) -> Expr:
    return Integer(1)


@scalar.register
def _(expr: sympy.ZeroMatrix) -> Expr:
    return Integer(0)
