"""Bounds of the torque on arcs of the circle, as whole numbers.

An arc is a range [a, b) of the N equal parts of a turn. Bounds are multiples of one unit, rounded outwards,
so that sums of them are exact in integers of 64 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symflow.certify.circle.profile import Profile
from symflow.certify.terms import Rejected

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BITS = 40  #: of the largest bound; sums of at most 2¹⁰ of them stay exact
_SMALLEST, _LARGEST = 1e-200, 1e200
_SLACK = 2  #: units, more than what rounding to doubles can move a number below 2⁴⁵


class Table:
    """Bounds of the torque and of its derivative on every arc.

    Parameters
    ----------
    profile : Profile
    parts : int
        N, even.

    Attributes
    ----------
    increasing : bool
        Whether w' is proved to be positive on [−1, 1]; else it is proved to be negative.

    Raises
    ------
    Rejected
        If the sign of w' is not settled or a bound is not finite.
    """

    def __init__(self, profile: Profile, parts: int) -> None:
        import numpy as np

        torques, slopes, signs = zip(*(_bounds(profile, k, parts) for k in range(parts // 2)), strict=True)
        if not (all(sign > 0 for sign in signs) or all(sign < 0 for sign in signs)):
            raise Rejected("the interaction is not shown to be strictly monotone in the cosine")
        self.parts, self.increasing = parts, signs[0] > 0
        self._exponent = _BITS - _magnitude([*torques, *slopes])
        first, last = self._rounded(torques)
        # the torque is odd, its derivative even
        self._torque = _Ranges(np.concatenate([first, -last[::-1]]), np.concatenate([last, -first[::-1]]))
        first, last = self._rounded(slopes)
        self._slopes = np.concatenate([first, first[::-1]]), np.concatenate([last, last[::-1]])

    def _rounded(self, balls: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        scale = 2.0**self._exponent
        middle = np.array([float(ball.mid()) for ball in balls]) * scale
        radius = np.array([float(ball.rad()) for ball in balls]) * scale
        low = np.floor(middle - radius).astype(np.int64) - _SLACK
        return low, np.ceil(middle + radius).astype(np.int64) + _SLACK

    def torque(self, first: NDArray[Any], last: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return bounds of the torque on closed arcs within one turn, in units."""
        return self._torque(first, last)

    def slope(self, first: int, last: int) -> Any:
        """Return a ball that contains h' on a closed arc, which may leave the first turn."""
        import numpy as np
        from flint import arb, fmpz

        arcs = np.arange(first - 1, last + 1)
        low, high = (end.take(arcs, mode="wrap") for end in self._slopes)
        ends = [arb(fmpz(int(end))) for end in (low.min(), high.max())]
        return ends[0].union(ends[1]) / arb(2) ** self._exponent


class _Ranges:
    """Smallest lower and largest upper bound over ranges of arcs, from tables of ranges of length 2ᵏ."""

    def __init__(self, low: NDArray[Any], high: NDArray[Any]) -> None:
        import numpy as np

        self._low, self._high = _doubled(low, np.minimum), _doubled(high, np.maximum)
        lengths = range(1, len(low) + 1)
        self._level = np.array([0, *(length.bit_length() - 1 for length in lengths)])

    def __call__(self, first: NDArray[Any], last: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        start = np.minimum(first, self._low.shape[1] - 1)
        stop = np.maximum(last, start + 1)  # a point lies in the closure of the arc that begins there
        level = self._level[stop - start]
        other = stop - (1 << level)
        low = np.minimum(self._low[level, start], self._low[level, other])
        return low, np.maximum(self._high[level, start], self._high[level, other])


def _doubled(values: NDArray[Any], join: Any) -> NDArray[Any]:
    import numpy as np

    levels, width = [values], 1
    while 2 * width <= len(values):
        last, following = levels[-1], levels[-1].copy()
        following[: len(values) - width] = join(last[: len(values) - width], last[width:])
        levels.append(following)
        width *= 2
    return np.array(levels)


def _bounds(profile: Profile, k: int, parts: int) -> tuple[Any, Any, Any]:
    """Return h, h' and w' on the k-th arc."""
    from flint import arb, fmpq

    arc = arb(fmpq(2 * k + 1, 2 * parts), fmpq(1, 2 * parts))
    torque, slope = profile.torque(arc)
    first, _ = profile.slopes((2 * arc).cos_pi())
    if not (torque.is_finite() and slope.is_finite()):
        raise Rejected("the interaction is not finite on the circle")
    return torque, slope, first


def _magnitude(balls: Any) -> int:
    """Return e with every |ball| < 2^e."""
    import math

    largest = max(float(abs(ball.mid())) + float(ball.rad()) for ball in balls)
    if not _SMALLEST < largest < _LARGEST:
        raise Rejected("the interaction is too strong or too weak for doubles")
    return math.frexp(largest)[1] + 1
