"""The public face of code generation: :func:`compile`, :func:`source` and :class:`Kernel`.

What needs NumPy is imported by the methods that do: a kernel is there before NumPy is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from symflow.codegen import forms, shipped
from symflow.codegen.interface import Interface
from symflow.codegen.keys import WEIGHTS
from symflow.codegen.kinds import GAUSSIAN, TOKENS, Kind
from symflow.codegen.load import Form
from symflow.errors import ClosureUndecided, InputError, NotGaussianPreserving, NoTokenFlow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

#: Values of ``backend``.
BACKENDS = ("auto", "compiled", "numpy")


class Kernel:
    r"""The right-hand sides of a model, callable from Python and from SciPy.

    .. math:: (\alpha, \Sigma) \mapsto (\dot\alpha, \dot\Sigma), \qquad X \mapsto \dot X

    of Gaussian laws, where the model has such a system, and of n tokens, the rows of X. Made by
    :func:`compile`. One kernel serves every size, every number of tokens, every ``beta`` and
    ``temperature``, and every parametrisation of its model (A, or Q and K; with biases or without): the names
    of the parameters decide.

    Examples
    --------
    >>> import numpy as np
    >>> from symflow import Softmax, compile
    >>> kernel = compile(Softmax(), backend="numpy")
    >>> mean, cov = kernel(0.0, [1.0], [[1.0]], A=[[2.0]], V=[[1.0]])
    >>> mean, cov
    (array([3.]), array([[4.]]))
    >>> kernel(0.0, [[1.0], [1.0]], A=[[2.0]], V=[[1.0]])
    array([[1.],
           [1.]])
    """

    def __init__(
        self,
        model: Any,
        backend: str = "auto",
        given: Iterable[str] | None = None,
        entry: str | None = None,
    ) -> None:
        if backend not in BACKENDS:
            raise InputError(f"backend = {backend!r} is unknown; use one of {', '.join(BACKENDS)}")
        self._model = _model_of(model)
        self._requested = backend
        self._given = None if given is None else frozenset(given)
        self._forms: dict[tuple[frozenset[str], str], Form] = {}
        self._default = forms.default_names(self._model) if self._given is None else self._given
        self._entry = entry
        self._backend: str | None = None
        self._kind = self._first_kind() if entry is None else _kind_of(entry)
        self._form(self._default, self._kind)

    def _first_kind(self) -> Kind:
        """Return what is prepared first: Gaussian laws where the model has their system, else its tokens."""
        model, names = self._model, self._default
        if model.space == "sphere" or shipped.lacks_closure(model, names):
            return TOKENS
        try:
            self._form(names, GAUSSIAN)
        except (NotGaussianPreserving, ClosureUndecided) as error:
            try:
                self._form(names, TOKENS)
            except NoTokenFlow:
                raise error from None
            return TOKENS
        return GAUSSIAN

    @property
    def model(self) -> Any:
        """The model."""
        return self._model

    @property
    def backend(self) -> str:
        """``"compiled"`` or ``"numpy"``."""
        assert self._backend is not None
        return self._backend

    @property
    def source(self) -> str:
        """The generated text: Cython, or Python for the NumPy backend."""
        return self._form(self._default, self._kind).text()

    def interface(self, names: Iterable[str] | None = None, entry: str | None = None) -> Interface:
        """Return the functions, shapes and parameters of the parametrisation with these parameter names.

        ``entry="tokens"`` asks for the function of tokens, any other for those of Gaussian laws; by default
        it is what the kernel has been made for.
        """
        chosen = self._default if names is None else frozenset(names)
        return self._form(chosen, self._kind_of(entry)).interface

    def __call__(self, t: float, /, *state: Any, **params: Any) -> Any:
        """Return the derivative of each state.

        Parameters
        ----------
        t : float
            Time.
        *state : array_like
            One per state, e.g. mean (d,) and covariance (d, d); or the tokens (n, d) alone. Any dtype or
            stride.
        **params : array_like
            By name; ``beta``, ``temperature`` and ``diffusion`` default to the model's, and so does the
            law ``theta`` of the positions of a masked model.

        Returns
        -------
        tuple of float64 arrays, or one array
            In the order of the states; the velocities (n, d) of tokens.

        Raises
        ------
        InputError
            If a name is unknown or missing, a shape does not fit, a token is not finite, or zero on the
            sphere, or the normaliser diverges, or a velocity is no floating-point number.
        NotGaussianPreserving
            If mean and covariance are given, and the model has no system of them.
        NotConverged
            If the doubly stochastic scaling of the weights has not met its stopping rule.
        """
        if len(state) == 1:
            return self._velocity(float(t), state[0], params)
        from symflow.codegen.calls import bind, evaluate, pack, unpack
        from symflow.codegen.sizes import infer
        from symflow.codegen.values import array, require_count
        from symflow.codegen.vector_field import Domain

        form, values = self.bound(self._with_weights(params, _length(state)), "moments")
        entry = form.interface.entry("moments")
        require_count(entry, state)
        arrays = {slot.name: array(slot, value) for slot, value in zip(entry.inputs, state, strict=True)}
        dims = infer(entry, form.interface, values, arrays)
        packed = pack(arrays.values())
        Domain(form, entry, dims, values).require(float(t), packed)
        return unpack(entry, dims, evaluate(bind(form, entry.name, dims, values), float(t), packed))

    def _velocity(self, t: float, tokens: Any, params: dict[str, Any]) -> FloatArray:
        from symflow.codegen.calls import bind, evaluate, unpack
        from symflow.codegen.sizes import infer
        from symflow.codegen.values import require_finite, tokens_of

        x = tokens_of(tokens, self._model.space)
        form, values = self.bound(self._with_weights(params, len(x)), "tokens")
        entry = form.interface.entry("tokens")
        dims = infer(entry, form.interface, values, {entry.inputs[0].name: x})
        call = bind(form, entry.name, dims, values)
        found = unpack(entry, dims, evaluate(call, t, x.ravel()))[0]
        require_finite(found, self._model.name)
        return found

    def rhs(
        self, params: Mapping[str, Any], entry: str = "moments", dims: Mapping[str, int] | None = None
    ) -> Callable[[float, Any], FloatArray]:
        """Return ``f(t, y)`` for :func:`scipy.integrate.solve_ivp`, ``y`` the flattened states.

        Parameters
        ----------
        params : mapping
            Parameters by name.
        entry : str, default "moments"
            ``"factor"`` takes the mean and a factor F of Σ = FFᵀ, ``"tokens"`` one token after the other.
        dims : mapping of str to int, optional
            Sizes that neither the parameters nor the length of ``y`` determine, such as ``d`` of tokens where
            no matrix is given.
        """
        from symflow.codegen.vector_field import RightHandSide

        known = dict(dims or {})
        form, values = self.bound(self._with_weights(params, known.get("n")), entry)
        return RightHandSide(form, values, entry, (Kernel.rhs, (self, dict(params), entry, known)), known)

    def jacobian(self, params: Mapping[str, Any]) -> Callable[[float, Any], FloatArray]:
        """Return ``J(t, y)``, the matrix of derivatives of :meth:`rhs`, column by column from the tangent."""
        from symflow.codegen.vector_field import Jacobian, RightHandSide

        form, values = self.bound(params, "tangent")
        recipe = Kernel.jacobian, (self, dict(params))
        return Jacobian(RightHandSide(form, values, "tangent", recipe), recipe)

    def bind(
        self, entry: str, dims: Mapping[str, int] | Sequence[int] | None, params: Mapping[str, Any]
    ) -> Any:
        """Return ``call(t, y, dy)`` for the integrator.

        Parameters
        ----------
        entry : str
            ``"moments"``, ``"tangent"``, and without noise ``"factor"``; or ``"tokens"``.
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

        count = dims.get("n") if isinstance(dims, Mapping) else None
        form, values = self.bound(self._with_weights(params, count), entry)
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
        form, values = self.bound(params, entry)
        sizes = complete(form.interface.entry(entry), form.interface, values, dims)
        return bind_series(self._model, names, form, entry, sizes, values, order)

    def bound(self, params: Mapping[str, Any], entry: str | None = None) -> tuple[Form, dict[str, Any]]:
        """Return the parametrisation that the names select, and its parameters as float64 arrays."""
        from symflow.codegen.values import parameters

        names, missing_biases = forms.select(self._model, frozenset(params), self._default, self._given)
        form = self._form(names, self._kind_of(entry))
        return form, parameters(form.interface, params, missing_biases, self._model)

    def _with_weights(self, params: Mapping[str, Any], count: int | None) -> Mapping[str, Any]:
        """Return the parameters with the model's law of as many positions."""
        if count is None or WEIGHTS in params or not hasattr(self._model, "weights"):
            return params
        return {**params, WEIGHTS: self._model.weights(count)}

    def _kind_of(self, entry: str | None) -> Kind:
        return self._kind if entry is None else _kind_of(entry)

    def _form(self, names: frozenset[str], kind: Kind) -> Form:
        key = names, kind.name
        if key not in self._forms:
            backend = "numpy" if self._backend == "numpy" else self._requested
            self._forms[key] = forms.obtain(self._model, names, backend, kind)
            self._backend = self._backend or self._forms[key].backend
        return self._forms[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self._model, self._requested, self._given, self._entry)

    def __repr__(self) -> str:
        interface = self.interface()
        shown = ", ".join(p.name for p in interface.parameters)
        return f"Kernel({interface.name}; {shown}; backend={self._backend!r})"


