"""Many runs of one model, over initial laws and parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from symflow.checking import Array, whole_number
from symflow.codegen.kernel import BACKENDS
from symflow.errors import BuildError, InputError, NormaliserDiverges
from symflow.integrate.backends import runtime
from symflow.integrate.ensemble.lanes import LaneRun, lane_run
from symflow.integrate.ensemble.members import Members, read_clouds, read_laws, read_members
from symflow.integrate.ensemble.result import Ensemble, Rows
from symflow.integrate.ensemble.threads import Progress, Watch, in_a_sentence, line_of_progress, run_threads
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.options import Options, read_options
from symflow.integrate.problem import read_problem, refuse_divergent
from symflow.integrate.solve import solve
from symflow.integrate.stochastic.ensemble import run_paths
from symflow.integrate.stochastic.options import (
    has_noise,
    read_steps,
    refuse_noise_of,
    refuse_of_flows,
    refuse_of_noise,
)
from symflow.integrate.tokens.ensemble import run_clouds
from symflow.integrate.trajectory import Trajectory

_CHUNK = 8  # members that a thread takes at a time: as many as a register holds


def ensemble(
    model: Any,
    initials: Any,
    params: Mapping[str, Any],
    t_span: Any,
    *,
    t_eval: Any = None,
    rtol: float = 1e-9,
    atol: Any = 1e-12,
    method: str | None = None,
    threads: int = 1,
    backend: str = "auto",
    progress: Progress | bool | None = None,
    chunk: int | None = None,
    max_wall_time: float | None = None,
    dt: float | None = None,
    max_step: float | None = None,
    first_step: float | None = None,
    noise: Any = None,
    rng: Any = None,
    paths: Any = None,
    draw: str | None = None,
    features: int | None = None,
    degree: int | None = None,
    substeps: int | None = None,
) -> Ensemble:
    r"""Integrate many Gaussian laws, or many clouds of tokens, each with its own start, parameters or noise.

    .. math:: \dot\alpha_b = \Gamma(\alpha_b, \Sigma_b; \theta_b), \quad
              \dot\Sigma_b = L_b\Sigma_b + \Sigma_b L_b^\top, \qquad b = 1, …, B

    Up to d = 8 with ``"dop853"``, eight members share the vector registers of a core, each with a step size
    of its own; else every member is a :func:`symflow.solve`. A member has the same bits whatever the others
    are doing: neither ``chunk`` nor ``threads`` changes a result. With noise the members are paths, which
    share registers whatever their dimension; each is the :func:`symflow.solve` with its number as ``path``.

    Parameters
    ----------
    model : AttentionModel
        E.g. ``Softmax()``.
    initials : Gaussian, sequence of Gaussian, or array_like (n, d) or (B, n, d)
        One law for all members, or one per member, all of one dimension; or tokens, likewise.
    params : mapping
        Parameters by name. A value is shared by all members, or has one more axis, the first: one entry per
        member; a parameter of d numbers is then (B, d), a matrix (B, d, d), a number (B,). ``beta``,
        ``temperature`` and ``diffusion`` may be given here, too.
    t_span : (float, float)
        First and last time.
    t_eval : array_like, (T,), optional
        Times to record, strictly monotone; the first and the last time by default.
    rtol, atol : float; float or (d,)
        Tolerances as in :func:`symflow.solve`.
    method : str, optional
        As in :func:`symflow.solve`; ``"dop853"`` without noise, ``"euler-maruyama"`` with it.
    threads : int, default 1
        How many threads work; the calling one is one of them.
    backend : str, default "auto"
        ``"compiled"``, ``"numpy"``, or compiled where possible.
    progress : callable or bool, optional
        ``progress(done, total)`` from time to time; True writes a line to standard error.
    chunk : int, default 8
        How many members a thread takes at a time.
    max_wall_time : float, optional
        Seconds after which the ensemble returns with the members that are done.
    dt, max_step, first_step : float, optional
        As in :func:`symflow.solve`.
    noise, rng, draw, features, degree, substeps : optional
        As in :func:`symflow.solve`; every path has the same parameters.
    paths : int or sequence of int, optional
        How many paths, or which: ``paths=[13]`` is the one that has number 13 among ``paths=100``. By default
        100, or one per cloud.

    Returns
    -------
    Ensemble
        After Ctrl-C or ``max_wall_time`` too: ``completed`` says which members ran to their end.

    Raises
    ------
    InputError
        If an argument cannot be used, before any work.
    NormaliserDiverges
        If the attention weights of a member cannot be normalised at its initial law.

    References
    ----------
    CACP25; Hairer, Nørsett, Wanner, *Solving Ordinary Differential Equations I*, II.5–II.6.

    Examples
    --------
    >>> from symflow import Gaussian, Softmax, ensemble
    >>> laws = [Gaussian([0.0], [[s]]) for s in (0.5, 1.0, 2.0)]
    >>> runs = ensemble(Softmax(), laws, {"A": [[1.0]], "V": [[1.0]]}, (0, 0.6), backend="numpy")
    >>> runs.status.tolist()
    ['finished', 'blow-up', 'blow-up']
    >>> runs.t_star[1:].round(6).tolist()
    [0.5, 0.25]
    """
    if isinstance(initials, Iterator):
        initials = list(initials)
    clouds = _are_clouds(initials)
    laws: Any = read_clouds(model, initials) if clouds else read_laws(initials)
    dim = (laws[0] if isinstance(laws, tuple) else laws).dim
    drawing: dict[str, Any] = {"draw": draw, "features": features, "degree": degree, "substeps": substeps}
    if not clouds:
        refuse_noise_of(noise)
    if clouds and has_noise(model, noise):
        refuse_of_flows(max_step=max_step, first_step=first_step)
        steps = read_steps(
            dim, t_span, dt=dt, method=method, t_eval=t_eval, max_wall_time=max_wall_time, **drawing
        )
        return run_paths(
            model, laws, params, noise, steps, rng, paths,
            threads=whole_number(threads, "threads"), backend=_backend(backend), progress=_reporter(progress),
        )  # fmt: skip
    refuse_of_noise(**drawing, paths=paths)
    options = read_options(
        dim, t_span, t_eval=t_eval, method="dop853" if method is None else method, rtol=rtol, atol=atol,
        dt=dt, max_step=max_step, first_step=first_step, events=None, dense_output=False, callback=None,
        max_wall_time=max_wall_time,
    )  # fmt: skip
    members = read_members(model, laws, params, (options.t0, options.t1))
    threads = whole_number(threads, "threads")
    step = _CHUNK if chunk is None else whole_number(chunk, "chunk")
    chosen, reporter = _backend(backend), _reporter(progress)
    if clouds:
        return run_clouds(members, options, threads, step, chosen, reporter)
    return _run(members, options, threads, step, chosen, reporter)


def _are_clouds(initials: Any) -> bool:
    """Whether the members are tokens: numbers, not laws."""
    if isinstance(initials, (Gaussian, str)) or (isinstance(initials, Sequence) and not initials):
        return False
    first = initials[0] if isinstance(initials, Sequence) else initials
    return hasattr(first, "__array__") or (isinstance(first, Sequence) and not isinstance(first, str))


def _run(
    members: Members, options: Options, threads: int, chunk: int, backend: str, progress: Progress | None
) -> Ensemble:
    times = options.t_eval
    if times is None:
        times = np.array([options.t0, options.t1] if options.t0 != options.t1 else [options.t0])
    asked = (members, options, times, chunk, backend)
    work = lane_run(*asked) or _Singles(*asked)
    watch = Watch(work.done, members.count, progress, options.max_wall_time)
    interrupted = run_threads(work.worker, threads, watch)
    rows = work.rows()
    _refuse_divergent(members, options, rows)
    done = int((rows.status != "stopped").sum())
    message = in_a_sentence(done, members.count, interrupted, options.max_wall_time)
    where = "lanes" if isinstance(work, LaneRun) else backend
    return rows.ensemble(times, message, members.problem.statement.name, options.method, where)


def _refuse_divergent(members: Members, options: Options, rows: Rows) -> None:
    """Refuse the first member whose normaliser diverges at its initial law."""
    outside = (rows.reasons == "outside-domain") & (rows.last_t == options.t0)
    for m in np.flatnonzero(outside).tolist():
        problem = read_problem(members.model(m), members.initials[m], members.params(m))
        try:
            refuse_divergent(problem, problem.tilt())
        except NormaliserDiverges as error:
            raise NormaliserDiverges(f"member {m}: {error}", error.value) from None


def _backend(backend: str) -> str:
    if backend not in BACKENDS:
        raise InputError(f"backend {backend!r} is unknown; choose one of {', '.join(BACKENDS)}")
    if backend == "compiled" and runtime() is None:
        raise BuildError("the compiled runtime is missing; reinstall symflow with a C compiler on PATH")
    return backend


def _reporter(progress: Any) -> Progress | None:
    if progress is None or progress is False:
        return None
    if progress is True:
        return line_of_progress
    if not callable(progress):
        raise InputError(
            f"progress must be True or a function progress(done, total), got {type(progress).__name__}"
        )
    reporter: Progress = progress
    return reporter


class _Singles:
    """An ensemble run member by member, for what has no lanes."""

    def __init__(self, members: Members, options: Options, times: Array, chunk: int, backend: str) -> None:
        self._members, self._options, self._times, self._backend = members, options, times, backend
        law = members.initials[0]
        self._rows = Rows(members.count, times.size, law.mean.shape, law.dim)
        self._chunk = chunk
        self._next = itertools.count(0, chunk)

    def done(self) -> int:
        """Return how many members have ended."""
        return int((self._rows.status != "stopped").sum())

    def rows(self) -> Rows:
        """Return moments and ends of all members."""
        return self._rows

    def worker(self) -> Callable[[], bool]:
        """Return what runs one member and tells whether none is left."""
        mine: list[int] = []

        def advance() -> bool:
            if not mine:
                first = next(self._next)
                mine.extend(reversed(range(first, min(first + self._chunk, self._members.count))))
            if not mine:
                return True
            self._solve(mine.pop())
            return False

        return advance

    def _solve(self, m: int) -> None:
        o, members = self._options, self._members
        try:
            run = solve(
                members.model(m), members.initials[m], members.params(m), (o.t0, o.t1), t_eval=self._times,
                method=o.method, rtol=o.rtol, atol=o.atol, dt=o.dt, max_step=o.max_step,
                first_step=o.first_step, backend=self._backend, max_wall_time=o.max_wall_time,
            )  # fmt: skip
        except NormaliserDiverges as error:
            raise NormaliserDiverges(f"member {m}: {error}", error.value) from None
        if run.status != "stopped":
            self._keep(m, run)

    def _keep(self, m: int, run: Trajectory) -> None:
        """Enter a run; the status last, because another thread may be counting."""
        rows, rank = self._rows, run.factor.shape[-1]
        reached = int(np.isin(self._times, run.t).sum())
        rows.mean[m, :reached] = run.mean[:reached]
        rows.factor[m, :reached] = 0.0
        rows.factor[m, :reached, ..., :rank] = run.factor[:reached]
        rows.last_t[m], rows.last_mean[m], rows.last_factor[m] = run.t[-1], run.mean[-1], 0.0
        rows.last_factor[m, ..., :rank] = run.factor[-1]
        rows.t_star[m] = np.nan if run.t_star is None else run.t_star
        rows.nfev[m], rows.status[m] = run.nfev, run.status
