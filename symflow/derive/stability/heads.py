r"""Bounds of the velocity of one head on a ball, from how its weights are normalised.

With s the logarithm of the kernel, v the value, ℓ its Lipschitz constant and all laws on the ball of radius
R:

weights that are normalised (``"softmax"``)
    :math:`|\Gamma| \le |v|_R`. Under the normalised weights :math:`\nabla_x\Gamma = \operatorname{Cov}(v,
    \nabla_x s)`, which is at most ℓR·G. With :math:`c = \Gamma_\nu(x)`, :math:`\Gamma_\mu - \Gamma_\nu =
    Z_\mu^{-1}\int (v - c)k\,d(\mu-\nu)`, and the integrand has the Lipschitz constant
    :math:`\ell(1 + 2R\,L_y)e^{D}`, D the oscillation of s in y.
weights as they are (``"none"``)
    The product rule for v·k.
doubly stochastic weights (``"sinkhorn"``)
    Scaling is a contraction of Hilbert's metric, so that the potentials depend on the law in a Lipschitz way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sympy import Abs, Max, Min, exp, log

from symflow.derive.stability.ranges import RADIUS, Range, bound_of_vector, range_of
from symflow.models.statement import Head

R = RADIUS


@dataclass(frozen=True)
class HeadBounds:
    r"""Bounds of one head on the ball.

    Attributes
    ----------
    head : Head
    weight : Range
        Of the score (the logarithm of the kernel) where the weights are normalised, else of the kernel.
    speed, query, law : Expr
        :math:`\sup|\Gamma|`, and the Lipschitz constants in x and in μ with respect to W₁.
    """

    head: Head
    weight: Range
    speed: Any
    query: Any
    law: Any


def head_bounds(head: Head, x: Any, y: Any) -> HeadBounds:
    """Return the bounds of one head; raises `InputError` as :func:`range_of`."""
    normalised = head.normalise != "none"
    weight = range_of(log_kernel(head) if normalised else head.kernel, x, y)
    constant, slope = bound_of_vector(head.value, y)
    parts = _RULES[head.normalise](weight, constant, slope)
    return HeadBounds(head, weight, *(Abs(head.prefactor) * part for part in parts))


def log_kernel(head: Head) -> Any:
    """Return the logarithm of the kernel: the score, where the kernel is its exponential."""
    return head.kernel.args[0] if isinstance(head.kernel, exp) else log(head.kernel)


def gradient_spread(weight: Range, own: Any) -> Any:
    """Return a bound of a gradient up to a constant: by its own size, or by the mixed derivative."""
    return own if weight.mixed is None else Min(own, R * weight.mixed)


def largest_spread(weight: Range) -> Any:
    """Return a bound of the spread of both gradients."""
    return Max(gradient_spread(weight, weight.query), gradient_spread(weight, weight.key))


def oscillation(weight: Range) -> Any:
    """Return a bound of the oscillation in y."""
    return Min(weight.spread, 2 * R * weight.key)


def _averaged(weight: Range, constant: Any, slope: Any) -> tuple[Any, Any, Any]:
    speed = constant + slope * R
    query = slope * R * gradient_spread(weight, weight.query)
    return speed, query, slope * (1 + 2 * R * weight.key) * exp(oscillation(weight))


def _integrated(weight: Range, constant: Any, slope: Any) -> tuple[Any, Any, Any]:
    size = constant + slope * R
    return size * weight.size, size * weight.query, slope * weight.size + size * weight.key


def _scaled(weight: Range, constant: Any, slope: Any) -> tuple[Any, Any, Any]:
    spread, both = gradient_spread(weight, weight.query), largest_spread(weight)
    law = slope * exp(4 * R * both) * (1 + 4 * R * both + R * both * (1 + exp(2 * R * both)))
    return constant + slope * R, slope * R * spread, law


_RULES: dict[str, Callable[[Range, Any, Any], tuple[Any, Any, Any]]] = {
    "softmax": _averaged,
    "none": _integrated,
    "sinkhorn": _scaled,
}
