r"""What the generator of the cosine does to functions that vanish, or not, where two tokens meet.

Nothing is assumed of κ but that it is differentiable at u = 1: κ(u) = κ(1) − ε(κ'(1) − ρ), ε = 1 − u, ρ → 0.
For powers of 1 − u and for their logarithm Lf/f and Lf are then rational functions of ε and ρ with a value at
ε = ρ = 0.
"""

from __future__ import annotations

from sympy import Expr, Symbol, cancel, collect, diff, exp, expand, factor, fraction, log, powsimp, together

from symflow.derive.noise.symbols import BETA, COSINE, ORDER, kappa, kappa_slope
from symflow.errors import InputError

_GAP, _REST = Symbol("_eps", positive=True), Symbol("_rho", real=True)


def near_one(expr: Expr) -> Expr:
    """Return the limit at u → 1 of an expression that is rational in 1 − u and κ(u).

    Raises
    ------
    InputError
        If it has none.
    """
    expanded = kappa(1) - _GAP * (kappa_slope(1) - _REST)
    value = cancel(together(expr.subs(kappa(COSINE), expanded).subs(COSINE, 1 - _GAP)))
    numerator, denominator = (part.subs({_GAP: 0, _REST: 0}) for part in fraction(value))
    if denominator == 0:
        raise InputError(f"{expr} has no limit at u = 1")
    return in_slopes(numerator / denominator)


def in_slopes(expr: Expr) -> Expr:
    """Collect an expression by κ(1) and κ'(1)."""
    return collect(expand(expr), (kappa(1), kappa_slope(1)), factor)


def generator(function: Expr, drift: Expr, diffusion: Expr) -> Expr:
    """Return Lf = G₀f' + G₁f'' for a function of u."""
    return drift * diff(function, COSINE) + diffusion * diff(function, COSINE, 2)


def lyapunov(drift: Expr, diffusion: Expr) -> Expr:
    """Return the limit of L(½ log(1 − u)) at u → 1."""
    return near_one(generator(log(1 - COSINE) / 2, drift, diffusion))


def moment_exponent(drift: Expr, diffusion: Expr) -> Expr:
    """Return Λ(p), the limit of Lf/f at u → 1 for f = (1 − u)^{p/2}."""
    distance = (1 - COSINE) ** (ORDER / 2)
    return near_one(powsimp(expand(generator(distance, drift, diffusion) / distance)))


def energy_rate(drift: Expr, diffusion: Expr) -> Expr:
    """Return F(u) = −Lf/f for f = e^β − e^{βu}."""
    gap = exp(BETA) - exp(BETA * COSINE)
    return factor(-generator(gap, drift, diffusion) / gap)


def energy_rate_at_one(drift: Expr, diffusion: Expr) -> Expr:
    """Return F(1⁻): with f(1) = 0 the limits of −Lf/(1 − u) and of f/(1 − u), divided."""
    gap = exp(BETA) - exp(BETA * COSINE)
    slope, bend = (Symbol(f"_f{order}", real=True) for order in (1, 2))
    lost = near_one(-(drift * slope + diffusion * bend) / (1 - COSINE))
    at_one = diff(gap, COSINE).subs(COSINE, 1)
    return in_slopes(cancel(lost.subs(slope, at_one) / -at_one))
