"""Runs of a network: one path, recorded layer by layer, or many paths in threads."""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array, positive_number, real_array, whole_number
from symflow.codegen.kernel import BACKENDS
from symflow.errors import BuildError, InputError
from symflow.integrate.backends import runtime, warn_without_runtime
from symflow.integrate.deep.attention import Attention, read_attention
from symflow.integrate.deep.passes import NON_FINITE, NumpyPass
from symflow.integrate.ensemble.threads import (
    Progress,
    Watch,
    in_a_sentence,
    line_of_progress,
    run_threads,
)
from symflow.integrate.stochastic.streams import Numbers, path_numbers, stream_key
from symflow.integrate.tokens.ensemble import TokenEnsemble
from symflow.integrate.tokens.state import Tokens, read_tokens
from symflow.integrate.tokens.trajectory import TokenTrajectory

if TYPE_CHECKING:
    from symflow.integrate.deep.network import DeepTransformer

_CHUNK_SECONDS = 0.03  # how long a run stays out of reach of Ctrl-C, callbacks and the wall clock
_MOST_RECORDED = 1 << 28  # numbers
METHOD = "layers"  #: what results say as their method


@dataclass(frozen=True, eq=False)
class Request:
    """A checked request for a run.

    Attributes
    ----------
    network : DeepTransformer
    x0 : ndarray, (n, d) or (paths, n, d)
    attention : Attention
    numbers : ndarray of int, (paths,)
    single : bool
        Whether a trajectory is asked for.
    rows : ndarray of int, (T,)
        After how many layers to record.
    key : (int, int)
    backend : str
    threads : int
    callback, progress : callable or None
    max_wall_time : float or None
    """

    network: DeepTransformer
    x0: Array
    attention: Attention
    numbers: Numbers
    single: bool
    rows: NDArray[np.int64]
    key: tuple[int, int]
    backend: str
    threads: int
    callback: Callable[..., Any] | None
    progress: Progress | None
    max_wall_time: float | None

    def start(self, member: int) -> Array:
        """Return the tokens with which a path begins."""
        return self.x0 if self.x0.ndim == 2 else self.x0[member]

    def passes(self) -> tuple[Callable[[], Any], str]:
        """Return what makes a pass for one thread, and the backend."""
        program = self._program()
        call, backend = self.attention.bound("numpy" if program is None else self.backend)
        if program is None:
            return lambda: self._numpy_pass(self.attention.bound("numpy")[0]), "numpy"
        shared = self._network(program)
        first = iter([call])  # the others get copies with scratch memory of their own

        def make() -> Any:
            own = next(first, None) or (call.copy() if hasattr(call, "copy") else call)
            return _compiled().Pass(shared, self._entered(own))

        return make, backend

    def _program(self) -> tuple[Array, Array] | None:
        """Return the activation for compiled layers; None where NumPy passes them."""
        if self.backend == "numpy":
            return None
        if _compiled() is None:
            if self.backend == "compiled":
                raise BuildError(
                    "the compiled runtime is missing; reinstall symflow with a C compiler on PATH"
                )
            warn_without_runtime()
            return None
        try:
            return self.network.layer.program
        except InputError:
            if self.backend == "compiled":
                raise
            return None

    def _network(self, program: tuple[Array, Array]) -> Any:
        network, layer = self.network, self.network.layer
        return _compiled().Network(
            self.x0.shape[-2], layer.dim, layer.width, network.layers, network.horizon, self.key, program,
            layer.sigma_w, layer.sigma_u,
        )  # fmt: skip

    def _entered(self, call: Any) -> Any:
        """Return attention as compiled layers call it."""
        compiled = runtime()
        if call is None or isinstance(call, (compiled.Call, compiled.PyCall, compiled.Scheduled)):
            return call
        return compiled.PyCall(call, self.x0.shape[-2] * self.x0.shape[-1])

    def _numpy_pass(self, call: Any) -> NumpyPass:
        network = self.network
        return NumpyPass(network.layer, network.layers, network.horizon, self.key, call)

    def message(self, status: str, layer: int, reason: int) -> str:
        """Say how a path ended, and what to do about it."""
        name, where = self.attention.name, f"layer {layer}, t = {self.network.times(layer):.10g}"
        if status == "finished":
            return f"reached t = {self.network.times(layer):.10g} after {layer} layers"
        if reason == NON_FINITE:
            return f"tokens are no finite numbers after {where}; make the activation or its biases smaller"
        why = runtime().STATUS[reason] if runtime() is not None else f"status {reason}"
        return f"the attention of {name} cannot be computed in {where} ({why}); change its parameters"


