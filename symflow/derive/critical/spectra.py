r"""Spectra of Hessians at symmetric configurations, in closed form for symbolic parameters.

For an energy :math:`\tfrac1{2n^2}\sum_{i,j}w(\langle x_i, x_j\rangle)` on the sphere the Hessian is

.. math:: \frac{1}{2n^2}\sum_{i,j}\bigl[w''(c_{ij})(\langle\xi_i,x_j\rangle + \langle x_i,\xi_j\rangle)^2
          + w'(c_{ij})(2\langle\xi_i,\xi_j\rangle - (|\xi_i|^2 + |\xi_j|^2)c_{ij})\bigr].

Along a direction ν orthogonal to all tokens, :math:`\xi_i = a_i\nu`, it is :math:`a^\top Ma` with
:math:`M = n^{-2}(w'(C) - \operatorname{diag}\sum_jw'(c_{ij})c_{ij})`: the same matrix for each of these
directions. What is left moves the tokens in their span, where the symmetries of the configuration decompose
it. Eigenvalues are with respect to :math:`\sum_i|\xi_i|^2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sympy import Dummy, Expr, Identity, Integer, MatMul, Rational, S, Symbol, cos, pi, sin, sympify

from symflow.derive.critical.structure import structure
from symflow.errors import InputError

__all__ = [
    "Eigenvalue",
    "Zonal",
    "cluster_spectrum",
    "consensus_spectrum",
    "polygon_spectrum",
    "simplex_spectrum",
    "zonal",
]


class Eigenvalue(NamedTuple):
    """An eigenvalue and its multiplicity; equal eigenvalues of different origin are listed apart."""

    value: Expr
    multiplicity: Any


@dataclass(frozen=True)
class Zonal:
    """An energy of pairs as a function w of their cosine."""

    cosine: Symbol
    weight: Expr

    def slope(self, c: Any) -> Expr:
        """Return w'(c)."""
        return self.weight.diff(self.cosine).subs(self.cosine, c)

    def bend(self, c: Any) -> Expr:
        """Return w''(c)."""
        return self.weight.diff(self.cosine, 2).subs(self.cosine, c)


def zonal(energy: Any) -> Zonal:
    """Return the function of cosines that an energy sums over pairs.

    Parameters
    ----------
    energy : EnergyModel, or Energy with values
        Values of parameters are inserted exactly, symbols stay.

    Raises
    ------
    InputError
        If the energy is no function of the cosines of pairs.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> found = zonal(Interaction())
    >>> found.slope(1)
    exp(beta)
    """
    statement = energy.statement()
    refusal = InputError(f"the energy {statement.name} is no function of the cosines of pairs of tokens")
    try:
        found = structure(statement, "sphere")
    except InputError as error:
        raise refusal from error
    alone = found.distances or found.rows or found.columns or found.potential.value != 0
    if alone or len(found.products) != 1:
        raise refusal
    (product,) = found.products
    parts = product.B.as_coeff_matrices() if isinstance(product.B, MatMul) else (S.One, [product.B])
    scale, matrices = parts
    if not all(isinstance(matrix, Identity) for matrix in matrices) or not (
        product.p.is_ZeroMatrix and product.q.is_ZeroMatrix
    ):
        raise refusal
    cosine = Dummy("c", real=True)
    weight = found.pair.value.subs(product.symbol, scale * cosine + product.c)
    return Zonal(cosine, weight.subs(_values(energy, statement)))


def _values(energy: Any, statement: Any) -> dict[Any, Any]:
    if not hasattr(energy, "exact"):
        return {}
    exact = energy.exact()
    return {p: Rational(exact[p.name].numerator, exact[p.name].denominator) for p in statement.parameters}


def consensus_spectrum(energy: Any, n: Any, d: Any) -> list[Eigenvalue]:
    r"""Return the spectrum where all n tokens agree: M = n⁻²w'(1)(J − nI) along d − 1 directions.

    Parameters
    ----------
    energy : EnergyModel or Energy
        A function of cosines.
    n, d : int or Symbol

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> from sympy import symbols
    >>> n, d = symbols("n d", positive=True, integer=True)
    >>> consensus_spectrum(Interaction(), n, d)[0]
    Eigenvalue(value=-exp(beta)/n, multiplicity=(d - 1)*(n - 1))
    """
    w, n, d = zonal(energy), sympify(n), sympify(d)
    return [Eigenvalue(-w.slope(1) / n, (n - 1) * (d - 1)), Eigenvalue(S.Zero, d - 1)]


