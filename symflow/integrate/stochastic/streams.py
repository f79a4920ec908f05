"""Where random numbers come from: a key per seed, and a stream of it per path, step and purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.errors import InputError

#: What paths are counted in.
Numbers = NDArray[np.int64]


def stream_key(rng: Any) -> tuple[int, int]:
    """Return the key of the streams of one run.

    Nothing is drawn from a generator: its seed has a new child at every call, so that two runs with one
    generator differ, and the first one is that of the seed itself.

    Parameters
    ----------
    rng : int, Generator, SeedSequence or None
        A seed; None for one from the operating system.

    Raises
    ------
    InputError
        If it is none of these.

    Examples
    --------
    >>> stream_key(7) == stream_key(np.random.default_rng(7))
    True
    """
    sequence = _sequence(rng)
    first, second = sequence.spawn(1)[0].generate_state(2, np.uint64).tolist()
    return first, second


def _sequence(rng: Any) -> np.random.SeedSequence:
    if rng is None:
        return np.random.SeedSequence()
    if isinstance(rng, np.random.Generator):
        rng = rng.bit_generator.seed_seq
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return np.random.SeedSequence(int(rng))
    raise InputError(
        f"rng = {rng!r} must be a whole number ≥ 0, numpy.random.default_rng(seed), a SeedSequence or None"
    )


def path_numbers(paths: Any, count: int | None) -> Numbers:
    """Return the numbers of the paths to run.

    Parameters
    ----------
    paths : int, sequence of int, or None
        How many, numbered from 0; or which.
    count : int or None
        How many initial clouds there are, where each path has its own.

    Raises
    ------
    InputError
        If a number is no whole number ≥ 0, there is none, or they are not as many as clouds.
    """
    chosen = _DEFAULT if paths is None and count is None else count if paths is None else paths
    if isinstance(chosen, (int, np.integer)) and not isinstance(chosen, bool):
        numbers = np.arange(chosen, dtype=np.int64) if chosen > 0 else np.empty(0, dtype=np.int64)
    else:
        numbers = _listed(chosen)
    if numbers.size == 0:
        raise InputError(f"paths = {paths!r} asks for no path; give how many, or a list of their numbers")
    if count is not None and numbers.size != count:
        raise InputError(f"there are {count} initial clouds, but {numbers.size} paths; give one for each")
    return numbers


_DEFAULT = 100


def _listed(chosen: Any) -> Numbers:
    try:
        items = [(item, int(item)) for item in chosen]
    except (TypeError, ValueError) as error:
        raise InputError(f"paths = {chosen!r} must be a whole number, or a list of such") from error
    for i, (item, number) in enumerate(items):
        if isinstance(item, bool) or number != item or number < 0:
            raise InputError(f"paths[{i}] = {item!r} must be a whole number ≥ 0")
    return np.array([number for _, number in items], dtype=np.int64)
