"""Geodesics of Diracs and the second derivative along them, found from gradients at symbolic size."""

from __future__ import annotations

from typing import Any

from sympy import S, Trace, cancel

from symflow.algebra.grammar import to_text
from symflow.algebra.symbols import dimension, vector
from symflow.algebra.variation import gateaux, gradient
from symflow.algebra.words import normal_form


def dirac_witness(energy: Any, weight: Any, radius: str = "0") -> dict[str, str]:
    """Return the proof object of a family of Diracs.

    Parameters
    ----------
    energy, weight : Expr
        F(δ_x), and the factor of ⟨v, v⟩ in the metric, in the vector x of symbolic size.
    radius : str
        |x| at which the second derivative is looked at.
    """
    d = dimension("d")
    x, v = vector("x", d), vector("v", d)
    speed = Trace(v.T * v)
    push = S.Half * speed * gradient(weight, x) - gateaux(weight, {x: v}) * v
    acceleration = normal_form((1 / weight) * push).to_sympy()
    second = gateaux(gateaux(energy, {x: v}), {x: v}) + gateaux(energy, {x: acceleration})
    ratio = cancel(normal_form(second).to_sympy() / (weight * speed))
    return {
        "type": "dirac",
        "acceleration": to_text(acceleration),
        "ratio": to_text(normal_form(ratio).to_sympy()),
        "radius": radius,
    }
