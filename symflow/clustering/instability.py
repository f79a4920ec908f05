r"""The linear instability of the uniform law on the sphere, mode by mode, for attention that sees cosines.

The velocity of a law near the uniform law σ is, to first order, the gradient of a convolution: with W' = w,

.. math:: \partial_t\varphi = -\frac{a}{N}\operatorname{div} P_x\!\int w(\langle x, y\rangle)\,y\,\varphi(y)\,
          d\sigma(y) = -\frac{a}{N}\Delta\!\int W(\langle x, y\rangle)\,\varphi(y)\,d\sigma(y)

because the velocity of σ itself vanishes, so that neither the density nor the normaliser of rows needs to be
varied. (Sinkhorn's scaling of keys does.)
By the Funk–Hecke formula a spherical harmonic of degree k is an eigenfunction, with

.. math:: \lambda_k(W) = \int W(u)\,\frac{C_k(u)}{C_k(1)}\,d\nu(u)
          = \frac{\Gamma(\frac d2)}{\sqrt\pi\,2^k\,\Gamma(k + \frac{d-1}{2})}
            \int_{-1}^1 W^{(k)}(u)\,(1 - u^2)^{k + \frac{d-3}{2}}\,du

(Rodrigues' formula, k integrations by parts), and the Laplacian multiplies by −k(k + d − 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import (
    Add,
    Expr,
    Integer,
    Integral,
    Poly,
    Rational,
    S,
    Symbol,
    besseli,
    exp,
    gamma,
    gammasimp,
    lambdify,
    latex,
    pi,
    powsimp,
    simplify,
    sqrt,
)

from symflow.clustering.zonal import COSINE, ZonalTerm, zonal_terms
from symflow.errors import InputError

DEGREE = Symbol("k", integer=True, positive=True)
DIMENSION = Symbol("d", integer=True, positive=True)


@dataclass(frozen=True)
class UniformInstability:
    """Growth rates of perturbations of the uniform law.

    Attributes
    ----------
    model : str
        Name of the model.
    terms : tuple of ZonalTerm
        Its weights as functions of the cosine.
    """

    model: str
    terms: tuple[ZonalTerm, ...]

    def rate(self, k: Any = DEGREE, d: Any = DIMENSION) -> Expr:
        """Return the exact growth rate of spherical harmonics of degree k on the sphere of ℝᵈ.

        Parameters
        ----------
        k, d : int or Symbol
            k ≥ 1, d ≥ 2; symbolic for exponential weights only.

        Returns
        -------
        Expr
            With Bessel functions for exponential weights, rational for polynomial ones, and else with
            integrals that are not evaluated.

        Raises
        ------
        InputError
            If k or d is out of range, or symbolic where the weight needs numbers.
        """
        degree, dim = _checked(k, DEGREE, 1, "k"), _checked(d, DIMENSION, 2, "d")
        return Add(*(_term_rate(term, degree, dim) for term in self.terms))

    def numerical_rate(self, k: int, d: int, digits: int = 50, **values: Any) -> Any:
        """Return the rate by quadrature of the Funk–Hecke formula, without Rodrigues' or Bessel's.

        Parameters
        ----------
        k, d : int
            k ≥ 1, d ≥ 2.
        digits : int
            Of the arithmetic.
        **values
            Of the scalar parameters that the model keeps as symbols.

        Returns
        -------
        mpmath.mpf
        """
        import mpmath

        _checked(k, DEGREE, 1, "k"), _checked(d, DIMENSION, 2, "d")
        with mpmath.workdps(digits + 10):
            total = mpmath.mpf(0)
            for term in self.terms:
                weight, strength = _numeric(term.weight, values), _numeric(term.strength, values)
                total += strength(0) * _quadrature_rate(weight, term.normalise, k, d)
        with mpmath.workdps(digits):
            return +total

    def to_latex(self) -> str:
        """Return the rate of mode k in dimension d in LaTeX."""
        return rf"\lambda_k = {latex(self.rate())}"


def uniform_instability(model: Any) -> UniformInstability:
    r"""Return the spectrum of the linearisation at the uniform law of the sphere.

    Parameters
    ----------
    model : AttentionModel or tuple of ZonalTerm
        On the sphere, with Q, K, V left out.

    Raises
    ------
    InputError
        If the attention is no function of cosines.

    References
    ----------
    GLPR23, Section 7; DLMF 10.32.2 (Poisson's integral), 18.5.5 (Rodrigues' formula).

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> uniform_instability(Softmax(space="sphere")).rate(1, 2)
    besseli(1, 1)/besseli(0, 1)
    """
    if isinstance(model, tuple):
        return UniformInstability("zonal attention", model)
    return UniformInstability(model.name, zonal_terms(model))


def _checked(value: Any, symbol: Symbol, least: int, name: str) -> Any:
    if value is symbol:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, Integer)) or value < least:
        raise InputError(f"{name} = {value!r} must be an integer ≥ {least}")
    return Integer(value)


def _term_rate(term: ZonalTerm, k: Any, d: Any) -> Expr:
    """a·k(k + d − 2)·λ_k(W)/N with N = 1, λ₀(w), or λ₀(w) + λ_k(w) where keys are scaled too.

    With Sinkhorn's scaling a density 1 + φ is seen as 1 + φ + α, where α + κ(φ + α) = 0, κ = λ_k(w)/λ₀(w).
    """
    potential = _eigenvalue(term.weight, k, d, order=k - 1)
    mass = S.One
    if term.normalise != "none":
        mass = _eigenvalue(term.weight, S.Zero, d, order=S.Zero)
    if term.normalise == "sinkhorn":
        mass += _eigenvalue(term.weight, k, d, order=k)
    value = term.strength * k * (k + d - 2) * potential / mass
    if value.has(Integral):
        return value
    tidy = powsimp(gammasimp(value), force=True)
    return simplify(tidy) if tidy.free_symbols else tidy


def _eigenvalue(weight: Expr, k: Any, d: Any, order: Any) -> Expr:
    """Return λ_k of the function whose k-th derivative is the derivative of the weight of the given order."""
    power = k + (d - 3) / S(2)
    slope = _exponent(weight)
    if slope is not None:
        moment = weight.subs(COSINE, 0) * slope**order * _exponential_moment(slope, power)
    elif k.is_Integer and d.is_Integer:
        moment = _moment(weight.diff(COSINE, int(order)), power)
    else:
        raise InputError("k and d must be numbers where the weight is no exponential")
    return gammasimp(gamma(d / S(2)) / (sqrt(pi) * 2**k * gamma(k + (d - 1) / S(2)))) * moment


def _exponent(weight: Expr) -> Expr | None:
    """Return b where w = c·exp(bu) with b, c free of u."""
    slope = simplify(weight.diff(COSINE) / weight) if weight.has(exp) else S.Zero
    return None if slope.has(COSINE) or slope == 0 else slope


def _exponential_moment(b: Expr, power: Expr) -> Expr:
    """∫ e^{bu}(1 − u²)^{ν − ½} du = √π Γ(ν + ½)(2/b)^ν I_ν(b), ν = power + ½ (Poisson)."""
    order = power + Rational(1, 2)
    return sqrt(pi) * gamma(order + Rational(1, 2)) * (2 / b) ** order * besseli(order, b)


def _moment(function: Expr, power: Expr) -> Expr:
    """∫ f(u)(1 − u²)^power du, exact for polynomials."""
    if function.is_polynomial(COSINE):
        polynomial = Poly(function, COSINE)
        return Add(*(c * _beta(int(m), power) for (m,), c in polynomial.terms() if m % 2 == 0))
    return Integral(function * (1 - COSINE**2) ** power, (COSINE, -1, 1))


def _beta(m: int, power: Expr) -> Expr:
    """∫ u^m(1 − u²)^power du for even m."""
    half = Rational(m + 1, 2)
    return gamma(half) * gamma(power + 1) / gamma(half + power + 1)


def _numeric(expr: Expr, values: dict[str, Any]) -> Any:
    exact = {s: Rational(str(values[s.name])) for s in expr.free_symbols if s.name in values}
    number = expr.subs(exact)
    open_ = sorted(s.name for s in number.free_symbols - {COSINE})
    if open_:
        raise InputError(f"parameter {open_[0]!r} needs a value")
    return lambdify(COSINE, number, modules="mpmath")


def _quadrature_rate(weight: Any, normalise: str, k: int, d: int) -> Any:
    """k(k + d − 2) λ_k(W) = ∫ w(u) f'(u)(1 − u²) dν for the zonal harmonic f of degree k, f(1) = 1.

    That is one integration by parts with ((1 − u²)^{(d−1)/2} f')' = −k(k + d − 2)(1 − u²)^{(d−3)/2} f.
    """
    import mpmath

    half = (mpmath.mpf(d) - 2) / 2

    def polynomial(u: Any) -> Any:
        if d == 2:
            return mpmath.chebyt(k, u)
        return mpmath.gegenbauer(k, half, u) / mpmath.gegenbauer(k, half, 1)

    def slope(u: Any) -> Any:
        if d == 2:
            return k * mpmath.chebyu(k - 1, u)
        return 2 * half * mpmath.gegenbauer(k - 1, half + 1, u) / mpmath.gegenbauer(k, half, 1)

    def mean(function: Any) -> Any:
        def over_angle(theta: Any) -> Any:
            return function(mpmath.cos(theta)) * mpmath.sin(theta) ** (d - 2)

        whole = mpmath.quad(lambda theta: mpmath.sin(theta) ** (d - 2), [0, mpmath.pi])
        return mpmath.quad(over_angle, mpmath.linspace(0, mpmath.pi, 5)) / whole

    change = mean(lambda u: weight(u) * slope(u) * (1 - u * u))
    if normalise == "none":
        return change
    seen = (lambda u: weight(u) * (1 + polynomial(u))) if normalise == "sinkhorn" else weight
    return change / mean(seen)