@lru_cache(maxsize=1)
def _compiled() -> Any:
    """Return the module ``symflow_ext.network``, or None where it was not built."""
    try:
        return importlib.import_module("symflow_ext.network")
    except ImportError:
        return None


def read_request(
    network: DeepTransformer,
    x0: Any,
    rng: Any,
    *,
    paths: Any,
    path: Any,
    every: Any,
    t_eval: Any,
    backend: str,
    threads: Any,
    callback: Any,
    progress: Any,
    max_wall_time: Any,
) -> Request:
    """Check a request; see :meth:`symflow.DeepTransformer.run`.

    Raises
    ------
    InputError
        Naming the argument, what is wrong with it and what to give instead.
    """
    clouds = _clouds(network, x0)
    several = clouds if isinstance(clouds, tuple) else None
    first: Tokens = clouds[0] if isinstance(clouds, tuple) else clouds
    single = several is None and _is_one(paths)
    count = None if several is None else len(several)
    numbers = path_numbers([whole_number(path, "path", 0)] if single else paths, count)
    rows = _rows(network, every, t_eval, single)
    _refuse_too_many(rows, numbers, first)
    if callback is not None and (not callable(callback) or not single):
        raise InputError("callback must be a function callback(t, x), of a single path")
    if backend not in BACKENDS:
        raise InputError(f"backend {backend!r} is unknown; choose one of {', '.join(BACKENDS)}")
    return Request(
        network=network,
        x0=first.x if several is None else np.stack([cloud.x for cloud in several]),
        attention=read_attention(network.model, first, network.params, network.horizon),
        numbers=numbers,
        single=single,
        rows=rows,
        key=stream_key(rng),
        backend=backend,
        threads=whole_number(threads, "threads"),
        callback=callback,
        progress=_reporter(progress),
        max_wall_time=None if max_wall_time is None else positive_number(max_wall_time, "max_wall_time"),
    )


def _is_one(paths: Any) -> bool:
    return paths is None or (isinstance(paths, (int, np.integer)) and paths is not True and paths == 1)


def _clouds(network: DeepTransformer, x0: Any) -> Tokens | tuple[Tokens, ...]:
    """Return tokens for all paths, or those of each."""
    if getattr(x0, "ndim", 2) == 3:
        clouds = tuple(read_tokens(network.model, cloud, f"x0[{i}]") for i, cloud in enumerate(x0))
        for cloud in clouds[:1]:
            refuse_dimension(network, cloud)
        return clouds
    tokens = read_tokens(network.model, x0, "x0")
    refuse_dimension(network, tokens)
    return tokens


def refuse_dimension(network: DeepTransformer, tokens: Tokens) -> None:
    """Refuse tokens of another dimension than the noise."""
    if tokens.dim != network.layer.dim:
        raise InputError(
            f"x0 has tokens in dimension d = {tokens.dim}, but noise has dim = {network.layer.dim}; "
            f"give CommonNoise dim={tokens.dim}"
        )


def _rows(network: DeepTransformer, every: Any, t_eval: Any, single: bool) -> NDArray[np.int64]:
    """Return after how many layers to record."""
    layers = network.layers
    if t_eval is not None:
        if every is not None:
            raise InputError("every and t_eval both say what to record; give one of them")
        return _nearest(network, real_array(t_eval, "t_eval"))
    step = (1 if single else layers) if every is None else whole_number(every, "every")
    if layers // step >= _MOST_RECORDED:
        raise InputError(f"{layers // step} layers are too many to record; give every = k, or t_eval")
    return np.append(np.arange(0, layers, step, dtype=np.int64), layers)


def _nearest(network: DeepTransformer, times: Array) -> NDArray[np.int64]:
    if times.ndim != 1 or times.size == 0:
        raise InputError(f"t_eval must be a list of times, got shape {times.shape}")
    wrong = np.flatnonzero(np.diff(times) <= 0.0)
    if wrong.size:
        i = int(wrong[0])
        raise InputError(
            f"t_eval must be strictly increasing: t_eval[{i}] = {float(times[i])!r}, "
            f"t_eval[{i + 1}] = {float(times[i + 1])!r}"
        )
    layers = np.rint(times / network.horizon * network.layers)
    outside = np.flatnonzero((layers < 0) | (layers > network.layers))
    if outside.size:
        i = int(outside[0])
        raise InputError(f"t_eval[{i}] = {float(times[i])!r} lies outside of [0, {network.horizon!r}]")
    return np.unique(layers.astype(np.int64))


def _refuse_too_many(rows: NDArray[np.int64], numbers: Numbers, tokens: Tokens) -> None:
    total = rows.size * numbers.size * tokens.x.size
    if total > _MOST_RECORDED:
        raise InputError(
            f"{numbers.size} paths, {rows.size} times, {tokens.count} tokens are {total} numbers to record; "
            "give every = k, or t_eval"
        )


