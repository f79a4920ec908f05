"""The right-hand side and its Jacobian as functions of time and flattened state, as SciPy calls them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from symflow.codegen.calls import bind, evaluate
from symflow.codegen.interface import Entry
from symflow.codegen.load import Form
from symflow.codegen.sizes import from_length
from symflow.codegen.values import FloatArray
from symflow.errors import InputError

#: How a function is made again elsewhere: a callable and its arguments, both of which pickle.
Recipe = tuple[Callable[..., Any], tuple[Any, ...]]


class Domain:
    r"""Refuses moments at which the normaliser diverges.

    The moments form has no square root of Σ at hand, so it cannot tell I − ΣC with two negative eigenvalues
    from one with none. The factor form can: this takes Σ = FFᵀ apart and asks it.
    """

    def __init__(
        self, form: Form, entry: Entry, dims: Sequence[int], values: Mapping[str, FloatArray]
    ) -> None:
        self._call: Any = None
        if form.interface.guarded and entry.name not in ("factor", "domain"):
            sizes = dict(zip(entry.dimensions, dims, strict=True))
            name = "factor" if form.interface.has("factor") else "domain"
            self._order = sizes["d"]
            table = (sizes.get(size, self._order) for size in form.interface.entry(name).dimensions)
            self._call = bind(form, name, tuple(table), values)

    def require(self, t: float, y: FloatArray) -> None:
        """Refuse the flattened state ``y``, mean and covariance first.

        Raises
        ------
        NormaliserDiverges
            Where I − Σ^{1/2}CΣ^{1/2} is not positive definite.
        """
        if self._call is None or not np.isfinite(y).all():
            return
        d = self._order
        covariance = y[d : d + d * d].reshape(d, d)
        eigenvalues, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        evaluate(self._call, t, np.concatenate([y[:d], root.ravel()]))


class RightHandSide:
    """``f(t, y)`` for :func:`scipy.integrate.solve_ivp`; any thread may call it, and it pickles.

    Parameters
    ----------
    form : Form
        The parametrisation.
    values : mapping
        Its parameters as float64 arrays, in call order.
    entry : str
        Name of the generated function.
    recipe : tuple
        How to make this function again in another process: compiled code does not travel.
    dims : mapping of str to int, optional
        Sizes that are known already.
    """

    def __init__(
        self,
        form: Form,
        values: Mapping[str, FloatArray],
        entry: str,
        recipe: Recipe,
        dims: Mapping[str, int] | None = None,
    ) -> None:
        self._form, self._values, self._recipe = form, values, recipe
        self._dims = dims or {}
        self._entry = form.interface.entry(entry)
        self._calls = threading.local()  # a bound call has one scratch memory

    def __call__(self, t: float, y: Any) -> FloatArray:
        """Return the derivative of the flattened state."""
        flat = flattened(y)
        call, domain = self.bound(flat.size)
        domain.require(t, flat)
        return evaluate(call, t, flat)

    def bound(self, length: int) -> tuple[Any, Domain]:
        """Return this thread's call for a state of ``length`` entries, and its domain."""
        calls = self._calls.__dict__.setdefault("by_length", {})
        if length not in calls:
            dims = from_length(self._entry, self._form.interface, self._values, length, self._dims)
            call = bind(self._form, self._entry.name, dims, self._values)
            calls[length] = call, Domain(self._form, self._entry, dims, self._values)
        found: tuple[Any, Domain] = calls[length]
        return found

    def __reduce__(self) -> Recipe:
        return self._recipe


class Jacobian:
    """``J(t, y)`` of the right-hand side, one column per tangent direction.

    Parameters
    ----------
    tangent : RightHandSide
        The derivative in a direction; its state is a point followed by the direction.
    recipe : tuple
        As for :class:`RightHandSide`.
    """

    def __init__(self, tangent: RightHandSide, recipe: Recipe) -> None:
        self._tangent, self._recipe = tangent, recipe

    def __call__(self, t: float, y: Any) -> FloatArray:
        """Return the matrix of derivatives at (t, y)."""
        flat = flattened(y)
        n = flat.size
        point = np.concatenate([flat, np.zeros(n)])
        call, domain = self._tangent.bound(2 * n)
        domain.require(t, point)  # once: every column has the same state
        jacobian = np.empty((n, n))
        for column in range(n):
            point[n + column] = 1.0
            jacobian[:, column] = evaluate(call, t, point)[:n]
            point[n + column] = 0.0
        return jacobian

    def __reduce__(self) -> Recipe:
        return self._recipe


def flattened(y: Any) -> FloatArray:
    """Return a state as a contiguous float64 vector.

    Raises
    ------
    InputError
        If it is complex, whose imaginary part would be lost, or has more than one axis.
    """
    if np.iscomplexobj(y):
        raise InputError("y is complex; give real numbers")
    flat = np.ascontiguousarray(y, dtype=np.float64)
    if flat.ndim != 1:
        raise InputError(f"y has shape {flat.shape}; give the flattened state, one axis")
    return flat
