r"""Entropic transport of a Gaussian law to itself, from its optimal coupling.

With the score :math:`y^\top Bx` and :math:`N = \Sigma B^\top\Sigma B` the coupling has the gain
ΣB f(N), f(n) the solution of n f² + f = 1, and the conditional covariance has the determinant
det Σ · det f(N). Hence

.. math:: \mathrm{OT} = -\alpha^\top B\alpha - \operatorname{tr}(N f(N)) - \tfrac12\log\det f(N)

and its derivative follows from :math:`d\operatorname{tr}\varphi(N) = \operatorname{tr}(\varphi'(N)\,dN)`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from sympy import Identity, Inverse, MatPow, Poly, Rational, Symbol, Trace, cancel, fraction, log, together

from symflow.algebra.assembly import product, total
from symflow.algebra.determinant import LogDet
from symflow.algebra.moments import expectation
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.transposition import transposed
from symflow.algebra.variation import gradient
from symflow.algebra.words import normal_form
from symflow.derive.velocity.coupling import scalar_solution
from symflow.errors import SymflowError

_HALF = Rational(1, 2)
_N, _R = Symbol("n", nonnegative=True), Symbol("r", positive=True)


@dataclass(frozen=True)
class GaussianTransport:
    """The cost at N(α, Σ) and its gradients in α and Σ."""

    value: Any
    gradients: tuple[Any, Any]


def transport_on_gaussian(cost: Any, alpha: Any, sigma: Any) -> GaussianTransport:
    """Return the entropic cost of transporting N(α, Σ) to itself, for a quadratic score.

    Raises
    ------
    NotQuadratic, NotPolynomial
        If the score is not a quadratic polynomial.
    """
    x, y = cost.ends
    form = quadratic_form(cost.score, x, y)
    bilinear, size = form.B, Identity(sigma.rows)
    single = cost.score - Trace(y.T * bilinear * x)
    # what the scaling absorbs is averaged over the marginals
    alone = -expectation(expectation(single, y, alpha, sigma), x, alpha, sigma) - Trace(
        alpha.T * bilinear * alpha
    )
    mirrored = transposed(bilinear)
    square = normal_form(size + 4 * sigma * mirrored * sigma * bilinear).to_sympy()
    root = MatPow(square, _HALF)
    energy, slope = _scalar_cost()
    value = alone + _of_root(energy, root, size)
    inner = _rational(slope, root, size)
    # dN = dΣ BᵀΣB + ΣBᵀ dΣ B
    left = product(mirrored, sigma, bilinear, inner)
    right = product(bilinear, inner, sigma, mirrored)
    half = _HALF * total(left, right)
    cov = total(half, transposed(half, (sigma,))).doit()
    rest = [gradient(alone, X, (sigma,)) for X in (alpha, sigma)]
    return GaussianTransport(value, (rest[0], total(cov, rest[1])))


@functools.cache
def _scalar_cost() -> tuple[tuple[Any, Any], Any]:
    """Return φ(n) = −n f(n) − ½ log f(n) as its rational part and f, both in r, and φ'(n) in r."""
    numerator, denominator = scalar_solution()
    f = numerator / sum(c * _R**power for power, c in denominator)
    n = (_R**2 - 1) / 4
    if cancel(n * f**2 + f - 1) != 0:
        raise SymflowError(f"{f} does not solve n·f² + f = 1")
    rational = cancel(-n * f)
    chain = 2 / _R  # dr/dn
    slope = cancel(together((rational.diff(_R) - _HALF * log(f).diff(_R)) * chain))
    return (rational, f), slope


def _of_root(energy: tuple[Any, Any], root: Any, size: Any) -> Any:
    """Return tr p(R) − ½ log det f(R) for the polynomial p and f = a/q with a polynomial q."""
    rational, f = energy
    numerator, denominator = fraction(together(f))
    scaled = cancel(denominator / numerator)
    inverse = Poly(scaled, _R)
    return Trace(_matrix(Poly(rational, _R), root, size)).doit() + _HALF * LogDet(
        _matrix(inverse, root, size)
    )


def _matrix(polynomial: Any, root: Any, size: Any) -> Any:
    """Return a polynomial of degree one in the root."""
    terms = [(size, c) if power == 0 else (root, c) for (power,), c in polynomial.terms()]
    if polynomial.degree() > 1:
        raise SymflowError(f"{polynomial} is not affine in the root")
    return total(*(c * part for part, c in terms))


def _rational(slope: Any, root: Any, size: Any) -> Any:
    """Return a constant over a polynomial of degree one in the root."""
    numerator, denominator = fraction(slope)
    if not numerator.is_number:
        raise SymflowError(f"{slope} is not a constant over a polynomial in r")
    return numerator * Inverse(_matrix(Poly(denominator, _R), root, size))
