r"""Every configuration of tokens on the circle, box by box.

A configuration modulo rotations and permutations is its cyclic sequence of gaps :math:`g_1, \dots, g_n \ge
0`, whose sum is one turn; shifted so that the last gap is the largest, and reflected so that :math:`g_1 \le
g_{n-1}`. Where the largest gap is at least half a turn, all tokens lie in a closed half circle and the
token at its end feels torques of one sign: the gradient vanishes only if every token is at one of two
opposite points. So the last gap is at most half a turn here. In a box without a zero of the gradient the
torque that some set of tokens feels from all others, in which the torques inside of the set cancel, is not
zero.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from symflow.certify.circle.table import Table
from symflow.certify.terms import Rejected

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BOXES = 4_000_000
_CHUNK = 1 << 16

#: Bounds of all n gaps, in parts of a turn.
Box = tuple[tuple[int, ...], tuple[int, ...]]


def cover(tokens: int, table: Table, boxes: list[Box]) -> int:
    """Show that outside of ``boxes`` and their images under shift and reflection there is no critical point.

    Parameters
    ----------
    tokens : int
        n.
    table : Table
    boxes : list of Box

    Returns
    -------
    int
        How many boxes were looked at.

    Raises
    ------
    Rejected
        If a box as small as a part is left, or after :data:`MAX_BOXES`.
    """
    import numpy as np

    signs, images = _crossings(tokens), _images(boxes)
    half = table.parts // 2
    stack = [(np.zeros((1, tokens - 1), np.int64), np.full((1, tokens - 1), half, np.int64))]
    seen = 0
    while stack:
        low, high = stack.pop()
        if len(low) > _CHUNK:
            stack.append((low[_CHUNK:], high[_CHUNK:]))
            low, high = low[:_CHUNK], high[:_CHUNK]
        seen += len(low)
        if seen > MAX_BOXES:
            raise Rejected(
                f"more than {MAX_BOXES} boxes are needed; {_place(low, high, table.parts)} is open"
            )
        low, high = _ordered(low, high, table.parts)
        open_ = _may_vanish(low, high, table, signs)
        open_[open_] = ~_inside(low[open_], high[open_], images)
        low, high = low[open_, :-1], high[open_, :-1]
        if len(low):
            stack.append(_halved(low, high, table.parts))
    return seen


def _ordered(low: NDArray[Any], high: NDArray[Any], parts: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return boxes with the bounds of the last gap added, those without an ordered configuration left out."""
    import numpy as np

    most = np.minimum(parts - low.sum(axis=1), parts // 2)
    high = np.minimum(high, most[:, None])
    least = np.maximum(parts - high.sum(axis=1), low.max(axis=1))
    kept = (least <= most) & (low <= high).all(axis=1) & (low[:, 0] <= high[:, -1])
    low, high = np.column_stack([low, least]), np.column_stack([high, most])
    return low[kept], high[kept]


def _crossings(tokens: int) -> NDArray[Any]:
    """Return for every set of tokens without the last one the sign of each pair's torque on it."""
    import numpy as np

    pairs = list(combinations(range(tokens), 2))
    sets = [set(chosen) for size in range(1, tokens) for chosen in combinations(range(tokens - 1), size)]
    return np.array([[(i in chosen) - (j in chosen) for i, j in pairs] for chosen in sets], np.int64)


def _may_vanish(low: NDArray[Any], high: NDArray[Any], table: Table, signs: NDArray[Any]) -> NDArray[Any]:
    """Whether the torque on every set may vanish in each box."""
    import numpy as np

    tokens = low.shape[1]
    sums = [np.concatenate([np.zeros((len(g), 1), np.int64), g.cumsum(axis=1)], axis=1) for g in (low, high)]
    first, last = (
        np.array([total[:, j] - total[:, i] for i, j in combinations(range(tokens), 2)]) for total in sums
    )
    least, most = table.torque(first, np.minimum(last, table.parts))
    towards, away = np.maximum(signs, 0), np.maximum(-signs, 0)
    below, above = towards @ least - away @ most, towards @ most - away @ least
    return np.asarray(((below <= 0) & (above >= 0)).all(axis=0))


def _images(boxes: list[Box]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    import numpy as np

    found = {
        tuple((*end[turn:], *end[:turn])[::way] for end in box)
        for box in boxes
        for turn in range(len(box[0]))
        for way in (1, -1)
    }
    return [(np.array(low), np.array(high)) for low, high in sorted(found)]


def _inside(low: NDArray[Any], high: NDArray[Any], images: list[Any]) -> NDArray[Any]:
    import numpy as np

    found = np.zeros(len(low), bool)
    for first, last in images:
        found |= ((low >= first) & (high <= last)).all(axis=1)
    return found


def _halved(low: NDArray[Any], high: NDArray[Any], parts: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the halves of every box along its longest side."""
    import numpy as np

    rows, width = np.arange(len(low)), high - low
    longest = width.argmax(axis=1)
    if (width[rows, longest] <= 1).any():
        k = int(width.max(axis=1).argmin())
        raise Rejected(f"{_place(low[k : k + 1], high[k : k + 1], parts)} is not covered")
    middle = (low[rows, longest] + high[rows, longest]) // 2
    upper_low, lower_high = low.copy(), high.copy()
    upper_low[rows, longest], lower_high[rows, longest] = middle, middle
    return np.concatenate([low, upper_low]), np.concatenate([lower_high, high])


def _place(low: NDArray[Any], high: NDArray[Any], parts: int) -> str:
    gaps = ", ".join(f"[{a / parts:.5f}, {b / parts:.5f}]" for a, b in zip(low[0], high[0], strict=True))
    return f"the box of gaps {gaps} (in turns)"
