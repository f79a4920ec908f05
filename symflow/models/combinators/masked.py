"""Causal attention: a token sees itself and the tokens before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from symflow.algebra.symbols import dimension, vector
from symflow.errors import InputError
from symflow.models.attention.model import AttentionModel, Shapes

if TYPE_CHECKING:
    from symflow.models.statement import Statement

_LINES = ("score", "kernel", "value", "output", "prefactor", "normalise", "reference", "parameters", "biases")
_SCALARS = ("beta", "temperature", "space", "sign", "feed_forward", "diffusion")


@dataclass(frozen=True)
class Masked(AttentionModel):
    r"""Causal attention: a token (s, x) with fixed position s ∈ [0, 1] averages over positions τ ≤ s.

    .. math:: \Gamma_\mu(s, x) = \int_{\tau \le s} v(y)\,w_\mu(s, x, y)\,d\mu(\tau, y)

    Gaussians are conditional: one mean and one covariance per position, arrays with a leading axis.

    Parameters
    ----------
    model : AttentionModel
        What is masked.
    sink : float, default 0
        Mass that the law of positions has at the first position (the attention sink), in [0, 1); the
        other positions share the rest equally.

    Raises
    ------
    InputError
        If ``model`` is no attention model, is masked already, or ``sink`` is out of its domain.

    References
    ----------
    CACP25.
    """

    model: Any = None
    sink: Any = 0
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

    def __post_init__(self) -> None:
        if not isinstance(self.model, AttentionModel) or isinstance(self.model, Masked):
            raise InputError("model must be an attention model that is not masked yet, such as Linear()")
        if isinstance(self.sink, bool) or not isinstance(self.sink, (int, float)) or not 0 <= self.sink < 1:
            raise InputError(
                f"sink = {self.sink!r} must be a number in [0, 1), the mass at the first position"
            )
        if self.space not in ("euclidean", self.model.space):
            raise InputError(f"space = {self.space!r} belongs to the model; give it to {self.model.name}")
        for name in (*_LINES, *_SCALARS):
            object.__setattr__(self, name, getattr(self.model, name))
        object.__setattr__(self, "name", f"masked-{self.model.name}")
        object.__setattr__(self, "title", f"{self.model.title} under a causal mask")
        super().__post_init__()

    def weights(self, count: int) -> list[float]:
        """Return the law of ``count`` positions: the sink first, the rest uniform."""
        if count < 1 or (self.sink and count < 2):
            raise InputError(f"{count} positions are too few for sink = {self.sink}; give at least two")
        if not self.sink:
            return [1.0 / count] * count
        rest = (1.0 - float(self.sink)) / (count - 1)
        return [float(self.sink), *[rest] * (count - 1)]

    def with_symbolic_scale(self) -> Masked:
        """Return the same model with symbols for the scalars."""
        return replace(self, model=self.model.with_symbolic_scale())

    def with_scalars(self, **values: Any) -> Masked:
        """Return the same model with other values of the scalars."""
        return replace(self, model=self.model.with_scalars(**values))

    def accepts_product(self) -> bool:
        """Whether ``A = KᵀQ`` alone determines the score."""
        return bool(self.model.accepts_product())

    def parametrisations(self) -> tuple[frozenset[str], ...]:
        """Every set of parameter names that selects a kernel of its own."""
        return tuple(self.model.parametrisations())

    def statement(self, given: Iterable[str] | None = None) -> Statement:
        """Return the definition of the model with its positions."""
        from symflow.models.statement import Positions

        inner = self.model.statement(given)
        count = dimension("n")
        weights = vector("theta", count)
        return replace(  # type: ignore[no-any-return]
            inner,
            name=f"masked-{inner.name}",
            parameters=(*inner.parameters, weights),
            dimensions=(*inner.dimensions, count),
            positions=Positions(count, weights),
        )
