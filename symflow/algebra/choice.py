"""Piecewise expressions as functions of their parts: the values, and both sides of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol


@dataclass(frozen=True)
class Choice:
    """Which conditions choose which part, without the parts.

    Attributes
    ----------
    pattern : Piecewise
        The expression with a symbol of its own in the place of every part.
    slots : tuple of Symbol
        These symbols.
    """

    pattern: Any
    slots: tuple[Symbol, ...]

    @classmethod
    def of(cls, expr: Any) -> Choice:
        """Return the choice that an expression makes.

        Examples
        --------
        >>> from sympy import Piecewise
        >>> a, b = Symbol("a"), Symbol("b")
        >>> choice = Choice.of(Piecewise((a, a < b), (b, True)))
        >>> choice.parts(Piecewise((a, a < b), (b, True))), choice(1, 2, 3, 4)
        ([a, a, b, b], 1)
        """
        slots: list[Symbol] = []
        return cls(_patterned(expr, slots), tuple(slots))

    def parts(self, expr: Any) -> list[Any]:
        """Return the parts of an expression, in the order of the slots."""
        found: list[Any] = []
        _collect(expr, found)
        return found

    def __call__(self, *parts: Any) -> Any:
        """Return the expression with these parts."""
        return self.pattern.xreplace(dict(zip(self.slots, parts, strict=True)))

    @property
    def __name__(self) -> str:
        """A text that tells choices apart."""
        return str(self.pattern)


def _is_part(expr: Any) -> bool:
    return isinstance(expr, Expr)


def _patterned(expr: Any, slots: list[Symbol]) -> Any:
    arguments = []
    for argument in expr.args:
        if _is_part(argument):
            slots.append(Symbol(f"part_{len(slots)}", real=True))
            arguments.append(slots[-1])
        else:
            arguments.append(_patterned(argument, slots) if argument.args else argument)
    return expr.func(*arguments, evaluate=False) if expr.is_Piecewise else expr.func(*arguments)


def _collect(expr: Any, found: list[Any]) -> None:
    for argument in expr.args:
        if _is_part(argument):
            found.append(argument)
        else:
            _collect(argument, found)
