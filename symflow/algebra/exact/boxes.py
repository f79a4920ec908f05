"""Branch and bound in ball arithmetic: sign and range of functions on boxes with rational corners."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from typing import Any

from symflow.algebra.exact.numbers import Ball
from symflow.errors import InputError

Box = tuple[tuple[Fraction, Fraction], ...]  #: a closed interval per variable
#: Widths below this fraction of the first one are not cut further: rounding is then no longer small.
_SMALLEST = Fraction(1, 1 << 60)


@dataclass(frozen=True)
class Bounded:
    """What branch and bound found.

    Attributes
    ----------
    proved : bool
        Whether the function is positive on the whole box.
    leaves : tuple of Box
        Boxes that cover the whole one; on each of them one evaluation shows it, where it is proved.
    lower : Fraction
        A proved lower bound of the function on the box.
    point : tuple of Fraction or None
        A point at which the function is proved not to be positive, None where none was met.
    open : tuple of Box
        Boxes on which the sign is open.
    reason : str
        Why it ended; empty where it is proved.
    """

    proved: bool
    leaves: tuple[Box, ...]
    lower: Fraction | None
    point: tuple[Fraction, ...] | None
    open: tuple[Box, ...]
    reason: str = ""


def as_box(intervals: Sequence[Sequence[Any]]) -> Box:
    """Return a box of fractions from pairs of exact numbers or floats; refuses an empty interval."""
    box = tuple((Fraction(low), Fraction(high)) for low, high in intervals)
    for k, (low, high) in enumerate(box):
        if low > high:
            raise InputError(f"interval {k} of the box, [{low}, {high}], is empty: give the lower end first")
    return box


def balls_of(box: Box, bits: int = 128) -> list[Any]:
    """Return a ``flint.arb`` around every interval."""
    from flint import arb, ctx

    with ctx.workprec(bits):
        return [_ball(low).union(_ball(high)) if low < high else arb(_ball(low)) for low, high in box]


def midpoint(box: Box) -> tuple[Fraction, ...]:
    """Return the centre."""
    return tuple((low + high) / 2 for low, high in box)


def halves(box: Box, first: Box) -> tuple[Box, Box]:
    """Return the two halves of a box, cut where it is widest compared with ``first``."""
    k = max(range(len(box)), key=lambda i: _relative(box[i], first[i]))
    low, high = box[k]
    middle = (low + high) / 2
    return (*box[:k], (low, middle), *box[k + 1 :]), (*box[:k], (middle, high), *box[k + 1 :])


def prove_positive(
    function: Callable[[list[Any]], Any],
    box: Box,
    *,
    max_boxes: int = 100_000,
    deadline: Callable[[], bool] | None = None,
    seconds: float | None = None,
    bits: int = 128,
) -> Bounded:
    """Decide whether a function is positive on a box, always cutting the box with the least lower bound.

    Parameters
    ----------
    function : callable
        From a list of ``flint.arb`` that contain the variables to one that contains the value.
    box : Box
    max_boxes : int
        Evaluations after which it is left open.
    deadline : callable, optional
        Says whether time is up.
    seconds : float, optional
        Wall time after which it is left open.
    bits : int
        Precision of the balls.

    Returns
    -------
    Bounded
        Proved; or with a point at which the function is not positive; or open, with the bound so far.

    Examples
    --------
    >>> square = as_box([(-1, 1), (-1, 1)])
    >>> found = prove_positive(lambda x: x[0] ** 2 - x[0] * x[1] + x[1] ** 2 + 0.01, square)
    >>> found.proved, found.lower > 0
    (True, True)
    >>> prove_positive(lambda x: x[0] ** 2 + x[1] - 0.9, square).point
    (Fraction(0, 1), Fraction(0, 1))
    """
    from flint import ctx

    limit = None if seconds is None else time.monotonic() + seconds
    with ctx.workprec(bits):
        search = _Search(function, box, bits)
        while True:
            reason = search.step()
            if reason is None and search.evaluations >= max_boxes:
                reason = f"open after {max_boxes} boxes"
            if reason is None and ((deadline and deadline()) or (limit and time.monotonic() > limit)):
                reason = f"open after {search.evaluations} boxes, when time was up"
            if reason is not None:
                return search.result(reason)


class _Search:
    """Boxes by their lower bounds; those that are done are kept as leaves."""

    def __init__(self, function: Callable[[list[Any]], Any], box: Box, bits: int) -> None:
        self._function, self._first, self._bits = function, box, bits
        self._heap: list[tuple[float, int, Box, Any]] = []
        self._order = count()
        self._leaves: list[tuple[Box, Any]] = []
        self._point: tuple[Fraction, ...] | None = None
        self.evaluations = 0
        self._push(box)

    def step(self) -> str | None:
        """Cut the worst box; return why the search ended, "" for a proof, None where it goes on."""
        if not self._heap:
            return ""
        _, _, box, _ = self._heap[0]
        centre = midpoint(box)
        if self._value(tuple((c, c) for c in centre)) <= 0:
            self._point = centre
            return "the function is not positive at a point"
        if max(_relative(side, whole) for side, whole in zip(box, self._first, strict=True)) < _SMALLEST:
            return "open at boxes of the smallest width"
        heappop(self._heap)
        for half in halves(box, self._first):
            self._push(half)
        return None

    def result(self, reason: str) -> Bounded:
        """Return what is known now."""
        bounds = [bound for _, bound in self._leaves] + [bound for *_, bound in self._heap]
        lowest = None if any(bound is None for bound in bounds) else min(bounds)
        left = tuple(box for _, _, box, _ in self._heap)
        leaves = tuple(box for box, _ in self._leaves)
        return Bounded(not left and not reason, leaves, lowest, self._point, left, reason)

    def _push(self, box: Box) -> None:
        value = self._value(box)
        bound = _lower(value)
        if value > 0:
            self._leaves.append((box, bound))
        else:
            priority = float("-inf") if bound is None else float(bound)
            heappush(self._heap, (priority, next(self._order), box, bound))

    def _value(self, box: Box) -> Any:
        self.evaluations += 1
        return self._function(balls_of(box, self._bits))


def _lower(value: Any) -> Fraction | None:
    """Return the lower end of a ball, None where it is infinite."""
    return Ball.of(value.lower()).lower if value.is_finite() else None


def _relative(side: tuple[Fraction, Fraction], whole: tuple[Fraction, Fraction]) -> Fraction:
    width = whole[1] - whole[0]
    return (side[1] - side[0]) / width if width else Fraction(0)


def _ball(value: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))
