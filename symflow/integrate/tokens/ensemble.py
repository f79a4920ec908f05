"""Many runs of tokens: the members of one set of parameters share a bound kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array
from symflow.integrate.backends import compiled_for
from symflow.integrate.ensemble.members import Members
from symflow.integrate.ensemble.result import Ensemble
from symflow.integrate.ensemble.threads import Progress, Watch, in_a_sentence, run_threads
from symflow.integrate.loop import Outcome, follow
from symflow.integrate.methods import Driver
from symflow.integrate.options import IMPLICIT, Options
from symflow.integrate.problem import read_problem
from symflow.integrate.tokens.run import all_pairs, refuse_unavailable, token_driver
from symflow.integrate.tokens.state import TokenLayout
from symflow.integrate.tokens.trajectory import TokenTrajectory


@dataclass(frozen=True, eq=False, repr=False)
class TokenEnsemble(Ensemble):
    """Tokens of B members at T times: member first, then time, token, coordinate.

    Attributes
    ----------
    x : ndarray, (B, T, n, d)
        NaN at times that a member did not reach; :meth:`member` leaves those out.
    last_x : ndarray, (B, n, d)
        Where each member ended; NaN where it was stopped.
    space : str
        ``"euclidean"`` or ``"sphere"``.
    t, status, t_star, nfev, reasons, last_t, message, model, method, backend
        As for every :class:`~symflow.Ensemble`.
    """

    t: Array
    x: Array
    status: NDArray[np.str_]
    t_star: Array
    nfev: NDArray[np.int64]
    reasons: NDArray[np.str_]
    last_t: Array
    last_x: Array
    message: str = ""
    model: str = ""
    method: str = ""
    backend: str = ""
    space: str = "euclidean"

    _states: ClassVar[tuple[str, ...]] = ("x",)
    _kind: ClassVar[str] = "token-ensemble"
    _exploding: ClassVar[str] = "max |x|"

    def _trajectory(self, parts: dict[str, Any]) -> TokenTrajectory:
        return TokenTrajectory(**parts, space=self.space)


def run_clouds(
    members: Members, options: Options, threads: int, chunk: int, backend: str, progress: Progress | None
) -> TokenEnsemble:
    """Integrate the tokens of every member; see :func:`symflow.ensemble`."""
    refuse_unavailable(members.problem, options)
    times = np.array([options.t0, options.t1]) if options.t_eval is None else options.t_eval
    work = _Work(members, options, times, chunk, backend)
    watch = Watch(work.done, members.count, progress, options.max_wall_time)
    interrupted = run_threads(work.worker, threads, watch)
    done = work.done()
    message = in_a_sentence(done, members.count, interrupted, options.max_wall_time)
    problem = members.problem
    return TokenEnsemble(
        t=times,
        **work.arrays,
        message=message,
        model=problem.statement.name,
        method=options.method,
        backend=work.backend,
        space=problem.model.space,
    )


class _Work:
    """Members that threads take in chunks."""

    def __init__(self, members: Members, options: Options, times: Array, chunk: int, backend: str) -> None:
        self._members, self._chunk = members, chunk
        self._times = times
        self._options = replace(options, t_eval=times)
        tokens, problem = members.initials[0], members.problem
        self._layout = TokenLayout(tokens.count, tokens.dim, tokens.on_sphere)
        explicit = options.method not in IMPLICIT
        self._kernel = compiled_for(problem.model, backend, problem.parametrisation, explicit, "tokens")
        self.backend = self._kernel.backend
        count, shape = members.count, tokens.x.shape
        self.arrays: dict[str, Any] = {
            "x": np.full((count, times.size, *shape), np.nan),
            "status": np.full(count, "stopped", dtype="<U14"),
            "t_star": np.full(count, np.nan),
            "nfev": np.zeros(count, dtype=np.int64),
            "reasons": np.full(count, "", dtype="<U14"),
            "last_t": np.full(count, np.nan),
            "last_x": np.full((count, *shape), np.nan),
        }
        self._next = itertools.count(0, chunk)

    def done(self) -> int:
        """Return how many members have ended."""
        return int((self.arrays["status"] != "stopped").sum())

    def worker(self) -> Callable[[], bool]:
        """Return what runs one member and tells whether none is left."""
        mine: list[int] = []
        bound: dict[bytes, Any] = {}

        def advance() -> bool:
            if not mine:
                first = next(self._next)
                mine.extend(reversed(range(first, min(first + self._chunk, self._members.count))))
            if not mine:
                return True
            member = mine.pop()
            self._run(member, self._call(member, bound))
            return False

        return advance

    def _call(self, member: int, bound: dict[bytes, Any]) -> Any:
        """Return the right-hand side of a member: that of the member before, if the parameters are equal."""
        members = self._members
        key = b"".join(values[member].tobytes() for values in members.own.values())
        if key not in bound:
            bound.clear()
            tokens, options = members.initials[member], self._options
            problem = read_problem(
                members.model(member), tokens, members.params(member), (options.t0, options.t1)
            )
            bound[key] = all_pairs(self._kernel, problem, tokens, options)
        return bound[key]

    def _run(self, member: int, call: Any) -> None:
        layout, options = self._layout, self._options
        driver = token_driver(call, self._members.initials[member].x.reshape(-1), layout, options)
        outcome = follow(driver, layout, options, lambda status, t, state: "")
        self._keep(member, outcome, driver)

    def _keep(self, member: int, outcome: Outcome, driver: Driver) -> None:
        """Enter a run; the status last, because another thread may be counting."""
        if outcome.status == "stopped":
            return
        arrays = self.arrays
        (x,) = self._layout.seen(outcome.states)
        reached = int(np.isin(self._times, outcome.times).sum())
        arrays["x"][member, :reached] = x[:reached]
        arrays["last_t"][member], arrays["last_x"][member] = outcome.times[-1], x[-1]
        if outcome.status == "blow-up":
            arrays["t_star"][member] = driver.singularity
        if outcome.status == "step-too-small":
            arrays["reasons"][member] = driver.reason
        arrays["nfev"][member] = driver.nfev
        arrays["status"][member] = outcome.status
