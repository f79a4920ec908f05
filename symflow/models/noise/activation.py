"""The base class of activations, and a user's own one: text in ``z`` becomes a statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, Symbol

from symflow.algebra.grammar import parse
from symflow.errors import GrammarError, InputError
from symflow.models.noise.statement import NoiseStatement, Z
from symflow.models.texts import as_text


@dataclass(frozen=True)
class Activation:
    """One activation of a random layer; subclasses declare ``name``, ``title``, ``phi`` and ``reference``.

    ``phi`` is φ(z) as text of the small grammar in ``z``.
    """

    # What an activation declares. Without annotations, so that they are not constructor arguments.
    name = ""
    title = ""
    phi = ""
    reference = ""

    @property
    def expression(self) -> Expr:
        """φ(z) as a SymPy expression.

        Raises
        ------
        GrammarError
            If the text cannot be read, or contains anything but ``z``.
        """
        try:
            expression = parse(self.phi, {"z": Z})
        except GrammarError as error:
            raise GrammarError(f"activation: {error}", error.text, error.position) from error
        if not isinstance(expression, Expr) or expression.is_Matrix:
            raise InputError(f"activation {self.phi!r} is no number: give an expression in the number z")
        return expression

    def statement(self) -> NoiseStatement:
        """Return the field of a layer with this activation, at symbolic size."""
        return NoiseStatement(name=self.name, phi=self.expression, reference=self.reference)


@dataclass(frozen=True)
class UserActivation(Activation):
    """A user's own activation.

    Parameters
    ----------
    phi : str or SymPy expression
        φ in the small grammar, or an expression in a symbol named z.
    name : str, default "activation"
        Used in messages.

    Raises
    ------
    GrammarError
        If the text cannot be read, or contains anything but ``z``.

    Examples
    --------
    >>> UserActivation("z*(1 + erf(z))/2").expression
    z*(erf(z) + 1)/2
    """

    phi: Any
    name: str = field(default="activation", kw_only=True)
    title: str = field(default="User-defined activation", kw_only=True)
    reference: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        given = self.phi
        if isinstance(given, Expr):
            others = sorted(str(symbol) for symbol in given.free_symbols if str(symbol) != "z")
            if others:
                raise InputError(f"activation contains {', '.join(others)}: use the symbol z only")
            given = given.subs({symbol: Symbol("z") for symbol in given.free_symbols})
        elif not isinstance(given, str):
            raise InputError(f"activation = {given!r}: give a name, or an expression in z")
        object.__setattr__(self, "phi", as_text(given))
        _ = self.expression
