"""The witnesses: each compares a compiled kernel with one independent route to the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.stats import norm

from symflow.flow import Flow
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.solve import solve
from symflow.verify.components import closure_by_components
from symflow.verify.definition import (
    sampled_velocity,
    score_slope,
    velocity_at_fifty_digits,
    velocity_on_lattice,
)
from symflow.verify.evaluate import Batched
from symflow.verify.points import Point, adversarial_points, random_points
from symflow.verify.subject import Scale, Subject, drift, relative
from symflow.verify.table import Row

#: Units in the last place of the natural scale, times (1 + condition of the solve).
ULPS = 64.0
#: Same Program, other order of the sums inside a product.
PRINTER_TOLERANCE = 1e-13
#: A thousand float64 terms per integral, two integrals per difference.
LATTICE_TOLERANCE = 1e-11
#: Accumulated local errors of two integrators that both run at rtol = 1e-11.
TRAJECTORY_TOLERANCE = 1e-8
#: Probability that a correct kernel fails the sampling witness, were the seed drawn afresh.
FAILURE_PROBABILITY = 1e-6
SAMPLES = 200_000


def exact_values(subject: Subject, seed: int) -> Row:
    """Compare the right-hand side with the derived symbols evaluated at 50 digits."""
    errors = []
    for point in _points(subject, seed):
        scale = Scale.at(subject.flow, point)
        errors.append((scale.ulps(drift(subject.compiled, point)), point.name))
    note = "in ulp × (1 + condition of the solve) of the natural scale"
    return subject.row("right-hand side", "mpmath, 50 digits", errors, ULPS, note)


def printed_values(subject: Subject, seed: int) -> Row:
    """Compare the compiled kernel with the NumPy printer of the same Program, also across BLAS tiles."""
    errors = []
    for point in _points(subject, seed):
        scale = Scale.at(subject.flow, point)
        gap = _largest_gap(drift(subject.compiled, point), drift(subject.printed, point), scale.natural)
        errors.append((gap, point.name))
    for size in (17, 65, 130):  # either side of the runtime's small loops and of its 64³ tiles
        for point in random_points(subject.flow, size, 1, seed):
            printed = drift(subject.printed, point)
            sizes = tuple(float(np.abs(b).max()) for b in printed)
            errors.append((_largest_gap(drift(subject.compiled, point), printed, sizes), point.name))
    note = "relative to the natural scale; to the largest entry for d > 18"
    if subject.compiled.backend != "compiled":
        note = "no compiled kernel here: both sides are the NumPy printer"
    return subject.row("right-hand side", "NumPy printer", errors, PRINTER_TOLERANCE, note)


def components(subject: Subject, seed: int) -> Row:
    """Compare with the closure derived by explicit components at d = 1 and 2, in exact rationals."""
    errors = []
    for point in _small_points(subject, seed):
        scale = Scale.at(subject.flow, point)
        exact = closure_by_components(subject.statement, point.params, point.sizes, *point.state)
        witness = scale.against(*(_as_context(matrix, scale.ctx) for matrix in exact))
        errors.append((witness.ulps(drift(subject.compiled, point)), point.name))
    note = "square completed component by component; in ulp × (1 + condition) of the natural scale"
    return subject.row("right-hand side", "components, d = 1, 2", errors, ULPS, note)


def quadrature_on_the_line(subject: Subject, seed: int) -> Row:
    """Compare with the integral of the definition at d = 1, to 50 digits."""
    errors = []
    for point in random_points(subject.flow, 1, 3, seed + 3):
        scale = Scale.at(subject.flow, point)
        alpha, cov = point.state

        def velocity(x: Any, point: Point = point, scale: Scale = scale) -> Any:
            law = (point.state[0], point.state[1])
            return velocity_at_fifty_digits(subject.statement, point.params, law, x, scale.ctx)

        mean = scale.ctx.mpf(float(alpha[0]))
        centre = velocity(mean)
        moved = 2 * (velocity(mean + 1) - centre) * scale.ctx.mpf(float(cov[0, 0]))
        witness = scale.against(scale.ctx.matrix([[centre]]), scale.ctx.matrix([[moved]]))
        errors.append((witness.ulps(drift(subject.compiled, point)), point.name))
    note = "trapezoidal rule; in ulp × (1 + condition) of the natural scale"
    return subject.row("right-hand side", "quadrature, d = 1, 50 digits", errors, ULPS, note)


def quadrature_in_the_plane(subject: Subject, seed: int) -> Row:
    """Compare with the integral of the definition at d = 2, on a lattice in float64."""
    errors = []
    for point in random_points(subject.flow, 2, 3, seed + 3):
        scale = Scale.at(subject.flow, point)
        pairs = zip(drift(subject.compiled, point), _on_lattice(subject, point), scale.natural, strict=True)
        errors.append(
            (max(relative(_gap(a, b), n) for a, b, n in pairs) / (1.0 + scale.condition), point.name)
        )
    note = "relative to the natural scale × (1 + condition); the sums run in float64"
    return subject.row("right-hand side", "quadrature, d = 2", errors, LATTICE_TOLERANCE, note)


def sampling(subject: Subject, seed: int) -> Row:
    r"""Compare Γ(α) with importance sampling, in standard errors.

    Points are scaled to :math:`e^{|\Sigma^{1/2}\nabla_ys(\alpha,\alpha)|^2} \le` samples/100 and to
    :math:`\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1/4`: beyond, the weights' variance leaves no useful
    estimate, or its own estimate has no finite variance.
    """
    rng = np.random.default_rng([seed, 5])
    errors, tests = [], 0
    for point in random_points(subject.flow, 3, 3, seed + 1):
        point = _with_useful_variance(subject, point)
        law = (point.state[0], point.state[1])
        mean, error = sampled_velocity(
            subject.statement, point.params, point.sizes, law, law[0], SAMPLES, rng
        )
        gap = np.abs(drift(subject.compiled, point)[0] - mean)
        tests += gap.size
        errors.append(
            (max(relative(float(g), float(e)) for g, e in zip(gap, error, strict=True)), point.name)
        )
    bound = float(norm.isf(FAILURE_PROBABILITY / (2 * tests)))
    note = f"in standard errors, {SAMPLES} samples; a correct kernel fails with p ≤ {FAILURE_PROBABILITY:g}"
    return subject.row("tilted mean", "Monte Carlo", errors, bound, note)


def scipy_integration(subject: Subject, seed: int) -> Row:
    """Compare a run of ``solve`` with SciPy's integrators on the moments, driven by the NumPy printer."""
    errors = []
    model = subject.model
    scales = {"beta": np.asarray(float(model.beta)), "temperature": np.asarray(float(model.temperature))}
    for drawn in random_points(subject.flow, 3, 2, seed + 2):
        point = Point(drawn.name, drawn.sizes, drawn.state, dict(drawn.params) | scales)
        end = _gentle_horizon(subject, point)
        ours = solve(
            model,
            Gaussian(*point.state),
            {name: value for name, value in drawn.params.items() if name not in scales},
            (0.0, end),
            t_eval=np.array([0.0, end]),
            rtol=1e-11,
            atol=1e-13,
        )
        final = np.concatenate([ours.mean[-1], ours.cov[-1].ravel()])
        start = np.concatenate([s.ravel() for s in point.state])
        for method in ("DOP853", "Radau"):
            theirs = solve_ivp(
                subject.printed.rhs(dict(point.params)), (0.0, end), start, method, rtol=1e-11, atol=1e-13
            )
            gap = relative(_gap(final, theirs.y[:, -1]), float(np.abs(theirs.y[:, -1]).max()))
            errors.append((gap, f"{point.name}, {method}"))
    note = "relative, both at rtol = 1e-11"
    return subject.row("trajectory", "SciPy DOP853, Radau", errors, TRAJECTORY_TOLERANCE, note)


