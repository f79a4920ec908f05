"""The table of exponents of common noise, every printed digit certified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from symflow.algebra.exact.numbers import Ball
from symflow.noise.common import CommonNoise

ACTIVATIONS = ("relu", "tanh", "sigmoid", "silu")
DIMENSIONS, BIASES = (5, 64, 128), ("0", "0.1")
#: Names of the quantities, as attributes of a row, and their symbols in LaTeX.
QUANTITIES = {
    "kappa_at_one": r"\kappa(1)",
    "slope_at_one": r"\kappa'(1)",
    "lyapunov": r"\lambda_1",
    "dissipation": r"\bar\lambda",
    "rate": r"\bar\lambda'(\beta)",
}


@dataclass(frozen=True)
class ExponentRow:
    """Exponents of one field, as enclosures.

    Attributes
    ----------
    activation, sigma : str
        φ, and σ_W = σ_U.
    dim : int
    kappa_at_one, slope_at_one, lyapunov, dissipation, rate : Ball
        κ(1), κ'(1), λ₁, λ̄ and λ̄'(β).
    is_odd : bool
        Whether the field is odd.
    """

    activation: str
    sigma: str
    dim: int
    kappa_at_one: Ball
    slope_at_one: Ball
    lyapunov: Ball
    dissipation: Ball
    rate: Ball
    is_odd: bool

    def texts(self, digits: int) -> dict[str, str]:
        """Return every quantity with at most ``digits`` certified digits."""
        return {name: certified(getattr(self, name), digits) for name in QUANTITIES}


def exponent_table(
    activations: Iterable[Any] = ACTIVATIONS,
    dimensions: Iterable[int] = DIMENSIONS,
    biases: Iterable[Any] = BIASES,
    beta: Any = 1,
) -> tuple[ExponentRow, ...]:
    """Return exponents for every activation, size of tokens and standard deviation σ_W = σ_U.

    Parameters
    ----------
    activations : iterable
        As :class:`CommonNoise` takes them.
    dimensions : iterable of int
    biases : iterable of number
    beta : number
        β of the dissipation energy.
    """
    sizes, deviations = tuple(dimensions), tuple(biases)
    return tuple(
        _row(activation, dim, bias, beta)
        for activation in activations
        for dim in sizes
        for bias in deviations
    )


def _row(activation: Any, dim: int, bias: Any, beta: Any) -> ExponentRow:
    noise = CommonNoise(activation, bias, bias, dim)
    return ExponentRow(
        activation=noise.activation.name if noise.activation.reference else noise.activation.phi,
        sigma=str(bias),
        dim=dim,
        kappa_at_one=noise.kappa_at_one,
        slope_at_one=noise.slope_at_one,
        lyapunov=noise.lyapunov,
        dissipation=noise.dissipation,
        rate=noise.rate(beta),
        is_odd=noise.is_odd,
    )


def certified(value: Ball, digits: int) -> str:
    """Return a decimal number to which every number of a ball rounds, with as many digits as there are.

    Examples
    --------
    >>> certified(Ball(Fraction(2, 3), Fraction(1, 10**6)), 12)
    '0.66667'
    """
    for places in range(digits, 0, -1):
        low, high = (_rounded(end, places) for end in (value.lower, value.upper))
        if low == high:
            return f"{low:f}"
    return str(value)


def _rounded(value: Fraction, digits: int) -> Decimal:
    # One rounding: a quotient of two decimals of any length is rounded once.
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def to_latex(rows: Sequence[ExponentRow], digits: int) -> str:
    """Return the table as a LaTeX ``tabular``."""
    heads = " & ".join(f"${symbol}$" for symbol in QUANTITIES.values())
    lines = [
        r"\begin{tabular}{lrr" + "r" * len(QUANTITIES) + "}",
        r"$\varphi$ & $d$ & $\sigma$ & " + heads + r" \\",
    ]
    for row in rows:
        name = row.activation.replace("_", r"\_")
        numbers = " & ".join(f"${text}$" for text in row.texts(digits).values())
        lines.append(rf"{name} & {row.dim} & {row.sigma} & {numbers} \\")
    return "\n".join([*lines, r"\end{tabular}"])
