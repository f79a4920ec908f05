"""What a caller may ask of a run with noise, checked before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array, whole_number
from symflow.errors import InputError
from symflow.integrate.options import Callback, Options, read_options

#: Itô with one draw per step; Stratonovich with one realisation of the noise for both stages.
METHODS = ("euler-maruyama", "heun")
#: Evaluations of the velocity in a step.
STAGES = {"euler-maruyama": 1, "heun": 2}
#: How the common field is drawn: see :mod:`symflow.integrate.stochastic.field`.
DRAWS = ("covariance", "features", "harmonics")

_FEATURES, _DEGREE = 256, 16
_WHOLE = 1e-9  # of a step, by which the end may miss it


@dataclass(frozen=True, eq=False)
class Steps:
    """A checked request for a run with noise; see :func:`symflow.solve`.

    Attributes
    ----------
    t0, t1, dt : float
    count : int
        How many steps there are; the last one ends at ``t1`` and may be shorter.
    t_eval : ndarray or None
    method, draw : str
    features, degree, substeps : int
    callback : callable or None
    max_wall_time : float or None
    """

    t0: float
    t1: float
    dt: float
    count: int
    t_eval: Array | None
    method: str
    draw: str
    features: int
    degree: int
    substeps: int
    callback: Callback | None
    max_wall_time: float | None

    def times(self, first: int, last: int) -> Array:
        """Return the times after ``first``, …, ``last`` steps."""
        steps = np.arange(first, last + 1)
        return np.where(steps >= self.count, self.t1, self.t0 + steps * self.dt)

    def places(self, times: Array) -> tuple[NDArray[np.int64], Array]:
        """Return the step in which each time lies, 0 for the start, and its share of that step."""
        step = np.ceil((times - self.t0) / self.dt - _WHOLE).astype(np.int64)
        step = np.where(times >= self.t1, self.count, np.clip(step, 0, self.count))
        ends = np.where(step >= self.count, self.t1, self.t0 + step * self.dt)
        starts = self.t0 + np.maximum(step - 1, 0) * self.dt
        whole = np.where(ends > starts, ends - starts, 1.0)
        shares = np.where(ends > starts, (times - starts) / whole, 1.0)
        close = shares > 1.0 - _WHOLE
        return step, np.ascontiguousarray(np.where(close, 1.0, shares))


def read_steps(
    dim: int,
    t_span: Any,
    *,
    dt: Any,
    method: str | None,
    draw: str | None,
    features: Any,
    degree: Any,
    substeps: Any,
    t_eval: Any = None,
    callback: Callback | None = None,
    max_wall_time: Any = None,
) -> Steps:
    """Check a request for a run with noise.

    Raises
    ------
    InputError
        Naming the argument, what is wrong with it and what to give instead.
    """
    chosen = METHODS[0] if method is None else method
    if chosen not in METHODS:
        raise InputError(f"method {method!r} cannot follow noise; choose one of {', '.join(METHODS)}")
    if dt is None:
        raise InputError("noise needs steps of fixed size; give dt")
    o = read_options(
        dim, t_span, t_eval=t_eval, method="rk4", rtol=1e-9, atol=1e-12, dt=dt, max_step=None,
        first_step=None, events=None, dense_output=False, callback=callback,
        max_wall_time=max_wall_time, seen="t, x",
    )  # fmt: skip
    _refuse_backward(o)
    assert o.dt is not None
    count = int(np.ceil((o.t1 - o.t0) / o.dt - _WHOLE)) if o.t1 > o.t0 else 0
    return Steps(
        o.t0, o.t1, o.dt, count, o.t_eval, chosen, _draw(draw, chosen),
        _whole(features, "features", _FEATURES), _whole(degree, "degree", _DEGREE),
        _whole(substeps, "substeps", 1), o.callback, o.max_wall_time,
    )  # fmt: skip


def has_noise(model: Any, noise: Any) -> bool:
    """Whether a run of tokens of this model has noise: common noise, its own, or that of the model."""
    return noise is not None or not model.noise.is_zero


def refuse_noise_of(noise: Any) -> None:
    """Refuse noise beside a Gaussian law."""
    if noise is not None:
        raise InputError(
            "a Gaussian law does not stay Gaussian under common noise, and noises of its tokens are the "
            "model's diffusion=; give tokens (n, d), or drop noise"
        )


def refuse_of_noise(**given: Any) -> None:
    """Refuse what only runs with noise have."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} = {value!r} is an option of runs with noise; give noise=, or drop it")


def refuse_of_flows(**given: Any) -> None:
    """Refuse what only runs without noise have."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InputError(f"{name} is not available with noise, whose steps have the size dt; drop {name}")


def _refuse_backward(options: Options) -> None:
    if options.t1 < options.t0:
        raise InputError(
            f"t_span = ({options.t0!r}, {options.t1!r}) runs backwards, which an equation with noise cannot; "
            "give a last time after the first one"
        )


def _draw(draw: str | None, method: str) -> str:
    """Return how the field is drawn; one draw at two places takes a realisation of it."""
    if draw is None:
        return "covariance" if method == METHODS[0] else "features"
    if draw not in DRAWS:
        raise InputError(f"draw {draw!r} is unknown; choose one of {', '.join(DRAWS)}")
    if draw == "covariance" and method != METHODS[0]:
        raise InputError(
            f"draw = 'covariance' gives the field at the tokens of one stage, method {method!r} needs one "
            "realisation at two; use draw = 'features' or 'harmonics', or method = 'euler-maruyama'"
        )
    return draw


def _whole(value: Any, name: str, default: int) -> int:
    return default if value is None else whole_number(value, name)
