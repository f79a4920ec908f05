"""Integrate a Gaussian law along the mean-field equations of a model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from symflow.codegen.kernel import Kernel
from symflow.errors import BuildError, InputError, IntegrationError
from symflow.integrate.backends import runtime, warn_without_runtime
from symflow.integrate.checking import Array
from symflow.integrate.events import EventFinder
from symflow.integrate.implicit import ImplicitDriver, Inside
from symflow.integrate.layout import ChainLayout, FactorLayout, Layout, MomentLayout, moments
from symflow.integrate.methods import Driver, TableauDriver
from symflow.integrate.options import BACKENDS, Callback, Options, read_options
from symflow.integrate.problem import (
    Problem,
    largest_tilt,
    read_problem,
    refuse_divergent,
    require_gaussian,
)
from symflow.integrate.recorder import Recorder
from symflow.integrate.scheduled import bound_call, jacobian, right_hand_side
from symflow.integrate.taylor import series_call
from symflow.integrate.trajectory import Trajectory

_CHUNK_SECONDS = 0.03  # how long a run stays out of reach of Ctrl-C, callbacks and the wall clock
_IMPLICIT = ("radau", "bdf")
_NEAR_BOUNDARY = 1e-3  # of the eigenvalue from 1, where methods give up
_RAISED = ("blow-up", "step-too-small", "non-finite")


def solve(
    model: Any,
    initial: Any,
    params: Mapping[str, Any],
    t_span: Any,
    *,
    t_eval: Any = None,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: Any = 1e-12,
    events: Any = None,
    dense_output: bool = False,
    dt: float | None = None,
    backend: str = "auto",
    callback: Callback | None = None,
    max_wall_time: float | None = None,
    raise_on_failure: bool = False,
    max_step: float | None = None,
    first_step: float | None = None,
) -> Trajectory:
    r"""Integrate mean and covariance of a Gaussian law.

    .. math:: \dot\alpha = \Gamma(\alpha), \qquad \dot F = LF, \qquad \Sigma = FF^\top

    The covariance flows as a factor, so that symmetry, semidefiniteness and rank hold at every time; where V
    is the identity it may be turned, :math:`F \mapsto FQ`, so that it stays triangular. With idiosyncratic
    noise, which fills the rank, the covariance flows itself, :math:`\dot\Sigma = L\Sigma + \Sigma L^\top +
    2\varepsilon I`.

    Parameters
    ----------
    model : AttentionModel
        E.g. ``Softmax()``.
    initial : Gaussian
        The law at the first time; its covariance may be singular.
    params : mapping
        Parameters by name, e.g. ``{"A": …, "V": …}``; heads have a leading axis. Each may depend on time:
        a SymPy expression or matrix in ``t``, a function of t, or ``(times, samples)``, joined by a cubic
        spline.
    t_span : (float, float)
        First and last time; a last time before the first one runs backwards.
    t_eval : array_like, (T,), optional
        Times to record, strictly monotone along the run; every accepted step by default.
    method : str, default "dop853"
        ``"dop853"``, ``"dp5"``, ``"taylor"`` (adaptive; the last for parameters constant in time), ``"rk4"``
        (takes ``dt``), ``"radau"``, ``"bdf"`` (SciPy, stiff).
    rtol, atol : float; float or (d,)
        Tolerances on the mean and on the rows of the factor; ``atol`` may differ by coordinate.
    events : callable or sequence of callables, optional
        ``event(t, mean, cov) -> float``. Every zero after the first time is recorded; ``event.terminal``
        (True, or how many zeros) ends the run, ``event.direction`` (±1) keeps only zeros of values that
        rise or fall along the run.
    dense_output : bool, default False
        Keep the continuous solution, ``Trajectory.sol(t)``.
    dt : float, optional
        Step of a fixed-step method.
    backend : str, default "auto"
        ``"compiled"``, ``"numpy"``, or compiled where possible.
    callback : callable, optional
        ``callback(t, mean, cov)`` after every step; a true value ends the run.
    max_wall_time : float, optional
        Seconds after which the run ends with what it has.
    raise_on_failure : bool, default False
        Raise where the status is ``"blow-up"``, ``"step-too-small"`` or ``"non-finite"``.
    max_step, first_step : float, optional
        Bound on, and first value of, the step size of adaptive methods.

    Returns
    -------
    Trajectory
        With ``status`` and ``message``; times where the run could not go are absent, never NaN.

    Raises
    ------
    InputError
        If an argument cannot be used, before any work.
    NormaliserDiverges
        If the attention weights cannot be normalised at the initial law.
    IntegrationError
        With ``raise_on_failure=True``.

    References
    ----------
    CACP25; Hairer, Nørsett, Wanner, *Solving Ordinary Differential Equations I*, II.5–II.6.

    Examples
    --------
    >>> from symflow import Gaussian, Softmax, solve
    >>> law, params = Gaussian([0.0], [[1.0]]), {"A": [[1.0]], "V": [[1.0]]}
    >>> run = solve(Softmax(), law, params, (0, 1), backend="numpy")
    >>> run.status, round(run.t_star, 6)
    ('blow-up', 0.5)
    """
    require_gaussian(initial)
    options = read_options(
        initial.dim,
        t_span,
        t_eval=t_eval,
        method=method,
        rtol=rtol,
        atol=atol,
        dt=dt,
        max_step=max_step,
        first_step=first_step,
        events=events,
        dense_output=dense_output,
        callback=callback,
        max_wall_time=max_wall_time,
    )
    problem = read_problem(model, initial, params, (options.t0, options.t1))
    driver, layout = _driver(problem, options, backend)
    trajectory = _run(problem, options, driver, layout)
    if raise_on_failure and trajectory.status in _RAISED:
        raise IntegrationError(trajectory.message, trajectory)
    return trajectory


def _driver(problem: Problem, options: Options, backend: str) -> tuple[Driver, Layout]:
    """Compile the right-hand side and bind it to the numbers."""
    from symflow.codegen.kernel import compile as compile_kernel

    if backend not in BACKENDS:
        raise InputError(f"backend {backend!r} is unknown; choose one of {', '.join(BACKENDS)}")
    if runtime() is None:
        if backend == "compiled":
            raise BuildError("the compiled runtime is missing; reinstall symflow with a C compiler on PATH")
        if options.method not in _IMPLICIT:
            warn_without_runtime()
    kernel = compile_kernel(problem.model, backend, problem.parametrisation)
    layout = _layout(problem, options, kernel)
    y0, atol = layout.pack(problem.initial), layout.tolerances(options.atol)
    watch = problem.initial.mean.size
    inside = _domain(problem, layout) if isinstance(layout, MomentLayout) else None
    if options.method in _IMPLICIT:
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
        if options.method in _IMPLICIT or problem.is_noisy:
            what = f"method {options.method!r}" if options.method in _IMPLICIT else "noise"
            raise InputError(f"{what} is not available along positions; use an explicit method without noise")
        return ChainLayout(initial.positions, initial.dim, rank)
    if problem.is_noisy:
        return MomentLayout(initial.dim, initial.dim)
    if options.method in _IMPLICIT:
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


def _domain(problem: Problem, layout: Layout) -> Inside | None:
    """Return what tells whether a state is in the domain, whose edge the moment equations do not see."""
    tilt = problem.tilt()
    if tilt is None:
        return None
    refuse_divergent(problem, tilt)
    return lambda t, y: largest_tilt(problem, tilt, layout.factors(y[None, :])[1][0], t) < 1.0


def _run(problem: Problem, options: Options, driver: Driver, layout: Layout) -> Trajectory:
    """Advance chunk by chunk; signals, events, callback and clock are looked after in between."""
    finder = EventFinder(options.events, layout, options.t0, options.direction)
    recorder = Recorder(options, layout)
    start = time.perf_counter()
    while True:
        chunk = driver.advance(_CHUNK_SECONDS)
        stop = finder.scan(chunk.dense) if options.events and chunk.dense is not None else None
        recorder.add(chunk, stop)
        status, t = chunk.status, float(recorder.last_time)
        if stop is not None:
            status, message = "event", f"a terminal event ended the run at t = {stop:.10g}"
        elif status != "running":
            factor = layout.factors(recorder.last_state[None, :])[1][0]
            message = _message(problem, options, driver, status, t, factor)
        elif (
            options.callback is not None
            and chunk.times.size > 1
            and _asks_to_stop(options.callback, layout, recorder)
        ):
            status, message = "stopped", f"the callback ended the run at t = {t:.10g}"
        elif options.max_wall_time is not None and time.perf_counter() - start > options.max_wall_time:
            status, message = (
                "stopped",
                f"max_wall_time = {options.max_wall_time:g} s was over at t = {t:.10g}",
            )
        if status != "running":
            return _trajectory(problem, options, driver, layout, finder, recorder, status, message)


def _asks_to_stop(callback: Callback, layout: Layout, recorder: Recorder) -> bool:
    means, covs = moments(layout, recorder.last_state[None, :])
    return bool(callback(float(recorder.last_time), means[0], covs[0]))


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


def _trajectory(
    problem: Problem,
    options: Options,
    driver: Driver,
    layout: Layout,
    finder: EventFinder,
    recorder: Recorder,
    status: str,
    message: str,
) -> Trajectory:
    times, states = recorder.finish(complete=status == "finished")
    means, factors = layout.factors(states)
    at_events = [finder.moments(index) for index in range(len(options.events))]
    return Trajectory(
        t=times,
        mean=means,
        factor=factors,
        status=status,
        message=message,
        t_star=driver.singularity if status == "blow-up" else None,
        nfev=driver.nfev,
        t_events=tuple(np.array(found) for found in finder.times),
        mean_events=tuple(mean for mean, _ in at_events),
        cov_events=tuple(cov for _, cov in at_events),
        model=problem.statement.name,
        method=options.method,
        _dense=recorder.dense,
        _layout=layout if options.dense_output else None,
    )
