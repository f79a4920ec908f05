"""What users state as text or as SymPy expressions: both become text; names and shapes are read off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symflow.algebra.text.signature import is_settled_by_shapes, signature
from symflow.errors import GrammarError, InputError

Shapes = Mapping[str, tuple[str, ...]]


def as_text(given: Any) -> str:
    """Return text as it is, and an expression as text of the small grammar."""
    if isinstance(given, str):
        return given
    from symflow.algebra.grammar import to_text

    return to_text(given)


def refuse_misread(where: str, given: Any, parameters: Shapes) -> None:
    """Refuse a SymPy symbol that the text of its expression cannot hold: text knows shapes by custom only."""
    kinds = ("a number", "a vector", "a matrix")
    for symbol in sorted(given.free_symbols, key=str):
        axes = sum(size != 1 for size in getattr(symbol, "shape", ()))
        read = len(parameters.get(symbol.name, ()))
        if symbol.name in parameters and axes != read:
            raise InputError(
                f"{where}: {symbol.name!r} is {kinds[axes]} but would be read as {kinds[read]}; before a "
                "factor a lower-case name is a number and an upper-case name a matrix, so rename the symbol"
            )


def text_parameters(name: str, text: str, declared: Shapes, kind: str) -> dict[str, tuple[str, ...]]:
    """Return the shape of each parameter of ``text``, after everything that can be wrong with it."""
    try:
        found = signature(text, declared, kind)
        if not is_settled_by_shapes(found.node):
            from symflow.algebra.grammar import parse_score

            parse_score(text, declared, kind)
    except GrammarError as error:
        raise GrammarError(f"{name}: {error}", error.text, error.position) from error
    return {name: tuple(str(size) for size in shape if size != 1) for name, shape in found.parameters}
