"""The base class of energies: turns declared lines of mathematics into an :class:`EnergyStatement`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sympy import Expr, MatrixSymbol, S

from symflow.algebra.grammar import Parsed, parse_score
from symflow.algebra.symbols import dimension, vector
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

Shapes = Mapping[str, Sequence[Any]]
NO_SHAPES: Shapes = MappingProxyType({})


@dataclass(frozen=True)
class EnergyModel:
    r"""One energy; subclasses declare the class attributes below and nothing else.

    .. math:: F(\mu) = \tfrac12\iint W(x, y)\,d\mu(x)\,d\mu(y) + \int U(x)\,d\mu(x) + \text{rest}(\mu)

    W is the text ``pair`` in x and y, U the text ``potential`` in x, of the small grammar; either may be
    empty. What is no such integral is built by :meth:`rest` from the text ``score`` in x and y.
    ``parameters`` declares shapes that do not follow from the texts. ``sense`` says what the tokens of the
    paper do with the energy, ``"maximise"`` or ``"minimise"``: what a saddle is strict for.
    """

    # What an energy declares. Without annotations, so that they are not constructor arguments.
    name = ""
    title = ""
    pair = ""
    potential = ""
    score = ""
    parameters = NO_SHAPES
    space = "euclidean"
    sense = "maximise"
    reference = ""

    def rest(self, score: Expr, x: MatrixSymbol, y: MatrixSymbol) -> Expr:
        """Return what else belongs to the energy, in the nodes of :mod:`symflow.algebra.functionals`.

        Parameters
        ----------
        score : Expr
            The text ``score``, zero where there is none.
        x, y : MatrixSymbol, shape (d, 1)
            The tokens in it.
        """
        return S.Zero

    def statement(self) -> EnergyStatement:
        """Return the definition at symbolic size.

        Raises
        ------
        GrammarError
            If a text cannot be read or its shapes contradict each other.
        InputError
            If the potential contains y.
        """
        texts = {name: getattr(self, name) for name in ("pair", "potential", "score")}
        parts = {name: parse_score(text, self.parameters) for name, text in texts.items() if text}
        pair, potential, score = (
            parts[name].expression if name in parts else S.Zero for name in ("pair", "potential", "score")
        )
        x, y = vector("x", dimension("d")), vector("y", dimension("d"))
        if potential.has(y):
            raise InputError(f"potential = {self.potential!r} of {self.name} contains y; use x only")
        read = tuple(parts.values())
        return EnergyStatement(
            name=self.name,
            pair=pair,
            potential=potential,
            rest=self.rest(score, x, y),
            x=x,
            y=y,
            parameters=_union(read, "parameters"),
            dimensions=_union(read, "dimensions") or (dimension("d"),),
            space=self.space,
            reference=self.reference,
        )


def _union(parts: Sequence[Parsed], field: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(symbol for part in parts for symbol in getattr(part, field)))
