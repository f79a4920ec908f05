"""One critical point of tokens on the circle, and no other in a box around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from symflow.algebra.exact.balls import identity, is_positive_definite, midpoints
from symflow.algebra.exact.elimination import eliminate
from symflow.certify.circle.cover import Box
from symflow.certify.circle.profile import Profile
from symflow.certify.circle.table import Table
from symflow.certify.terms import Rejected

UNIT = 1 << 56  #: gaps of a centre are whole numbers of these parts of a turn
_RADII = (36, 44, 50)  #: the zero lies within 2⁻³⁶ turns of the centre, or a smaller distance


@dataclass(frozen=True)
class Critical:
    """A critical point: gaps near it, a box in which it is the only one, and the inertia of its Hessian."""

    gaps: tuple[int, ...]
    box: Box
    decreasing: int
    increasing: int


def certified(gaps: tuple[int, ...], reach: int, profile: Profile, table: Table) -> Critical:
    """Return the critical point near ``gaps`` after showing that it exists and is alone.

    Parameters
    ----------
    gaps : tuple of int
        n gaps in units of :data:`UNIT`.
    reach : int
        Half the width of the box, in parts of the table.
    profile : Profile
    table : Table

    Raises
    ------
    Rejected
        If the contraction is not shown, or an eigenvalue of the Hessian is not separated from zero.
    """
    found = _Chart(gaps, profile, table)
    box = found.box(reach)
    if not found.injective(box):
        raise Rejected(f"near {shown(gaps)} the gradient is not shown to be one-to-one on its box")
    pivots = eliminate(found.existence())
    if sum(pivot.size for pivot in pivots) < len(gaps) - 1:
        raise Rejected(f"the Hessian near {shown(gaps)} is not shown to be invertible modulo rotation")
    increasing = sum(pivot.positive for pivot in pivots)
    return Critical(gaps, box, len(gaps) - 1 - increasing, increasing)


def shown(gaps: tuple[int, ...]) -> str:
    """Return gaps for readers, in turns."""
    return "(" + ", ".join(f"{gap / UNIT:.5f}" for gap in gaps) + ")"


class _Chart:
    """Angles of all tokens but the first, which is kept."""

    def __init__(self, gaps: tuple[int, ...], profile: Profile, table: Table) -> None:
        self._gaps, self._profile, self._table = gaps, profile, table
        self._size = len(gaps)
        self._pairs = list(combinations(range(self._size), 2))

    def box(self, reach: int) -> Box:
        """Return the gaps within ``reach`` parts of the centre."""
        parts = self._table.parts
        low = tuple(gap * parts // UNIT - reach for gap in self._gaps)
        return low, tuple(-(-gap * parts // UNIT) + reach for gap in self._gaps)

    def injective(self, box: Box) -> bool:
        """Whether the gradient is one-to-one on a box.

        A mean M of Jacobians on it is J + Δ, J in the middle of all and Δ a sum of δ bbᵀ over pairs, b the
        difference of two unit vectors. With T about the sign of J, and L the sum of |δ| bbᵀ, the symmetric
        part of TM is at least that of TJ less (L + TLTᵀ)/2; where that is positive definite M is invertible.
        """
        from flint import arb

        sums = [[[sum(end[i:j]) for j in range(self._size)] for i in range(self._size)] for end in box]
        slopes = {(i, j): self._table.slope(sums[0][i][j], sums[1][i][j]) for i, j in self._pairs}
        centre = self._jacobian({pair: slope.mid() for pair, slope in slopes.items()})
        spread = -self._jacobian({pair: arb(slope.rad()) for pair, slope in slopes.items()})
        sign = _sign(centre)
        moved = sign * centre
        rest = moved + moved.transpose() - spread - sign * spread * sign.transpose()
        return is_positive_definite(rest.tolist())

    def existence(self) -> Any:
        """Show by Krawczyk's operator that a zero is near; return the Hessian there in balls, as rows."""
        for bits in _RADII:
            hessian = self._contraction(bits)
            if hessian is not None:
                return hessian.tolist()
        raise Rejected(f"no critical point is shown to be near {shown(self._gaps)}")

    def _contraction(self, bits: int) -> Any:
        """Return the Hessian within 2⁻ᵇⁱᵗˢ turns if Krawczyk's operator maps half of that into itself."""
        from flint import arb, arb_mat

        radius = arb(2) ** -bits
        ball = arb(0, 1) * radius
        hessian = self._jacobian(
            {(i, j): self._profile.torque(self._angle(i, j) + ball)[1] for i, j in self._pairs}
        )
        inverse = _inverse(hessian)
        rest = identity(self._size - 1) - inverse * hessian
        moved = inverse * arb_mat([[value] for value in self._gradient()])
        for i in range(self._size - 1):
            spread = sum((rest[i, j].abs_upper() for j in range(self._size - 1)), arb(0))
            # angles within half the radius have differences within the radius
            if not moved[i, 0].abs_upper() + spread * radius / 2 < radius / 2:
                return None
        return hessian

    def _jacobian(self, slopes: Mapping[tuple[int, int], Any]) -> Any:
        """Return the derivative of the torques on tokens 2 to n with respect to their angles, in turns/2π."""
        from flint import arb, arb_mat

        size = range(self._size)
        rows = [[slopes.get((min(i, j), max(i, j)), arb(0)) for j in size] for i in size]
        for i in size:
            rows[i][i] = -sum((rows[i][j] for j in size if j != i), arb(0))
        return arb_mat([row[1:] for row in rows[1:]])

    def _gradient(self) -> list[Any]:
        """Return the torques on tokens 2 to n, over 2π, so that Newton's step is in turns."""
        from flint import arb

        size = range(self._size)
        pairs = {(i, j): self._profile.torque(self._angle(i, j))[0] for i, j in self._pairs}
        torques = [
            sum((pairs[i, j] for j in size if i < j), arb(0))
            - sum((pairs[j, i] for j in size if j < i), arb(0))
            for i in size
        ]
        return [torque / (2 * arb.pi()) for torque in torques[1:]]

    def _angle(self, i: int, j: int) -> Any:
        """Return how far token j is ahead of token i, in turns."""
        from flint import arb, fmpq

        return arb(fmpq(sum(self._gaps[i:j]), UNIT))


def _inverse(matrix: Any) -> Any:
    """Return about the inverse of the midpoint; it need not be accurate."""
    try:
        return midpoints(midpoints(matrix).inv())
    except ZeroDivisionError as error:
        raise Rejected("the Jacobian at a centre is singular") from error


def _sign(matrix: Any) -> Any:
    """Return about the sign of a symmetric matrix, in doubles; it need not be accurate."""
    import numpy as np
    from flint import arb_mat

    values, vectors = np.linalg.eigh([[float(entry.mid()) for entry in row] for row in matrix.tolist()])
    return arb_mat(((vectors * np.sign(values)) @ vectors.T).tolist())
