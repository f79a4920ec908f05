"""The witnesses: each compares a compiled kernel with one independent route to the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from symflow.codegen.kernel import Kernel
from symflow.codegen.keys import SCALE, WEIGHTS
from symflow.derive.definition import active_heads
from symflow.errors import SymflowError
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.models.combinators.masked import Masked
from symflow.verify import tokens
from symflow.verify.components import closure_by_components
from symflow.verify.coupling import optimality
from symflow.verify.definition import Velocity, drift_from, on_grid, on_lattice, velocity_at_fifty_digits
from symflow.verify.evaluate import Batched
from symflow.verify.places import Place, gathered, places
from symflow.verify.points import Point, adversarial_points, random_points
from symflow.verify.subject import Subject, drift, relative, stacked
from symflow.verify.table import Row

#: Units in the last place of the natural scale, times (1 + condition of the solve).
ULPS = 64.0
#: Same Program, other order of the sums inside a product.
PRINTER_TOLERANCE = 1e-13
#: A thousand float64 terms per integral, two integrals per difference.
LATTICE_TOLERANCE = 1e-11
#: Accumulated local errors of two integrators that both run at rtol = 1e-11.
TRAJECTORY_TOLERANCE = 1e-8
#: Of the optimality equation, per condition of Σ.
COUPLING_TOLERANCE = 1e-12

Witness = Callable[[Subject, int], Row]


def exact_values(subject: Subject, seed: int) -> Row:
    """Compare the right-hand side with the derived symbols evaluated at 50 digits."""
    errors = [
        (subject.scale(point).ulps(drift(subject.compiled, point)), point.name)
        for point in _points(subject, seed)
    ]
    note = "in ulp × (1 + condition of the solve) of the natural scale"
    return subject.row("right-hand side", "mpmath, 50 digits", errors, ULPS, note)


def printed_values(subject: Subject, seed: int) -> Row:
    """Compare the compiled kernel with the NumPy printer of the same Program, also across BLAS tiles."""
    errors = []
    for point in _points(subject, seed):
        natural = subject.scale(point).natural
        gap = _largest_gap(drift(subject.compiled, point), drift(subject.printed, point), natural)
        errors.append((gap, point.name))
    for size in (17, 65, 130):  # either side of the runtime's small loops and of its 64³ tiles
        for point in random_points(subject.flow, size, 1, seed):
            printed = drift(subject.printed, point)
            sizes = tuple(float(np.abs(b).max()) for b in printed)
            errors.append((_largest_gap(drift(subject.compiled, point), printed, sizes), point.name))
    note = f"relative to the natural scale; to the largest entry for d > {_LARGE}"
    if subject.compiled.backend != "compiled":
        note = "no compiled kernel here: both sides are the NumPy printer"
    return subject.row("right-hand side", "NumPy printer", errors, PRINTER_TOLERANCE, note)


def components(subject: Subject, seed: int) -> Row:
    """Compare with the closure derived by explicit components at d = 1 and 2."""
    errors = []
    for point in _small_points(subject, seed):
        scale = subject.scale(point)
        pairs = [
            closure_by_components(subject.statement, point.params, point.sizes, place)
            for place in places(subject.statement, point)
        ]
        exact = [stacked([_as_context(p[k], scale.ctx) for p in pairs], scale.ctx) for k in (0, 1)]
        errors.append((scale.against(*exact).ulps(drift(subject.compiled, point)), point.name))
    note = "exact but for roots; in ulp × (1 + condition) of the natural scale"
    return subject.row("right-hand side", "components, d = 1, 2", errors, ULPS, note)


def quadrature_on_the_line(subject: Subject, seed: int) -> Row:
    """Compare with the integral of the definition at d = 1, to 50 digits."""
    errors = []
    for point in random_points(subject.flow, 1, 3, seed + 3):
        scale = subject.scale(point)
        pairs = [_on_the_line(subject, point, place, scale.ctx) for place in places(subject.statement, point)]
        exact = [scale.ctx.matrix([[pair[k]] for pair in pairs]) for k in (0, 1)]
        errors.append((scale.against(*exact).ulps(drift(subject.compiled, point)), point.name))
    note = "trapezoidal rule; in ulp × (1 + condition) of the natural scale"
    return subject.row("right-hand side", "quadrature, d = 1, 50 digits", errors, ULPS, note)


def quadrature_in_the_plane(subject: Subject, seed: int) -> Row:
    """Compare with the integral of the definition at d = 2, on a lattice in float64."""
    points = random_points(subject.flow, 2, 3, seed + 3)
    errors = [_against_field(subject, point, on_lattice) for point in points]
    note = "relative to the natural scale × (1 + condition); the sums run in float64"
    return subject.row("right-hand side", "quadrature, d = 2", errors, LATTICE_TOLERANCE, note)


def scaling_on_a_grid(subject: Subject, seed: int) -> Row:
    """Compare with Sinkhorn's iteration on a Gauss–Hermite product grid at d = 1 and 2."""
    points = [point for d in (1, 2) for point in random_points(subject.flow, d, 2, seed + 3)]
    useful = (tokens.with_useful_variance(subject.statement, point) for point in points)
    errors = [_against_field(subject, point, on_grid) for point in useful]
    note = "relative to the natural scale × (1 + condition); doubly stochastic up to the residual stated"
    return subject.row("right-hand side", "Sinkhorn scaling, d = 1, 2", errors, LATTICE_TOLERANCE, note)


