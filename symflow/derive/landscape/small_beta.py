r"""How far β may go until a critical point of the interaction energy need no longer be a strict saddle.

Let the tokens of a critical point of :math:`E_\beta` not be all equal. They are in no open hemisphere, so
that some token has :math:`\sum_{j\ne i}c_j \le -1`, :math:`c_j = \langle x_i, x_j\rangle`. Where it alone is
rotated, the Hessian has an eigenvalue of at least

.. math:: -\frac{1}{(d-1)n^2}\sum_{j\ne i}\varphi(c_j), \qquad
          \varphi(c) = e^{\beta c}\bigl((d-1)c - \beta(1 - c^2)\bigr),

and four bounds of the sum are used.

1. *Chord*: :math:`\varphi(c) \le (d-1)(\sinh\beta + c\cosh\beta)`; the bound is
   :math:`(\cosh\beta - (n-1)\sinh\beta)/n^2`.
2. *Corner*: :math:`\varphi''(c) = \beta e^{\beta c}(\beta^2c^2 + \beta(d+3)c + 2d - \beta^2)`, whose last
   factor increases from :math:`2d - \beta(d+3)` at −1 where :math:`2\beta \le d + 3`. So φ is convex for
   :math:`\beta \le 2d/(d+3)`, and the sum is largest at a corner of the cube with one inequality. For odd n
   that is :math:`\frac{n-3}2` times 1, once 0, the rest −1.
3. *Three tokens*: two cosines with a sum of at most −1 are not positive, and
   :math:`-\varphi(c) \ge (d-1)e^{-\beta}|c|` there.
4. *Space*: for d ≥ 3 all tokens move along a field, and the bound is
   :math:`2e^{-\beta}((d-2)n + 1)/((d-1)n^3)` for every β.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from symflow.errors import InputError

_BITS = 128
_PARTS = 2**20  #: β is a multiple of 1/_PARTS


def small_beta_bound(n: int, d: int) -> Fraction | None:
    """Return a β up to which every critical point that is not consensus is a strict saddle, or None.

    Parameters
    ----------
    n, d : int
        Number of tokens and dimension, both at least two.

    Returns
    -------
    Fraction or None
        A rational β for which the inequality of the proof is certified in ball arithmetic, as it is for every
        smaller positive β, and which is at most 2⁻²⁰ from the end of this proof; None where every positive β
        is covered.

    Raises
    ------
    InputError
        If n or d is out of range.

    References
    ----------
    GLPR23.

    Examples
    --------
    >>> small_beta_bound(3, 2), small_beta_bound(100, 3)
    (None, None)
    >>> [round(float(small_beta_bound(n, 2)), 4) for n in (4, 5)]  # log(2)/2; beyond log(5/3)/2 by a corner
    [0.3466, 0.5344]
    """
    _require_sizes(n, d)
    if n <= 3 or d >= 3:
        return None
    least, most = Fraction(0), Fraction(1)
    while most - least > Fraction(1, _PARTS):
        middle = (least + most) / 2
        least, most = (middle, most) if _best(n, d, middle) > 0 else (least, middle)
    return least


def saddle_eigenvalue(n: int, d: int, beta: Any) -> Any:
    r"""Return a certified lower bound of the largest eigenvalue of the Hessian away from consensus.

    The Hessian is that of :math:`E_\beta` at a critical point whose tokens are not all equal, with respect to
    :math:`\sum_i|\xi_i|^2`.

    Parameters
    ----------
    n, d : int
        Number of tokens and dimension, both at least two.
    beta : Fraction, int or float
        β > 0; a float is read as the rational that it is.

    Returns
    -------
    flint.arb
        A ball of positive numbers, each of which is a lower bound up to the radius of the ball.

    Raises
    ------
    InputError
        If a number is out of range, or the proof does not reach β.

    Examples
    --------
    >>> round(float(saddle_eigenvalue(4, 2, Fraction(1, 4)).mid()), 4)
    0.0171
    """
    _require_sizes(n, d)
    exact = Fraction(beta)
    if not exact > 0:
        raise InputError(f"beta = {beta!r}: give a positive number")
    found = _best(n, d, exact)
    if not found > 0:
        raise InputError(
            f"beta = {beta!r} is beyond what is shown for n = {n}, d = {d}; see small_beta_bound"
        )
    return found


def _require_sizes(n: Any, d: Any) -> None:
    for name, value in (("n", n), ("d", d)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 2:
            raise InputError(f"{name} = {value!r}: give an integer of at least 2")


def _best(n: int, d: int, beta: Fraction) -> Any:
    """Return the largest of the bounds that apply."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(_BITS):
        ball = arb(fmpq(beta.numerator, beta.denominator))
        values = [bound(n, d, beta, ball) for bound in _BOUNDS]
        return max((value for value in values if value is not None), key=lambda value: value.lower())


def _chord(n: int, _d: int, _beta: Fraction, ball: Any) -> Any:
    return (ball.cosh() - (n - 1) * ball.sinh()) / n**2


def _corner(n: int, d: int, beta: Fraction, ball: Any) -> Any:
    if n % 2 == 0 or beta * (d + 3) > 2 * d:
        return None
    outer = (n - 1) * (-ball).exp() / 2 - (n - 3) * ball.exp() / 2
    return (outer + ball / (d - 1)) / n**2


def _three(n: int, _d: int, _beta: Fraction, ball: Any) -> Any:
    return (-ball).exp() / n**2 if n == 3 else None


def _space(n: int, d: int, _beta: Fraction, ball: Any) -> Any:
    return 2 * (-ball).exp() * ((d - 2) * n + 1) / ((d - 1) * n**3) if d >= 3 else None


_BOUNDS: tuple[Callable[[int, int, Fraction, Any], Any], ...] = (_chord, _corner, _three, _space)
