"""What a layer of random weights says, as SymPy; covariances and exponents are derived from it."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Rational, S, Symbol, simplify

from symflow.algebra.symbols import dimension
from symflow.errors import Undecided

#: The argument of an activation.
Z = Symbol("z", real=True)
#: The size d of tokens.
DIMENSION = dimension("d")
#: Standard deviations of the biases outside and inside the activation.
SIGMA_W = Symbol("sigma_W", real=True, nonnegative=True)
SIGMA_U = Symbol("sigma_U", real=True, nonnegative=True)
#: Where a function that is not odd is told from an odd one.
_PLACES = (S.Zero, S.One, Rational(1, 3), Rational(-7, 5), S(4))


@dataclass(frozen=True)
class NoiseStatement:
    r"""The field of a wide layer of random weights on unit vectors, at symbolic size.

    .. math:: G(y) = m^{-1/2} W \phi(d^{-1/2} U y + b_U) + b_W

    W, U have independent standard normal entries, b_W and b_U normal ones of standard deviations σ_W, σ_U.

    Attributes
    ----------
    name : str
        Identifier, e.g. ``"relu"``.
    phi : Expr
        φ(z).
    z : Symbol
        The argument of φ.
    dim : Expr
        d: the symbol, or a number.
    sigma_w, sigma_u : Expr
        σ_W and σ_U: the symbols, or numbers.
    reference : str
        Citation key and equation.

    Examples
    --------
    >>> NoiseStatement("linear", Z).variance
    sigma_U**2 + 1/d
    """

    name: str
    phi: Expr
    z: Symbol = Z
    dim: Expr = DIMENSION
    sigma_w: Expr = SIGMA_W
    sigma_u: Expr = SIGMA_U
    reference: str = ""

    @property
    def variance(self) -> Expr:
        """q, the variance of the argument of φ at a unit vector."""
        return 1 / self.dim + self.sigma_u**2

    def covariance(self, cosine: Expr) -> Expr:
        """Return the covariance of the arguments of φ at unit vectors with this cosine."""
        return cosine / self.dim + self.sigma_u**2

    @property
    def odd_part(self) -> Expr:
        """(φ(z) − φ(−z))/2."""
        return (self.phi - self.phi.subs(self.z, -self.z)) / 2

    @property
    def even_part(self) -> Expr:
        """(φ(z) + φ(−z))/2."""
        return (self.phi + self.phi.subs(self.z, -self.z)) / 2

    @property
    def is_odd(self) -> bool:
        """Whether G(−y) = −G(y) is an identity: φ is odd and there are no biases.

        Raises
        ------
        Undecided
            If φ(z) + φ(−z) neither simplifies to zero nor differs from it at the points tried.
        """
        if self.sigma_w != 0 or self.sigma_u != 0:
            return False
        if simplify(self.even_part) == S.Zero:
            return True
        if any(self.even_part.subs(self.z, place).is_zero is False for place in _PLACES):
            return False
        raise Undecided(f"whether {self.phi} is odd is open: it does not simplify")
