r"""Activations as sums of terms whose Gaussian averages close up.

.. math:: \phi(z) = \sum_i c_i\,z^{n_i}\,h_i(z), \qquad
          h \in \{1,\ \mathbf 1_{z>0},\ \delta_0,\ \operatorname{erf}(az),\ e^{-bz^2}\}

Derivatives of these are of the same kind, as far as they are needed: δ is what the derivative of a kink is,
and is never differentiated itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Expr, Mul, S, Symbol, erf, exp, expand, pi, simplify, sqrt

from symflow.errors import InputError

PLAIN, STEP, POINT, ERROR, BELL = "1", "step", "delta", "erf", "bell"
_MOST = 2  #: power beside erf or a bell, for which closed forms are short enough to be of use


class NoClosedForm(InputError):
    """A Gaussian average for which no closed form is known here; the message says of what."""


@dataclass(frozen=True)
class Term:
    r"""c zⁿ h(z).

    Attributes
    ----------
    factor : Expr
        c, free of z.
    power : int
        n.
    kind : str
        Which h.
    rate : Expr
        a > 0 or b > 0, zero where there is none.
    """

    factor: Expr
    power: int
    kind: str = PLAIN
    rate: Expr = S.Zero

    def derivative(self) -> tuple[Term, ...]:
        """Return the derivative, in the sense of distributions.

        Raises
        ------
        NoClosedForm
            If it is the derivative of a point mass.
        """
        if self.kind == POINT:
            raise NoClosedForm("the derivative of a point mass is needed")
        found = [replace(self, factor=self.factor * self.power, power=self.power - 1)] if self.power else []
        if self.kind == STEP and self.power == 0:
            found.append(Term(self.factor, 0, POINT))
        if self.kind == ERROR:
            found.append(Term(self.factor * 2 * self.rate / sqrt(pi), self.power, BELL, self.rate**2))
        if self.kind == BELL:
            found.append(replace(self, factor=-2 * self.rate * self.factor, power=self.power + 1))
        return tuple(found)


Terms = tuple[Term, ...]


def derivative(terms: Terms) -> Terms:
    """Return the derivative of a sum, like terms collected."""
    return collected([part for term in terms for part in term.derivative()])


def collected(terms: list[Term]) -> Terms:
    """Add up the factors of like terms."""
    found: dict[tuple[int, str, Expr], Expr] = {}
    for term in terms:
        key = (term.power, term.kind, term.rate)
        found[key] = found.get(key, S.Zero) + term.factor
    return tuple(Term(expand(c), *key) for key, c in found.items() if expand(c) != 0)


def terms_of(phi: Expr, z: Symbol) -> Terms:
    """Return an activation as a sum of terms.

    Raises
    ------
    NoClosedForm
        If it is none, with the part that is of another kind.

    Examples
    --------
    >>> from sympy import Max, Symbol
    >>> z = Symbol("z", real=True)
    >>> [(t.factor, t.power, t.kind) for t in terms_of(Max(z, 0), z)]
    [(1, 1, 'step')]
    """
    right, left = Symbol("_z", positive=True), Symbol("_z", negative=True)
    above, below = (phi.subs(z, side).doit() for side in (right, left))
    above, below = above.subs(right, z), below.subs(left, z)
    jump = S.Zero if above == below else simplify(above - below)
    stepped = []
    for term in _read(jump, z):
        if term.kind != PLAIN:
            raise NoClosedForm(f"{jump}, by which {phi} differs on both sides of 0, is no polynomial")
        stepped.append(replace(term, kind=STEP))
    return collected([*_read(below, z), *stepped])


def _read(expr: Expr, z: Symbol) -> list[Term]:
    return [_read_term(part, z) for part in Add.make_args(expand(expr, power_exp=False)) if part != 0]


def _read_term(part: Expr, z: Symbol) -> Term:
    found = Term(S.One, 0)
    for factor in Mul.make_args(part):
        if not factor.has(z):
            found = replace(found, factor=found.factor * factor)
        elif _is_power(factor, z):
            found = replace(found, power=found.power + int(factor.as_base_exp()[1]))
        elif found.kind == PLAIN and (kind := _function(factor, z)) is not None:
            found = replace(found, kind=kind[0], rate=kind[1], factor=found.factor * kind[2])
        else:
            raise NoClosedForm(
                f"{factor} in {part} is neither a power, erf(a*z), exp(-b*z**2) nor a kink at 0"
            )
    if found.rate != 0 and found.power > _MOST:
        raise NoClosedForm(f"{part} has a power beyond {_MOST} beside {found.kind}")
    return found


def _is_power(factor: Expr, z: Symbol) -> bool:
    base, exponent = factor.as_base_exp()
    return bool(base == z and exponent.is_Integer and exponent > 0)


def _function(factor: Any, z: Symbol) -> tuple[str, Expr, Expr] | None:
    """Return kind, rate and sign of erf(±az) or exp(−bz²)."""
    if isinstance(factor, erf):
        slope = simplify(factor.args[0] / z)
        if slope.has(z) or not (slope.is_positive or slope.is_negative):
            return None
        return ERROR, abs(slope), S.One if slope.is_positive else S.NegativeOne
    if isinstance(factor, exp):
        slope = simplify(-factor.args[0] / z**2)
        return (BELL, slope, S.One) if not slope.has(z) and slope.is_positive else None
    return None
