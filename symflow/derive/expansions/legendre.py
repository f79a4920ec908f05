r"""Harmonics of degree l on S² by recurrence, in exact fractions.

The m-th derivatives of Legendre polynomials satisfy, from Bonnet's recurrence,

.. math:: (l+1-m)\,P_{l+1}^{(m)} = (2l+1)\,z\,P_l^{(m)} - (l+m)\,P_{l-1}^{(m)}, \qquad P_m^{(m)} = (2m-1)!!.

Scaled by :math:`\sigma_{lm}`, :math:`P_l^{(m)} = \sigma_{lm} q_{lm}`, they take one multiplication less:
:math:`q_{l+1,m} = \alpha_{lm} z\,q_{lm} - q_{l-1,m}`, :math:`q_{mm} = 1`. The addition theorem reads

.. math:: P_l(\langle u, x\rangle) = \sum_{m\le l} w_{lm}\, q_{lm}(u_3)\,q_{lm}(x_3)\,
          \mathrm{Re}\,(u_1+iu_2)^m\overline{(x_1+ix_2)}^m, \qquad
          w_{lm} = (2-\delta_{m0})\frac{(l-m)!}{(l+m)!}\sigma_{lm}^2.
"""

from __future__ import annotations

import functools
from fractions import Fraction

Row = list[Fraction]


@functools.lru_cache(maxsize=8)
def harmonics(modes: int) -> tuple[tuple[Row, ...], tuple[Row, ...], tuple[Row, ...]]:
    r"""Return α, w and the slants :math:`dq_{lm}/dz = \gamma_{lm} q_{l,m+1}`, rows m, entries l = m … modes.

    Examples
    --------
    >>> steps, weights, slants = harmonics(2)
    >>> steps[0]
    [Fraction(1, 1), Fraction(3, 1), Fraction(5, 4)]
    """
    scales = [_scales(m, modes + 1) for m in range(modes + 2)]
    steps = tuple(_steps(m, modes, scales[m]) for m in range(modes + 1))
    weights = tuple(_weights(m, modes, scales[m]) for m in range(modes + 1))
    slants = tuple(
        [Fraction(0), *(scales[m + 1][l - m - 1] / scales[m][l - m] for l in range(m + 1, modes + 1))]
        for m in range(modes + 1)
    )
    return steps, weights, slants


def _scales(m: int, last: int) -> Row:
    """Return σ_lm for l = m … last: σ_{l+1} (l + 1 − m) = σ_{l−1} (l + m)."""
    first = Fraction(1)
    for odd in range(1, 2 * m, 2):
        first *= odd
    found = [first, first * (2 * m + 1)]
    for l in range(m + 1, last):
        found.append(found[-2] * Fraction(l + m, l + 1 - m))
    return found[: max(last - m + 1, 0)]


def _steps(m: int, modes: int, scales: Row) -> Row:
    return [scales[l - m] * (2 * l + 1) / (scales[l - m + 1] * (l + 1 - m)) for l in range(m, modes + 1)]


def _weights(m: int, modes: int, scales: Row) -> Row:
    factor = Fraction(1 if m == 0 else 2)
    for k in range(1, 2 * m + 1):
        factor /= k
    found = []
    for l in range(m, modes + 1):
        found.append(factor * scales[l - m] ** 2)
        factor *= Fraction(l + 1 - m, l + 1 + m)
    return found
