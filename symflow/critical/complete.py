"""Whether an atlas of the circle has all critical points, as a certificate."""

from __future__ import annotations

from symflow.certify.certificate import Certificate
from symflow.certify.search.circle import FoundPoint, list_critical_points
from symflow.codegen.hessians import compile_hessian
from symflow.critical.atlas import Atlas
from symflow.critical.circle import gaps_of, reach, stiffness
from symflow.energies import Energy
from symflow.errors import InputError

#: Eigenvalues below this share of the largest belong to rotations.
_FLAT = 1e-10
CONSENSUS = "consensus"


def circle_certificate(energy: Energy, atlas: Atlas, parts: int = 1 << 11) -> Certificate:
    """Return the certificate that an atlas lists all critical points, or that consensus is not alone.

    Parameters
    ----------
    energy : Energy
        Invariant under rotations.
    atlas : Atlas
        Of this energy, d = 2, with consensus among its points.
    parts : int
        Into how many arcs the replay divides a turn, a power of two.

    Returns
    -------
    Certificate
        Of the claim ``"critical-points"``: *proved* lists all points, *refuted* has a second one of the
        kind of consensus. Nothing is believed before it is replayed.

    Raises
    ------
    InputError
        If d ≠ 2 or consensus is missing.
    """
    if atlas.d != 2 or CONSENSUS not in {point.name for point in atlas}:
        raise InputError("a list of critical points needs d = 2, and consensus among them")
    slopes = stiffness(compile_hessian(energy, "sphere", backend="numpy"))
    points = []
    for point in sorted(atlas, key=lambda point: point.name != CONSENSUS):
        gaps = gaps_of(point.x)
        limit = _FLAT * max(map(abs, point.eigenvalues))
        values = tuple(value for value in point.eigenvalues if abs(value) > limit)
        points.append(FoundPoint(tuple(gaps.tolist()), values, reach(gaps, slopes)))
    stable = [point for point in points[1:] if _counts(point) == _counts(points[0])]
    return list_critical_points(
        energy.model.pair,
        energy.exact(),
        [points[0], stable[0]] if stable else points,
        complete=not stable,
        parts=parts,
    )


def _counts(point: FoundPoint) -> tuple[int, int]:
    up = sum(value > 0 for value in point.eigenvalues)
    return up, len(point.eigenvalues) - up
