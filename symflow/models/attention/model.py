"""The base class of attention models: turns a declared line of mathematics into a `Statement`.

What builds expressions is imported where one is built: a model whose kernel exists already needs none.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sympy import Expr, Identity, Inverse, Rational, Symbol, ZeroMatrix, sympify

from symflow.algebra.symbols import dimension, matrix, vector
from symflow.errors import GrammarError, InputError

if TYPE_CHECKING:
    from symflow.models.statement import Statement

Shapes = Mapping[str, tuple[str, ...]]
NO_SHAPES: Shapes = MappingProxyType({})

#: The two scalars that every attention model has; kernels carry them as arguments.
BETA = Symbol("beta", nonnegative=True)
TEMPERATURE = Symbol("temperature", positive=True)


@dataclass(frozen=True)
class AttentionModel:
    r"""One attention mechanism; subclasses declare the class attributes below and nothing else.

    The effective score is ``beta/temperature`` times the declared one.

    Parameters
    ----------
    beta : int, float, str or SymPy expression, default 1
        Inverse temperature, ≥ 0. A float stands for its decimal literal, text such as
        ``"sqrt(2)"`` is read exactly.
    temperature : int, float, str or SymPy expression, default 1
        Temperature, > 0.
    space : str, default "euclidean"
        Where tokens live; this version has Gaussians on ℝᵈ only.

    Raises
    ------
    InputError
        If a scalar is not finite or out of its domain, or the space is unknown.
    """

    beta: Any = field(default=1, kw_only=True)
    temperature: Any = field(default=1, kw_only=True)
    space: str = field(default="euclidean", kw_only=True)

    # What a variant declares. Without annotations, so that they are not constructor arguments.
    name = ""
    title = ""
    score = ""
    value = ""
    output = ""
    normalise = "softmax"
    parameters = NO_SHAPES
    biases = NO_SHAPES
    reference = ""

    def __post_init__(self) -> None:
        if self.space != "euclidean":
            raise InputError(f"space = {self.space!r} is not available; use space='euclidean'")
        if not self.name.isprintable() or set(self.name) & set('/\\"'):
            raise InputError(
                f"name = {self.name!r} becomes part of file names and generated code; "
                "use printable characters other than slash, backslash and double quote"
            )
        for name, allow_zero in (("beta", True), ("temperature", False)):
            exact = exact_scalar(name, getattr(self, name), allow_zero=allow_zero)
            if isinstance(getattr(self, name), str):  # text becomes the number it means
                object.__setattr__(self, name, exact)

    @property
    def scale(self) -> Expr:
        """The exact factor ``beta/temperature`` of the score."""
        beta = exact_scalar("beta", self.beta, allow_zero=True)
        return beta / exact_scalar("temperature", self.temperature, allow_zero=False)

    def with_symbolic_scale(self) -> AttentionModel:
        """Return the same model with the symbols ``beta`` and ``temperature`` in place of numbers."""
        return replace(self, beta=BETA, temperature=TEMPERATURE)

    def accepts_product(self) -> bool:
        """Whether ``A = KᵀQ`` alone determines the score.

        That is so when the score is invariant under (Q, K) → (GQ, G⁻ᵀK), (bq, bk) → (G bq, G⁻ᵀbk)
        for every invertible G, which the normal form of matrix words decides.
        """
        return _depends_on_product_only(self.score, _freeze(self.parameters), _freeze(self.biases))

    def parametrisations(self) -> tuple[frozenset[str], ...]:
        """Every set of parameter names that selects a kernel of its own."""
        bare = [frozenset(self.parameters)]
        if self.accepts_product():
            bare.insert(0, frozenset(self.parameters) - {"Q", "K"} | {"A"})
        affine = [names | frozenset(self.biases) for names in bare] if self.biases else []
        return (*bare, *affine)

    def statement(self, given: Iterable[str] | None = None) -> Statement:
        """Return the definition at symbolic size for the parameters that are given.

        Parameters
        ----------
        given : iterable of str, optional
            Names of the parameters that will receive values; by default A and V where A = KᵀQ
            determines the score, else every parameter, and no biases.

        Raises
        ------
        InputError
            If a name is unknown or missing, or if A is given where it is not enough.
        """
        from symflow.algebra.grammar import parse
        from symflow.models.statement import Statement

        names = self.parametrisations()[0] if given is None else frozenset(given)
        self._refuse_unusable(names)
        product = self._gives_product(names)
        with_biases = bool(names & frozenset(self.biases))
        symbols = self._symbols(product, with_biases)
        x, y = vector("x", dimension("d")), vector("y", dimension("d"))
        scope = {**symbols, "x": x, "y": y}
        parameters = tuple(s for s in dict.fromkeys(symbols.values()) if s.is_symbol)
        value = parse(self.value, scope)
        if value.has(x):
            raise InputError(f"value = {self.value!r} of {self.name} contains x; it averages a function of y")
        return Statement(
            name=self._label(product, with_biases),
            score=self.scale * parse(self.score, scope),
            value=value,
            output=parse(self.output, scope) if self.output else ZeroMatrix(dimension("d"), 1),
            normalise=self.normalise,
            x=x,
            y=y,
            parameters=(*parameters, *self._free_scalars()),
            dimensions=_sizes(parameters),
            reference=self.reference,
        )

    def _label(self, product: bool, with_biases: bool) -> str:
        form = "A" if product else "QK" if {"Q", "K"} <= set(self.parameters) else ""
        return "-".join(part for part in (self.name, form, "affine" if with_biases else "") if part)

    def _symbols(self, product: bool, with_biases: bool) -> dict[str, Any]:
        """Map every name of the declared texts to its symbol, to I, or to zero."""
        inner = {"k": "d"} if product else {}
        shapes = {
            name: tuple(inner.get(size, size) for size in shape)
            for name, shape in (*self.parameters.items(), *self.biases.items())
        }
        symbols: dict[str, Any] = {name: _symbol(name, shape) for name, shape in shapes.items()}
        if product:
            d = dimension("d")
            symbols |= {"Q": matrix("A", d, d), "K": Identity(d)}
        if not with_biases:
            symbols |= {name: ZeroMatrix(*symbols[name].shape) for name in self.biases}
        return symbols

    def _free_scalars(self) -> tuple[Symbol, ...]:
        return tuple(sorted(self.scale.free_symbols, key=lambda s: s.name))

    def _gives_product(self, names: frozenset[str]) -> bool:
        """Whether A stands for KᵀQ, and is not a parameter of the score itself."""
        return "A" in names and "A" not in self.parameters

    def _refuse_unusable(self, names: frozenset[str]) -> None:
        known = [*self.parameters, *self.biases, "A"]
        for name in sorted(names - set(known)):
            raise InputError(
                f"parameter {name!r} is unknown to {self.name}.{_suggestion(name, known)} "
                f"It knows {', '.join(known)}"
            )
        product = self._gives_product(names)
        if product:
            self._refuse_product(names)
        required = set(self.parameters) - ({"Q", "K"} if product else set())
        missing = [name for name in self.parameters if name in required - names]
        if missing:
            choice = (
                " (or A = KᵀQ for Q and K)" if {"Q", "K"} & set(missing) and self.accepts_product() else ""
            )
            raise InputError(
                f"parameter {missing[0]!r} of {self.name} is missing; give {', '.join(missing)}{choice}"
            )

    def _refuse_product(self, names: frozenset[str]) -> None:
        if {"Q", "K"} & names:
            raise InputError("give either A or Q and K, not both: A = KᵀQ")
        if not {"Q", "K"} <= set(self.parameters) or not self.accepts_product():
            raise InputError(
                f"parameter 'A' is not enough for {self.name}: its score is not a function of KᵀQ; "
                f"give {', '.join(self.parameters)}"
            )


def exact_scalar(name: str, value: Any, *, allow_zero: bool) -> Expr:
    """Return ``value`` as an exact SymPy scalar: a float stands for its decimal literal.

    Raises
    ------
    InputError
        If the value is not a finite real number in its domain.

    Examples
    --------
    >>> exact_scalar("beta", 0.1, allow_zero=True)
    1/10
    """
    bound = "≥ 0" if allow_zero else "> 0"
    if isinstance(value, str):
        value = _read_scalar(name, value)
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Expr)):
        raise InputError(f"{name} = {value!r} is not a number; give a number {bound}")
    if isinstance(value, numbers.Rational):
        value = Rational(value)
    elif not isinstance(value, Expr):
        if not math.isfinite(value):
            raise InputError(f"{name} = {value!r} is not finite; give a number {bound}")
        value = Rational(repr(float(value)))
    exact = sympify(value)
    if (
        exact.is_extended_real is False
        or exact.is_infinite
        or exact.is_negative
        or (exact.is_zero and not allow_zero)
    ):
        raise InputError(f"{name} = {value} is out of its domain; give a number {bound}")
    if exact.is_number and (math.isinf(float(exact)) or (exact.is_positive and float(exact) == 0.0)):
        raise InputError(
            f"{name} is a number beyond floating-point numbers; give a number {bound} within them"
        )
    return exact


def _read_scalar(name: str, text: str) -> Any:
    from symflow.algebra.grammar import parse

    try:
        return parse(text, {})
    except GrammarError as error:
        raise GrammarError(f"{name}: {error}", error.text, error.position) from error


def _suggestion(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    return "".join(f" Did you mean {near!r}?" for near in get_close_matches(name, known, 1))


def _symbol(name: str, shape: tuple[str, ...]) -> Any:
    sizes = [dimension(size) for size in shape]
    if not sizes:
        return Symbol(name, real=True)
    return vector(name, sizes[0]) if len(sizes) == 1 else matrix(name, *sizes)


def _sizes(parameters: tuple[Any, ...]) -> tuple[Symbol, ...]:
    """Return the symbolic sizes in order of appearance, ``d`` first."""
    sizes = dict.fromkeys([dimension("d")])
    for parameter in parameters:
        for size in getattr(parameter, "shape", ()):
            sizes |= dict.fromkeys(size.free_symbols)
    return tuple(sizes)


def _freeze(shapes: Shapes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(shapes.items())


@functools.cache
def _depends_on_product_only(score: str, parameters: Any, biases: Any) -> bool:
    from symflow.algebra.grammar import parse
    from symflow.algebra.words import identical

    shapes = dict(parameters)
    if "A" in shapes or any(shapes.get(name) != ("k", "d") for name in ("Q", "K")):
        return False
    symbols = {name: _symbol(name, shape) for name, shape in (*parameters, *biases)}
    d, k = dimension("d"), dimension("k")
    scope = {**symbols, "x": vector("x", d), "y": vector("y", d)}
    change = matrix("G", k, k)
    dual = Inverse(change).T
    turned = {name: change * symbols[name] for name in ("Q", "bq") if name in symbols}
    turned |= {name: dual * symbols[name] for name in ("K", "bk") if name in symbols}
    return identical(parse(score, scope), parse(score, {**scope, **turned}))