def coupling(subject: Subject, seed: int) -> Row:
    """Look at the optimality equation of the self-coupling that the compiled kernel contains, up to d = 8."""
    errors = [
        (optimality(subject, point), point.name)
        for d in range(1, 9)
        for point in random_points(subject.flow, d, 2, seed + 4)
    ]
    note = "largest residual relative to B, divided by the condition of Σ"
    return subject.row("optimality of the coupling", "mpmath, d ≤ 8", errors, COUPLING_TOLERANCE, note)


def scipy_integration(subject: Subject, seed: int) -> Row:
    """Compare a run of ``solve`` with SciPy's integrators on the moments, driven by the NumPy printer."""
    errors = []
    for drawn in random_points(subject.flow, 3, 2, seed + 2):
        point = _with_own_scales(subject, drawn)
        end = _gentle_horizon(subject, point)
        ours = _solved(subject, point, end)
        for method in ("DOP853", "Radau"):
            theirs = _along(subject.printed, point, end, method)
            size = max(float(np.abs(state).max()) for state in theirs)
            errors.append((_largest_gap(ours, theirs, (size, size)), f"{point.name}, {method}"))
    note = "relative, both at rtol = 1e-11"
    return subject.row("trajectory", "SciPy DOP853, Radau", errors, TRAJECTORY_TOLERANCE, note)


def sampling(subject: Subject, seed: int) -> Row:
    """Compare with the definition for clouds of tokens, in standard errors from replicates."""
    rng = np.random.default_rng([seed, 5])
    errors, numbers = [], 0
    for drawn in random_points(subject.flow, 3, 2, seed + 1):
        point = tokens.with_useful_variance(subject.statement, drawn)
        estimates = tokens.drift_of_tokens(subject.statement, point, rng)
        floor = _ROUNDING * max(subject.scale(point).natural)
        error, count = tokens.standard_errors(estimates, drift(subject.compiled, point), floor)
        errors.append((error, point.name))
        numbers += count
    return subject.row("right-hand side", "tokens", errors, tokens.bound(numbers), _SAMPLING_NOTE)


def noisy_particles(subject: Subject, seed: int) -> Row:
    """Compare the moments along the compiled kernel with interacting particles, in standard errors."""
    rng = np.random.default_rng([seed, 6])
    (drawn,) = random_points(subject.flow, 2, 1, seed + 1)
    point = tokens.with_useful_variance(subject.statement, drawn, tokens.PARTICLES)
    end = 2 * _gentle_horizon(subject, point)  # errors of one per cent show little of what is shorter
    estimates = tokens.moments_of_particles(subject.statement, point, end, rng)
    expected = _along(subject.compiled, point, end, "DOP853")
    floor = _ROUNDING * float(max(np.abs(state).max() for state in expected))
    error, numbers = tokens.standard_errors(estimates, expected, floor)
    return subject.row(
        "trajectory", "Euler–Maruyama", [(error, point.name)], tokens.bound(numbers), _SAMPLING_NOTE
    )


_SAMPLING_NOTE = (
    f"in standard errors of {tokens.REPLICATES} replicates; a correct kernel fails with "
    f"p ≤ {tokens.FAILURE_PROBABILITY:g}"
)
#: What rounding leaves of the error of a number that does not depend on the tokens.
_ROUNDING = 1e-13

#: In the order of the table's rows.
WITNESSES: tuple[Witness, ...] = (
    exact_values,
    printed_values,
    components,
    quadrature_on_the_line,
    quadrature_in_the_plane,
    scaling_on_a_grid,
    coupling,
    scipy_integration,
    sampling,
    noisy_particles,
)


def applicable(subject: Subject) -> tuple[Witness, ...]:
    """Return the witnesses of a subject: by how its weights are normalised, and whether there is noise."""
    scaled = any(head.normalise == "sinkhorn" for head in active_heads(subject.statement))
    one = len(subject.statement.heads) == 1 and subject.statement.heads[0].family is None
    quiet = subject.statement.diffusion.is_zero
    left_out: dict[Witness, bool] = {
        quadrature_on_the_line: scaled,
        quadrature_in_the_plane: scaled,
        scaling_on_a_grid: not scaled,
        coupling: not (scaled and one and quiet),  # noise flows without a factor, which is what is looked at
        scipy_integration: not quiet and subject.flow.chain is not None,  # ``solve`` has no noise there
        noisy_particles: quiet,
    }
    return tuple(witness for witness in WITNESSES if not left_out.get(witness, False))


