"""The witnesses of a system of tokens: each compares its compiled kernel with one independent route."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from symflow.codegen.keys import SCALE, WEIGHTS
from symflow.integrate.backends import runtime
from symflow.integrate.solve import solve
from symflow.verify.subject import Array, relative
from symflow.verify.systems.clouds import Cloud, edges, random_cloud, turned
from symflow.verify.systems.definition import reference
from symflow.verify.systems.dissipation import dissipation, structures
from symflow.verify.systems.system import System, velocity
from symflow.verify.table import Row

#: Units in the last place of the natural scale × (1 + size of the scores); of weights that are scaled, the
#: stopping rule of the iteration, and what the next weights make of it.
ULPS, SCALED_ULPS = 64.0, 65536.0
#: Two orders of the same sums; with scaled weights two iterations with one stopping rule.
PRINTER_TOLERANCE, SCALED_TOLERANCE = 1e-12, 1e-10
#: Accumulated local errors of two integrators that both run at rtol = 1e-10.
TRAJECTORY_TOLERANCE = 1e-7

Witness = Callable[[System, int], Row]

#: Numbers of tokens and dimensions on either side of registers, blocks and templates.
_SHAPES = ((2, 3), (7, 1), (8, 2), (9, 3), (64, 3), (65, 4), (70, 5), (33, 8), (40, 9), (300, 3), (130, 17))


def exact_values(system: System, seed: int) -> Row:
    """Compare the velocity with the definition at 50 digits, at the edges too."""
    errors = [
        (reference(system.statement, cloud).ulps(velocity(system.compiled, cloud)), cloud.name)
        for cloud in _small(system, seed)
    ]
    note = "in ulp × (1 + size of the scores) of the natural scale"
    if system.is_scaled:
        note += "; the scaling stops when its marginals are one to 1e-13"
    limit = SCALED_ULPS if system.is_scaled else ULPS
    return system.row("velocity", "definition, 50 digits", errors, limit, note)


def printed_values(system: System, seed: int) -> Row:
    """Compare with the NumPy printer of the same system, across the sizes of registers, blocks and tiles."""
    errors = []
    for n, d in _SHAPES:
        cloud = random_cloud(system.flow, n, d, seed)
        errors.append((_gap(velocity(system.compiled, cloud), velocity(system.printed, cloud)), cloud.name))
    note = "relative to the largest velocity"
    if system.compiled.backend != "compiled":
        note = "no compiled kernel here: both sides are the NumPy printer"
    limit = SCALED_TOLERANCE if system.is_scaled else PRINTER_TOLERANCE
    return system.row("velocity", "NumPy printer", errors, limit, note)


def symmetries(system: System, seed: int) -> Row:
    """Turn tokens and parameters together, and without a mask exchange tokens: the velocity turns along."""
    errors = []
    for n, d in ((5, 2), (20, 3), (50, 6), (33, 12)):
        cloud = random_cloud(system.flow, n, d, seed, 3)
        rng = np.random.default_rng([seed, n])
        rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
        expected = velocity(system.compiled, cloud) @ rotation.T
        found = velocity(system.compiled, turned(system.flow, cloud, rotation))
        errors.append((_gap(found, expected), f"{cloud.name}, turned"))
        if system.flow.weights is None:
            order = rng.permutation(n)
            mixed = Cloud(cloud.name, cloud.sizes, cloud.x[order], cloud.params)
            expected = velocity(system.compiled, cloud)[order]
            errors.append((_gap(velocity(system.compiled, mixed), expected), f"{cloud.name}, exchanged"))
        if system.flow.space == "sphere":
            rates = np.sum(cloud.x * velocity(system.compiled, cloud), axis=1)
            scale = np.abs(velocity(system.compiled, cloud)).max()
            errors.append((relative(float(np.abs(rates).max()), float(scale)), f"{cloud.name}, tangent"))
    note = "relative to the largest velocity; conditioned like the scores"
    limit = SCALED_TOLERANCE if system.is_scaled else PRINTER_TOLERANCE
    return system.row("velocity", "rotations, permutations", errors, limit, note)


def scipy_integration(system: System, seed: int) -> Row:
    """Compare a run of ``solve`` with SciPy's integrators, driven by the NumPy printer."""
    errors = []
    for index in range(2):
        cloud = _with_own_scales(system, random_cloud(system.flow, 6, 3, seed, 5 + index))
        rate = float(np.abs(velocity(system.printed, cloud)).max())
        end = min(1.0, 0.1 / (rate + 1e-3))  # long before any singularity
        stated = (*SCALE, WEIGHTS)  # by the model
        params = {name: value for name, value in cloud.params.items() if name not in stated}
        run = solve(system.model, cloud.x, params, (0.0, end), t_eval=[0.0, end], rtol=1e-10, atol=1e-12)
        for method in ("DOP853", "Radau") if index == 0 else ("DOP853",):
            tolerance = 1e-10 if method == "DOP853" else 1e-8
            theirs = _along(system, cloud, end, method, tolerance)
            errors.append((_gap(run.x[-1], theirs), f"{cloud.name}, {method}"))
    note = "relative, ours at rtol = 1e-10; Radau, with differences for its Jacobian, at 1e-8"
    return system.row("trajectory", "SciPy DOP853, Radau", errors, TRAJECTORY_TOLERANCE, note)