def compile(
    model_or_derivation: Any,
    backend: str = "auto",
    given: Iterable[str] | None = None,
    entry: str | None = None,
) -> Kernel:
    """Return the kernel of a model: derived, generated, built and cached as needed.

    Parameters
    ----------
    model_or_derivation : AttentionModel, Derivation or TokenDerivation
        What to compile.
    backend : str, default "auto"
        ``"compiled"``; ``"numpy"``; or ``"auto"``: compiled where possible, else NumPy with one warning.
    given : iterable of str, optional
        Fix the parametrisation by the names of its parameters; by default the names passed later decide.
    entry : str, optional
        ``"tokens"``: make ready for tokens only; by default for Gaussian laws where the model has a system of
        them, else for tokens. What else a kernel is asked for it makes when it is asked.

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
    if not callable(derived) and derived is not None:
        given = forms.names_of(derived) if given is None else given
        entry = _entry_of(model_or_derivation) if entry is None else entry
    return Kernel(model_or_derivation, backend, given, entry)


def source(model_or_derivation: Any, target: str = "cython", entry: str | None = None) -> str:
    """Return the generated text of a model's kernels: of Gaussian laws where there is one, and of tokens.

    Parameters
    ----------
    model_or_derivation : AttentionModel, Derivation or TokenDerivation
        What to generate code for.
    target : str, default "cython"
        Or ``"numpy"``.
    entry : str, optional
        ``"tokens"`` or, for Gaussian laws, ``"moments"``: only that one.

    Raises
    ------
    InputError
        If the target is unknown.
    """
    if target not in ("cython", "numpy"):
        raise InputError(f"target = {target!r} is unknown; use 'cython' or 'numpy'")
    model = _model_of(model_or_derivation)
    statement = getattr(model_or_derivation, "statement", None)
    if callable(statement):
        names = forms.default_names(model)
    else:
        names, entry = forms.names_of(statement), entry or _entry_of(model_or_derivation)
    if entry is not None:
        return forms.text(model, names, target, _kind_of(entry))
    texts, refused = [], None
    for kind in (GAUSSIAN, TOKENS):
        try:
            texts.append(forms.text(model, names, target, kind))
        except (NotGaussianPreserving, ClosureUndecided, NoTokenFlow) as error:
            refused = refused or error
    if not texts and refused is not None:
        raise refused
    return "\n\n".join(texts)


def _entry_of(derivation: Any) -> str:
    """Return what a derivation derives."""
    from symflow.flow import TokenFlow

    return "tokens" if isinstance(derivation.flow, TokenFlow) else "moments"


def _kind_of(entry: str) -> Kind:
    return TOKENS if entry == TOKENS.name else GAUSSIAN


def _length(state: Sequence[Any]) -> int | None:
    """Return how many rows the first state has, where it can be counted."""
    return len(state[0]) if state and hasattr(state[0], "__len__") else None


def _model_of(model_or_derivation: Any) -> Any:
    model = model_or_derivation
    if not callable(getattr(model, "statement", None)):  # a masked model has a model, too
        model = getattr(model_or_derivation, "model", None)
    if isinstance(model_or_derivation, type) or not callable(getattr(model, "statement", None)):
        raise InputError(
            f"{model_or_derivation!r} is neither a model nor a derivation; pass e.g. symflow.Softmax()"
        )
    return model
