r"""Weights that are scaled on both sides, and the cost of entropic transport of a law to itself.

The scaling is the density :math:`k_\infty = e^{a(x) + s(x, y) + b(y)}` of the optimal coupling, a and b its
potentials. So the velocity and the gradient of the first variation are averages once more, and potentials of
equal scores are equal. Where s(x, y) = s(y, x), the density is symmetric, because it is unique, and a = b up
to constants, which add to zero.
"""

from __future__ import annotations

from typing import Any

from sympy import Identity, MatAdd, MatMul, MatrixSymbol, Trace, exp

from symflow.algebra.functionals.average import Average, AverageMatrix
from symflow.algebra.functionals.nodes import Potential, TransportCost
from symflow.algebra.functionals.variation import first_variation, spatial_gradient
from symflow.algebra.words import identical
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement
from symflow.models.statement import Head, Statement


def scaled_weight(head: Head, x: Any, y: Any) -> Any:
    """Return the doubly stochastic scaling of a head in its potentials."""
    cost = TransportCost(head.score, x, y)
    return exp(cost.potentials(x)[0] + head.score + cost.potentials(y)[1])


def gradient_integrand(functional: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Return the first variation of a functional, and what its gradient averages over y.

    Raises
    ------
    InputError
        If the gradient is no average.
    """
    variation = first_variation(functional, x)
    terms = [_opened(term, y) for term in MatAdd.make_args(spatial_gradient(variation, x))]
    total = MatAdd(*terms) if len(terms) > 1 else terms[0]
    if total.has(Average, AverageMatrix, TransportCost):
        raise InputError("the gradient of the first variation is no average of a function of two tokens")
    return variation, total


def _opened(term: Any, y: Any) -> Any:
    factors = term.args if isinstance(term, MatMul) else (term,)
    return MatMul(*(f.at(y) if getattr(f, "is_Average", False) else f for f in factors)).doit(deep=False)


def parameters_of_cost(statement: Statement, energy: EnergyStatement, scale: Any) -> dict[Any, Any]:
    """Return what the score of an entropic cost is in the model: A/ε there is the scaled A here."""
    own = {symbol.name: symbol for symbol in statement.parameters}
    table: dict[Any, Any] = {}
    for symbol in energy.parameters:
        if symbol.name == "epsilon":
            table[symbol] = 1 / scale
        elif symbol.name in own:
            table[symbol] = own[symbol.name]
        elif symbol.name == "A" and statement.space == "sphere" and not {"Q", "K"} & set(own):
            table[symbol] = Identity(symbol.rows)
    return table


def settled(text: Any, symmetric: tuple[Any, ...]) -> Any:
    """Return an expression with a letter for every potential: one for equal scores, and for symmetric ones.

    A potential at a point becomes the product of the letter with the point, which has no other meaning.
    """
    known: list[Any] = []
    table = {}
    for node in sorted(text.atoms(Potential), key=str):
        first, second = node.ends
        score, back = node.score_at(first, second), node.score_at(second, first)
        place = next((i for i, other in enumerate(known) if identical(score, other, symmetric)), len(known))
        known += [score] * (place == len(known))
        side = "a" if identical(score, back, symmetric) else node.side
        letter = MatrixSymbol(f"{side}_{place}", *node.point.shape)
        table[node] = Trace(letter.T * node.point)
    return text.xreplace(table)
