r"""An energy near tokens that are known approximately, in balls and modulo rotations.

Tokens near :math:`p_i` are :math:`u_i/|u_i|` with :math:`u_i = p_i + F_iz_i`, F_i about an orthonormal
frame at p_i. Where the energy does not change under rotations, only z = Us is varied, with U about the
complement of the velocities of rotations: a zero of the gradient in s is one of the gradient in z where U
and the velocities of rotations span all z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.balls import frobenius, identity, midpoints, norm
from symflow.certify.sphere.energy import Token, TokenEnergy
from symflow.certify.taylor.hyperdual import Hyperdual, Hyperduals
from symflow.certify.taylor.rings import BallRing
from symflow.certify.terms import Rejected

MAX_RADIUS = Fraction(1, 16)
#: A token within r of p has coordinates z of size at most 3r: u = x/α with |1 − α| ≤ 1.1 r, for r ≤ 1/16.
_COVER = 3
#: How far p may be from unit length, and the frame from orthonormal.
_ROUNDING = Fraction(1, 1000)
_NO_ROTATION = 1e-7


@dataclass(frozen=True)
class Kind:
    """Directions in which the energy decreases and increases at second order, modulo rotations."""

    decreasing: int
    increasing: int


class Neighbourhood:
    """All tokens within a radius of given points.

    Parameters
    ----------
    energy : TokenEnergy
    points : sequence of sequences of Fraction, (n, d)
    radius : Fraction
        Between 0 and 1/16.

    Raises
    ------
    Rejected
        If the radius is out of range or a point is not nearly of unit length.
    """

    def __init__(self, energy: TokenEnergy, points: Sequence[Sequence[Fraction]], radius: Fraction) -> None:
        import numpy as np

        if radius <= 0 or radius > MAX_RADIUS:
            raise Rejected(f"the radius must be positive and at most {MAX_RADIUS}")
        for index, point in enumerate(points):
            if abs(sum((c * c for c in point), Fraction(-1))) > _ROUNDING:
                raise Rejected(f"token {index} is not nearly of unit length")
        self._points, self._radius = [tuple(map(_ball, point)) for point in points], _ball(radius)
        self._ring = BallRing()
        self._series = Hyperduals(self._ring)
        self._energy = energy.at(self._series, len(points), len(points[0]))
        floats = np.array([[float(c) for c in point] for point in points])
        self._frames = [_frame(point) for point in floats]
        for index, (point, frame) in enumerate(zip(self._points, self._frames, strict=True)):
            if not _is_nearly_orthonormal(point, frame):
                raise Rejected(f"no tangent frame was found at token {index}")
        self._rotations = _rotations(floats) if energy.is_invariant else []
        self._slice = _complement(floats, self._frames, self._rotations)

    # ---- what can be shown

    def critical_point(self) -> Kind:
        """Show by Krawczyk's operator that there is a critical point within the radius; return its kind.

        Raises
        ------
        Rejected
            If that is not shown, or the critical point may not be isolated modulo rotations.
        """
        from flint import arb

        width = len(self._points[0]) - 1
        reach = self._radius / (5 * _ball(Fraction(width * self._dimension)).sqrt())  # |Us| is at most r/5
        box = self._box(reach)
        centre, hessian = self._gradient(self._box(arb(0))), self._second(box)
        inverse = _inverse(hessian)
        rest, moved = identity(inverse.nrows()) - inverse * hessian, inverse * centre
        for i in range(inverse.nrows()):
            spread = sum((rest[i, j].abs_upper() for j in range(inverse.nrows())), arb(0))
            if not moved[i, 0].abs_upper() + spread * reach < reach:
                raise Rejected("no critical point is shown to be there")
        self._require_transversal(box)
        self._require_near(box)
        return _kind(hessian)

    def has_no_critical_point(self) -> bool:
        """Whether the gradient is shown not to vanish within the radius."""
        gradient = self._full_gradient(self._everything())
        return any(not entry.contains(0) for entry in gradient)

    def has_no_direction(self, sign: int) -> bool:
        """Whether the second derivative at critical points within the radius never has this sign.

        Raises
        ------
        Rejected
            If an eigenvalue may vanish, or a rotation lie in the slice.
        """
        box = self._everything()
        self._require_transversal(box)
        kind = _kind(self._second(box))
        return (kind.increasing if sign > 0 else kind.decreasing) == 0

    # ---- boxes

    @property
    def _dimension(self) -> int:
        return len(self._points) * (len(self._points[0]) - 1)

    def _box(self, reach: Any) -> Any:
        """Return z = Us for all s of size at most ``reach``."""
        from flint import arb, arb_mat

        wide = arb(0, 1) * reach
        return self._slice * arb_mat([[wide] for _ in range(self._slice.ncols())])

    def _everything(self) -> Any:
        from flint import arb, arb_mat

        wide = arb(0, 1) * self._radius * _COVER
        return arb_mat([[wide] for _ in range(self._dimension)])

    def _directions(self, z: Any) -> list[list[Any]]:
        """Return u_i for every token."""
        width = len(self._points[0]) - 1
        return [
            [
                p + sum((frame[k, l] * z[i * width + l, 0] for l in range(width)), _ball(Fraction(0)))
                for k, p in enumerate(point)
            ]
            for i, (point, frame) in enumerate(zip(self._points, self._frames, strict=True))
        ]

    def _require_near(self, z: Any) -> None:
        """Refuse a box that has tokens further away than the radius."""
        for point, u in zip(self._points, self._directions(z), strict=True):
            length = sum((c * c for c in u), _ball(Fraction(0))).sqrt()
            gap = (c / length - p for c, p in zip(u, point, strict=True))
            if not norm(gap) < self._radius:
                raise Rejected("the critical point may lie outside of the radius")

    # ---- derivatives

    def _full_gradient(self, z: Any) -> list[Any]:
        tokens = self._directions(z)
        width = len(self._points[0]) - 1
        return [
            self._mixed(tokens, k // width, k % width, k // width, k % width).first
            for k in range(self._dimension)
        ]

    def _gradient(self, z: Any) -> Any:
        from flint import arb_mat

        return self._slice.transpose() * arb_mat([[entry] for entry in self._full_gradient(z)])

    def _second(self, z: Any) -> Any:
        from flint import arb_mat

        tokens, width, size = self._directions(z), len(self._points[0]) - 1, self._dimension
        lower = {
            (k, l): self._mixed(tokens, k // width, k % width, l // width, l % width).mixed
            for k in range(size)
            for l in range(k + 1)
        }
        full = arb_mat([[lower[max(k, l), min(k, l)] for l in range(size)] for k in range(size)])
        return self._slice.transpose() * full * self._slice

    def _mixed(self, tokens: Sequence[Sequence[Any]], i: int, k: int, j: int, l: int) -> Hyperdual:
        nought = _ball(Fraction(0))
        placed = []
        for index, u in enumerate(tokens):
            frame = self._frames[index]
            first = [frame[c, k] if index == i else nought for c in range(len(u))]
            second = [frame[c, l] if index == j else nought for c in range(len(u))]
            placed.append(self._normalised(u, first, second))
        return self._energy.terms_with(placed, frozenset((i, j)))

    def _normalised(self, u: Sequence[Any], first: Sequence[Any], second: Sequence[Any]) -> Token:
        series = self._series
        entries = [series.varied(c, a, b) for c, a, b in zip(u, first, second, strict=True)]
        square = series.number(Fraction(0))
        for entry in entries:
            square = square + entry * entry
        scale = series.call("inverse", series.call("sqrt", square))
        return tuple(entry * scale for entry in entries)

    # ---- rotations

    def _require_transversal(self, z: Any) -> None:
        """Refuse a box where U and the velocities of rotations may not span all z."""
        from flint import arb_mat

        if not self._rotations:
            return
        matrix = arb_mat(
            [*self._slice.transpose().tolist(), *(self._velocity(z, B) for B in self._rotations)]
        )
        rest = identity(matrix.nrows()) - _inverse(matrix) * matrix
        if not frobenius(rest) < 1:
            raise Rejected("a rotation may lie in the slice")

    def _velocity(self, z: Any, rotation: Any) -> list[Any]:
        """Return the velocity in z of a rotation: B u less a multiple of u, in the frame."""
        from flint import arb_mat

        found: list[Any] = []
        for u, frame in zip(self._directions(z), self._frames, strict=True):
            size = range(len(u))
            system = arb_mat([[*(frame[c, k] for k in range(len(u) - 1)), u[c]] for c in size])
            moved = rotation * arb_mat([[c] for c in u])
            found += [row[0] for row in system.solve(moved).tolist()[:-1]]
        return found


def _kind(hessian: Any) -> Kind:
    """Return the signs of the eigenvalues of every matrix in the balls, by Gershgorin's discs.

    About the eigenvectors of the midpoint make it nearly diagonal; a congruence keeps the signs.
    """
    import numpy as np

    _, vectors = np.linalg.eigh([[float(entry.mid()) for entry in row] for row in hessian.tolist()])
    turn = _matrix(vectors)
    rows = (turn.transpose() * hessian * turn).tolist()
    signs = []
    for i, row in enumerate(rows):
        radius = sum((entry.abs_upper() for j, entry in enumerate(row) if j != i), _ball(Fraction(0)))
        if not abs(row[i]) > radius:
            raise Rejected("an eigenvalue of the Hessian modulo rotations may vanish")
        signs.append(row[i] > 0)
    return Kind(len(signs) - sum(signs), sum(signs))


def _ball(value: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def _inverse(matrix: Any) -> Any:
    """Return about the inverse of the midpoint; it need not be accurate."""
    try:
        return midpoints(midpoints(matrix).inv())
    except ZeroDivisionError as error:
        raise Rejected("not isolated modulo rotations: the Hessian looks singular") from error


def _matrix(array: Any) -> Any:
    from flint import arb_mat

    return arb_mat(array.tolist())


def _frame(point: Any) -> Any:
    """Return about an orthonormal tangent frame, as columns."""
    import numpy as np

    _, _, rows = np.linalg.svd(point[None, :])
    return _matrix(rows[1:].T)


def _is_nearly_orthonormal(point: Sequence[Any], frame: Any) -> bool:
    from flint import arb_mat

    columns = arb_mat([[*row, c] for row, c in zip(frame.tolist(), point, strict=True)])
    return bool(frobenius(columns.transpose() * columns - identity(len(point))) < 3 * _ball(_ROUNDING))


def _rotations(points: Any) -> list[Any]:
    """Return skew matrices whose velocities at the points are about a basis of those of rotations."""
    import numpy as np

    d = points.shape[1]
    units = []
    for k in range(d):
        for l in range(k):
            unit = np.zeros((d, d))
            unit[k, l], unit[l, k] = 1.0, -1.0
            units.append(unit)
    moved = np.array([(points @ unit.T).ravel() for unit in units])
    left, values, _ = np.linalg.svd(moved, full_matrices=False)
    found = [sum(c * unit for c, unit in zip(column, units, strict=True)) for column in left.T]
    return [_matrix(matrix) for matrix, value in zip(found, values, strict=True) if value > _NO_ROTATION]


def _complement(points: Any, frames: Any, rotations: list[Any]) -> Any:
    """Return about an orthonormal basis of the z orthogonal to velocities of rotations, as columns."""
    import numpy as np

    n, d = points.shape
    if not rotations:
        return _matrix(np.eye(n * (d - 1)))
    basis = [np.array([[float(entry.mid()) for entry in row] for row in frame.tolist()]) for frame in frames]
    skew = [np.array([[float(entry.mid()) for entry in row] for row in B.tolist()]) for B in rotations]
    moved = np.array([[c for p, F in zip(points, basis, strict=True) for c in F.T @ B @ p] for B in skew])
    _, _, rows = np.linalg.svd(moved)
    return _matrix(rows[len(rotations) :].T)
