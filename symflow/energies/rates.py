r"""The dissipation identity of a gradient-flow structure, in numbers along tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import MatrixSymbol, Rational, Transpose

from symflow.algebra.functionals.average import average, fresh
from symflow.checking import Array, real_array
from symflow.clustering.pairs import tokens
from symflow.codegen.kernel import compile
from symflow.derive.gradient_flow import GradientFlow
from symflow.energies.atoms import Law, scalar_function, vector_function
from symflow.energies.energy import Energy
from symflow.errors import InputError

__all__ = ["Dissipated", "dissipation_along"]

#: Relative to the largest entry: equations between parameters hold up to a few roundings.
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Dissipated:
    r"""An energy along tokens, and its derivative by the dissipation identity.

    Attributes
    ----------
    energy : ndarray, (T,)
        F, from the definition of the structure.
    rate : ndarray, (T,)
        :math:`\frac1n\sum_i g_i\langle v_i, Mv_i\rangle` with the velocities v of the kernel.
    """

    energy: Array
    rate: Array


def dissipation_along(
    structure: GradientFlow,
    x: Any,
    params: Mapping[str, Any] | None = None,
    backend: str = "auto",
    energy: Energy | None = None,
) -> Dissipated:
    r"""Return F and dF/dt at tokens, dF/dt by the dissipation identity and not by differences.

    .. math:: \frac{d}{dt}F = \frac1n\sum_i g_i\langle v_i, Mv_i\rangle, \qquad g_i = \int k(x_i, y)\,d\mu(y)

    Parameters
    ----------
    structure : GradientFlow
        Of :func:`symflow.derive.gradient_flow.gradient_flow`.
    x : array_like, (T, n, d) or (n, d)
        Tokens, for example ``Trajectory.x``.
    params : mapping of str to array_like, optional
        Values of the parameters.
    backend : {"auto", "compiled", "numpy"}
        Of the velocities.
    energy : Energy, optional
        F with numbers; needed where the structure is about a cost of transport.

    Raises
    ------
    InputError
        If a parameter or the energy is missing, or an equation of the structure does not hold.

    References
    ----------
    CACP25; GLPR23.

    Examples
    --------
    >>> from symflow.derive.gradient_flow import gradient_flow
    >>> from symflow.models.attention.unnormalised import Unnormalised
    >>> from symflow.models.energies.interaction import Interaction
    >>> usa = gradient_flow(Unnormalised(space="sphere"), Interaction(), ())
    >>> found = dissipation_along(usa, [[1.0, 0.0], [0.0, 1.0]], backend="numpy")
    >>> found.energy.round(6).tolist(), found.rate.tolist()
    ([0.92957], [0.25])
    """
    cloud = tokens(x)
    clouds = cloud.reshape(-1, *cloud.shape[-2:])
    given = {name: real_array(value, name) for name, value in (params or {}).items()}
    wanted = [symbol.name for symbol in structure.statement.parameters]
    missing = [name for name in wanted if name not in given]
    if missing:
        raise InputError(f"parameter {missing[0]!r} is missing; give {', '.join(wanted)}")
    if energy is None and structure.averages.functional is not None:
        raise InputError(f"give energy=, the {structure.energy.name} energy with its parameters")
    values = {**given, **_factors(structure, given), "d": clouds.shape[-1]}
    matrices = frozenset(s.name for s in structure.statement.parameters if isinstance(s, MatrixSymbol))
    kernel = compile(structure.model, backend, matrices, "tokens")
    value, mass, metric = _functions(structure)
    energies, rates = [], []
    for one in clouds:
        law = Law(one[..., None], np.full(len(one), 1.0 / len(one)), values)
        velocity = np.asarray(kernel(0.0, one, **given))
        turned = velocity @ np.asarray(metric(law, {})).reshape(one.shape[1], -1).T
        weights = np.asarray(mass(law, {structure.averages.x: law.atoms}))
        energies.append(float(value(law, {}) if energy is None else energy.value(one)))
        rates.append(float(np.mean(weights * np.einsum("id,id->i", velocity, turned))))
    return Dissipated(np.array(energies), np.array(rates))


def _functions(structure: GradientFlow) -> tuple[Any, Any, Any]:
    """Return F, g and M as functions of a law."""
    found = structure.averages
    x, y = found.x, found.y
    inner = fresh(x.shape, (found.pair, found.potential))
    double = average(average(found.pair.xreplace({y: inner}), inner), x)
    single = average(found.potential, x) if found.potential != 0 else 0
    weight = Rational(1) if found.weight is None else average(found.weight, y)
    return (
        scalar_function(double / 2 + single),
        scalar_function(weight, (x,)),
        vector_function(structure.metric),
    )


def _factors(structure: GradientFlow, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return the factors in the equations of the structure, after checking that these hold."""
    found: dict[str, Array] = {}
    for symbol, image in structure.equations:
        left = given[symbol.name]
        if isinstance(image, Transpose):
            _require_equal(left, left.T, f"{symbol} = {image}")
            continue
        right = np.eye(len(left))
        for other in image.atoms(MatrixSymbol):
            right = given[other.name]
        scalars = image.free_symbols - set(structure.statement.dimensions)
        factors = [s.name for s in scalars if not isinstance(s, MatrixSymbol)]
        factor = float((left * right).sum() / (right * right).sum()) if factors else 1.0
        _require_equal(left, factor * right, f"{symbol} = {image}")
        found |= {name: np.asarray(factor) for name in factors}
    return found


def _require_equal(left: Array, right: Array, equation: str) -> None:
    if np.abs(left - right).max() > _EQUAL * np.abs(left).max():
        raise InputError(f"the structure needs {equation}, which these parameters do not satisfy")
