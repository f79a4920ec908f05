r"""The argument that there is no structure, as steps with checks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from sympy import Float

from symflow.algebra.latex import latex
from symflow.derive.gradient_flow.checks import DIGITS, ZERO, Sample, is_zero
from symflow.derive.gradient_flow.matching import Averages
from symflow.derive.gradient_flow.steps import opening
from symflow.derive.gradient_flow.structure import NoGradientFlow
from symflow.derive.gradient_flow.witness import NotGradient, State, in_sympy
from symflow.derive.particles.cloud import Cloud, defined_velocities
from symflow.derive.steps import Checked, Formula, Step
from symflow.models.attention.model import AttentionModel
from symflow.models.energies.statement import EnergyStatement
from symflow.models.statement import Statement


def refutation(
    model: AttentionModel,
    statement: Statement,
    energy: EnergyStatement,
    found: Averages,
    witness: NotGradient,
    values: dict[Any, Any],
) -> NoGradientFlow:
    """Return the argument around a witness."""
    result = Step(
        kind="result",
        title=f"No gradient flow of the {energy.name} energy",
        statement=_statement(statement, found, witness),
        formulas=tuple(_formulas(witness)),
        rule="exact arithmetic with sums of exponentials of rational numbers",
        reference=statement.reference,
        check=ByDefinition(statement, found, witness, tuple(values.items())),
    )
    steps = (*opening(model, statement, energy, found), result)
    return NoGradientFlow(model, statement, steps, energy, witness)


def _statement(statement: Statement, found: Averages, witness: NotGradient) -> str:
    values = ", ".join(f"${name} = {latex(value)}$" for name, value in witness.values)
    which = "multiple $B$ of the identity" if found.space == "sphere" else "symmetric definite matrix $B$"
    project = "P_x" if found.space == "sphere" else ""
    where = " and ".join(f"${_law(state)}$" for state in witness.states)
    return (
        f"{f'At {values} there' if values else 'There'} is no {which} with ${project}\\Gamma_\\mu(x) = "
        rf"B\,g_\mu(x)^{{-1}}{project}\nabla\frac{{\delta F}}{{\delta\mu}}(x)$ for all laws $\mu$ and "
        rf"atoms $x$ of them, whatever the numbers $g_\mu(x) > 0$: {witness.reason}, at the first "
        rf"atom of {where}. With positive multiples $\gamma$ of the velocity and $h$ of the gradient:"
    )


def _law(state: State) -> str:
    parts = [
        (latex(p) if p != 1 else "") + rf"\delta_{{({', '.join(map(latex, x))})}}"
        for p, x in zip(state.masses, state.atoms, strict=True)
    ]
    return " + ".join(parts)


def _formulas(witness: NotGradient) -> list[Formula]:
    found = []
    for index, state in enumerate(witness.states, 1):
        mark = f"_{{{index}}}" if len(witness.states) > 1 else ""
        found += [
            Formula(rf"\gamma{mark}", in_sympy(state.velocity)),
            Formula(f"h{mark}", in_sympy(state.gradient)),
        ]
    return found + ([] if witness.mobility is None else [Formula("B", witness.mobility)])


@dataclass(frozen=True)
class ByDefinition:
    """Velocities by the definition, gradients by derivatives of the energy, and what contradicts what."""

    statement: Statement
    found: Averages
    witness: NotGradient
    values: tuple[tuple[Any, Any], ...]

    def run(self) -> Checked:
        """Compare with the multiples of the witness, then look for the contradiction in their digits."""
        method = f"definition and derivatives in coordinates, {DIGITS} digits"
        seen = [self._recomputed(state) for state in self.witness.states]
        for state, (velocity, gradient) in zip(self.witness.states, seen, strict=True):
            agree = _is_positive_multiple(velocity, in_sympy(state.velocity))
            if not agree or not _is_positive_multiple(gradient, in_sympy(state.gradient)):
                return Checked(False, method, f"at {state}: another velocity or gradient")
        passed = _contradicts(seen, self.witness.mobility, self.found.space)
        return Checked(passed, method, "contradiction found again" if passed else "no contradiction")

    def _recomputed(self, state: State) -> tuple[Any, Any]:
        values = dict(self.values)
        sizes = dict.fromkeys(self.statement.dimensions, len(state.atoms[0]))
        cloud = Cloud(state.atoms, state.masses, False, values, ({},), sizes)
        sample = Sample(cloud, values, self.found)
        velocity = defined_velocities(self.statement, cloud)[0]
        return velocity.evalf(DIGITS), sample.gradient(state.atoms[0]).evalf(DIGITS)


def _is_positive_multiple(vector: Any, other: Any) -> bool:
    return _is_parallel(vector, other) and (
        is_zero(vector) == is_zero(other) and (is_zero(vector) or bool((vector.T * other)[0].evalf() > 0))
    )


def _is_parallel(vector: Any, other: Any) -> bool:
    pairs = itertools.combinations(range(len(vector)), 2)
    return is_zero([vector[i] * other[j] - vector[j] * other[i] for i, j in pairs])


def _contradicts(seen: list[tuple[Any, Any]], mobility: Any, space: str) -> bool:
    """Whether no mobility fits; on the sphere a multiple of the identity."""
    rates = [(velocity.T * gradient)[0].evalf() for velocity, gradient in seen]
    if mobility is None and len(seen) <= 2:
        opposite = len(rates) == 2 and rates[0] * rates[1] < 0
        return bool(opposite or all(abs(rate) < ZERO for rate in rates))
    if mobility is None:
        return _misses(seen)
    images = [_is_parallel(mobility * gradient, velocity) for velocity, gradient in seen]
    if len(seen) == 1:
        return not images[0]
    symmetric = is_zero(mobility - mobility.T)
    return all(images) and not (symmetric and _is_definite(mobility))


def _is_definite(mobility: Any) -> bool:
    values = [Float(v) for v in mobility.evalf(30).eigenvals(multiple=True)]
    return all(v > 0 for v in values) or all(v < 0 for v in values)


def _misses(seen: list[tuple[Any, Any]]) -> bool:
    """Whether the coordinates of the last velocity in the others, and of the gradient, differ in sign."""
    *frame, (velocity, gradient) = seen
    columns = zip(*frame, strict=True)
    first, second = (vectors[0].hstack(*vectors) for vectors in columns)
    one, other = first.LUsolve(velocity), second.LUsolve(gradient)
    small = 10**-30
    signs = [[0 if abs(e) < small else 1 if e > 0 else -1 for e in part] for part in (one, other)]
    return signs[0] != signs[1]