def _reporter(progress: Any) -> Progress | None:
    if progress is None or progress is False:
        return None
    if progress is True:
        return line_of_progress
    if not callable(progress):
        given = type(progress).__name__
        raise InputError(f"progress must be True or a function progress(done, total), got {given}")
    reporter: Progress = progress
    return reporter


# -------------------------------------------------------------------------------------------------- one path


def run_one(request: Request) -> TokenTrajectory:
    """Send one path through the layers."""
    network, start = request.network, time.perf_counter()
    out = np.empty((request.rows.size, *request.x0.shape))
    make, _ = request.passes()
    one = make()
    one.start(int(request.numbers[0]), request.x0, request.rows, out)
    while True:
        ended = one.advance(_CHUNK_SECONDS, -1 if request.callback is None else one.layer + 1)
        t = float(network.times(one.layer))
        if request.progress is not None:
            request.progress(one.layer, network.layers)
        if ended:
            status = "non-finite" if one.reason else "finished"
            return _trajectory(request, one, out, status, request.message(status, one.layer, one.reason))
        if request.callback is not None and request.callback(t, _tokens(request, one)):
            message = f"the callback ended the run at t = {t:.10g}"
            return _trajectory(request, one, out, "stopped", message)
        if request.max_wall_time is not None and time.perf_counter() - start > request.max_wall_time:
            message = f"max_wall_time = {request.max_wall_time:g} s was over at t = {t:.10g}"
            return _trajectory(request, one, out, "stopped", message)


def _tokens(request: Request, one: Any) -> Array:
    x = np.empty(request.x0.shape[-2:])
    one.tokens(x)
    return x


def _trajectory(request: Request, one: Any, out: Array, status: str, message: str) -> TokenTrajectory:
    """Return what was recorded; a path that ended early has its last tokens as last row."""
    rows, x = request.rows[: one.reached], out[: one.reached]
    if status != "finished" and not (rows.size and rows[-1] == one.layer):
        rows, x = np.append(rows, one.layer), np.concatenate([x, _tokens(request, one)[None]])
    return TokenTrajectory(
        t=np.asarray(request.network.times(rows)),
        x=x,
        status=status,
        message=message,
        nfev=int(one.layer) * request.attention.present,
        model=request.attention.name,
        method=METHOD,
        space="sphere",
    )


# ------------------------------------------------------------------------------------------------ many paths


def run_many(request: Request) -> TokenEnsemble:
    """Send paths through the layers, in threads."""
    work = _Work(request)
    watch = Watch(work.done, request.numbers.size, request.progress, request.max_wall_time)
    interrupted = run_threads(work.worker, request.threads, watch)
    message = in_a_sentence(work.done(), request.numbers.size, interrupted, request.max_wall_time)
    return TokenEnsemble(
        t=np.asarray(request.network.times(request.rows)),
        **work.arrays,
        message=message,
        model=request.attention.name,
        method=METHOD,
        backend=work.backend,
        space="sphere",
    )


class _Work:
    """Paths that threads take one by one."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._make, self.backend = request.passes()
        count, shape = request.numbers.size, request.x0.shape[-2:]
        self.arrays: dict[str, Any] = {
            "x": np.full((count, request.rows.size, *shape), np.nan),
            "status": np.full(count, "stopped", dtype="<U14"),
            "t_star": np.full(count, np.nan),
            "nfev": np.zeros(count, dtype=np.int64),
            "reasons": np.full(count, "", dtype="<U14"),
            "last_t": np.full(count, np.nan),
            "last_x": np.full((count, *shape), np.nan),
        }
        self._next = itertools.count()

    def done(self) -> int:
        """Return how many paths have ended."""
        return int((self.arrays["status"] != "stopped").sum())

    def worker(self) -> Callable[[], bool]:
        """Return what advances one path for a moment and tells whether none is left."""
        request, one = self._request, self._make()
        member: int | None = None

        def advance() -> bool:
            nonlocal member
            if member is None:
                member = next(self._next)
                if member >= request.numbers.size:
                    return True
                place = self.arrays["x"][member]
                one.start(int(request.numbers[member]), request.start(member), request.rows, place)
            if one.advance(_CHUNK_SECONDS):
                self._keep(member, one)
                member = None
            return False

        return advance

    def _keep(self, member: int, one: Any) -> None:
        """Enter how a path ended; the status last, because another thread may be counting."""
        arrays, request = self.arrays, self._request
        one.tokens(arrays["last_x"][member])
        arrays["last_t"][member] = request.network.times(one.layer)
        arrays["nfev"][member] = one.layer * request.attention.present
        arrays["status"][member] = "non-finite" if one.reason else "finished"
