"""A user's own attention mechanism, stated as text or as a SymPy expression."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from symflow.errors import InputError
from symflow.models.attention.model import AttentionModel, Shapes
from symflow.models.statement import NORMALISATIONS
from symflow.models.texts import as_text, refuse_misread, text_parameters


@dataclass(frozen=True)
class Attention(AttentionModel):
    r"""A user's own mechanism: the score in the vectors ``x``, ``y`` and named matrix parameters.

    .. math:: \Gamma_\mu(x) = \frac{\int v(y)\,e^{s(x,y)}\,d\mu(y)}{\int e^{s(x,y)}\,d\mu(y)}

    for ``normalise="softmax"``; with ``"sinkhorn"`` the weights are the doubly stochastic scaling of
    e^{s(x,y)}, and with ``"none"`` the score itself is the weight, :math:`\int v(y)\,s(x,y)\,d\mu(y)`.

    Parameters
    ----------
    score : str or SymPy expression
        s(x, y) in the small grammar, e.g. ``"dot(Q*x, K*y) + dot(y, C*y)/2 + dot(c, y)"``, or a
        SymPy scalar (a 1×1 matrix product counts) in symbols of type ``MatrixSymbol`` named x and y.
        Symbols count by their name and stand for real numbers, whatever assumptions they carry.
        Where the shape of a name does not follow from the expression, a lower-case name in front of a
        factor is a number, an upper-case name a matrix.
    value : str or SymPy expression, optional
        v(y), an affine vector expression; ``V*y`` by default.
    normalise : str, default "softmax"
        ``"softmax"``, ``"sinkhorn"`` or ``"none"``.
    beta, temperature : default 1
        The effective score is ``beta/temperature`` times ``score``.
    name : str, default "attention"
        Used in file names and messages.

    Raises
    ------
    GrammarError
        If a text cannot be read or its shapes do not fit.
    InputError
        If the normalisation is unknown, or a name is that of another quantity of every model.

    Examples
    --------
    >>> model = Attention("dot(y, A*x) + dot(c, y)")
    >>> dict(model.parameters)
    {'A': ('d', 'd'), 'c': ('d',), 'V': ('d', 'd')}
    """

    score: Any = ""
    value: Any = "V*y"
    normalise: str = "softmax"
    name: str = field(default="attention", kw_only=True)
    title: str = field(default="User-defined attention", kw_only=True)
    reference: str = field(default="", kw_only=True)
    parameters: Shapes = field(init=False, repr=False, hash=False, compare=False)
    kernel: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalise not in NORMALISATIONS:
            raise InputError(f"normalise = {self.normalise!r} is unknown; use {', '.join(NORMALISATIONS)}")
        object.__setattr__(self, "kernel", "s" if self.normalise == "none" else "exp(s)")
        stated = {name: getattr(self, name) for name in ("score", "value")}
        for name, given in stated.items():
            object.__setattr__(self, name, "V*y" if given is None else as_text(given))
        object.__setattr__(self, "parameters", dict(_inferred(self.score, self.value)))
        for name, given in stated.items():
            if not (given is None or isinstance(given, str)):
                refuse_misread(name, given, self.parameters)
        for name in ("beta", "temperature"):
            if name in self.parameters:
                raise InputError(
                    f"{name!r} in score or value: every model has the factor beta/temperature already; "
                    f"drop it there and give {name}= to the model, or rename it"
                )


@functools.cache
def _inferred(score: str, value: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    shapes = text_parameters("score", score, {}, "scalar")
    shapes |= text_parameters("value", value, shapes, "vector")
    return tuple(shapes.items())
