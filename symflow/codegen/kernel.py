"""The public face of code generation: :func:`compile`, :func:`source` and :class:`Kernel`.

What needs NumPy is imported by the methods that do: a kernel is there before NumPy is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from symflow.codegen import forms
from symflow.codegen.interface import Interface
from symflow.codegen.keys import WEIGHTS
from symflow.codegen.load import Form
from symflow.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

#: Values of ``backend``.
BACKENDS = ("auto", "compiled", "numpy")


class Kernel:
    r"""The right-hand side of a model's mean-field equations, callable from Python and from SciPy.

    .. math:: (\alpha, \Sigma) \mapsto (\dot\alpha, \dot\Sigma)

    Made by :func:`compile`. One kernel serves every size, every ``beta`` and ``temperature``, and every
    parametrisation of its model (A, or Q and K; with biases or without): the names of the parameters decide.

    Examples
    --------
    >>> import numpy as np
    >>> from symflow import Softmax, compile
    >>> kernel = compile(Softmax(), backend="numpy")
    >>> mean, cov = kernel(0.0, [1.0], [[1.0]], A=[[2.0]], V=[[1.0]])
    >>> mean, cov
    (array([3.]), array([[4.]]))
    """

    def __init__(self, model: Any, backend: str = "auto", given: Iterable[str] | None = None) -> None:
        if backend not in BACKENDS:
            raise InputError(f"backend = {backend!r} is unknown; use one of {', '.join(BACKENDS)}")
        self._model = _model_of(model)
        self._requested = backend
        self._given = None if given is None else frozenset(given)
        self._forms: dict[frozenset[str], Form] = {}
        names = forms.default_names(self._model) if self._given is None else self._given
        self._default = names
        first = forms.obtain(self._model, names, backend)
        self._backend = first.backend
        self._forms[names] = first

    @property
    def model(self) -> Any:
        """The model."""
        return self._model

    @property
    def backend(self) -> str:
        """``"compiled"`` or ``"numpy"``."""
        return self._backend

    @property
    def source(self) -> str:
        """The generated text: Cython, or Python for the NumPy backend."""
        return self._forms[self._default].text()

    def interface(self, names: Iterable[str] | None = None) -> Interface:
        """Return the functions, shapes and parameters of the parametrisation with these parameter names."""
        return self._form(self._default if names is None else frozenset(names)).interface

    def __call__(self, t: float, /, *state: Any, **params: Any) -> tuple[FloatArray, ...]:
        """Return the derivative of each state.

        Parameters
        ----------
        t : float
            Time.
        *state : array_like
            One per state, e.g. mean (d,) and covariance (d, d); any dtype or stride.
        **params : array_like
            By name; ``beta``, ``temperature`` and ``diffusion`` default to the model's, and so does the
            law ``theta`` of the positions of a masked model.

        Returns
        -------
        tuple of float64 arrays
            In the order of the states.

        Raises
        ------
        InputError
            If a name is unknown or missing, a shape does not fit, or the normaliser diverges.
        """
        from symflow.codegen.calls import bind, evaluate, pack, unpack
        from symflow.codegen.sizes import infer
        from symflow.codegen.values import array, require_count
        from symflow.codegen.vector_field import Domain

        form, values = self.bound(self._with_weights(params, state))
        entry = form.interface.entry("moments")
        require_count(entry, state)
        arrays = {slot.name: array(slot, value) for slot, value in zip(entry.inputs, state, strict=True)}
        dims = infer(entry, form.interface, values, arrays)
        packed = pack(arrays.values())
        Domain(form, entry, dims, values).require(float(t), packed)
        return unpack(entry, dims, evaluate(bind(form, entry.name, dims, values), float(t), packed))

    def rhs(self, params: Mapping[str, Any], entry: str = "moments") -> Callable[[float, Any], FloatArray]:
        """Return ``f(t, y)`` for :func:`scipy.integrate.solve_ivp`, ``y`` the flattened states.

        Parameters
        ----------
        params : mapping
            Parameters by name.
        entry : str, default "moments"
            ``"factor"`` takes the mean and a factor F of Σ = FFᵀ.
        """
        from symflow.codegen.vector_field import RightHandSide

        form, values = self.bound(params)
        return RightHandSide(form, values, entry, (Kernel.rhs, (self, dict(params), entry)))

    def jacobian(self, params: Mapping[str, Any]) -> Callable[[float, Any], FloatArray]:
        """Return ``J(t, y)``, the matrix of derivatives of :meth:`rhs`, column by column from the tangent."""
        from symflow.codegen.vector_field import Jacobian, RightHandSide

        form, values = self.bound(params)
        recipe = Kernel.jacobian, (self, dict(params))
        return Jacobian(RightHandSide(form, values, "tangent", recipe), recipe)

    def bind(
        self, entry: str, dims: Mapping[str, int] | Sequence[int] | None, params: Mapping[str, Any]
    ) -> Any:
        """Return ``call(t, y, dy)`` for the integrator.

        Parameters
        ----------
        entry : str
            ``"moments"``, ``"tangent"``, and without noise ``"factor"``.
        dims : mapping or sequence of int, optional
            Sizes by name or in call order; those that the parameters determine may be left out of a mapping.
        params : mapping
            Parameters by name.

        Returns
        -------
        symflow_ext.runtime.Call or callable
            Compiled, or a Python function; both return a status, 0 where all is well.
        """
        from symflow.codegen.calls import bind
        from symflow.codegen.sizes import complete

        form, values = self.bound(params)
        described = form.interface.entry(entry)
        return bind(form, entry, complete(described, form.interface, values, dims), values)

    def series(
        self,
        entry: str,
        dims: Mapping[str, int] | Sequence[int] | None,
        params: Mapping[str, Any],
        order: int,
    ) -> Any:
        """Return ``call(t, y, out)``, which writes the Taylor coefficients of the solution through y.

        Parameters
        ----------
        entry : str
            ``"moments"`` or ``"factor"``.
        dims, params
            As for :meth:`bind`.
        order : int
            Row k ≤ order of ``out`` (order + 1, n) becomes the k-th derivative over k!.
        """
        from symflow.codegen.sizes import complete
        from symflow.codegen.taylor.binding import bind_series

        names, _ = forms.select(self._model, frozenset(params), self._default, self._given)
        form, values = self.bound(params)
        sizes = complete(form.interface.entry(entry), form.interface, values, dims)
        return bind_series(self._model, names, form, entry, sizes, values, order)

    def bound(self, params: Mapping[str, Any]) -> tuple[Form, dict[str, Any]]:
        """Return the parametrisation that the names select, and its parameters as float64 arrays."""
        from symflow.codegen.values import parameters

        names, missing_biases = forms.select(self._model, frozenset(params), self._default, self._given)
        form = self._form(names)
        return form, parameters(form.interface, params, missing_biases, self._model)

    def _with_weights(self, params: dict[str, Any], state: Sequence[Any]) -> dict[str, Any]:
        """Return the parameters with the model's law of as many positions as the state has."""
        countable = bool(state) and hasattr(state[0], "__len__")
        if not countable or WEIGHTS in params or not hasattr(self._model, "weights"):
            return params
        return {**params, WEIGHTS: self._model.weights(len(state[0]))}

    def _form(self, names: frozenset[str]) -> Form:
        if names not in self._forms:
            backend = "numpy" if self._backend == "numpy" else self._requested
            self._forms[names] = forms.obtain(self._model, names, backend)
        return self._forms[names]

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self._model, self._requested, self._given)

    def __repr__(self) -> str:
        shown = ", ".join(p.name for p in self._forms[self._default].interface.parameters)
        return f"Kernel({self._forms[self._default].interface.name}; {shown}; backend={self._backend!r})"


