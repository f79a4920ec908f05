"""The shipped attention variants, found by scanning ``symflow/models/attention``."""

from __future__ import annotations

import functools

from symflow.models import attention
from symflow.models.attention.model import AttentionModel
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.scanning import classes_of, one_of

#: What models are composed to, by the first word of the name.
COMBINATORS: dict[str, type[Masked] | type[MultiHead]] = {"multihead": MultiHead, "masked": Masked}


@functools.cache
def attention_models() -> dict[str, type[AttentionModel]]:
    """Return every shipped variant by name, sorted.

    Examples
    --------
    >>> [name for name in attention_models() if name.startswith("s")]
    ['sigmoid', 'sinkhorn', 'softmax']
    """
    return classes_of(attention, AttentionModel, _is_variant)


def _is_variant(model: type[AttentionModel]) -> bool:
    """Whether a class states a mechanism of its own: the base class and the user's one state no score."""
    return bool(vars(model).get("name") and model.score)


def attention_model(name: str) -> type[AttentionModel]:
    """Return the shipped variant called ``name``.

    Raises
    ------
    InputError
        If there is none; the message names the nearest one and all that exist.
    """
    return one_of(attention_models(), name, "model", "models")


def model_named(name: str) -> AttentionModel:
    """Return the model whose ``name`` this is: a shipped variant, or a composition of one.

    Raises
    ------
    InputError
        If there is none, or what it names cannot be composed.

    Examples
    --------
    >>> model_named("masked-multihead-linear").name
    'masked-multihead-linear'
    """
    combinator, _, rest = name.partition("-")
    if rest and combinator in COMBINATORS:
        return COMBINATORS[combinator](model_named(rest))
    return attention_model(name)()


def compositions() -> dict[str, AttentionModel]:
    """Return every shipped variant with several heads, and under a causal mask, by name.

    Examples
    --------
    >>> len(compositions()) == 2 * len(attention_models())
    True
    """
    models = [
        combine(variant()) for combine in COMBINATORS.values() for variant in attention_models().values()
    ]
    return {model.name: model for model in models}
