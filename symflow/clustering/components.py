"""Clusters: connected components of tokens that are close, over time, and when they merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.checking import Array, real_array, real_number
from symflow.clustering.pairs import directions, tokens
from symflow.clustering.staircase import Plateau, count_plateaus
from symflow.errors import InputError

COSINE = 0.999  #: from which cosine on tokens of a sphere are linked
_RELATIVE = 1e-3  #: distance at which tokens of ℝᵈ are linked, over the diameter at the first time
_BLOCK = 2**20  #: numbers in one block of pairs


@dataclass(frozen=True, eq=False, repr=False)
class Clusters:
    """The clusters of tokens along a run.

    Attributes
    ----------
    t : ndarray, (T,)
        Times.
    count : ndarray of int, (T,)
        How many clusters there are.
    labels : ndarray of int, (T, n)
        To which cluster a token belongs; clusters are numbered by their first member.
    merge_times : ndarray
        One time for each fall of the count by one, ascending; between two outputs it is interpolated from
        the cosine (or distance) at which the two clusters are linked.
    threshold : float
        The cosine from which on, or the distance up to which, tokens are linked.
    """

    t: Array
    count: NDArray[np.intp]
    labels: NDArray[np.intp]
    merge_times: Array
    threshold: float

    def sizes(self, index: int = -1) -> NDArray[np.intp]:
        """Return how many tokens each cluster has at one output, by default the last."""
        return np.bincount(self.labels[index])

    def plateaus(self, shortest: float = 0.0) -> tuple[Plateau, ...]:
        """Return the stretches of constant count that last longer than ``shortest``."""
        return count_plateaus(self.t, self.count, shortest)

    def __repr__(self) -> str:
        return (
            f"<Clusters {self.count[0]} → {self.count[-1]} over t = {self.t[0]:g} … {self.t[-1]:g}, "
            f"{len(self.merge_times)} merges>"
        )


def clusters(t: Any, x: Any, threshold: float | None = None, *, on_sphere: bool = True) -> Clusters:
    """Return the connected components of close tokens at every time.

    Parameters
    ----------
    t : array_like, (T,)
        Times.
    x : array_like, (T, n, d)
        Tokens.
    threshold : float, optional
        On the sphere tokens are linked if their cosine is at least that (by default 0.999), on ℝᵈ if their
        distance is at most that (by default a thousandth of the diameter at the first time).
    on_sphere : bool
        Which of the two.

    Raises
    ------
    InputError
        If the shapes do not fit, a token of the sphere is zero, or the threshold is out of range.

    Examples
    --------
    >>> found = clusters([0.0, 1.0], [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    >>> found.count.tolist(), found.labels.tolist(), round(float(found.merge_times[0]), 3)
    ([2, 1], [[0, 1], [0, 0]], 0.968)
    """
    times, cloud = real_array(t, "t"), tokens(x)
    if cloud.ndim != 3 or times.shape != cloud.shape[:1]:
        raise InputError(f"t of shape {times.shape} and x of shape {cloud.shape}: give (T,) and (T, n, d)")
    cloud = directions(cloud) if on_sphere else cloud
    link = _threshold(cloud, threshold, on_sphere)
    labels = np.array([_components(frame, link, on_sphere) for frame in cloud])
    count = labels.max(axis=1) + 1
    merges = _merge_times(times, cloud, count, link, on_sphere)
    return Clusters(times, count, labels, merges, link)


def merge_heights(x: Any, *, on_sphere: bool = True) -> Array:
    """Return the n − 1 cosines (or distances) at which clusters merge, from the closest pair on.

    They are the edges of the maximum (minimum) spanning tree, which are continuous in the tokens; there are
    at most k clusters exactly where the (n − k)-th of them is on the near side of the threshold.

    Parameters
    ----------
    x : array_like, (n, d)
        Tokens.
    on_sphere : bool
        Cosines in descending order, else distances in ascending order.

    Examples
    --------
    >>> merge_heights([[0.0], [3.0], [1.0]], on_sphere=False)
    array([1., 2.])
    """
    cloud = directions(x) if on_sphere else tokens(x)
    if cloud.ndim != 2:
        raise InputError(f"x has shape {cloud.shape}; give one cloud of tokens, (n, d)")
    sign = 1.0 if on_sphere else -1.0
    return sign * np.sort(_spanning_tree(cloud, on_sphere))[::-1]


def cluster_count_event(
    k: int, threshold: float = COSINE, *, on_sphere: bool = True, terminal: bool | int = True
) -> Callable[[float, Any], float]:
    """Return an event that fires when the number of clusters falls to ``k``.

    The event is continuous in the tokens: the (n − k)-th of :func:`merge_heights` minus the threshold, with
    the opposite sign for distances. It increases through zero when the count falls to ``k``.

    Parameters
    ----------
    k : int
        At least 1 and less than the number of tokens.
    threshold : float
        Cosine from which on tokens are linked, or distance up to which they are.
    on_sphere : bool
        Whether it is a cosine.
    terminal : bool or int
        Whether the event, or which occurrence of it, ends the run.

    Returns
    -------
    callable
        ``event(t, x)`` for :func:`symflow.solve`.

    Raises
    ------
    InputError
        If ``k`` is no positive integer, the threshold is out of range, or, when the event is evaluated, there
        are no more than ``k`` tokens.

    Examples
    --------
    >>> event = cluster_count_event(1, threshold=0.5)
    >>> event(0.0, [[1.0, 0.0], [0.0, 1.0]])
    -0.5
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k = {k!r} must be a positive number of clusters")
    link = _checked_threshold(threshold, on_sphere)

    def event(t: float, x: Any) -> float:
        heights = merge_heights(x, on_sphere=on_sphere)
        if k > len(heights):
            raise InputError(f"k = {k}, but there are {len(heights) + 1} tokens; give k < n")
        gap = float(heights[len(heights) - int(k)]) - link
        return gap if on_sphere else -gap

    event.terminal = terminal  # type: ignore[attr-defined]
    event.direction = 1  # type: ignore[attr-defined]
    return event


def _threshold(cloud: Array, threshold: float | None, on_sphere: bool) -> float:
    if threshold is not None:
        return _checked_threshold(threshold, on_sphere)
    if on_sphere:
        return COSINE
    return _RELATIVE * float(np.linalg.norm(cloud[0].max(axis=0) - cloud[0].min(axis=0)))


def _checked_threshold(threshold: float, on_sphere: bool) -> float:
    number = real_number(threshold, "threshold")
    if on_sphere and not -1.0 < number < 1.0:
        raise InputError(f"threshold = {number!r} is no cosine between −1 and 1")
    if not on_sphere and number < 0.0:
        raise InputError(f"threshold = {number!r} is no distance; give a number ≥ 0")
    return number


def _similarity(one: Array, many: Array, on_sphere: bool) -> Array:
    """Return cosines, or negative distances, (..., n)."""
    if on_sphere:
        return np.asarray(one @ many.T)
    gap = one[..., None, :] - many
    return np.asarray(-np.sqrt(np.einsum("...d,...d->...", gap, gap)))


def _components(cloud: Array, threshold: float, on_sphere: bool) -> NDArray[np.intp]:
    """Label connected components: from a first token everything that is linked, wave by wave."""
    near = threshold if on_sphere else -threshold
    labels = np.full(len(cloud), -1, dtype=np.intp)
    label = 0
    waiting = np.arange(len(cloud))
    while waiting.size:
        wave, waiting = waiting[:1], waiting[1:]
        while wave.size:
            labels[wave] = label
            wave, waiting = _linked(cloud, wave, waiting, near, on_sphere)
        label += 1
    return labels


def _linked(
    cloud: Array, wave: NDArray[np.intp], waiting: NDArray[np.intp], near: float, on_sphere: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split the tokens that wait into those that are linked to the wave and the others."""
    linked = np.zeros(waiting.size, dtype=bool)
    rows = max(1, _BLOCK // max(1, waiting.size * (1 if on_sphere else cloud.shape[1])))
    for first in range(0, wave.size, rows):
        open_ = np.flatnonzero(~linked)
        close = _similarity(cloud[wave[first : first + rows]], cloud[waiting[open_]], on_sphere) >= near
        linked[open_[close.any(axis=0)]] = True
    return waiting[linked], waiting[~linked]


def _spanning_tree(cloud: Array, on_sphere: bool) -> Array:
    """Return the edges of the maximum spanning tree of the similarities, by Prim's algorithm."""
    n = len(cloud)
    edges = np.empty(max(0, n - 1))
    best = _similarity(cloud[0], cloud, on_sphere)
    best[0] = -np.inf
    inside = np.zeros(n, dtype=bool)
    inside[0] = True
    for step in range(n - 1):
        new = int(np.argmax(best))
        edges[step] = best[new]
        inside[new] = True
        best = np.maximum(best, _similarity(cloud[new], cloud, on_sphere))
        best[inside] = -np.inf
    return edges


def _distance(similarity: float, on_sphere: bool) -> float:
    """Return the distance that belongs to a similarity; tokens that meet lose it linearly in time."""
    return float(np.sqrt(max(0.0, 2.0 - 2.0 * similarity))) if on_sphere else -similarity


def _merge_times(t: Array, cloud: Array, count: NDArray[np.intp], threshold: float, on_sphere: bool) -> Array:
    """Interpolate, where the count falls, the distance at which each of the clusters is linked."""
    near = threshold if on_sphere else -threshold
    n = cloud.shape[1]
    times: list[float] = []
    for index in np.flatnonzero(np.diff(count) < 0).tolist():
        before, after = (np.sort(_spanning_tree(cloud[i], on_sphere))[::-1] for i in (index, index + 1))
        for clusters_left in range(int(count[index]) - 1, int(count[index + 1]) - 1, -1):
            edge = n - clusters_left - 1
            far, close, link = (_distance(s, on_sphere) for s in (before[edge], after[edge], near))
            share = (far - link) / (far - close) if far > close else 1.0
            times.append(float(t[index] + np.clip(share, 0.0, 1.0) * (t[index + 1] - t[index])))
    return np.sort(np.array(times))
