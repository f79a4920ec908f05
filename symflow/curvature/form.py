r"""A second derivative along geodesics as a quadratic form beside the metric it is measured with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from symflow.checking import Array, real_array
from symflow.curvature.exact import elements, is_exact, nested, relative_spectrum, together
from symflow.errors import InputError, Undecided

__all__ = ["SecondOrder", "Signature"]

Rows = Sequence[Sequence[Any]]

#: Relative to the largest modulus of an eigenvalue: what floats cannot tell from zero.
ZERO_TOLERANCE = 1e-10
#: Relative to the length of a vector: how far a tangent vector of floats may lean out of the tangent space.
TANGENT_TOLERANCE = 1e-8


class Signature(NamedTuple):
    """How many eigenvalues are negative, zero and positive."""

    negative: int
    zero: int
    positive: int


@dataclass(frozen=True, eq=False, repr=False)
class SecondOrder:
    r"""A quadratic form H on tangent vectors, beside the metric G.

    .. math:: \text{form}(v) = v^\top Hv,\qquad \text{metric}(v) = v^\top Gv,\qquad Hv = \lambda Gv

    Entries are either all exact (elements of a ring of :mod:`symflow.algebra.exact`, fractions, integers)
    or all floats; everything that is asked for is exact in the first case.

    Attributes
    ----------
    entries : rows or ndarray, (N, N)
        H in coordinates, symmetric. Where the tangent vectors do not fill ℝᴺ, H vanishes on the normals.
    shape : tuple of int
        Of a tangent vector, for instance (n, d); N is the product.
    gram : rows or ndarray, (N, N), optional
        G; the identity where it is not given.
    frame : rows or ndarray, (N, m), optional
        A basis of the tangent space in its columns; all of ℝᴺ where it is not given. Where no ``gram`` is
        given it is orthonormal.
    points : rows or ndarray, (n, d), optional
        Points of the unit sphere: v is tangent where ⟨v_i, x_i⟩ = 0 for every i.

    Examples
    --------
    >>> hessian = SecondOrder(np.diag([-2.0, 0.0, 3.0]), (3, 1))
    >>> hessian.signature()
    Signature(negative=1, zero=1, positive=1)
    >>> hessian.form([1.0, 1.0, 1.0])
    1.0
    """

    entries: Any
    shape: tuple[int, ...]
    gram: Any = None
    frame: Any = None
    points: Any = None

    @property
    def exact(self) -> bool:
        """Whether the entries are exact."""
        return not isinstance(self.entries, np.ndarray)

    @property
    def size(self) -> int:
        """N, the number of coordinates of a vector."""
        return len(self.entries)

    @property
    def matrix(self) -> Any:
        """H: a SymPy matrix of exact numbers, or an array of floats."""
        if not self.exact:
            return self.entries.copy()
        from sympy import ImmutableDenseMatrix

        return ImmutableDenseMatrix([[to_sympy(entry) for entry in row] for row in self.entries])

    def form(self, v: Any) -> Any:
        """Return the second derivative along the geodesic with velocity v.

        Parameters
        ----------
        v : array_like
            A tangent vector of the stated shape, or its coordinates in a row. Floats give a float.

        Raises
        ------
        InputError
            If the shape differs or v is not tangent; floats may lean out by 1e-8 of their length, and what
            leans out does not count.
        """
        return self._evaluated(self.entries, v)

    def metric(self, v: Any) -> Any:
        """Return the squared length of v; parameters and errors as for :meth:`form`."""
        return self._evaluated(self.gram, v)

    def restricted(self) -> Any:
        """Return H in the coordinates of the frame, m × m."""
        return self._in_frame(self.entries)

    def restricted_metric(self) -> Any:
        """Return G in the coordinates of the frame, or None for the identity."""
        return None if self.gram is None else self._in_frame(self.gram)

    def eigenvalues(self) -> list[Any]:
        """Return the eigenvalues with respect to the metric, ascending, with multiplicity.

        Returns
        -------
        list
            Of SymPy numbers where the entries are exact, else of floats. An eigenvalue for which SymPy has
            no notation stays a :class:`~symflow.algebra.exact.root.Root`, which compares and converts alike.
            Without symmetry exact eigenvalues of eight coordinates take a minute; :meth:`signature` takes
            none.

        Raises
        ------
        Undecided
            If exact entries make a characteristic polynomial that is too large; convert the points to floats.
        """
        if self.exact:
            return [_shown(value) for value in relative_spectrum(self.restricted(), self.restricted_metric())]
        return [float(value) for value in _float_eigenvalues(self.restricted(), self.restricted_metric())]

    def signature(self, tolerance: float | None = None) -> Signature:
        """Return how many eigenvalues are negative, zero and positive.

        Parameters
        ----------
        tolerance : float, optional
            For floats only: an eigenvalue of modulus up to it counts as zero. By default it is 1e-10 times
            the largest modulus of an eigenvalue, which is what rounding leaves in doubt. Exact entries are
            decided exactly.

        Raises
        ------
        InputError
            If a tolerance is given for exact entries, or it is negative.
        """
        if self.exact:
            if tolerance is not None:
                raise InputError("tolerance has no meaning for exact entries; leave it out")
            return _exact_signature(self.restricted())
        values = np.array(self.eigenvalues())
        largest = float(np.abs(values).max()) if values.size else 0.0
        limit = ZERO_TOLERANCE * largest if tolerance is None else float(tolerance)
        if not limit >= 0.0:
            raise InputError(f"tolerance = {tolerance!r} must not be negative")
        negative, positive = int((values < -limit).sum()), int((values > limit).sum())
        return Signature(negative, len(values) - negative - positive, positive)

    # ---- inside ------------------------------------------------------------------------------------

    def _in_frame(self, rows: Any) -> Any:
        if self.frame is None:
            return rows
        if not self.exact:
            inner = self.frame.T @ rows @ self.frame
            return 0.5 * (inner + inner.T)
        return congruent(rows, self.frame)

    def _evaluated(self, rows: Any, v: Any) -> Any:
        vector = self._vector(v)
        if isinstance(vector, np.ndarray):
            return float(vector @ vector if rows is None else vector @ _as_floats(rows) @ vector)
        if rows is None:
            return to_sympy(inner(vector, vector))
        rows, vector = together(rows, vector)
        return to_sympy(inner(vector, [inner(row, vector) for row in rows]))

    def _vector(self, v: Any) -> Any:
        """Return the coordinates of a tangent vector: ring elements, or an array of floats."""
        exact = None if not self.exact else _exact_coordinates(v)
        if exact is None:
            array = real_array(v, "v")
            self._refuse_shape(array.shape)
            vector = array.reshape(-1)
            if self.points is not None:
                vector = self._projected(vector.reshape(self.shape))
            return vector
        coordinates, shape = exact
        self._refuse_shape(shape)
        if self.points is not None:
            self._refuse_leaning(coordinates)
        return coordinates

    def _refuse_shape(self, shape: tuple[int, ...]) -> None:
        if shape not in (self.shape, (self.size,)):
            raise InputError(f"v has shape {shape}; give {self.shape}, or {self.size} coordinates in a row")

    def _projected(self, vector: Array) -> Array:
        points = _as_floats(self.points)
        lean = np.einsum("ij,ij->i", points, vector)
        bad = np.abs(lean) > TANGENT_TOLERANCE * np.linalg.norm(vector, axis=1)
        if bad.any():
            raise InputError(_leaning(int(np.argmax(bad)), float(lean[np.argmax(bad)])))
        return np.asarray((vector - lean[:, None] * points).reshape(-1))

    def _refuse_leaning(self, coordinates: Sequence[Any]) -> None:
        d = self.shape[-1]
        points, coordinates = together(self.points, coordinates)
        for i, point in enumerate(points):
            lean = inner(point, coordinates[i * d : (i + 1) * d])
            if not lean == 0:
                raise InputError(_leaning(i, to_sympy(lean)))

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "float"
        return f"SecondOrder({self.size}×{self.size}, {kind}, tangent vectors of shape {self.shape})"


def inner(left: Sequence[Any], right: Sequence[Any]) -> Any:
    """Return the sum of products of exact entries."""
    return sum((a * b for a, b in zip(left, right, strict=True)), 0)


def congruent(rows: Rows, frame: Rows) -> tuple[tuple[Any, ...], ...]:
    """Return FᵀHF of exact entries."""
    columns = list(zip(*frame, strict=True))
    images = [[inner(row, column) for row in rows] for column in columns]  # H times each column
    return tuple(tuple(inner(column, image) for image in images) for column in columns)


def to_sympy(entry: Any) -> Any:
    """Return an exact entry as a SymPy number."""
    if hasattr(entry, "to_sympy"):
        return entry.to_sympy()
    from sympy import Integer, Rational

    return Integer(entry) if isinstance(entry, int) else Rational(entry.numerator, entry.denominator)


def _shown(value: Any) -> Any:
    """Return an eigenvalue as a SymPy number where there is one."""
    try:
        return to_sympy(value)
    except Undecided:
        return value


def _as_floats(rows: Any) -> Array:
    if isinstance(rows, np.ndarray):
        return rows
    return np.array([[float(to_sympy(entry)) for entry in row] for row in rows])


def _leaning(i: int, lean: Any) -> str:
    return f"v[{i}] is not tangent at token {i}: ⟨v[{i}], x[{i}]⟩ = {lean}; subtract that multiple of x[{i}]"


def _float_eigenvalues(rows: Array, gram: Array | None) -> Array:
    if gram is None:
        return np.asarray(np.linalg.eigvalsh(rows))
    from scipy.linalg import eigh

    return np.asarray(eigh(rows, gram, eigvals_only=True))


def _exact_coordinates(v: Any) -> tuple[list[Any], tuple[int, ...]] | None:
    """Return exact coordinates and their shape, or None where one of them is a float."""
    entries, shape = nested(v, "v")
    if not all(is_exact(entry) for entry in entries):
        return None
    return elements(entries), shape


def _exact_signature(rows: Rows) -> Signature:
    from symflow.algebra.exact.inertia import inertia

    found = inertia(rows)
    return Signature(found.negative, found.zero, found.positive)
