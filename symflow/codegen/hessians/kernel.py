"""Energies of n tokens, called with arrays: value, gradient, second derivative, product, Newton systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symflow.codegen.hessians.assembly import Assembly, frames_of
from symflow.codegen.hessians.coefficients import Coefficients, coefficients
from symflow.codegen.hessians.forms import BACKENDS, HessianForm, obtain
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

Array = NDArray[np.float64]

_SPACES = ("sphere", "euclidean")
_NOT_FINITE, _NO_MEMORY = 1, 2


class Newton(NamedTuple):
    """What one step of Newton's method needs, of every cloud of a batch.

    Attributes
    ----------
    value : ndarray, (B,)
        F.
    frames : ndarray, (B, n, d, d − 1)
        Orthonormal bases T_i of the tangent spaces, in columns.
    slopes : ndarray, (B, n(d − 1))
        The gradient in these bases.
    matrix : ndarray, (B, n(d − 1), n(d − 1))
        The Riemannian Hessian in these bases.
    """

    value: Array
    frames: Array
    slopes: Array
    matrix: Array


class HessianKernel:
    r"""An energy of n tokens with its derivatives, on the product of spheres or in space.

    .. math:: F = \frac{1}{2n^2}\sum_{i,j} W(x_i, x_j) + \frac1n\sum_i U(x_i)

    Every method takes one cloud (n, d) or a batch (B, n, d); what it returns for a cloud does not depend on
    the others. On the sphere tokens are taken to have length one, and nothing is checked: what is returned
    for others is the projected second derivative at a point off the sphere.
    """

    def __init__(self, form: HessianForm, values: Mapping[str, Any]) -> None:
        self._form, self._values = form, dict(values)
        self.space = form.energy.space
        self._sphere = int(self.space == "sphere")
        self._numbers: dict[int, Coefficients] = {}

    @property
    def backend(self) -> str:
        """``"compiled"`` or ``"numpy"``."""
        return self._form.backend

    @property
    def source(self) -> str:
        """The generated text."""
        return self._form.text()

    def value(self, x: Any) -> Any:
        """Return F: a float, or (B,)."""
        x, single = _clouds(x)
        out = np.empty(len(x))
        self._run(x, value=out)
        return float(out[0]) if single else out

    def gradient(self, x: Any) -> Array:
        """Return the gradient with respect to Σ|ξ_i|², of the shape of x; tangent on the sphere."""
        x, single = _clouds(x)
        out = np.empty_like(x)
        self._run(x, gradient=out)
        return np.asarray(out[0]) if single else out

    def matrix(self, x: Any) -> Array:
        """Return the Hessian in coordinates, (nd, nd) or (B, nd, nd).

        On the sphere it is the Riemannian Hessian of the product of spheres, zero on normal vectors.
        """
        x, single = _clouds(x)
        size = x.shape[1] * x.shape[2]
        out = np.empty((len(x), size, size))
        self._run(x, matrix=out)
        return np.asarray(out[0]) if single else out

    def product(self, x: Any, v: Any) -> Array:
        """Return the Hessian times v without forming it; of v only what is tangent counts."""
        x, single = _clouds(x)
        v = np.ascontiguousarray(v, dtype=np.float64).reshape(x.shape)
        out = np.empty_like(x)
        self._run(x, v=v, product=out)
        return np.asarray(out[0]) if single else out

    def newton(self, x: Any) -> Newton:
        """Return value, frames, gradient and Hessian in frames, in one pass; always with a batch axis.

        Raises
        ------
        InputError
            In space, where coordinates are their own frame.
        """
        if not self._sphere:
            raise InputError("newton is for the sphere; in space use gradient and matrix")
        x, _ = _clouds(x)
        batch, n, d = x.shape
        found = Newton(
            np.empty(batch),
            np.empty((batch, n, d, d - 1)),
            np.empty((batch, n * (d - 1))),
            np.empty((batch, n * (d - 1), n * (d - 1))),
        )
        self._run(x, value=found.value, frames=found.frames, slopes=found.slopes, reduced=found.matrix)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        energy = self._form.energy
        return _restored, (energy.statement, energy.space, self.backend, self._values)

    # ---- inside ------------------------------------------------------------------------------------

    def _bound(self, d: int) -> Coefficients:
        found = self._numbers.get(d)
        if found is None:
            found = self._numbers[d] = coefficients(self._form.energy, self._values, d)
        return found

    def _run(
        self,
        x: Array,
        v: Array | None = None,
        value: Array | None = None,
        gradient: Array | None = None,
        product: Array | None = None,
        matrix: Array | None = None,
        frames: Array | None = None,
        slopes: Array | None = None,
        reduced: Array | None = None,
    ) -> None:
        batch, n, d = x.shape
        if batch == 0:
            return
        bound = self._bound(d)
        outputs = (value, gradient, product, matrix, frames, slopes, reduced)
        if self._form.evaluate is None:
            with np.errstate(all="ignore"):  # what is not finite is refused below
                _with_arrays(self._form, bound, self._sphere, x, v, outputs)
            return
        status, where = self._form.evaluate(batch, n, d, self._sphere, bound, x, v, *outputs)
        if status == _NOT_FINITE:
            raise _not_finite(where)
        if status == _NO_MEMORY:
            raise MemoryError(f"no memory for the Hessian of {n} tokens in {d} dimensions")


def _restored(
    statement: EnergyStatement, space: str, backend: str, values: Mapping[str, Any]
) -> HessianKernel:
    """Return a kernel that was pickled, on a machine without a compiler the NumPy one."""
    return HessianKernel(obtain(statement, space, "numpy" if backend == "numpy" else "auto"), values)


def _clouds(x: Any) -> tuple[Array, bool]:
    array = np.ascontiguousarray(x, dtype=np.float64)
    if array.ndim == 2:
        return array[None], True
    if array.ndim != 3:
        raise InputError(f"tokens have shape {array.shape}; give (n, d), or (B, n, d) for a batch")
    return array, False


def _not_finite(where: int) -> InputError:
    return InputError(
        f"the energy of cloud {where} or a derivative of it exceeds the range of doubles, or is not defined "
        "there; give smaller parameters, or exact points for an exact Hessian"
    )


def _with_arrays(
    form: HessianForm, bound: Coefficients, sphere: int, x: Array, v: Array | None, outputs: tuple[Any, ...]
) -> None:
    """Fill the outputs by sums over arrays; see ``symflow_hessian.h`` for what each of them is."""
    value, gradient, product, matrix, frames, slopes, reduced = outputs
    batch, n, d = x.shape
    sums = Assembly(form.energy, bound, form.pair_jet, form.token_jet, x)
    in_space = sums.euclidean_gradient()
    curvature = np.einsum("bid,bid->bi", in_space, x) if sphere else np.zeros((batch, n))
    filled = []
    if value is not None:
        value[...] = sums.value()
        filled.append(value)
    if gradient is not None:
        gradient[...] = in_space - curvature[..., None] * x
        filled.append(gradient)
    if product is not None or matrix is not None:
        whole = _projected(sums.euclidean_blocks(), curvature, x, sphere)
        if matrix is not None:
            matrix[...] = whole
            filled.append(matrix)
        if product is not None:
            product[...] = (whole @ np.reshape(np.asarray(v), (batch, n * d, 1))).reshape(x.shape)
            filled.append(product)
    if frames is not None:
        frames[...] = frames_of(x)
        slopes[...] = np.einsum("bide,bid->bie", frames, in_space).reshape(slopes.shape)
        reduced[...] = _in_frames(sums.euclidean_blocks(), curvature, frames)
        filled += [slopes, reduced]
    for found in filled:
        finite = np.isfinite(found.reshape(batch, -1)).all(axis=1)
        if not finite.all():
            raise _not_finite(int(np.argmin(finite)))


def _projected(blocks: Array, curvature: Array, x: Array, sphere: int) -> Array:
    """Return P_iB_ijP_j − ⟨g_i, x_i⟩P_i δ_ij as a matrix, the blocks themselves in space."""
    batch, n, d = x.shape
    if sphere:
        projectors = np.eye(d) - x[..., :, None] * x[..., None, :]
        blocks = np.einsum("bikl,bijlm,bjmo->bijko", projectors, blocks, projectors, optimize=True)
        blocks[:, np.arange(n), np.arange(n)] -= curvature[..., None, None] * projectors
    return _symmetric(blocks.transpose(0, 1, 3, 2, 4).reshape(batch, n * d, n * d))


def _in_frames(blocks: Array, curvature: Array, frames: Array) -> Array:
    batch, n, _, e = frames.shape
    inner = np.einsum("bika,bijkl,bjlc->bijac", frames, blocks, frames, optimize=True)
    inner[:, np.arange(n), np.arange(n)] -= curvature[..., None, None] * np.eye(e)
    return _symmetric(inner.transpose(0, 1, 3, 2, 4).reshape(batch, n * e, n * e))


def _symmetric(matrices: Array) -> Array:
    return np.asarray(0.5 * (matrices + matrices.swapaxes(1, 2)))


def compile_hessian(energy: Any, space: str | None = None, backend: str = "auto") -> HessianKernel:
    """Return an energy with its first two derivatives as compiled functions.

    The text is generated from the energy's definition, built on first use and kept in the cache.

    Parameters
    ----------
    energy : Energy
        Of :mod:`symflow.energies`, also one of the user's own; anything with ``statement()`` and ``exact()``.
    space : {"sphere", "euclidean"}, optional
        Where tokens live; where the energy says so by default.
    backend : {"auto", "compiled", "numpy"}
        NumPy needs no compiler; ``"auto"`` takes it, with a warning, where there is none.

    Returns
    -------
    HessianKernel
        With ``value(x)``, ``gradient(x)``, ``matrix(x)``, ``product(x, v)`` and ``newton(x)``.

    Raises
    ------
    InputError
        If no Hessian can be assembled for the energy.
    BuildError
        If ``backend`` is ``"compiled"`` and nothing can be compiled.

    Examples
    --------
    >>> from symflow.energies import Interaction
    >>> kernel = compile_hessian(Interaction(1.0), backend="numpy")
    >>> kernel.gradient([[1.0, 0.0], [0.0, 1.0]])
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """
    statement = energy.statement()
    space = statement.space if space is None else space
    if space not in _SPACES:
        raise InputError(f"space = {space!r} is unknown; use {' or '.join(map(repr, _SPACES))}")
    if backend not in BACKENDS:
        raise InputError(f"backend = {backend!r} is unknown; use {', '.join(map(repr, BACKENDS))}")
    values = {name: np.array(value, dtype=np.float64) for name, value in energy.exact().items()}
    return HessianKernel(obtain(statement, space, backend), values)
