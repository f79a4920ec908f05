"""Common noise of wide random layers, as numbers with proved errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from symflow.algebra.exact.numbers import Ball
from symflow.checking import Array, real_array
from symflow.errors import InputError, Undecided
from symflow.models.noise.activation import Activation
from symflow.models.noise.registry import activation as read_activation
from symflow.models.noise.statement import NoiseStatement
from symflow.models.scalars import exact_scalar
from symflow.noise.covariance import Covariance
from symflow.noise.enclosure import ball
from symflow.noise.exponents import exponent_parts
from symflow.noise.fields import covariance_of, ends_of, refuse_unknown
from symflow.noise.gegenbauer import schoenberg_coefficient
from symflow.noise.program import KappaProgram, OnCosines, kappa_program
from symflow.noise.rates import energy_profile, fractional_profile, minimum
from symflow.noise.scale import sync_probability

#: Bits beyond those that are asked for.
_GUARD = 112
_TERMS, _LEAST_PIECES, _MOST_PIECES = 12, 8, 512
#: What a table may add to the error of what it is made from, relative to the value at one.
_ERROR = 1e-15
#: How near to the minimum over all cosines a bound comes, relative to the values.
_MINIMUM = 1e-10


@dataclass(frozen=True)
class CommonNoise:
    r"""The Gaussian field on the unit sphere that wide layers of random weights add, common to all tokens.

    .. math:: \mathrm{Cov}(G(x), G(y)) = \kappa(\langle x, y\rangle)I_d, \qquad
              \kappa(u) = E[\phi(Z_1)\phi(Z_2)] + \sigma_W^2,

    Z₁, Z₂ normal with variance 1/d + σ_U² and covariance u/d + σ_U².

    Parameters
    ----------
    activation : str, SymPy expression or Activation
        φ: ``"relu"``, ``"leaky_relu"``, ``"tanh"``, ``"sigmoid"``, ``"silu"``, ``"erf"``, ``"linear"``, or an
        expression in ``z``: a polynomial, smooth and of at most exponential growth, or linear on both sides
        of zero.
    sigma_w, sigma_u : number, default 0
        Standard deviations of the biases outside and inside φ. A float stands for its decimal literal.
    dim : int
        d ≥ 2, the size of tokens.
    digits : int, default 15
        Digits that enclosures aim at.

    Raises
    ------
    InputError
        If an argument is out of its domain, or φ is neither of these.

    References
    ----------
    ABGSR26.

    Examples
    --------
    >>> noise = CommonNoise("relu", 0.1, 0.1, dim=5)
    >>> float(noise.lyapunov), float(noise.dissipation), noise.is_odd
    (-0.13, 0.17, False)
    """

    activation: Any
    sigma_w: Any = 0
    sigma_u: Any = 0
    dim: Any = None
    digits: int = 15

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", read_activation(self.activation))
        for name in ("sigma_w", "sigma_u"):
            object.__setattr__(self, name, _exact(name, getattr(self, name)))
        if isinstance(self.dim, bool) or not isinstance(self.dim, (int, np.integer)) or self.dim < 2:
            raise InputError(f"dim = {self.dim!r}: give the size d of tokens, a whole number from 2 on")
        object.__setattr__(self, "dim", int(self.dim))
        if not (isinstance(self.digits, int) and 1 <= self.digits <= 200):
            raise InputError(f"digits = {self.digits!r}: give a whole number from 1 to 200")
        refuse_unknown(self.statement.phi, self.statement.z)

    def __reduce__(self) -> tuple[Any, ...]:
        return CommonNoise, (self.activation, self.sigma_w, self.sigma_u, self.dim, self.digits)

    # ------------------------------------------------------------------------------------ definition

    @cached_property
    def statement(self) -> NoiseStatement:
        """The field as the definition states it, with these values."""
        from sympy import Integer, Rational

        declared: Activation = self.activation
        return NoiseStatement(
            name=declared.name,
            phi=declared.expression,
            dim=Integer(self.dim),
            sigma_w=Rational(self.sigma_w.numerator, self.sigma_w.denominator),
            sigma_u=Rational(self.sigma_u.numerator, self.sigma_u.denominator),
            reference=declared.reference,
        )

    @property
    def variance(self) -> Fraction:
        """q = 1/d + σ_U², the variance of the argument of φ."""
        return Fraction(1, self.dim) + Fraction(self.sigma_u) ** 2

    @property
    def scale(self) -> Fraction:
        """1/(dq), by which 1 − u is the distance 1 − r of a correlation from one."""
        return Fraction(1, self.dim) / self.variance

    @property
    def is_odd(self) -> bool:
        """Whether G(−y) = −G(y) almost surely, decided by an identity."""
        return self.statement.is_odd

    @property
    def bits(self) -> int:
        """Binary digits that enclosures aim at."""
        return int(self.digits * 3.33) + 4

    @property
    def precision(self) -> int:
        """Bits of the balls."""
        return self.bits + _GUARD

    @cached_property
    def covariance(self) -> Covariance:
        """E φ(Z₁)φ(Z₂) as a function of the correlation of Z₁ and Z₂, in balls."""
        from flint import ctx

        with ctx.workprec(self.precision):
            return covariance_of(self.statement.phi, self.statement.z, self.variance, self.bits)

    @cached_property
    def on_cosines(self) -> OnCosines:
        """The same as a function of the cosine."""
        return OnCosines(self.covariance, self.scale)

    # ---------------------------------------------------------------------------------------- balls

    @property
    def kappa_at_one(self) -> Ball:
        """κ(1) = E φ(Z)² + σ_W²."""
        return Ball.of(self.ends[0])

    @property
    def slope_at_one(self) -> Ball:
        """κ'(1) = E φ'(Z)²/d."""
        return Ball.of(self.ends[1])

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """κ(1) and κ'(1) as ``flint.arb``."""
        from flint import ctx

        with ctx.workprec(self.precision):
            found = ends_of(self.statement.phi, self.statement.z, self.variance, self.bits)
            return found[0] + ball(self.sigma_w**2), found[1] * ball(self.scale)

    def enclose(self, u: Any) -> Ball:
        """Return κ(u) at an exact cosine, a fraction or a float, with a proved error."""
        return self._at(u)[0]

    def enclose_derivative(self, u: Any) -> Ball:
        """Return κ'(u) at an exact cosine with a proved error."""
        return self._at(u)[1]

    def _at(self, u: Any) -> tuple[Ball, Ball]:
        from flint import ctx

        exact = _cosine(u)
        with ctx.workprec(self.precision):
            r = self.on_cosines.correlation(ball(exact))
            value = self.covariance.value(r) + ball(self.sigma_w**2)
            return Ball.of(value), Ball.of(self.covariance.slope(r) * ball(self.scale))

    # ------------------------------------------------------------------------------------ exponents

    @cached_property
    def lyapunov(self) -> Ball:
        """λ₁, the Lyapunov exponent of two tokens that meet, without attention."""
        return self._exponent("lyapunov")

    @cached_property
    def dissipation(self) -> Ball:
        """λ̄, the rate of the mean squared distance of two tokens that meet, without attention."""
        return self._exponent("dissipation")

    def moment_exponent(self, p: Any) -> Ball:
        """Return Λ(p), the rate of the mean of the p-th power of the distance of two tokens that meet.

        Parameters
        ----------
        p : number
            Any exponent, negative ones included; a float stands for its decimal literal.
        """
        order = exact_scalar("p", abs(p), allow_zero=True)
        return self._exponent("moments", Fraction(int(order.p), int(order.q)) * (-1 if p < 0 else 1))

    @cached_property
    def critical_exponent(self) -> Ball:
        """The p ≠ 0 with Λ(p) = 0: where λ₁ < 0, moments of distances below it decay."""
        from flint import ctx

        with ctx.workprec(self.precision):
            linear = self._arb("moments", Fraction(1)) - self._arb("moments", Fraction(-1))
            bend = self._arb("moments", Fraction(1)) + self._arb("moments", Fraction(-1))
            return Ball.of(-linear / bend)

    def rate(self, beta: Any) -> Ball:
        r"""Return λ̄', the rate by which the mean dissipation energy at β grows at most, without attention.

        :math:`\bar\lambda' = -\inf F` over [−1, 1) with F = −Lf/f, f = e^β − e^{βu}, by branch and bound.

        Parameters
        ----------
        beta : number
            β > 0; a float stands for its decimal literal.

        References
        ----------
        ABGSR26.
        """
        exact = _exact("beta", beta, allow_zero=False)
        found = minimum(energy_profile(self, exact), _MINIMUM, self.precision).value
        return Ball(-found.midpoint, found.radius)

    def fractional_rate(self, power: Any) -> Ball:
        """Return the largest value of Lf/f over [−1, 1) for f = (1 − u)^q.

        Where it is negative the fractional energy ∬(1 − u)^q dμdμ decays in mean, without attention.

        Parameters
        ----------
        power : number
            q > 0.
        """
        exact = _exact("power", power, allow_zero=False)
        found = minimum(fractional_profile(self, exact), _MINIMUM, self.precision).value
        return Ball(-found.midpoint, found.radius)

    def sync_probability(self, u0: Any) -> Ball:
        r"""Return the probability that two tokens meet in odd noise, instead of becoming opposite.

        .. math:: P(u_t \to 1) = \int_{-1}^{u_0}s' \Big/ \int_{-1}^{1}s', \qquad s' = e^{-\int G_0/G_1}

        Parameters
        ----------
        u0 : number
            Cosine at the start, in [−1, 1]; a float stands for the fraction that it is.

        Raises
        ------
        InputError
            If the noise is not odd or λ₁ ≥ 0.

        References
        ----------
        ABGSR26.

        Examples
        --------
        >>> round(float(CommonNoise("linear", dim=3).sync_probability(0.5)), 12)  # 1 − arccos(1/2)/π
        0.666666666667
        """
        return sync_probability(self, _cosine(u0))

    def gegenbauer(self, k: int) -> Ball:
        r"""Return the k-th Schoenberg coefficient b_k ≥ 0 of κ.

        .. math:: \kappa(u) = \sum_k b_k P_k(u), \qquad P_k(1) = 1,

        P_k the Gegenbauer polynomial of degree k, a zonal harmonic on the unit sphere in dimension d.

        Parameters
        ----------
        k : int
            Degree, from 0 on.
        """
        return schoenberg_coefficient(self, k)

    def _exponent(self, name: str, order: Fraction = Fraction(1)) -> Ball:
        from flint import ctx

        with ctx.workprec(self.precision):
            return Ball.of(self._arb(name, order))

    def _arb(self, name: str, order: Fraction) -> Any:
        value, slope = (ball(c) for c in exponent_parts(name, self.dim, order))
        at_one, slope_at_one = self.ends
        return value * at_one + slope * slope_at_one

    # --------------------------------------------------------------------------------------- floats

    def kappa(self, u: Any) -> Any:
        """Return κ(u) in double precision, to about 1e-14 of κ(1).

        Parameters
        ----------
        u : array_like
            Cosines in [−1, 1]; what rounding moved out of it by less than 1e-12 counts as the end.
        """
        return _evaluated(self._programs[0], u)

    def kappa_derivative(self, u: Any) -> Any:
        """Return κ'(u) in double precision, as :meth:`kappa`."""
        return _evaluated(self._programs[1], u)

    def kappa_program(self, pieces: int = 0, terms: int = _TERMS, per_unit: float = 0.0) -> KappaProgram:
        """Return κ as a table of polynomials with a proved error, for compiled code.

        Parameters
        ----------
        pieces : int
            On either side of u = 0; 0 for as many as reach an error of 1e-15·κ(1), a power of two.
        terms : int
            Coefficients of a piece.
        per_unit : float
            Pieces per unit of √(1 − |u|); 0 for their number.
        """
        return self._program(False, pieces, terms, per_unit)

    @cached_property
    def _programs(self) -> tuple[KappaProgram, KappaProgram]:
        return self._program(False, 0, _TERMS, 0.0), self._program(True, 0, _TERMS, 0.0)

    def _program(self, slope: bool, pieces: int, terms: int, per_unit: float) -> KappaProgram:
        bias = ball(Fraction(0) if slope else self.sigma_w**2)
        inner = self.on_cosines.slope if slope else self.on_cosines.value
        slack = self.covariance.slack[slope]
        allowed = _ERROR * float(self.slope_at_one if slope else self.kappa_at_one) + float(slack)
        count = pieces or _LEAST_PIECES
        while True:
            found = kappa_program(
                lambda s, side: inner(s, side) + bias, slack, count, terms, per_unit or float(count)
            )
            if pieces or found.error <= allowed:
                return found
            if count >= _MOST_PIECES:
                raise Undecided(
                    f"a table of {count} pieces misses the covariance by up to {found.error:.1e}: it is too "
                    "steep; use a smaller sigma_u"
                )
            count *= 2

    def to_record(self) -> Mapping[str, Any]:
        """Return what defines the field, as text and numbers that files can hold."""
        return {
            "activation": self.activation.phi,
            "sigma_w": str(self.sigma_w),
            "sigma_u": str(self.sigma_u),
            "dim": self.dim,
        }


def _exact(name: str, value: Any, *, allow_zero: bool = True) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    exact = exact_scalar(name, value, allow_zero=allow_zero)
    if not exact.is_Rational:
        raise InputError(f"{name} = {value} is not rational; give a decimal number or a fraction")
    return Fraction(int(exact.p), int(exact.q))


def _cosine(u: Any) -> Fraction:
    exact = Fraction(u)
    if not -1 <= exact <= 1:
        raise InputError(f"u = {u}: a cosine lies between -1 and 1")
    return exact


def _evaluated(program: KappaProgram, u: Any) -> Any:
    cosines: Array = real_array(u, "u")
    if np.any(np.abs(cosines) > 1.0 + 1e-12):
        raise InputError("u has values outside [-1, 1]; give cosines")
    found = program(np.clip(cosines, -1.0, 1.0))
    return float(found) if cosines.ndim == 0 else found
