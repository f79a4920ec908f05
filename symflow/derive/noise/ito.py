r"""Itô's formula for tokens in common noise, at symbolic size.

Two tokens on the sphere move by :math:`dx = -c\,x\,dt + P_x\,dw_x`, :math:`dy = -c\,y\,dt + P_y\,dw_y`, where
:math:`w_x = \ell_{11}g`, :math:`w_y = \ell_{21}g + \ell_{22}h` for independent Brownian motions g and h: any
square root of the covariance of the field at both points. An average over g and h is one over standard
Gaussian vectors, taken by Isserlis' theorem, and the entries of the root enter through

.. math:: \ell_{11}^2 = \ell_{21}^2 + \ell_{22}^2 = \kappa(1), \qquad \ell_{11}\ell_{21} = \kappa(u)

alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sympy import Expr, Identity, Rational, Symbol, Trace, ZeroMatrix, cancel, diff, expand, factor, sqrt

from symflow.algebra.moments import expectation
from symflow.algebra.symbols import vector
from symflow.algebra.variation import gateaux
from symflow.algebra.words import normal_form
from symflow.derive.noise.symbols import COSINE, SIZE, X, Y, kappa, on_the_sphere
from symflow.errors import InputError

_OWN, _OTHER = vector("g", SIZE), vector("h", SIZE)
_ROOT = tuple(Symbol(name) for name in ("ell_11", "ell_21", "ell_22"))
_PAIR = Trace(X.T * Y)


def tangent(point: Any, direction: Any) -> Any:
    """Return P_x v = v − ⟨x, v⟩x."""
    return direction - Trace(point.T * direction) * point


def noise_average(expr: Any) -> Any:
    """Return the average of a polynomial over both standard Gaussian vectors."""
    zero, one = ZeroMatrix(SIZE, 1), Identity(SIZE)
    return expectation(expectation(expr, _OWN, zero, one), _OTHER, zero, one)


def increments() -> dict[Any, Any]:
    """Return the noise of both tokens in terms of an unspecified square root."""
    own, other, rest = _ROOT
    return {X: tangent(X, own * _OWN), Y: tangent(Y, other * _OWN + rest * _OTHER)}


def in_covariances(expr: Any) -> Expr:
    """Replace the entries of the square root by the covariances.

    Raises
    ------
    InputError
        If the expression depends on which square root it is.
    """
    own, other, rest = _ROOT
    one, pair = Symbol("_one", positive=True), Symbol("_pair", real=True)
    polynomial = expand(on_the_sphere(normal_form(expr).to_sympy())).subs(rest, sqrt(one - other**2))
    found = cancel(expand(expand(polynomial).subs(other, pair / own)).subs(own, sqrt(one)))
    if found.has(*_ROOT) or found.has(sqrt(one)):
        raise InputError(f"{expr} depends on the choice of the square root")
    return factor(found).subs({one: kappa(1), pair: kappa(COSINE)})


def second_average(function: Any) -> Any:
    """Return the average of the second derivative of a function of x and y along the noise."""
    directions = increments()
    steps = {token: vector(f"_{token.name}", SIZE) for token in (X, Y)}
    curved = gateaux(gateaux(function, steps), steps)
    return noise_average(curved.subs({steps[token]: directions[token] for token in (X, Y)}))


def normalisation_drift() -> Any:
    r"""Return the drift that layer normalisation adds, along any y: with LN(v) = v/|v| the limit of

    .. math:: h^{-1}\langle y, E[\mathrm{LN}(x + \sqrt hg)] - x\rangle, \qquad g \sim N(0, \kappa(1)I_d)
    """
    step = vector("_x", SIZE)
    normalised = Trace(X.T * X) ** Rational(-1, 2) * X
    curved = gateaux(gateaux(normalised, {X: step}), {X: step})
    moved = curved.subs(step, _ROOT[0] * _OWN).xreplace({Trace(X.T * X): 1})
    return in_covariances(Rational(1, 2) * Trace(Y.T * noise_average(moved)))


def radial_drift(correction: Expr) -> Expr:
    """Return the drift of |x|² at |x| = 1 under dx = −c x dt + P_x dw."""
    square = Trace(X.T * X)
    slope = gateaux(square, {X: -Symbol("_c") * X})
    drift = slope + Rational(1, 2) * second_average(square)
    return factor(in_covariances(drift).subs(Symbol("_c"), correction))


def cosine_generator(correction: Expr) -> tuple[Expr, Expr]:
    r"""Return G₀ and G₁ with :math:`Lf = G_0f' + G_1f''` for functions of u = ⟨x, y⟩.

    G₀ is the drift of u, and G₁ half the square of its noise.
    """
    rate = Symbol("_c")
    slope = gateaux(_PAIR, {X: -rate * X, Y: -rate * Y}) + Rational(1, 2) * second_average(_PAIR)
    square = noise_average(gateaux(_PAIR, increments()) ** 2) / 2
    return expand(in_covariances(slope).subs(rate, correction)), in_covariances(square)


def triangular_root() -> Mapping[Symbol, Expr]:
    """Return the Cholesky factor of the covariance of the field at two points."""
    own = sqrt(kappa(1))
    other = kappa(COSINE) / own
    return dict(zip(_ROOT, (own, other, sqrt(kappa(1) - other**2)), strict=True))


def square_root_drift(root: Mapping[Symbol, Expr]) -> Expr:
    r"""Return by how much ½ΣV(Vu) exceeds that of a fixed field if the entries of the root depend on u.

    The vector fields V move x by :math:`\ell_{11}P_xe`, y by :math:`\ell_{21}P_ye`, or y by
    :math:`\ell_{22}P_ye`, e in a basis. By the product rule the surplus is the part in which V acts on the
    entries of the root.
    """
    total: Any = 0
    own, other, rest = _ROOT
    fields = ({X: tangent(X, own * _OWN), Y: tangent(Y, other * _OWN)}, {Y: tangent(Y, rest * _OWN)})
    for field in fields:
        along = gateaux(_PAIR, field)
        for entry in _ROOT:
            slope = Symbol(f"_slope_{entry.name}")
            changed = noise_average(along * gateaux(_PAIR, _only(field, entry)) / entry)
            total += Rational(1, 2) * changed * slope
    value = on_the_sphere(total)
    slopes = {Symbol(f"_slope_{entry.name}"): diff(root[entry], COSINE) for entry in _ROOT}
    return factor(cancel(expand(value.subs(slopes).subs(dict(root)))))


def _only(field: Mapping[Any, Any], entry: Symbol) -> dict[Any, Any]:
    """Keep the part of a vector field that is proportional to one entry of the root."""
    return {
        token: move.subs({other: 0 for other in _ROOT if other != entry}) for token, move in field.items()
    }
