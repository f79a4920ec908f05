"""From an energy to the atlas of its critical points: search, classify, certify."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from symflow.certify.recheck import replay
from symflow.certify.sphere.enclosed import Neighbourhood
from symflow.certify.sphere.energy import TokenEnergy
from symflow.certify.terms import Rejected
from symflow.checking import Array
from symflow.codegen.hessians import HessianKernel, compile_hessian
from symflow.critical.atlas import CERTIFIED, DEGENERATE, OPEN, Atlas, CriticalPoint
from symflow.critical.complete import CONSENSUS, circle_certificate
from symflow.critical.exact import exact_tokens
from symflow.critical.search import draw, newton
from symflow.critical.shapes import SAME, invariants, shape_of
from symflow.energies import Energy
from symflow.errors import InputError

#: Eigenvalues below this share of the largest count as zero; those that are not are certified.
_FLAT = 1e-10
_RADII = (1e-9, 1e-7)
_PRECISION = 128
MAX_SIZE = 60
#: Number of tokens up to which all configurations on the circle are covered in a second.
_COVERED = 6


def critical_points(
    energy: Energy,
    n: int,
    d: int,
    *,
    starts: int = 300,
    seed: int = 0,
    certify: bool = True,
    backend: str = "auto",
) -> Atlas:
    r"""Search for the critical points of an energy of n tokens on the unit sphere of ℝᵈ, and certify each.

    .. math:: \operatorname{grad} F(x_1, \dots, x_n) = 0,\qquad x_i \in S^{d-1}

    Parameters
    ----------
    energy : Energy
    n : int
        Number of tokens, at least two.
    d : int
        Dimension of the surrounding space, at least two; n(d − 1) is at most 60.
    starts : int
        Half of them uniform on the spheres, half near configurations with few positions.
    seed : int
    certify : bool
        Prove existence, isolation modulo rotations and kind of every point in ball arithmetic.
    backend : {"auto", "compiled", "numpy"}
        Of the Hessian.

    Returns
    -------
    Atlas
        One point for each class under permutations, and rotations where the energy is invariant. For at most
        six tokens on the circle it says whether others are excluded.

    Raises
    ------
    InputError
        If a number is out of range, or the energy is no sum over pairs and tokens.

    Examples
    --------
    >>> from symflow.energies import Interaction
    >>> atlas = critical_points(Interaction(1.0), 3, 2, starts=60, backend="numpy")
    >>> [(point.name, point.kind) for point in atlas]
    [('consensus', 'maximum'), ('2 + 1 antipodal', 'saddle'), ('regular 3-gon', 'minimum')]
    >>> all(point.certified for point in atlas), atlas.complete
    (True, True)
    """
    _refuse(energy, n, d, starts)
    definition, kernel = definition_of(energy), compile_hessian(energy, "sphere", backend)
    found = newton(kernel, draw(starts, n, d, np.random.default_rng(seed)))
    invariant = definition.is_invariant
    points = [_classified(kernel, members, invariant) for members in _classes(found, invariant)]
    if certify:
        points = [_certified(definition, point) for point in points]
    points.sort(key=lambda point: (-point.energy, point.name))
    atlas = Atlas(energy.describe, n, d, tuple(points), starts, len(found))
    if certify and d == 2 and n <= _COVERED and invariant and _is_complete(energy, atlas):
        return replace(atlas, complete=True)
    return atlas


def _is_complete(energy: Energy, atlas: Atlas) -> bool:
    """Whether the replay of a list of critical points on the circle excludes any other."""
    if not all(point.certified for point in atlas) or CONSENSUS not in {point.name for point in atlas}:
        return False
    certificate = circle_certificate(energy, atlas)
    return certificate.status == "proved" and replay(certificate).accepted


def definition_of(energy: Energy) -> TokenEnergy:
    """Return an energy by its texts and exact parameters.

    Raises
    ------
    InputError
        If it is no integral over pairs and tokens.
    """
    model = energy.model
    if energy.statement().rest != 0:
        raise InputError(f"{model.name} is no sum over pairs and tokens; its critical points are not sought")
    rows = {name: _rows(value) for name, value in energy.exact().items()}
    return TokenEnergy(model.pair, model.potential, rows)


def _rows(value: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(map(tuple, value)) if isinstance(value, list) else ((value,),)


def _refuse(energy: Any, n: Any, d: Any, count: Any) -> None:
    if not isinstance(energy, Energy):
        raise InputError(f"energy must be one of symflow.energies, got {type(energy).__name__}")
    for name, value, least in (("n", n, 2), ("d", d, 2), ("starts", count, 1)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"{name} = {value!r} must be a whole number of at least {least}")
    if n * (d - 1) > MAX_SIZE:
        raise InputError(f"n(d - 1) = {n * (d - 1)} is above {MAX_SIZE}; take fewer tokens or dimensions")


def _classes(found: Array, invariant: bool) -> list[Array]:
    """Return the points by class, each an array of its members."""
    keys = np.array([invariants(x, invariant) for x in found])
    left, classes = np.ones(len(found), bool), []
    for k in range(len(found)):
        if left[k]:
            same = left & (np.abs(keys - keys[k]).max(axis=1) < SAME)
            classes.append(found[same])
            left &= ~same
    return classes


def _classified(kernel: HessianKernel, members: Array, invariant: bool) -> CriticalPoint:
    x = members[0]
    shape = shape_of(x)
    here = kernel.newton(x)
    values = np.linalg.eigvalsh(here.matrix[0])
    limit = _FLAT * np.abs(values).max()
    zero = int((np.abs(values) <= limit).sum())
    rotations = _orbit(x.shape[1], shape.rank) if invariant else 0
    exact = exact_tokens(shape) if invariant else None
    return CriticalPoint(
        x=x,
        name=shape.name,
        clusters=shape.clusters,
        rank=shape.rank,
        energy=float(here.value[0]),
        eigenvalues=tuple(values.tolist()),
        increasing=int((values > limit).sum()),
        decreasing=int((values < -limit).sum()),
        flat=zero - rotations,
        rotations=rotations,
        hits=len(members),
        exact=None if exact is None else tuple(map(tuple, exact)),
    )


def _orbit(d: int, rank: int) -> int:
    """Return the dimension of the orbit of tokens of this rank under SO(d)."""
    return (d * (d - 1) - (d - rank) * (d - rank - 1)) // 2


def _certified(definition: TokenEnergy, point: CriticalPoint) -> CriticalPoint:
    from flint import ctx

    if point.flat:
        return replace(point, certificate=DEGENERATE)
    tokens = [[Fraction(c) for c in row] for row in point.x.tolist()]
    for radius in _RADII:
        try:
            with ctx.workprec(_PRECISION):
                kind = Neighbourhood(definition, tokens, Fraction(radius)).critical_point()
        except Rejected:
            continue
        if (kind.increasing, kind.decreasing) == (point.increasing, point.decreasing):
            return replace(point, certificate=CERTIFIED, radius=radius)
    return replace(point, certificate=OPEN)