#: In the order of the table's rows.
WITNESSES = (
    exact_values,
    printed_values,
    components,
    quadrature_on_the_line,
    quadrature_in_the_plane,
    scipy_integration,
    sampling,
)


def _points(subject: Subject, seed: int) -> Iterator[Point]:
    for d in (1, 2, 3, 5):
        yield from random_points(subject.flow, d, 2, seed)
    yield from adversarial_points(subject.flow, 3, seed)
    yield from random_points(subject.flow, 18, 1, seed)  # beyond the runtime's small loops


def _small_points(subject: Subject, seed: int) -> Iterator[Point]:
    for d in (1, 2):
        yield from random_points(subject.flow, d, 3, seed + 3)


def _on_lattice(subject: Subject, point: Point) -> tuple[Any, Any]:
    """Return α' = Γ(α) and Σ' = LΣ + ΣLᵀ, L from differences of the affine Γ."""
    alpha, cov = point.state

    def velocity(x: Any) -> Any:
        return velocity_on_lattice(subject.statement, point.params, point.sizes, (alpha, cov), x)

    centre = velocity(alpha)
    half = np.column_stack([velocity(alpha + axis) - centre for axis in np.eye(len(alpha))]) @ cov
    return centre, half + half.T


def _with_useful_variance(subject: Subject, point: Point) -> Point:
    """Shrink mean and covariance until the importance weights have a useful variance."""
    while True:
        law = (point.state[0], point.state[1])
        slope = score_slope(subject.statement, point.params, point.sizes, law, law[0])
        if slope <= np.log(SAMPLES / 100) and _largest_tilt(subject.flow, point) < 0.25:
            return point
        point = Point(point.name, point.sizes, (law[0] / 2, law[1] / 2), point.params)


def _largest_tilt(flow: Flow, point: Point) -> float:
    """Return λ_max(Σ^{1/2}CΣ^{1/2}): the p-th moment of the weights is finite where p times it is below 1."""
    if flow.covariance is None or flow.covariance.tilt is None:
        return 0.0
    tilt = Batched(point.values(flow), point.sizes)(flow.covariance.tilt)
    return float(np.linalg.eigvals(point.state[1] @ tilt).real.max())


def _gentle_horizon(subject: Subject, point: Point) -> float:
    """Return a time over which the covariance moves by an order-one factor and cannot blow up."""
    structure = subject.flow.covariance
    if structure is None:
        return 1.0
    gradient = Batched(point.values(subject.flow), point.sizes)(structure.velocity_gradient)
    return 0.15 / (float(np.linalg.norm(gradient, 2)) + 1e-3)


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
