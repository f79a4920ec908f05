"""Staircases: stretches on which a count or an energy hardly changes, and the waits between the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.checking import Array, positive_number, real_array, real_number
from symflow.errors import InputError


@dataclass(frozen=True)
class Plateau:
    """A stretch from ``start`` to ``end`` at ``level``."""

    start: float
    end: float
    level: float

    @property
    def duration(self) -> float:
        """How long it lasts."""
        return self.end - self.start


def count_plateaus(t: Any, count: Any, shortest: float = 0.0) -> tuple[Plateau, ...]:
    """Return the maximal stretches on which the count is constant and that last longer than ``shortest``.

    A stretch ends at the first output with another count.

    Parameters
    ----------
    t : array_like, (T,)
        Increasing times.
    count : array_like of int, (T,)
        For example the number of clusters.
    shortest : float
        Shorter stretches are left out.

    Examples
    --------
    >>> [(p.start, p.end, p.level) for p in count_plateaus([0.0, 1.0, 2.0, 3.0], [4, 2, 2, 1], 1.5)]
    [(1.0, 3.0, 2.0)]
    """
    times, values = _series(t, count, "count")
    changes = np.flatnonzero(np.diff(values)) + 1
    starts = np.concatenate([[0], changes])
    ends = np.concatenate([changes, [len(times) - 1]])
    return _kept(times, values, list(zip(starts.tolist(), ends.tolist(), strict=True)), shortest)


def plateaus(t: Any, values: Any, tolerance: float, shortest: float) -> tuple[Plateau, ...]:
    """Return the stretches on which a series varies little for long, the longest ones first claimed.

    Parameters
    ----------
    t : array_like, (T,)
        Increasing times.
    values : array_like, (T,)
        For example an energy along a run.
    tolerance : float
        How far largest and smallest value of a stretch may be apart, over the range of the whole series.
    shortest : float
        Shorter stretches are left out.

    Returns
    -------
    tuple of Plateau
        In time order, disjoint; the level is the median.

    Examples
    --------
    >>> values = [0.0, 0.5, 1.0, 1.0, 1.0, 1.5, 2.0]
    >>> [(p.start, p.end, p.level) for p in plateaus(range(7), values, 0.1, 1.5)]
    [(2.0, 4.0, 1.0)]
    """
    times, series = _series(t, values, "values")
    width = positive_number(tolerance, "tolerance") * float(np.ptp(series))
    ends = _farthest(series, width)
    found: list[tuple[int, int]] = []
    pending = [(0, len(times) - 1)]
    while pending:
        first, last = pending.pop()
        stops = np.minimum(ends[first : last + 1], last)
        lengths = times[stops] - times[first : last + 1]
        best = int(np.argmax(lengths))
        if lengths[best] <= max(shortest, 0.0):
            continue
        start, stop = first + best, int(stops[best])
        found.append((start, stop))
        pending += [part for part in ((first, start - 1), (stop + 1, last)) if part[0] < part[1]]
    return _kept(times, series, sorted(found), shortest)


def waiting_times(merge_times: Any) -> Array:
    """Return the waits between successive merges.

    Parameters
    ----------
    merge_times : array_like
        Ascending.

    Examples
    --------
    >>> waiting_times([1.0, 3.0, 10.0])
    array([2., 7.])
    """
    return np.diff(real_array(merge_times, "merge_times"))


def _series(t: Any, values: Any, name: str) -> tuple[Array, Array]:
    times, series = real_array(t, "t"), real_array(values, name)
    if times.ndim != 1 or times.size == 0 or times.shape != series.shape:
        raise InputError(f"t of shape {times.shape} and {name} of shape {series.shape}: give (T,) both")
    if (np.diff(times) <= 0.0).any():
        raise InputError(f"t[{int(np.argmax(np.diff(times) <= 0.0)) + 1}] does not increase; sort the times")
    return times, series


def _farthest(series: Array, width: float) -> Any:
    """Return for every index the last one up to which the series stays within ``width``."""
    ends = np.empty(len(series), dtype=np.intp)
    stop = 0
    for start in range(len(series)):
        stop = max(stop, start)
        low, high = series[start : stop + 1].min(), series[start : stop + 1].max()
        while stop + 1 < len(series):
            low, high = min(low, series[stop + 1]), max(high, series[stop + 1])
            if high - low > width:
                break
            stop += 1
        ends[start] = stop
    return ends


def _kept(times: Array, series: Array, found: list[tuple[int, int]], shortest: float) -> tuple[Plateau, ...]:
    least = real_number(shortest, "shortest")
    stretches = [
        Plateau(
            float(times[start]), float(times[stop]), float(np.median(series[start : max(stop, start + 1)]))
        )
        for start, stop in found
    ]
    return tuple(stretch for stretch in stretches if stretch.duration > least)
