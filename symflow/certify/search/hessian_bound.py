"""Subdivisions of a bounded domain on which second derivatives are bounded below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symflow.certify.kinds.hessian_bound import LEAF, PRECISION
from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.taylor.boxes import Box, HessianOnBoxes, halves

MAX_BOXES = 1500


def hessian_bound(
    stated: StatedEnergy, check: Callable[[], None], most: int = MAX_BOXES
) -> dict[str, Any] | None:
    """Return the proof object, or None where so many boxes are not enough.

    Parameters
    ----------
    stated : StatedEnergy
        With a bounded domain.
    check : callable
        Raises when time is over; called for every box.
    most : int
        Number of boxes.
    """
    import flint

    matrix = HessianOnBoxes(stated)
    partition: list[int] = []
    pending: list[Box] = [matrix.start]
    widths = [high - low for low, high in matrix.start]
    with flint.ctx.workprec(PRECISION):
        while pending:
            check()
            if len(partition) + len(pending) > 2 * most:
                return None
            box = pending.pop()
            if matrix.is_outside(box) or matrix.is_definite(box):
                partition.append(LEAF)
                continue
            shares = [(high - low) / width for (low, high), width in zip(box, widths, strict=True)]
            coordinate = shares.index(max(shares))
            partition.append(coordinate)
            pending += reversed(halves(box, coordinate))
    return {"partition": partition}
