r"""One random layer from its definition to its exponents: λ₁, λ̄, Λ(p) in d, σ_W and σ_U."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr, Symbol, collect, expand, factor

from symflow.derive.derivation import Argument
from symflow.derive.noise.covariance import FieldCovariance, covariance_of, layer_of, typeset
from symflow.derive.noise.exponent_checks import ExponentsFromPowers
from symflow.derive.noise.pair import PairGenerator, pair_generator
from symflow.derive.noise.symbols import SIZE
from symflow.derive.steps import Formula, Step
from symflow.models.noise.statement import NoiseStatement

_SOURCE = "ABGSR26"


@dataclass(frozen=True)
class NoiseDerivation(Argument):
    r"""Common noise of one random layer, step by step: field, pair of tokens, exponents.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    field : FieldCovariance
        κ.
    pair : PairGenerator
        The generator of the cosine.
    lyapunov, dissipation : Expr or None
        λ₁ and λ̄ in d, σ_W and σ_U; None where κ has no closed form.
    """

    model: Any
    statement: Any
    field: FieldCovariance
    pair: PairGenerator
    lyapunov: Expr | None
    dissipation: Expr | None

    def insert(self, expr: Expr) -> Expr | None:
        """Return an expression in κ(u), κ(1) and κ'(1) for this layer, None without a closed form."""
        found = self.field
        if found.kappa is None:
            return None
        given = self.pair.insert(expr, found.kappa, found.at_one, found.slope_at_one)
        return given.subs(SIZE, found.layer.dim)

    def moment_exponent(self, p: Any) -> Expr | None:
        """Return Λ(p) for this layer."""
        return self.insert(self.pair.moment_exponent(p))


def noise_derivation(noise: Any) -> NoiseDerivation:
    """Derive everything about the common noise of a random layer.

    Parameters
    ----------
    noise : NoiseStatement, Activation, str or Expr
        As for :func:`field_covariance`.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> noise_derivation("relu").lyapunov
    -(d - 1)*(sigma_U**2 + 2*sigma_W**2)/4 - 1/(2*d)
    """
    return _derived(*layer_of(noise))


@functools.lru_cache(maxsize=32)
def _derived(layer: NoiseStatement, title: str) -> NoiseDerivation:
    field, pair = covariance_of(layer, title), pair_generator()
    found = NoiseDerivation(field.model, field.statement, (), field, pair, None, None)
    steps = (*field.steps, replace(pair.steps[0], kind="step"), *pair.steps[1:])
    if field.kappa is None:
        return NoiseDerivation(**{**vars(found), "steps": steps})
    exponents = [_arranged(found.insert(part), layer) for part in (pair.lyapunov, pair.dissipation)]
    found = NoiseDerivation(field.model, field.statement, steps, field, pair, *exponents)
    return NoiseDerivation(**{**vars(found), "steps": (*steps, _result(found))})


def _arranged(expr: Any, layer: NoiseStatement) -> Expr:
    """Collect an exponent: what the biases contribute to it, with the size as a factor."""
    symbols = [s for s in (layer.sigma_u, layer.sigma_w) if isinstance(s, Symbol)]
    if not symbols or not expr.is_polynomial(*symbols):
        return expr
    bare = factor(expr.subs(dict.fromkeys(symbols, 0)))
    return bare + factor(collect(expand(expr - bare), symbols))


def _result(found: NoiseDerivation) -> Step:
    pair = found.pair
    return Step(
        kind="result",
        title="Exponents of this layer",
        statement=r"With $\kappa(1)$ and $\kappa'(1)$ of the layer,",
        formulas=(
            Formula(r"\lambda_1", typeset(found.lyapunov)),
            Formula(r"\bar\lambda", typeset(found.dissipation)),
        ),
        rule="insertion",
        reference=_SOURCE,
        check=ExponentsFromPowers(
            found.field.layer,
            found.insert(pair.drift),
            found.insert(pair.diffusion),
            found.lyapunov,
            found.dissipation,
        ),
    )