def compile(model_or_derivation: Any, backend: str = "auto", given: Iterable[str] | None = None) -> Kernel:
    """Return the kernel of a model: derived, generated, built and cached as needed.

    Parameters
    ----------
    model_or_derivation : AttentionModel or Derivation
        What to compile.
    backend : str, default "auto"
        ``"compiled"``; ``"numpy"``; or ``"auto"``: compiled where possible, else NumPy with one warning.
    given : iterable of str, optional
        Fix the parametrisation by the names of its parameters; by default the names passed later decide.

    Returns
    -------
    Kernel
        Callable, picklable.

    Raises
    ------
    BuildError
        With ``backend="compiled"``, if nothing can be compiled; the message has the remedy.
    InputError
        If the model is refused.
    """
    derived = getattr(model_or_derivation, "statement", None)
    if given is None and not callable(derived) and derived is not None:
        given = forms.names_of(derived)
    return Kernel(model_or_derivation, backend, given)


def source(model_or_derivation: Any, target: str = "cython") -> str:
    """Return the generated text of a model's kernel.

    Parameters
    ----------
    model_or_derivation : AttentionModel or Derivation
        What to generate code for.
    target : str, default "cython"
        Or ``"numpy"``.

    Raises
    ------
    InputError
        If the target is unknown.
    """
    if target not in ("cython", "numpy"):
        raise InputError(f"target = {target!r} is unknown; use 'cython' or 'numpy'")
    model = _model_of(model_or_derivation)
    statement = getattr(model_or_derivation, "statement", None)
    names = forms.default_names(model) if callable(statement) else forms.names_of(statement)
    return forms.text(model, names, target)


def _model_of(model_or_derivation: Any) -> Any:
    model = model_or_derivation
    if not callable(getattr(model, "statement", None)):  # a masked model has a model, too
        model = getattr(model_or_derivation, "model", None)
    if isinstance(model_or_derivation, type) or not callable(getattr(model, "statement", None)):
        raise InputError(
            f"{model_or_derivation!r} is neither a model nor a derivation; pass e.g. symflow.Softmax()"
        )
    return model
