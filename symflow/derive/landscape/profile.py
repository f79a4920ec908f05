r"""Energies of pairs that see cosines: second variations under rotations and along fields.

With :math:`W(x, y) = f(\langle x, y\rangle)` on the unit sphere, c the cosine and B skew, :math:`c' = \langle
Bx, y\rangle` and :math:`c'' = \langle B^2x, y\rangle` where x turns with :math:`e^{tB}`; along the field
:math:`P_xu` both tokens move.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr, Symbol, Trace, factor

from symflow.algebra.symbols import dimension
from symflow.errors import InputError
from symflow.models.energies.statement import EnergyStatement

COSINE = Symbol("c", real=True)


def profile(energy: EnergyStatement) -> Expr:
    """Return f with W(x, y) = f(⟨x, y⟩).

    Raises
    ------
    InputError
        If the energy is not one of pairs on the sphere that sees cosines alone.
    """
    value = energy.pair.xreplace({Trace(energy.x.T * energy.y): COSINE})
    if energy.space != "sphere" or energy.potential != 0 or value.has(energy.x) or value.has(energy.y):
        raise InputError(f"the energy {energy.name!r} is no function of the cosines of pairs on the sphere")
    return value


def block_excess(energy: EnergyStatement) -> Expr:
    r"""Return g with :math:`\sum_B\frac{d^2}{dt^2}F = -n^{-2}\sum_{i\in S, j\notin S}g(c_{ij})`.

    .. math:: g(c) = (d - 1)\,c\,f'(c) - (1 - c^2)f''(c)

    The tokens of S turn with :math:`e^{tB}`, and the sum is over an orthonormal basis of the skew matrices.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> block_excess(Interaction().statement())
    (beta*c**2 - beta + c*d - c)*exp(beta*c)
    """
    f: Any = profile(energy)
    d = dimension("d")
    return factor((d - 1) * COSINE * f.diff(COSINE) - (1 - COSINE**2) * f.diff(COSINE, 2))


def field_variation(energy: EnergyStatement) -> Expr:
    r"""Return T with :math:`\sum_u\frac{d^2}{dt^2}F = \frac{1}{2n^2}\sum_{i,j}T(c_{ij})`.

    .. math:: T(c) = 2(1 - c)\bigl((1 - c^2)f''(c) + (d - 2 - c)f'(c)\bigr)

    All tokens follow :math:`x' = P_xu`, and the sum is over an orthonormal basis of vectors u.

    Examples
    --------
    >>> from symflow.models.energies.interaction import Interaction
    >>> field_variation(Interaction().statement())
    2*(c - 1)*(beta*c**2 - beta + c - d + 2)*exp(beta*c)
    """
    f: Any = profile(energy)
    inside = (1 - COSINE**2) * f.diff(COSINE, 2) + (dimension("d") - 2 - COSINE) * f.diff(COSINE)
    return factor(2 * (1 - COSINE) * inside)
