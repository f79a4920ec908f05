r"""Energies along runs of tokens: dF/dt by the dissipation identity against derivatives of F itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sympy import MatrixSymbol, Transpose

from symflow.codegen.keys import SCALE
from symflow.derive.gradient_flow import GradientFlow, gradient_flows
from symflow.energies.rates import dissipation_along
from symflow.integrate.solve import solve
from symflow.verify.subject import Array
from symflow.verify.systems.clouds import Cloud, random_cloud
from symflow.verify.systems.system import System, velocity
from symflow.verify.table import Row

#: Differentiation at this many Chebyshev points loses about three digits of a run at rtol = 1e-12.
_POINTS, TOLERANCE = 17, 1e-7


def structures(system: System) -> tuple[GradientFlow, ...]:
    """Return the gradient-flow structures of a system for the shipped energies that are sums over pairs."""
    found = gradient_flows(system.model, system.given)
    return tuple(structure for structure in found if structure.averages.functional is None)


def dissipation(system: System, seed: int) -> Row:
    """Compare along short runs with parameters that satisfy the equations of each structure."""
    errors = []
    for structure in structures(system):
        cloud = _satisfying(structure, random_cloud(system.flow, 6, 3, seed, 9))
        rate = float(np.abs(velocity(system.printed, cloud)).max())
        times, derivative = _chebyshev(min(1.0, 0.2 / (rate + 1e-3)))
        params = {name: value for name, value in cloud.params.items() if name not in SCALE}
        span = (0.0, float(times[-1]))
        run = solve(system.model, cloud.x, params, span, t_eval=times, rtol=1e-12, atol=1e-14)
        found = dissipation_along(structure, run.x, params)
        gap = np.abs(derivative @ found.energy - found.rate).max() / np.abs(found.rate).max()
        errors.append((float(gap), f"{structure.energy.name} energy, {cloud.name}"))
    note = f"relative to the largest rate; F differentiated at {_POINTS} Chebyshev points of a run"
    return system.row("dF/dt", "dissipation identity", errors, TOLERANCE, note)


def _satisfying(structure: GradientFlow, cloud: Cloud) -> Cloud:
    """Return the cloud with parameters changed so that the equations hold; free factors are one."""
    params = dict(cloud.params)
    for symbol, image in structure.equations:
        if isinstance(image, Transpose):
            params[symbol.name] = (params[symbol.name] + params[symbol.name].T) / 2
    for symbol, image in structure.equations:
        if not isinstance(image, Transpose):
            others = image.atoms(MatrixSymbol)
            one = np.eye(len(params[symbol.name]))
            params[symbol.name] = params[next(iter(others)).name] if others else one
    return replace(cloud, params=params)


def _chebyshev(end: float) -> tuple[Array, Array]:
    """Return Chebyshev points of [0, end] and the matrix of differentiation at them."""
    k = np.arange(_POINTS)
    nodes = -np.cos(np.pi * k / (_POINTS - 1))
    signs = (-1.0) ** k * np.where((k == 0) | (k == _POINTS - 1), 2.0, 1.0)
    matrix = np.outer(signs, 1 / signs) / (nodes[:, None] - nodes + np.eye(_POINTS))
    matrix -= np.diag(matrix.sum(axis=1))
    return end / 2 * (nodes + 1), matrix * 2 / end
