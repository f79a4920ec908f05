"""What the report has a section on: every shipped variant, then what models are composed to."""

from __future__ import annotations

from dataclasses import dataclass

from symflow.derive.outcome import CLOSED, closure_status
from symflow.models.attention.linear import Linear
from symflow.models.attention.model import AttentionModel
from symflow.models.attention.softmax import Softmax
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_models


@dataclass(frozen=True)
class Subject:
    """One section: ``anchor`` names its files and its regimes, ``title`` is its heading.

    ``on_sphere`` is the same mechanism there, where the section speaks about it.
    """

    anchor: str
    title: str
    model: AttentionModel
    on_sphere: AttentionModel | None = None


def subjects() -> tuple[Subject, ...]:
    """Return every subject: closed ones first, the best known one before all."""
    shipped = [
        Subject(name, variant.title, variant(), variant(space="sphere"))
        for name, variant in attention_models().items()
    ]
    found = [*shipped, *_composed()]
    closed = {subject.anchor: closure_status(subject.model) == CLOSED for subject in found}
    found.sort(key=lambda subject: (not closed[subject.anchor], subject.anchor != Softmax.name))
    return tuple(found)


def _composed() -> tuple[Subject, ...]:
    heads, chain, mixture = MultiHead(Softmax()), Masked(Linear(), sink=0.25), Masked(Softmax())
    layer, noise = Softmax(feed_forward=True), Softmax(diffusion="1/10")
    return (
        Subject(heads.name, heads.title, heads, MultiHead(Softmax(space="sphere"))),
        Subject(chain.name, chain.title, chain, Masked(Linear(space="sphere"), sink=0.25)),
        Subject("softmax-layer", f"{layer.title} with a feed-forward layer", layer),
        Subject("softmax-noise", f"{noise.title} with noise", noise),
        Subject(mixture.name, mixture.title, mixture, Masked(Softmax(space="sphere"))),
    )
