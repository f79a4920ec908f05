"""Riemannian Hessians of energies of n tokens, on the product of spheres and in space."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from symflow.checking import Array, real_array
from symflow.codegen.hessians import compile_hessian
from symflow.codegen.hessians.assembly import frames_of
from symflow.curvature.cloud import read_cloud
from symflow.curvature.exact import is_exact, nested
from symflow.curvature.form import SecondOrder, inner, to_sympy
from symflow.curvature.tokens import Parameters, TokenEnergy
from symflow.derive.critical.structure import require_pairs
from symflow.errors import InputError

__all__ = ["hessian"]

SPACES = ("sphere", "euclidean")
#: How far from one the length of a point of the sphere may be in floats.
SPHERE_TOLERANCE = 1e-8


def hessian(energy: Any, at: Any, space: str = "sphere") -> SecondOrder:
    r"""Return the Riemannian Hessian of an energy of n tokens, with respect to :math:`\sum_i|\xi_i|^2`.

    .. math:: F(x_1,\dots,x_n) = \frac{1}{2n^2}\sum_{i,j} W(x_i, x_j) + \frac1n\sum_i U(x_i),\qquad
              \operatorname{Hess}F(\xi,\xi) = \frac{d^2}{dt^2}\Big|_{t=0} F(\gamma_1(t),\dots,\gamma_n(t))

    with geodesics: on the sphere great circles, γ'' = −|ξ|²γ, in space straight lines. At a critical point
    the form does not depend on the Riemannian metric.

    Parameters
    ----------
    energy : Energy
        Of :mod:`symflow.energies`, of the form above.
    at : array_like, (n, d)
        Tokens, on the sphere of length one, critical or not. Integers, fractions and exact SymPy numbers such
        as ``sqrt(3)/2`` or ``cos(2*pi/5)`` give exact results; floats give floats, and may miss the sphere by
        1e-8.
    space : {"sphere", "euclidean"}

    Returns
    -------
    SecondOrder
        ``.matrix`` (nd × nd; on the sphere zero on normal vectors), ``.form(v)``, ``.metric(v)``,
        ``.eigenvalues()`` (n(d − 1) of them on the sphere) and ``.signature()``. A velocity v is an array
        (n, d), on the sphere with ⟨v_i, x_i⟩ = 0.

    Raises
    ------
    InputError
        If ``at`` has a wrong shape or a point off the sphere, ``space`` is unknown, or the energy is no sum
        over pairs, naming index and remedy.

    References
    ----------
    GLPR23.

    Examples
    --------
    >>> from symflow.energies import Interaction
    >>> consensus = hessian(Interaction(1), [[1, 0], [1, 0], [1, 0]])
    >>> consensus.eigenvalues()
    [-E/3, -E/3, 0]
    >>> consensus.signature()
    Signature(negative=2, zero=1, positive=0)
    """
    if space not in SPACES:
        raise InputError(f"space = {space!r} is unknown; use {' or '.join(map(repr, SPACES))}")
    require_pairs(energy.statement())
    entries, shape = nested(at, "at")
    if len(shape) != 2 or 0 in shape:
        raise InputError(f"at has shape {shape}; give tokens of shape (n, d)")
    if all(is_exact(entry) for entry in entries):
        return _exact(energy, at, space)
    return _floats(energy, real_array(at, "at"), space)


def _floats(energy: Any, x: Array, space: str) -> SecondOrder:
    shape = x.shape
    if space == "sphere":
        lengths = np.linalg.norm(x, axis=1)
        for i, length in enumerate(lengths):
            if not abs(length - 1.0) <= SPHERE_TOLERANCE:
                raise _off_the_sphere(i, f"length {length:.12g}")
        x = x / lengths[:, None]
    # a single call does not pay for a compiler
    matrix = compile_hessian(energy, space, backend="numpy").matrix(x)
    if space == "euclidean":
        return SecondOrder(matrix, shape)
    n, d = shape
    frame = np.zeros((n, d, n, d - 1))
    frame[np.arange(n), :, np.arange(n), :] = frames_of(x)
    return SecondOrder(matrix, shape, frame=frame.reshape(n * d, n * (d - 1)), points=x)


def _exact(energy: Any, at: Any, space: str) -> SecondOrder:
    cloud = read_cloud(at)
    n, d = cloud.tokens.shape
    points = [list(row) for row in cloud.tokens]
    if space == "sphere":
        for i, point in enumerate(points):
            square = inner(point, point)
            if not square == 1:
                raise _off_the_sphere(i, f"squared length {to_sympy(square)}")
    statement, values = energy.statement(), energy.exact()
    known = {symbol: values[symbol.name] for symbol in statement.parameters}
    tokens = TokenEnergy(statement, Parameters(known, {statement.dimensions[0]: d}), cloud)
    blocks = tokens.entries()
    if space == "euclidean":
        return SecondOrder(_rows(blocks.reshape(n * d, n * d)), (n, d))
    slopes = [[entry * Fraction(1, n) for entry in row] for row in tokens.slope]
    matrix = np.empty((n, d, n, d), dtype=object)
    for i in range(n):
        for j in range(n):
            bent = inner(slopes[i], points[i]) if i == j else 0
            matrix[i, :, j, :] = _projected(blocks[i, :, j, :], points[i], points[j], bent)
    return SecondOrder(
        _rows(matrix.reshape(n * d, n * d)),
        (n, d),
        frame=_exact_frame(points),
        points=tuple(map(tuple, points)),
    )


def _projected(block: Any, left: Sequence[Any], right: Sequence[Any], bent: Any) -> Any:
    """Return P B P' − bent P, with the projectors I − xxᵀ of both points."""
    d = len(left)
    columns = [inner(left, block[:, k]) for k in range(d)]  # xᵀB
    rows = [inner(block[k, :], right) for k in range(d)]  # Bx'
    both = inner(rows, left)
    found = np.empty((d, d), dtype=object)
    for k in range(d):
        for l in range(d):
            projected = block[k, l] - left[k] * columns[l] - rows[k] * right[l] + left[k] * both * right[l]
            found[k, l] = projected - bent * (int(k == l) - left[k] * right[l])
    return found


def _exact_frame(points: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    """Return an orthonormal basis of the tangent space in columns, with entries in the field of the points.

    For each point the columns 2 to d of the reflection that takes it to a multiple of the first basis vector.
    """
    n, d = len(points), len(points[0])
    frame = [[Fraction(0)] * (n * (d - 1)) for _ in range(n * d)]
    for i, x in enumerate(points):
        sign = 1 if x[0] >= 0 else -1
        u = [x[0] + sign, *x[1:]]
        scale = Fraction(1) / (1 + sign * x[0])
        for k in range(d):
            for l in range(1, d):
                frame[i * d + k][i * (d - 1) + l - 1] = int(k == l) - scale * u[k] * x[l]
    return tuple(map(tuple, frame))


def _rows(matrix: Any) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in matrix)


def _off_the_sphere(i: int, found: str) -> InputError:
    return InputError(
        f"at[{i}] has {found} and is no point of the unit sphere; divide it by its length, or use "
        "space='euclidean'"
    )
