"""The base class of attention models: turns a declared line of mathematics into a `Statement`.

What builds expressions is imported where one is built: a model whose kernel exists already needs none.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sympy import Expr, Identity, Integer, Inverse, MatAdd, Symbol, ZeroMatrix

from symflow.algebra.symbols import dimension, matrix, vector
from symflow.errors import InputError
from symflow.models.scalars import exact_scalar

if TYPE_CHECKING:
    from symflow.models.statement import Family, Statement

Shapes = Mapping[str, tuple[str, ...]]
NO_SHAPES: Shapes = MappingProxyType({})
#: Name of the leading axis of parameters that every head has of its own.
FAMILY = "H"
#: Where tokens live.
SPACES = ("euclidean", "sphere")
#: Matrices that are the identity where tokens live on the sphere and no value is given.
IDENTITIES = ("Q", "K", "V")
FEED_FORWARD: Shapes = MappingProxyType({"W": ("d", "d"), "c": ("d",)})

#: Scalars that kernels carry as arguments: the first two always, the third where there is noise.
BETA = Symbol("beta", nonnegative=True)
TEMPERATURE = Symbol("temperature", positive=True)
DIFFUSION = Symbol("diffusion", nonnegative=True)


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
        Where tokens live: ``"euclidean"`` is ℝᵈ; on the unit ``"sphere"`` the velocity is projected by
        P_x = I − xxᵀ, and Q, K and V that are not given are the identity.
    sign : int, default 1
        Factor 1, 0 or −1 of the attention term.
    feed_forward : bool, default False
        Add an affine feed-forward layer ``W*x + c`` to the velocity; W (d, d) and c (d,) are parameters.
    diffusion : int, float, str or SymPy expression, default 0
        ε ≥ 0 of an idiosyncratic noise √(2ε)dW.

    Raises
    ------
    InputError
        If a scalar is not finite or out of its domain, or the space is unknown.
    """

    beta: Any = field(default=1, kw_only=True)
    temperature: Any = field(default=1, kw_only=True)
    space: str = field(default="euclidean", kw_only=True)
    sign: int = field(default=1, kw_only=True)
    feed_forward: bool = field(default=False, kw_only=True)
    diffusion: Any = field(default=0, kw_only=True)

    # What a variant declares. Without annotations, so that they are not constructor arguments.
    name = ""
    title = ""
    score = ""
    kernel = "exp(s)"  # a function of the score s
    value = ""
    output = ""
    prefactor = "1"  # may contain the temperature
    normalise = "softmax"
    parameters = NO_SHAPES
    biases = NO_SHAPES
    reference = ""

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            raise InputError(f"space = {self.space!r} is unknown; use 'euclidean' or 'sphere'")
        if not self.name.isprintable() or set(self.name) & set('/\\"'):
            raise InputError(
                f"name = {self.name!r} becomes part of file names and generated code; "
                "use printable characters other than slash, backslash and double quote"
            )
        if self.sign not in (-1, 0, 1) or isinstance(self.sign, bool):
            raise InputError(f"sign = {self.sign!r} must be 1, 0 or -1, the factor of the attention term")
        if not isinstance(self.feed_forward, bool):
            raise InputError(f"feed_forward = {self.feed_forward!r} must be True or False")
        for name, allow_zero in (("beta", True), ("temperature", False), ("diffusion", True)):
            exact = exact_scalar(name, getattr(self, name), allow_zero=allow_zero)
            if isinstance(getattr(self, name), str):  # text becomes the number it means
                object.__setattr__(self, name, exact)

    @property
    def scale(self) -> Expr:
        """The exact factor ``beta/temperature`` of the score."""
        beta = exact_scalar("beta", self.beta, allow_zero=True)
        return beta / exact_scalar("temperature", self.temperature, allow_zero=False)

    @property
    def noise(self) -> Expr:
        """The exact ε of the idiosyncratic noise."""
        return exact_scalar("diffusion", self.diffusion, allow_zero=True)

    def with_symbolic_scale(self) -> AttentionModel:
        """Return the same model with symbols for ``beta``, ``temperature`` and a nonzero ``diffusion``."""
        diffusion = 0 if self.noise.is_zero else DIFFUSION
        return replace(self, beta=BETA, temperature=TEMPERATURE, diffusion=diffusion)

    def with_scalars(self, **values: Any) -> AttentionModel:
        """Return the same model with other values of ``beta``, ``temperature`` or ``diffusion``."""
        return replace(self, **values)

    def accepts_product(self) -> bool:
        """Whether ``A = KᵀQ`` alone determines the score.

        That is so when the score is invariant under (Q, K) → (GQ, G⁻ᵀK), (bq, bk) → (G bq, G⁻ᵀbk)
        for every invertible G, which the normal form of matrix words decides.
        """
        return _depends_on_product_only(self.score, _freeze(self.parameters), _freeze(self.biases))

    def parametrisations(self) -> tuple[frozenset[str], ...]:
        """Every set of parameter names that selects a kernel of its own; the default comes first."""
        full = [frozenset(self.parameters)]
        if self.accepts_product():
            full.insert(0, frozenset(self.parameters) - {"Q", "K"} | {"A"})
        bare = list(dict.fromkeys(names - left for names in full for left in _subsets(self._optional)))
        affine = [names | frozenset(self.biases) for names in bare] if self.biases else []
        return tuple(names | frozenset(self._layer) for names in (*bare, *affine))

    @property
    def _layer(self) -> Shapes:
        """Shapes of the parameters of the feed-forward layer."""
        return FEED_FORWARD if self.feed_forward else NO_SHAPES

    @property
    def _optional(self) -> tuple[str, ...]:
        """Matrices that need not be given, because they are the identity then."""
        if self.space == "euclidean":
            return ()
        axes = {name: [size for size in shape if size != FAMILY] for name, shape in self.parameters.items()}
        return tuple(name for name in IDENTITIES if len(axes.get(name, ())) == 2)

    def statement(self, given: Iterable[str] | None = None) -> Statement:
        """Return the definition at symbolic size for the parameters that are given.

        Parameters
        ----------
        given : iterable of str, optional
            Names of the parameters that will receive values; by default A and V where A = KᵀQ
            determines the score, else every parameter, and no biases. On the sphere Q, K and V may be
            left out, ``frozenset()`` for all of them.

        Raises
        ------
        InputError
            If a name is unknown or missing, or if A is given where it is not enough.
        """
        from symflow.algebra.grammar import parse
        from symflow.flow import SCORE
        from symflow.models.statement import Head, Statement

        names = self.parametrisations()[0] if given is None else frozenset(given)
        self._refuse_unusable(names)
        symbols = self._symbols(names)
        x, y = vector("x", dimension("d")), vector("y", dimension("d"))
        scope = {**symbols, "x": x, "y": y}
        parameters = tuple(s for s in dict.fromkeys(symbols.values()) if s.is_symbol)
        value = parse(self.value, scope)
        if value.has(x):
            raise InputError(f"value = {self.value!r} of {self.name} contains x; it averages a function of y")
        score = self.scale * parse(self.score, scope)
        head = Head(
            score=score,
            kernel=parse(self.kernel, {"s": score}),
            value=value,
            normalise=self.normalise,
            prefactor=self._factor(),
            family=self._family(symbols),
            weight=parse(self.kernel, {"s": SCORE}),
        )
        return Statement(
            name=self._label(names),
            heads=(head,),
            background=self._background(scope),
            diffusion=self.noise,
            x=x,
            y=y,
            parameters=(*parameters, *self._free_scalars()),
            dimensions=_sizes(parameters, head.family),
            reference=self.reference,
            space=self.space,
        )

    def _family(self, symbols: Mapping[str, Any]) -> Family | None:
        """Return which symbols stand for one of several heads."""
        from symflow.models.statement import Family

        shapes = {**self.parameters, **self.biases}
        own = [symbols[name] for name, shape in shapes.items() if shape[:1] == (FAMILY,)]
        members = tuple(symbol for symbol in own if symbol.is_symbol)
        return Family(members, dimension(FAMILY)) if members else None

    def _factor(self) -> Expr:
        from symflow.algebra.grammar import parse

        temperature = exact_scalar("temperature", self.temperature, allow_zero=False)
        return Integer(self.sign) * parse(self.prefactor, {"temperature": temperature})

    def _background(self, scope: Mapping[str, Any]) -> Any:
        """Return what is added to the average: the output bias, and ``W*x + c``."""
        from symflow.algebra.grammar import parse

        texts = [self.output] * bool(self.output) + ["W*x + c"] * self.feed_forward
        return MatAdd(ZeroMatrix(dimension("d"), 1), *(parse(text, scope) for text in texts)).doit()

    def _label(self, names: frozenset[str]) -> str:
        marks: dict[str, object] = {
            "sphere": self.space == "sphere",
            (form := self._form(names)): form,
            "affine": bool(names & frozenset(self.biases)),
            "repulsive": self.sign == -1,
            "off": self.sign == 0,
            "layer": self.feed_forward,
            "noise": not self.noise.is_zero,
        }
        return "-".join((self.name, *(mark for mark, present in marks.items() if present)))

    def _form(self, names: frozenset[str]) -> str:
        """Return which matrices tell the parametrisation from the others."""
        product = "A" if self._gives_product(names) else ""
        if self._optional:
            return product + "".join(name for name in self._optional if name in names)
        return product or ("QK" if {"Q", "K"} <= set(self.parameters) else "")

    def _symbols(self, names: frozenset[str]) -> dict[str, Any]:
        """Map every name of the declared texts to its symbol, to I, or to zero."""
        declared = {**self.parameters, **self.biases, **self._layer}
        replaced = {"Q": "A", "K": None} if self._gives_product(names) else {}
        replaced |= {name: None for name in self._optional if name not in (names | replaced.keys())}
        equal = _equal_sizes(declared[name] for name in replaced)
        shapes = {name: tuple(equal.get(size, size) for size in shape) for name, shape in declared.items()}
        symbols: dict[str, Any] = {name: _symbol(name, shape) for name, shape in shapes.items()}
        for name, product in replaced.items():
            symbols[name] = _symbol(product, shapes[name]) if product else Identity(symbols[name].rows)
        if not names & frozenset(self.biases):
            symbols |= {name: ZeroMatrix(*symbols[name].shape) for name in self.biases}
        return symbols

    def _free_scalars(self) -> tuple[Symbol, ...]:
        free = self.scale.free_symbols | self._factor().free_symbols | self.noise.free_symbols
        return tuple(sorted(free, key=lambda s: (s == DIFFUSION, s.name)))

    def _gives_product(self, names: frozenset[str]) -> bool:
        """Whether A stands for KᵀQ, and is not a parameter of the score itself."""
        return "A" in names and "A" not in self.parameters

    def _refuse_unusable(self, names: frozenset[str]) -> None:
        known = [*self.parameters, *self.biases, *self._layer, "A"]
        for name in self._layer.keys() & {*self.parameters, *self.biases}:
            raise InputError(
                f"{name!r} is a parameter of {self.name} and of the feed-forward layer; rename it"
            )
        for name in sorted(names - set(known)):
            raise InputError(
                f"parameter {name!r} is unknown to {self.name}.{_suggestion(name, known)} "
                f"It knows {', '.join(known)}"
            )
        product = self._gives_product(names)
        if product:
            self._refuse_product(names)
        required = {*self.parameters, *self._layer} - ({"Q", "K"} if product else set()) - {*self._optional}
        missing = [name for name in (*self.parameters, *self._layer) if name in required - names]
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


