"""Several heads of one mechanism, added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from symflow.errors import InputError
from symflow.models.attention.model import FAMILY, AttentionModel, Shapes
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.unlike import UnlikeHeads, are_unlike

if TYPE_CHECKING:
    from symflow.models.statement import Family, Statement

#: What is copied from the head.
_LINES = ("score", "kernel", "output", "prefactor", "normalise", "reference")


@dataclass(frozen=True)
class MultiHead(AttentionModel):
    r"""Multi-head attention: heads of one mechanism with matrices of their own.

    .. math:: \Gamma_\mu(x) = \sum_{h=1}^{H} W_h\,\Gamma^{(h)}_\mu(x) + b_o

    Parameters get a leading axis of length H: Q, K (H, k, d) or A (H, d, d), and either V (H, d, d), which
    stands for W_hV_h, or V (H, m, d) with W (H, d, m). Scalars and the output bias are shared.

    Parameters
    ----------
    heads : AttentionModel or sequence of them
        The mechanism; a sequence also fixes how many heads there are. Unequal models give a sum of
        :class:`~symflow.models.combinators.unlike.UnlikeHeads`, whose parameters are numbered.
    sign, feed_forward, diffusion
        As for every model; give them here, not to the head.

    Raises
    ------
    InputError
        If ``heads`` is no attention model, or a head has heads, a mask, a layer or noise of its own.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> dict(MultiHead(Softmax()).parameters)["Q"]
    ('H', 'k', 'd')
    """

    heads: Any = None
    projected: bool = field(default=False, kw_only=True, repr=False)  # the form with W
    name: str = field(init=False, repr=False)
    title: str = field(init=False, repr=False)
    score: str = field(init=False, repr=False)
    kernel: str = field(init=False, repr=False)
    value: str = field(init=False, repr=False)
    output: str = field(init=False, repr=False)
    prefactor: str = field(init=False, repr=False)
    normalise: str = field(init=False, repr=False)
    reference: str = field(init=False, repr=False)
    parameters: Shapes = field(init=False, repr=False, hash=False, compare=False)
    biases: Shapes = field(init=False, repr=False, hash=False, compare=False)

    def __new__(cls, heads: Any = None, **options: Any) -> Any:
        """Return a sum of unlike heads where the models differ."""
        if cls is MultiHead and are_unlike(heads):
            for index, head in enumerate(heads):
                _refuse_unusable_head(head, f"heads[{index}]")
            return UnlikeHeads(tuple(heads), **options)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if isinstance(self.heads, list):
            object.__setattr__(self, "heads", tuple(self.heads))
        head = self.head
        for line in _LINES:
            object.__setattr__(self, line, getattr(head, line))
        object.__setattr__(self, "beta", head.beta)
        object.__setattr__(self, "temperature", head.temperature)
        if self.space != head.space and self.space != "euclidean":
            raise InputError(f"space = {self.space!r} belongs to the heads; give it to them")
        object.__setattr__(self, "space", head.space)
        object.__setattr__(self, "name", f"multihead-{head.name}")
        object.__setattr__(self, "title", f"{head.title} with several heads")
        object.__setattr__(self, "value", f"W*({head.value})" if self.projected else head.value)
        object.__setattr__(self, "parameters", self._stacked(head.parameters))
        object.__setattr__(self, "biases", self._stacked(head.biases))
        super().__post_init__()

    @property
    def head(self) -> AttentionModel:
        """The mechanism of every head."""
        several = isinstance(self.heads, Sequence) and not isinstance(self.heads, str)
        models = list(self.heads) if several else [self.heads]
        for index, model in enumerate(models):
            where = f"heads[{index}]" if several else "heads"
            _refuse_unusable_head(model, where)
        if not models:
            raise InputError("heads is empty; give at least one attention model")
        return models[0]  # type: ignore[no-any-return]

    @property
    def count(self) -> int | None:
        """How many heads there are, where a sequence fixes it."""
        return len(self.heads) if isinstance(self.heads, Sequence) else None

    def with_symbolic_scale(self) -> MultiHead:
        """Return the same model with symbols for the scalars of its heads and its noise."""
        noise = super().with_symbolic_scale().diffusion
        return replace(self, heads=self.head.with_symbolic_scale(), diffusion=noise)

    def with_scalars(self, **values: Any) -> MultiHead:
        """Return the same model with other scalars: the noise is its own, the rest its heads'."""
        noise = values.pop("diffusion", self.diffusion)
        if isinstance(self.heads, AttentionModel):
            return replace(self, heads=self.heads.with_scalars(**values), diffusion=noise)
        return replace(self, heads=tuple(head.with_scalars(**values) for head in self.heads), diffusion=noise)

    def accepts_product(self) -> bool:
        """Whether ``A = KᵀQ`` alone determines the score of a head."""
        return self.head.accepts_product()

    def parametrisations(self) -> tuple[frozenset[str], ...]:
        """Every set of parameter names that selects a kernel of its own."""
        own = tuple(names for names in super().parametrisations() if any(map(self._is_stacked, names)))
        if self.projected or not self._can_be_projected:
            return own
        return (*own, *replace(self, projected=True).parametrisations())

    def statement(self, given: Iterable[str] | None = None) -> Statement:
        """Return the definition; ``W`` among the names selects the form with output matrices."""
        names = None if given is None else frozenset(given)
        if names is not None and "W" in names and self._can_be_projected and not self.projected:
            return replace(self, projected=True).statement(names)
        return super().statement(names)

    def _label(self, names: frozenset[str]) -> str:
        label = super()._label(names)
        return f"{label}-W" if self.projected else label

    def _is_stacked(self, name: str) -> bool:
        """Whether every head has this parameter of its own."""
        return name == "A" or {**self.parameters, **self.biases}.get(name, ())[:1] == (FAMILY,)

    @property
    def _can_be_projected(self) -> bool:
        """Whether W is free for output matrices."""
        return not self.feed_forward and "V" in self.head.parameters and "W" not in self.head.parameters

    def _stacked(self, shapes: Shapes) -> Shapes:
        """Return the shapes of all heads: a leading axis for what each head has of its own."""
        inner = dict(shapes)
        if self.projected:
            inner |= {name: ("m", *shape[1:]) for name, shape in shapes.items() if name in ("V", "bv")}
            inner |= {"W": ("d", "m")} if "V" in shapes else {}
        shared = {name for name, shape in inner.items() if not shape} | {"bo"}
        return {name: shape if name in shared else (FAMILY, *shape) for name, shape in inner.items()}

    def _family(self, symbols: Mapping[str, Any]) -> Family | None:
        """Return which symbols stand for one of several heads."""
        family = super()._family(symbols)
        if family is None:
            raise InputError(
                f"{self.name} needs one of its matrices at least: their leading axis says how many heads "
                "there are; give V, for example as a stack of identities"
            )
        return family


def _refuse_unusable_head(model: Any, where: str) -> None:
    if not isinstance(model, AttentionModel) or isinstance(model, (MultiHead, UnlikeHeads)):
        raise InputError(f"{where} must be an attention model of one head such as Softmax()")
    if isinstance(model, Masked):
        raise InputError(f"{where} is masked; mask all heads together: Masked(MultiHead(...))")
    if model.feed_forward or not model.noise.is_zero or model.sign != 1:
        raise InputError(f"{where}: give sign, feed_forward and diffusion to MultiHead, not to a head")
