"""A user's own energy, stated as text or as SymPy expressions."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from symflow.errors import InputError
from symflow.models.attention.model import SPACES
from symflow.models.energies.model import EnergyModel, Shapes
from symflow.models.texts import as_text, refuse_misread, text_parameters


@dataclass(frozen=True)
class Pairwise(EnergyModel):
    r"""A user's own energy of pairs of tokens, and of single ones.

    .. math:: F(\mu) = \tfrac12\iint W(x, y)\,d\mu(x)\,d\mu(y) + \int U(x)\,d\mu(x)

    Parameters
    ----------
    pair : str or SymPy expression
        W(x, y) in the small grammar, e.g. ``"exp(dot(x, A*y))"``, or a SymPy scalar in symbols of type
        ``MatrixSymbol`` named x and y; empty for no interaction. Where the shape of a name does not follow
        from the expression, a lower-case name in front of a factor is a number, an upper-case name a matrix.
    potential : str or SymPy expression
        U(x), empty for none.
    space : str, default "euclidean"
        Where tokens live: ``"euclidean"`` or ``"sphere"``.
    name : str, default "pairwise"
        Used in file names and messages.

    Raises
    ------
    GrammarError
        If a text cannot be read or its shapes do not fit.
    InputError
        If both are empty, the potential contains y, or the space is unknown.

    Examples
    --------
    >>> Pairwise("dot(x, A*y)", "norm2(x)/2").statement().functional
    (Average(Average(Trace(x.T*A*y), y), x))/2 + Average(Trace(x.T*x)/2, x)
    """

    pair: Any = ""
    potential: Any = ""
    space: str = field(default="euclidean", kw_only=True)
    name: str = field(default="pairwise", kw_only=True)
    title: str = field(default="User-defined energy", kw_only=True)
    reference: str = field(default="", kw_only=True)
    parameters: Shapes = field(init=False, repr=False, hash=False, compare=False)

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            raise InputError(f"space = {self.space!r} is unknown; use {' or '.join(map(repr, SPACES))}")
        stated = {name: getattr(self, name) for name in ("pair", "potential")}
        for name, given in stated.items():
            object.__setattr__(self, name, as_text(given))
        if not (self.pair or self.potential):
            raise InputError("density and potential are both empty; give at least one of them")
        shapes = dict(_inferred(self.pair, self.potential))
        object.__setattr__(self, "parameters", shapes)
        for name, given in stated.items():
            if not isinstance(given, str):
                refuse_misread("density" if name == "pair" else name, given, shapes)
        self.statement()


@functools.cache
def _inferred(pair: str, potential: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    shapes: dict[str, tuple[str, ...]] = {}
    for name, text in (("density", pair), ("potential", potential)):
        shapes |= text_parameters(name, text, shapes, "scalar") if text else {}
    return tuple(shapes.items())
