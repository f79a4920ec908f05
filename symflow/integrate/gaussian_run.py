"""A Gaussian law along the mean-field equations of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.codegen.kernel import Kernel
from symflow.errors import InputError
from symflow.integrate.backends import compiled_for
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.implicit import ImplicitDriver, Inside
from symflow.integrate.layout import ChainLayout, FactorLayout, GaussianLayout, MomentLayout
from symflow.integrate.loop import follow
from symflow.integrate.methods import Driver, TableauDriver
from symflow.integrate.options import IMPLICIT, Options
from symflow.integrate.problem import Problem, largest_tilt, read_problem, refuse_divergent
from symflow.integrate.scheduled import bound_call, jacobian, right_hand_side
from symflow.integrate.taylor import series_call
from symflow.integrate.trajectory import GaussianTrajectory

_NEAR_BOUNDARY = 1e-3  # of the eigenvalue from 1, where methods give up


def run_gaussian(
    model: Any, initial: Gaussian, params: Mapping[str, Any], options: Options, backend: str
) -> GaussianTrajectory:
    """Integrate mean and covariance; see :func:`symflow.solve`."""
    problem = read_problem(model, initial, params, (options.t0, options.t1))
    driver, layout = _driver(problem, options, backend)

    def describe(status: str, t: float, state: Array) -> str:
        return _message(problem, options, driver, status, t, layout.factors(state[None, :])[1][0])

    outcome = follow(driver, layout, options, describe)
    means, factors = layout.factors(outcome.states)
    at_events = [outcome.finder.seen(index) for index in range(len(options.events))]
    return GaussianTrajectory(
        mean=means,
        factor=factors,
        mean_events=tuple(mean for mean, _ in at_events),
        cov_events=tuple(cov for _, cov in at_events),
        **outcome.common(driver, options, layout, problem.statement.name),
    )


def _driver(problem: Problem, options: Options, backend: str) -> tuple[Driver, GaussianLayout]:
    """Compile the right-hand side and bind it to the numbers."""
    kernel = compiled_for(problem.model, backend, problem.parametrisation, options.method not in IMPLICIT)
    layout = _layout(problem, options, kernel)
    y0, atol = layout.pack(problem.initial), layout.tolerances(options.atol)
    watch = problem.initial.mean.size
    inside = _domain(problem, layout) if isinstance(layout, MomentLayout) else None
    if options.method in IMPLICIT:
        rhs, derivative = right_hand_side(kernel, problem), jacobian(kernel, problem)
        return ImplicitDriver(rhs, derivative, y0, atol, options, watch, inside), layout
    entry, dims, row = "factor", (*problem.dims, layout.r), layout.r
    if isinstance(layout, FactorLayout) and layout.turned:
        entry = "turned"
    elif isinstance(layout, MomentLayout):
        entry, dims, row = "moments", problem.dims, layout.d
    if options.method == "taylor":
        call = series_call(kernel, problem, entry, dims, options.rtol)
    else:
        call = bound_call(kernel, problem, entry, dims)
    if _mean_feeds_back(problem) and options.method != "taylor":
        watch = 0
    return TableauDriver(call, y0, atol, options, watch, inside, row), layout


def _mean_feeds_back(problem: Problem) -> bool:
    """Tell whether the mean may become infinite alone: else its equation is linear."""
    return any(head.normalise == "none" for head in problem.statement.heads)


def _layout(problem: Problem, options: Options, kernel: Kernel) -> FactorLayout | MomentLayout | ChainLayout:
    """Return how the state lies: a factor wherever it flows by itself and the method needs no Jacobian."""
    initial, rank = problem.initial, max(problem.initial.rank, 1)
    if initial.positions is not None:
        if options.method in IMPLICIT or problem.is_noisy:
            what = f"method {options.method!r}" if options.method in IMPLICIT else "noise"
            raise InputError(f"{what} is not available along positions; use an explicit method without noise")
        return ChainLayout(initial.positions, initial.dim, rank)
    if problem.is_noisy:
        return MomentLayout(initial.dim, initial.dim)
    if options.method in IMPLICIT:
        return MomentLayout(initial.dim, rank)
    turned = options.method != "taylor" and kernel.backend == "compiled" and _may_turn(problem, kernel)
    return FactorLayout(initial.dim, rank, turned)


def _may_turn(problem: Problem, kernel: Kernel) -> bool:
    """Tell whether a factor may be turned while it flows: a parameter is the identity, now and later."""
    interface = kernel.interface(problem.parametrisation)
    name = interface.entry("turned").identity if interface.has("turned") else None
    if name is None or name in problem.schedule:
        return False
    return np.array_equal(problem.values[name], np.eye(problem.initial.dim))


def _domain(problem: Problem, layout: GaussianLayout) -> Inside | None:
    """Return what tells whether a state is in the domain, whose edge the moment equations do not see."""
    tilt = problem.tilt()
    if tilt is None:
        return None
    refuse_divergent(problem, tilt)
    return lambda t, y: largest_tilt(problem, tilt, layout.factors(y[None, :])[1][0], t) < 1.0


def _message(problem: Problem, options: Options, driver: Driver, status: str, t: float, factor: Array) -> str:
    """Say how a run ended, and what to do about it; ``factor`` is that of the last point."""
    name, where = problem.model.name, f"t = {t:.10g}"
    if status == "finished":
        return f"reached {where}"
    if status == "blow-up":
        return f"{name} blows up in finite time: tr(cov) → ∞ at t* = {driver.singularity:.10g}"
    if status == "non-finite":
        if t == options.t0:
            return f"the right-hand side of {name} is not finite at the first time {where}"
        return f"the solution leaves the range of floating-point numbers near {where}, not at a singularity"
    if status == "step-too-small" and _normaliser_diverges(problem, options, driver, t, factor):
        return (
            f"the normaliser of {name} diverges near {where}: the largest eigenvalue of Σ^(1/2) C Σ^(1/2) "
            "reaches 1 there; end the run earlier, or reduce cov, or beta/temperature"
        )
    if driver.reason == "singular":
        return f"a linear system of {name} becomes singular near {where}; end the run earlier"
    if driver.reason == "indefinite":
        return f"errors of the size of the tolerance made cov indefinite before {where}; reduce rtol and atol"
    if options.dt is not None:
        return f"a step of dt = {options.dt:g} failed at {where}; reduce dt"
    return (
        f"the step size fell below the spacing of floating-point numbers at {where}; "
        "try method='radau' or a larger rtol"
    )


def _normaliser_diverges(problem: Problem, options: Options, driver: Driver, t: float, factor: Array) -> bool:
    """Tell whether a run came to the boundary of the domain; at the first time that is an error."""
    outside = driver.reason == "outside-domain"
    if outside and t == options.t0:
        refuse_divergent(problem, problem.tilt())
    if outside:
        return True
    tilt = problem.tilt()  # what comes close enough to the boundary may fail by accuracy before it is outside
    return tilt is not None and largest_tilt(problem, tilt, factor, t) > 1.0 - _NEAR_BOUNDARY
