r"""The velocity and the gradient of the first variation as averages, and the mobility that joins them.

Both are averages over the tokens y: :math:`g_\mu(x)\Gamma_\mu(x) = \int p(x, y)\,d\mu(y)`, where g is the
normaliser or one, and :math:`\nabla\frac{\delta F}{\delta\mu}(x) = \int s(x, y)\,d\mu(y)`. They are joined
for every law where p = Bs for one constant matrix B. Both sides are sorted by what depends on the tokens, and
B is solved for from matrix words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sympy import Identity, Inverse, MatMul, MatrixSymbol, S, Symbol, Transpose

from symflow.algebra.assembly import product
from symflow.algebra.symbols import dimension, matrix
from symflow.algebra.terms import terms
from symflow.algebra.variation import gradient
from symflow.algebra.words import identical
from symflow.derive.gradient_flow.coupled import (
    gradient_integrand,
    parameters_of_cost,
    scaled_weight,
    settled,
)
from symflow.derive.particles.symmetry import MOST_EQUATIONS, Equation, sets_of_equations
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement
from symflow.models.statement import Head, Statement

#: What depends on the tokens: a scalar, and the vector at the end of a word.
Place = tuple[Any, Any]


@dataclass(frozen=True)
class Averages:
    """Velocity and first variation of one pair of model and energy.

    Attributes
    ----------
    pair, potential : Expr
        W(x, y) and U(x) in the parameters of the model.
    velocity : MatrixExpr
        p(x, y).
    slope : MatrixExpr
        s(x, y), the gradient in x of ½(W(x, y) + W(y, x)) + U(x).
    weight : Expr or None
        The kernel whose mean is g; None where g is one.
    x, y : MatrixSymbol
        The token that moves and one that it sees.
    space : str
        Where tokens live.
    functional, variation : Expr or None
        F and its first variation in averages, where F is more than W and U.
    """

    pair: Any
    potential: Any
    velocity: Any
    slope: Any
    weight: Any
    x: Any
    y: Any
    space: str
    functional: Any = None
    variation: Any = None


@dataclass(frozen=True)
class Joined:
    """p = Bs under equations between parameters.

    Attributes
    ----------
    equations : tuple of (MatrixSymbol, MatrixExpr)
        Under which that is an identity.
    left, right : MatrixExpr
        L and R with B·R = L; B is LR⁻¹.
    invertible : tuple of MatrixExpr
        Those of L and R that have to be invertible for B and B⁻¹.
    mobility, metric : MatrixExpr
        B and B⁻¹.
    """

    equations: tuple[Equation, ...]
    left: Any
    right: Any
    invertible: tuple[Any, ...]
    mobility: Any
    metric: Any

    @property
    def table(self) -> dict[Any, Any]:
        """The equations that say what a parameter is, as a substitution."""
        return _table(self.equations)

    @property
    def symmetric(self) -> tuple[Any, ...]:
        """Matrices that the equations make symmetric."""
        return _symmetric(self.equations)


def averages(statement: Statement, energy: EnergyStatement, scale: Any) -> Averages:
    """Return both integrands, the energy in the parameters of the model; ``scale`` is that of the score.

    Raises
    ------
    InputError
        If the velocity or the gradient of the energy is no such average.
    """
    head = _only_head(statement)
    if energy.rest != 0 or head.normalise == "sinkhorn":
        return _coupled(statement, head, energy, scale)
    table = parameters_of_energy(statement, energy, scale)
    x, y = statement.x, statement.y
    tokens = {energy.x: x, energy.y: y}
    pair, potential = (_plain(e.xreplace(table).xreplace(tokens)) for e in (energy.pair, energy.potential))
    exchanged = pair.xreplace({x: y, y: x})
    weight = head.kernel if head.normalise == "softmax" else None
    background = statement.background if weight is None else weight * statement.background
    return Averages(
        pair=pair,
        potential=potential,
        velocity=(head.prefactor * head.kernel) * head.value + background,
        slope=gradient((pair + exchanged) / 2 + potential, x),
        weight=weight,
        x=x,
        y=y,
        space=statement.space,
    )


def _coupled(statement: Statement, head: Head, energy: EnergyStatement, scale: Any) -> Averages:
    """Return both integrands where weights are scaled on both sides, or the energy is more than pairs."""
    x, y = statement.x, statement.y
    own = parameters_of_energy(statement, energy, scale)
    table = {**parameters_of_cost(statement, energy, scale), **own}
    functional = _plain(energy.functional.xreplace(table))
    variation, slope = gradient_integrand(functional, x, y)
    weight = head.kernel if head.normalise == "softmax" else None
    kernel = scaled_weight(head, x, y) if head.normalise == "sinkhorn" else head.kernel
    background = statement.background if weight is None else weight * statement.background
    return Averages(
        pair=S.Zero,
        potential=S.Zero,
        velocity=(head.prefactor * kernel) * head.value + background,
        slope=slope,
        weight=weight,
        x=x,
        y=y,
        space=statement.space,
        functional=functional,
        variation=variation,
    )


def _plain(expression: Any) -> Any:
    """Multiply identities out that were put in."""
    return expression.replace(lambda e: isinstance(e, MatMul), lambda e: e.doit(deep=False))


def _only_head(statement: Statement) -> Head:
    if not statement.diffusion.is_zero:
        raise InputError(f"{statement.name} has noise; its flow is not that of an energy of pairs alone")
    if statement.positions is not None:
        raise InputError(f"{statement.name} has a causal mask, so that pairs do not act on each other alike")
    return statement.head


def parameters_of_energy(statement: Statement, energy: EnergyStatement, scale: Any) -> dict[Any, Any]:
    """Return what the symbols of the energy are in the model: same names are the same matrices.

    ``beta`` is the scale of the score. An energy without it has its exponent scaled, in Q; where A stands for
    KᵀQ, or Q or K are the identity, so they are in the energy, if it depends on KᵀQ alone.
    """
    own = {symbol.name: symbol for symbol in statement.parameters}
    named = {symbol.name: symbol for symbol in energy.parameters}
    table = {symbol: own[name] for name, symbol in named.items() if name in own}
    if {"Q", "K"} <= set(named):
        Q, K = named["Q"], named["K"]
        if not {"Q", "K"} <= set(own):
            _require_product(energy, Q, K)
        one = Identity(dimension("d"))
        query, key = own.get("A", own.get("Q", one)), own.get("K", one)
        table |= {Q: query if "beta" in named else _scaled(scale, query), K: key}
    if "beta" in named:
        table[named["beta"]] = scale
    return table


def _require_product(energy: EnergyStatement, Q: Any, K: Any) -> None:
    change = matrix("G", Q.shape[0], Q.shape[0])
    turned = energy.pair.xreplace({Q: change * Q, K: Inverse(change).T * K})
    if not identical(energy.pair, turned):
        raise InputError(f"the energy {energy.name} is no function of KᵀQ; give Q and K to the model as well")


# ---- joining ----------------------------------------------------------------------------------------


def joins(found: Averages) -> Iterator[Joined]:
    """Yield mobilities with the equations between parameters that they need, the fewest equations first."""
    texts = (found.velocity, found.slope)
    letters = {s for text in texts for s in text.atoms(MatrixSymbol) if s.cols != 1}
    sets = sets_of_equations(letters) if found.space == "euclidean" else _multiples(letters)
    for equations in sets:
        joined = _joined(found, equations)
        if joined is not None:
            yield joined


def _joined(found: Averages, equations: tuple[Equation, ...]) -> Joined | None:
    table, symmetric = _table(equations), _symmetric(equations)
    left, right = (
        sort_terms(settled(text.xreplace(table), symmetric), found, symmetric)
        for text in (found.velocity, found.slope)
    )
    if not left or left.keys() != right.keys():
        return None
    first = next(iter(left))
    joined = _quotient(left[first], right[first], equations, found.space)
    if joined is None:
        return None
    places = zip(left.values(), (right[place] for place in left), strict=True)
    agree = all(identical(a, joined.mobility * b, symmetric) for a, b in places)
    return joined if agree else None


def sort_terms(text: Any, found: Averages, symmetric: tuple[Any, ...]) -> dict[Place, Any]:
    """Return the constant matrix before each vector and each scalar of the tokens.

    On the sphere a multiple of x itself is left out, which the projection does not see.
    """
    sums: dict[Place, Any] = {}
    for coefficient, factors in terms(text, symmetric):
        constant, scalar = coefficient.as_independent(found.x, found.y, as_Add=False)
        *before, last = factors
        if found.space == "sphere" and last == found.x and not before:
            continue
        front = MatMul(constant, *before).doit() if before else _scaled(constant, Identity(last.shape[0]))
        place = (scalar, last)
        sums[place] = sums[place] + front if place in sums else front
    return {place: front for place, front in sums.items() if not front.is_ZeroMatrix}


def _quotient(left: Any, right: Any, equations: tuple[Equation, ...], space: str) -> Joined | None:
    """Return B with B·right = left; on the sphere only a multiple of the identity."""
    (a, L), (b, R) = _factored(left), _factored(right)
    ratio, one = a / b, Identity(left.shape[0])
    if identical(L, R, _symmetric(equations)):
        return Joined(equations, _scaled(ratio, one), one, (), _scaled(ratio, one), _scaled(1 / ratio, one))
    if space == "sphere":
        return None
    mobility = _scaled(ratio, product(L, Inverse(R)) if not R.is_Identity else L)
    metric = _scaled(1 / ratio, product(R, Inverse(L)) if not L.is_Identity else R)
    invertible = tuple(M for M in (L, R) if not M.is_Identity)
    return Joined(equations, _scaled(ratio, L), R, invertible, mobility, metric)


def _scaled(number: Any, front: Any) -> Any:
    return MatMul(number, front).doit(deep=False)


def _factored(front: Any) -> tuple[Any, Any]:
    """Return the number before a product of matrices, and the product."""
    if front.is_MatMul:
        coefficient, factors = front.as_coeff_matrices()
        return coefficient, MatMul(*factors).doit() if len(factors) > 1 else factors[0]
    return S.One, front


def _multiples(letters: set[Any]) -> Iterator[tuple[Equation, ...]]:
    """Yield sets of equations that make two matrices, or one and I, multiples of each other.

    A metric on the sphere that is the same in every direction leaves no other room.
    """
    ordered = sorted(letters, key=lambda s: str(s.name))
    single: list[Equation] = [
        (b, _scaled(Symbol(f"c_{b.name}", real=True, nonzero=True), a))
        for a, b in itertools.combinations(ordered, 2)
        if a.shape == b.shape
    ]
    single += [(m, Transpose(m)) for m in ordered if m.rows == m.cols]
    single += [
        (m, _scaled(Symbol(f"c_{m.name}", real=True, nonzero=True), Identity(m.rows)))
        for m in ordered
        if m.rows == m.cols
    ]
    yield ()
    for count in range(1, MOST_EQUATIONS + 1):
        for chosen in itertools.combinations(single, count):
            table = _table(chosen)
            if len(table) + sum(isinstance(b, Transpose) for _, b in chosen) == count and not any(
                b.has(*table) for b in table.values()
            ):
                yield chosen


def _table(equations: tuple[Equation, ...]) -> dict[Any, Any]:
    return {a: b for a, b in equations if not isinstance(b, Transpose)}


def _symmetric(equations: tuple[Equation, ...]) -> tuple[Any, ...]:
    """Return the matrices that are symmetric; one that is a multiple of another stands for that one."""
    table = _table(equations)
    made: list[Any] = [table.get(a, a) for a, b in equations if isinstance(b, Transpose)]
    return tuple(dict.fromkeys(m for image in made for m in image.atoms(MatrixSymbol)))
