"""Expressions of energies as functions of arrays, with averages of exponentials by their logarithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sympy import Add, Function, MatrixExpr, Mul, Pow, exp, log, sift

from symflow.algebra.functionals.average import Average
from symflow.codegen.names import identifiers
from symflow.codegen.tokens.scalars import NUMPY, text_of


class LogAverage(Function):  # type: ignore[misc]
    """The logarithm of an average of exponentials; SymPy would undo exp(−log(…))."""

    nargs = 1
    is_real = True


def in_logarithms(expr: Any) -> Any:
    """Write averages of exponentials by their logarithms, where these meet other exponents."""
    if isinstance(expr, MatrixExpr):
        return expr
    expr = expr.replace(
        lambda node: isinstance(node, log) and _is_exponential(node.args[0]),
        lambda node: LogAverage(node.args[0]),
    )
    expr = expr.replace(
        lambda node: isinstance(node, Pow) and _is_exponential(node.base) and node.exp.is_number,
        lambda node: exp(node.exp * LogAverage(node.base)),
    )
    return expr.replace(lambda node: isinstance(node, Mul), _with_one_exponential)


def _with_one_exponential(product: Any) -> Any:
    exponentials, others = sift(product.args, lambda factor: isinstance(factor, exp), binary=True)
    return Mul(exp(Add(*(factor.args[0] for factor in exponentials))), *others) if exponentials else product


def _is_exponential(node: Any) -> bool:
    return isinstance(node, Average) and isinstance(node.body, exp)


def outermost(expr: Any, chosen: Callable[[Any], bool]) -> list[Any]:
    """Return the nodes that are chosen and stand in no other such node."""
    if chosen(expr):
        return [expr]
    return list(dict.fromkeys(node for part in getattr(expr, "args", ()) for node in outermost(part, chosen)))


def named(expr: Any, names: list[str]) -> list[Any]:
    """Return the symbols of these names."""
    known = {s.name: s for s in expr.free_symbols}
    return [known[name] for name in names]


def compiled(expr: Any, symbols: list[Any]) -> Callable[..., Any]:
    """Return a function of arrays, from text that is our own."""
    words = identifiers([s.name for s in symbols], reserved=("np", "scipy"))
    text = text_of(expr, {s: words[s.name] for s in symbols}, NUMPY)
    namespace: dict[str, Any] = {"np": np}
    if "scipy." in text:
        import scipy.special

        namespace["scipy"] = scipy
    arguments = ", ".join(words[s.name] for s in symbols)
    function: Callable[..., Any] = eval(compile(f"lambda {arguments}: {text}", "<energy>", "eval"), namespace)
    return function


def quietly(compute: Callable[..., Any], arguments: list[Any]) -> Any:
    """Compute without warnings: whoever uses the numbers refuses what is not finite."""
    with np.errstate(all="ignore"):
        return compute(*arguments)
