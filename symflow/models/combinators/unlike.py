"""Heads of different mechanisms, added up."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sympy import MatAdd, MatrixSymbol, Symbol, ZeroMatrix

from symflow.algebra.symbols import dimension, vector
from symflow.errors import InputError
from symflow.models.attention.model import AttentionModel, Shapes

if TYPE_CHECKING:
    from symflow.models.statement import Head, Statement

_SHARED = ("beta", "temperature", "space")


@dataclass(frozen=True)
class UnlikeHeads(AttentionModel):
    r"""Several heads, each of a mechanism of its own; what ``MultiHead`` makes of unequal models.

    .. math:: \Gamma_\mu(x) = \sum_{i=1}^{H} \Gamma^{(i)}_\mu(x)

    The parameters of head i carry its number, ``Q_1``, ``K_1``, ``V_1``, ``Q_2``, …; the scale is shared.

    Parameters
    ----------
    heads : tuple of AttentionModel
        At least two.
    sign, feed_forward, diffusion
        As for every model; they belong to the sum.

    Raises
    ------
    InputError
        If the heads have different scales.

    Examples
    --------
    >>> from symflow.models.attention.l2 import L2
    >>> from symflow.models.attention.softmax import Softmax
    >>> sorted(UnlikeHeads((Softmax(), L2())).parametrisations()[0])
    ['A_1', 'K_2', 'Q_2', 'V_1', 'V_2']
    """

    heads: Any = ()
    name: str = field(init=False, repr=False)
    title: str = field(init=False, repr=False)
    score: str = field(init=False, repr=False)
    value: str = field(init=False, repr=False)
    reference: str = field(init=False, repr=False)
    parameters: Shapes = field(init=False, repr=False, hash=False, compare=False)
    biases: Shapes = field(init=False, repr=False, hash=False, compare=False)

    def __post_init__(self) -> None:
        first = self.heads[0]
        for index, head in enumerate(self.heads):
            for name in _SHARED:
                if getattr(head, name) != getattr(first, name):
                    raise InputError(
                        f"heads[{index}] has another {name} than heads[0]; heads share scale and space"
                    )
        if self.space not in ("euclidean", first.space):
            raise InputError(f"space = {self.space!r} belongs to the heads; give it to them")
        for name in _SHARED:
            object.__setattr__(self, name, getattr(first, name))
        joined = {
            "name": "heads-" + "-".join(head.name for head in self.heads),
            "title": " + ".join(dict.fromkeys(head.title for head in self.heads)),
            "reference": first.reference,
            **{line: " | ".join(getattr(head, line) for head in self.heads) for line in ("score", "value")},
            **{kind: self._numbered(kind) for kind in ("parameters", "biases")},
        }
        for name, value in joined.items():
            object.__setattr__(self, name, value)
        super().__post_init__()

    def with_symbolic_scale(self) -> UnlikeHeads:
        """Return the same model with symbols for the scalars."""
        noise = super().with_symbolic_scale().diffusion
        return replace(self, heads=tuple(head.with_symbolic_scale() for head in self.heads), diffusion=noise)

    def with_scalars(self, **values: Any) -> UnlikeHeads:
        """Return the same model with other scalars: the noise is its own, the rest its heads'."""
        noise = values.pop("diffusion", self.diffusion)
        return replace(self, heads=tuple(head.with_scalars(**values) for head in self.heads), diffusion=noise)

    def accepts_product(self) -> bool:
        """Whether ``A`` alone determines the score: that is asked of each head."""
        return False

    def parametrisations(self) -> tuple[frozenset[str], ...]:
        """Every set of parameter names that selects a kernel of its own."""
        each = [
            [frozenset(f"{name}_{i}" for name in names) for names in head.parametrisations()]
            for i, head in enumerate(self.heads, 1)
        ]
        chosen = (frozenset().union(*names) for names in itertools.product(*each))
        return tuple(names | frozenset(self._layer) for names in chosen)

    def statement(self, given: Iterable[str] | None = None) -> Statement:
        """Return the definition: the heads one after the other."""
        from symflow.models.statement import Statement

        names = self._default() if given is None else frozenset(given)
        self._refuse_unnumbered(names)
        parts = [self._part(i, head, names) for i, head in enumerate(self.heads, 1)]
        layer = self._layer_symbols(names)
        d = dimension("d")
        x, y = vector("x", d), vector("y", d)
        added = [layer["W"] * x + layer["c"]] if layer else []
        scalars = dict.fromkeys(s for part in parts for s in part.scalars)
        sizes = dict.fromkeys(size for part in parts for size in part.sizes)
        return Statement(
            name="-".join((self.name, *(mark for part in parts for mark in part.marks), *self._marks())),
            heads=tuple(replace(part.head, prefactor=self.sign * part.head.prefactor) for part in parts),
            background=MatAdd(ZeroMatrix(d, 1), *(part.background for part in parts), *added).doit(),
            diffusion=self.noise,
            x=x,
            y=y,
            parameters=(
                *(symbol for part in parts for symbol in part.matrices),
                *layer.values(),
                *scalars,
                *sorted(self.noise.free_symbols, key=str),
            ),
            dimensions=tuple(sizes),
            reference=self.reference,
            space=self.space,
        )

    def _default(self) -> frozenset[str]:
        """Return the first parametrisation; there are many more than heads."""
        chosen = [f"{name}_{i}" for i, h in enumerate(self.heads, 1) for name in h.parametrisations()[0]]
        return frozenset((*chosen, *self._layer))

    def _marks(self) -> list[str]:
        marks = {"repulsive": self.sign == -1, "off": self.sign == 0, "layer": self.feed_forward}
        return [mark for mark, present in (marks | {"noise": not self.noise.is_zero}).items() if present]

    def _refuse_unnumbered(self, names: frozenset[str]) -> None:
        ends = tuple(f"_{i}" for i in range(1, len(self.heads) + 1))
        unknown = sorted(name for name in names - set(self._layer) if not name.endswith(ends))
        if unknown:
            raise InputError(
                f"parameter {unknown[0]!r} is unknown to {self.name}; the parameters of head i end in _i: "
                f"{', '.join(self.parameters)}"
            )

    def _layer_symbols(self, rest: frozenset[str]) -> dict[str, Any]:
        missing = [name for name in self._layer if name not in rest]
        if missing:
            raise InputError(
                f"parameter {missing[0]!r} of {self.name} is missing; give {', '.join(self._layer)}"
            )
        d = dimension("d")
        return {"W": MatrixSymbol("W", d, d), "c": vector("c", d)} if self._layer else {}

    def _numbered(self, kind: str) -> Shapes:
        """Return the shapes of all heads, names and sizes with the number of their head."""
        return {
            f"{name}_{i}": tuple(size if size == "d" else f"{size}_{i}" for size in shape)
            for i, head in enumerate(self.heads, 1)
            for name, shape in getattr(head, kind).items()
        }

    def _part(self, number: int, head: AttentionModel, names: frozenset[str]) -> _Part:
        """State one head, its parameters and sizes renamed."""
        end = f"_{number}"
        own = frozenset(name for name in names if name.endswith(end))
        stated = head.statement(frozenset(name.removesuffix(end) for name in own))
        sizes = {s: s if s.name == "d" else dimension(s.name + end) for s in stated.dimensions}
        matrices = [p for p in stated.parameters if isinstance(p, MatrixSymbol)]
        table = {p: MatrixSymbol(p.name + end, *(n.xreplace(sizes) for n in p.shape)) for p in matrices}
        moved = replace(
            stated.head,
            **{line: getattr(stated.head, line).xreplace(table) for line in ("score", "kernel", "value")},
        )
        return _Part(
            head=moved,
            background=stated.background.xreplace(table),
            matrices=tuple(table.values()),
            scalars=tuple(p for p in stated.parameters if p not in table),
            sizes=tuple(sizes.values()),
            marks=(stated.name.removeprefix(head.name).lstrip("-") or "plain",),
        )


@dataclass(frozen=True)
class _Part:
    """One head of the sum."""

    head: Head
    background: Any
    matrices: tuple[MatrixSymbol, ...]
    scalars: tuple[Symbol, ...]
    sizes: tuple[Symbol, ...]
    marks: tuple[str, ...]


def are_unlike(heads: Any) -> bool:
    """Whether ``heads`` is a sequence of usable models that are not all equal."""
    if not isinstance(heads, (list, tuple)) or len(heads) < 2:
        return False
    return all(isinstance(head, AttentionModel) for head in heads) and any(h != heads[0] for h in heads)