def _subsets(names: tuple[str, ...]) -> Iterable[frozenset[str]]:
    """Return every subset, the smallest first."""
    return (
        frozenset(chosen)
        for count in range(len(names) + 1)
        for chosen in itertools.combinations(names, count)
    )


def _equal_sizes(shapes: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Return what a size becomes where matrices of these shapes are square; ``d`` stays."""
    equal: dict[str, str] = {}
    for shape in shapes:
        rows, cols = (equal.get(size, size) for size in shape if size != FAMILY)
        kept, gone = (rows, cols) if rows == "d" else (cols, rows)
        if kept != gone:
            equal = {size: kept if other == gone else other for size, other in equal.items()} | {gone: kept}
    return equal


def _suggestion(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    return "".join(f" Did you mean {near!r}?" for near in get_close_matches(name, known, 1))


def _symbol(name: str, shape: tuple[str, ...]) -> Any:
    sizes = [dimension(size) for size in shape if size != FAMILY]
    if not sizes:
        return Symbol(name, real=True)
    return vector(name, sizes[0]) if len(sizes) == 1 else matrix(name, *sizes)


def _sizes(parameters: tuple[Any, ...], family: Family | None) -> tuple[Symbol, ...]:
    """Return the symbolic sizes in order of appearance, ``d`` first."""
    sizes = dict.fromkeys([dimension("d")])
    for parameter in parameters:
        for size in getattr(parameter, "shape", ()):
            sizes |= dict.fromkeys(size.free_symbols)
    return tuple(sizes) if family is None else (*sizes, family.count)


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