def cluster_spectrum(energy: Any, k: Any, m: Any, d: Any) -> list[Eigenvalue]:
    r"""Return the spectrum at k tokens at a point and m tokens at its antipode.

    Inside a cluster M is a multiple of I beside a multiple of J, so that vectors of sum zero are
    eigenvectors; on vectors that are constant on both clusters it is w'(−1)n⁻²[[m, √(km)], [√(km), k]].

    Parameters
    ----------
    energy : EnergyModel or Energy
        A function of cosines.
    k, m, d : int or Symbol
        k, m ≥ 1.
    """
    w, k, m, d = zonal(energy), sympify(k), sympify(m), sympify(d)
    n, near, far = k + m, w.slope(1), w.slope(-1)
    return [
        Eigenvalue((m * far - k * near) / n**2, (k - 1) * (d - 1)),
        Eigenvalue((k * far - m * near) / n**2, (m - 1) * (d - 1)),
        Eigenvalue(far / n, d - 1),
        Eigenvalue(S.Zero, d - 1),
    ]


def polygon_spectrum(energy: Any, n: int, d: Any = 2) -> list[Eigenvalue]:
    r"""Return the spectrum at the regular n-gon: circulant matrices, with the Fourier modes as eigenvectors.

    .. math:: \lambda_m = n^{-2}\sum_{k=1}^{n-1} f''(\tfrac{2\pi k}n)(1 - \cos\tfrac{2\pi km}n),\qquad
              f(\theta) = w(\cos\theta)

    for motions along the circle, and :math:`n^{-2}\sum_kw'(\cos\tfrac{2\pi k}n)(\cos\tfrac{2\pi km}n -
    \cos\tfrac{2\pi k}n)` for each of the d − 2 directions across.

    Parameters
    ----------
    energy : EnergyModel or Energy
        A function of cosines.
    n : int
        At least 2.
    d : int or Symbol, default 2

    Returns
    -------
    list of Eigenvalue
        In the order of m = 0, …, n − 1, first along and then across.
    """
    if not isinstance(n, int) or n < 2:
        raise InputError(f"n = {n!r} must be an integer of at least 2")
    w, d = zonal(energy), sympify(d)
    angles = [2 * pi * Integer(k) / n for k in range(n)]
    curved = [w.bend(cos(a)) * sin(a) ** 2 - w.slope(cos(a)) * cos(a) for a in angles]
    found = []
    for m in range(n):
        total = sum((f * (1 - cos(m * a)) for f, a in zip(curved, angles, strict=True)), S.Zero)
        found.append(Eigenvalue(total / n**2, S.One))
    for m in range(n if d != 2 else 0):
        total = sum((w.slope(cos(a)) * (cos(m * a) - cos(a)) for a in angles), S.Zero)
        found.append(Eigenvalue(total / n**2, d - 2))
    return found


def simplex_spectrum(energy: Any, n: Any, d: Any = None) -> list[Eigenvalue]:
    r"""Return the spectrum at the regular simplex of n ≥ 3 tokens, c = −1/(n − 1), d ≥ n − 1.

    Across, M = n⁻²w'(c)J. In the span let :math:`a_{ij} = \langle\xi_i, x_j\rangle`, a matrix with zero
    diagonal and zero row sums; the form is :math:`n^{-2}(\tfrac12w''\sum(a_{ij} + a_{ji})^2 +
    w'|\sum_i\xi_i|^2)` and :math:`|\xi_i|^2 = \tfrac{n-1}n\sum_ja_{ij}^2`. Such matrices are the sum of
    antisymmetric ones (rotations), symmetric ones, and :math:`a_{ij} = u_i + (n-1)u_j`, :math:`\sum u = 0`;
    permutations allow no cross terms between these.

    Parameters
    ----------
    energy : EnergyModel or Energy
        A function of cosines.
    n : int or Symbol
    d : int or Symbol, optional
        n − 1 by default.
    """
    w, n = zonal(energy), sympify(n)
    d = n - 1 if d is None else sympify(d)
    if n.is_Integer and (n < 3 or (d.is_Integer and d < n - 1)):
        raise InputError(f"n = {n}, d = {d}: a simplex has n ≥ 3 tokens in d ≥ n − 1 dimensions")
    c = -1 / (n - 1)
    slope, bend, across = w.slope(c), w.bend(c), d - n + 1
    return [
        Eigenvalue(S.Zero, (n - 1) * (n - 2) / 2 + (n - 1) * across),
        Eigenvalue(2 * bend / (n * (n - 1)), n * (n - 3) / 2),
        Eigenvalue((n * bend + (n - 1) * (n - 2) * slope) / (n * (n - 1) ** 2), n - 1),
        Eigenvalue(slope / n, across),
    ]