#: Beyond the runtime's small loops, still quick with 50 digits.
_LARGE = 10


def _points(subject: Subject, seed: int) -> Iterator[Point]:
    for d in (1, 2, 3, 5):
        yield from random_points(subject.flow, d, 2, seed)
    yield from adversarial_points(subject.flow, 3, seed)
    yield from random_points(subject.flow, _LARGE, 1, seed)


def _small_points(subject: Subject, seed: int) -> Iterator[Point]:
    for d in (1, 2):
        yield from random_points(subject.flow, d, 3, seed + 3)


def _on_the_line(subject: Subject, point: Point, place: Place, ctx: Any) -> tuple[Any, Any]:
    """Return α' and Σ' at d = 1, L being a difference of the affine Γ."""
    mean, variance = (ctx.mpf(float(np.ravel(v)[0])) for v in (place.own.mean, place.own.cov))

    def velocity(x: Any) -> Any:
        return velocity_at_fifty_digits(subject.statement, point.params, point.sizes, place, x, ctx)

    centre = velocity(mean)
    noise = ctx.mpf(float(Batched(point.params, point.sizes)(subject.statement.diffusion)))
    return centre, 2 * (velocity(mean + 1) - centre) * variance + 2 * noise


def _against_field(subject: Subject, point: Point, field: Callable[..., Velocity]) -> tuple[float, str]:
    """Return the error against the definition, per natural scale × (1 + condition), and where."""
    statement, scale = subject.statement, subject.scale(point)
    noise = float(Batched(point.params, point.sizes)(statement.diffusion))
    try:
        found = [
            drift_from(place, field(statement, point.params, point.sizes, place), noise)
            for place in places(statement, point)
        ]
    except SymflowError as error:
        return float("inf"), f"{point.name}: {error}"
    expected = [gathered(statement, [one[k] for one in found]) for k in (0, 1)]
    gap = _largest_gap(drift(subject.compiled, point), expected, scale.natural) / (1.0 + scale.condition)
    residual = max(one[2] for one in found)
    return gap, f"{point.name}, residual {residual:.0e}" if residual else point.name


def _with_own_scales(subject: Subject, point: Point) -> Point:
    """Return the point with the model's own numbers for scalars, and its own law of positions."""
    own = {name: np.asarray(float(getattr(subject.model, name))) for name in SCALE if name in point.params}
    if isinstance(subject.model, Masked):
        own[WEIGHTS] = np.array(subject.model.weights(len(point.state[0])))
    return Point(point.name, point.sizes, point.state, dict(point.params) | own)


def _solved(subject: Subject, point: Point, end: float) -> tuple[Any, Any]:
    """Return mean and covariance of a run of ``solve`` at time ``end``."""
    stated = (*SCALE, WEIGHTS)  # by the model
    params = {name: value for name, value in point.params.items() if name not in stated}
    times = np.array([0.0, end])
    run = solve(
        subject.model, Gaussian(*point.state), params, (0.0, end), t_eval=times, rtol=1e-11, atol=1e-13
    )
    return run.mean[-1], run.cov[-1]


def _along(kernel: Kernel, point: Point, end: float, method: str) -> tuple[Any, ...]:
    """Return the moments at time ``end`` by one of SciPy's integrators."""
    start = np.concatenate([state.ravel() for state in point.state])
    run = solve_ivp(kernel.rhs(dict(point.params)), (0.0, end), start, method, rtol=1e-11, atol=1e-13)
    parts = np.split(run.y[:, -1], np.cumsum([state.size for state in point.state])[:-1])
    return tuple(part.reshape(state.shape) for part, state in zip(parts, point.state, strict=True))


def _gentle_horizon(subject: Subject, point: Point) -> float:
    """Return a time over which the moments move by an order-one factor and cannot blow up."""
    moved = zip(drift(subject.printed, point), point.state, strict=True)
    rate = max(float(np.linalg.norm(change) / np.linalg.norm(state)) for change, state in moved)
    return min(1.0, 0.15 / (rate + 1e-3))


def _as_context(matrix: Any, ctx: Any) -> Any:
    """Return a matrix of exact numbers, rational or algebraic, in the arithmetic of ``ctx``."""
    entries = [ctx.mpf(str(entry.evalf(ctx.dps + 5))) for entry in matrix]
    return ctx.matrix([entries[i : i + matrix.cols] for i in range(0, len(entries), matrix.cols)])


def _largest_gap(computed: Any, expected: Any, scales: tuple[float, ...]) -> float:
    """Return, over the states, the largest difference in units of the scale."""
    return max(relative(_gap(a, b), n) for a, b, n in zip(computed, expected, scales, strict=True))


def _gap(a: Any, b: Any) -> float:
    difference = np.abs(np.ravel(a) - np.ravel(b))
    return float(difference.max()) if np.isfinite(difference).all() else float("inf")
