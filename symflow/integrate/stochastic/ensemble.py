"""Many paths of tokens with noise, in the lanes of registers and in threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.integrate.ensemble.threads import Progress, Watch, in_a_sentence, run_threads
from symflow.integrate.stochastic.equation import Equation, read_equation
from symflow.integrate.stochastic.field import paths_module
from symflow.integrate.stochastic.options import STAGES, Steps
from symflow.integrate.stochastic.streams import Numbers, path_numbers, stream_key
from symflow.integrate.tokens.ensemble import TokenEnsemble
from symflow.integrate.tokens.state import Tokens

_SECONDS = 0.05  # how long a thread stays out of reach of Ctrl-C and the wall clock


def run_paths(
    model: Any,
    clouds: Tokens | tuple[Any, ...],
    params: Mapping[str, Any],
    noise: Any,
    steps: Steps,
    rng: Any,
    paths: Any,
    *,
    threads: int,
    backend: str,
    progress: Progress | None,
) -> TokenEnsemble:
    """Integrate many paths; see :func:`symflow.ensemble`.

    Raises
    ------
    InputError
        If an argument cannot be used, before any work.
    """
    several = isinstance(clouds, tuple)
    first: Tokens = clouds[0] if isinstance(clouds, tuple) else clouds
    numbers = path_numbers(paths, len(clouds) if isinstance(clouds, tuple) else None)
    equation = read_equation(model, first, params, noise, steps, stream_key(rng), backend)
    x0 = np.stack([cloud.x for cloud in clouds]) if several else first.x  # type: ignore[union-attr]
    work = _Work(equation, x0, numbers)
    watch = Watch(work.done, numbers.size, progress, steps.max_wall_time)
    interrupted = run_threads(work.worker, threads, watch)
    message = in_a_sentence(work.done(), numbers.size, interrupted, steps.max_wall_time)
    return work.ensemble(message + equation.remark())


class _Work:
    """Paths that threads take, a register of them at a time."""

    def __init__(self, equation: Equation, x0: Array, numbers: Numbers) -> None:
        self._equation, steps, count = equation, equation.steps, numbers.size
        self._times = np.unique([steps.t0, steps.t1]) if steps.t_eval is None else steps.t_eval
        rows, shares = steps.places(self._times)
        shape = x0.shape[-2:]
        self._counts = {
            name: np.zeros(count, dtype=np.int64) for name in ("status", "reason", "ended", "reached")
        }
        self._out = np.full((count, self._times.size, *shape), np.nan)
        self._last = np.full((count, *shape), np.nan)
        arrays = {"rows": rows, "shares": shares, "out": self._out, "last": self._last, **self._counts}
        self._paths = equation.paths(x0, numbers, arrays)

    def worker(self) -> Callable[[], bool]:
        """Return what advances one thread and tells whether no path is left."""
        worker = self._equation.worker(self._paths)
        return lambda: bool(worker.advance(_SECONDS))

    def done(self) -> int:
        """Return how many paths have ended."""
        return int(np.count_nonzero(self._counts["status"]))

    def ensemble(self, message: str) -> TokenEnsemble:
        """Return all paths; what was not reached is NaN."""
        equation, counts = self._equation, self._counts
        ended = counts["status"] > 0
        self._out[~ended], self._last[~ended] = np.nan, np.nan
        status = np.array(paths_module().STATUSES, dtype="<U14")[counts["status"]]
        x, last = self._seen(self._out), self._seen(self._last)
        times = np.array([float(equation.steps.times(k, k)[0]) for k in counts["ended"].tolist()])
        reasons = np.array(["", *equation.words()[1:]], dtype="<U14")[counts["reason"]]
        return TokenEnsemble(
            t=self._times,
            x=x,
            status=status,
            t_star=np.full(status.size, np.nan),
            nfev=STAGES[equation.steps.method] * counts["ended"],
            reasons=reasons,
            last_t=np.where(ended, times, np.nan),
            last_x=last,
            message=message,
            model=equation.problem.statement.name,
            method=equation.steps.method,
            backend=equation.backend,
            space=equation.problem.model.space,
        )

    def _seen(self, x: Array) -> Array:
        return self._equation.layout.seen(x)[0].reshape(x.shape)