def equal_bits(system: System, seed: int) -> Row:
    """Compare the bits of one, two and three threads at sizes where threads share the work."""
    compiled = runtime()
    errors = []
    for n, d in ((700, 3), (512, 16)):
        cloud = random_cloud(system.flow, n, d, seed)
        before = compiled.threads()
        try:
            found = []
            for threads in (1, 2, 3):
                compiled.set_threads(threads)
                found.append(velocity(system.compiled, cloud).tobytes())
        finally:
            compiled.set_threads(before)
        errors.append((float(len(set(found)) - 1), cloud.name))
    return system.row("velocity", "1, 2, 3 threads", errors, 0.0, "number of results that differ in a bit")


WITNESSES: tuple[Witness, ...] = (
    exact_values,
    printed_values,
    symmetries,
    scipy_integration,
    equal_bits,
)


def applicable(system: System) -> tuple[Witness, ...]:
    """Return the witnesses of a system.

    Threads share work in the compiled kernel only, and only a gradient flow dissipates.
    """
    found = WITNESSES if system.compiled.backend == "compiled" else WITNESSES[:-1]
    return (*found, dissipation) if structures(system) else found


def _small(system: System, seed: int) -> Iterator[Cloud]:
    for n, d in ((3, 1), (4, 2), (5, 3)):
        yield random_cloud(system.flow, n, d, seed)
    yield from edges(system.flow, system.is_normalised, system.is_scaled, seed)


def _with_own_scales(system: System, cloud: Cloud) -> Cloud:
    """Return the cloud with the model's own numbers for scalars, and its own law of positions."""
    own = {name: np.asarray(float(getattr(system.model, name))) for name in SCALE if name in cloud.params}
    model: Any = system.model
    if WEIGHTS in cloud.params:
        own[WEIGHTS] = np.array(model.weights(len(cloud.x)))
    return Cloud(cloud.name, cloud.sizes, cloud.x, dict(cloud.params) | own)


def _along(system: System, cloud: Cloud, end: float, method: str, rtol: float) -> Array:
    shape = cloud.x.shape
    run = solve_ivp(
        lambda t, y: system.printed(t, y.reshape(shape), **cloud.params).ravel(),
        (0.0, end), cloud.x.ravel(), method, rtol=rtol, atol=1e-2 * rtol,
    )  # fmt: skip
    return np.asarray(run.y[:, -1]).reshape(shape)


def _gap(computed: Array, expected: Array) -> float:
    difference = np.abs(computed - expected)
    if not np.isfinite(difference).all():
        return float("inf")
    return relative(float(difference.max()), float(np.abs(expected).max()))
