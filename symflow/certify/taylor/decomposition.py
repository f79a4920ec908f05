r"""An energy as a quadratic part and a rest, and what each does along straight lines of random vectors.

With W = ½⟨z, Hz⟩ + …, z = (x, y), and U = ½⟨x, Kx⟩ + …, a curve of random vectors X + tξ has

.. math:: \frac{d^2}{dt^2}F = \mathbb E\langle\xi - \bar\xi, P(\xi - \bar\xi)\rangle
          + \langle\bar\xi, (P + S)\bar\xi\rangle, \qquad \bar\xi = \mathbb E\xi,

for the quadratic part, P = ½(H_xx + H_yy) + K, S the symmetric part of H_xy: the square of a fluctuation and
of the mean. So it is at least λE|ξ|² for every law if and only if P ⪰ λ and P + S ⪰ λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.taylor.disciplined import Rules, Term
from symflow.certify.taylor.geodesics import as_rows
from symflow.certify.taylor.quadratics import Quadratic, Quadratics, is_semidefinite
from symflow.certify.terms import Rejected

Rows = tuple[tuple[Fraction, ...], ...]


#: With s symmetric and s_xx, s_xy ⪰ 0, Σ w_i w_j e^{s_ij}((ds)² + ⟨ξ_i, s_xx ξ_i⟩ + …+ 2⟨ξ_i, s_xy ξ_j⟩) ≥ 0.
KERNEL = "exponential of a symmetric polynomial s with s_xx ⪰ 0 and s_xy ⪰ 0, a positive definite kernel"


@dataclass(frozen=True)
class Decomposition:
    """The two matrices of the quadratic part, minus the modulus, and how every other term is convex.

    Attributes
    ----------
    fluctuation : rows
        P − λI.
    mean : rows
        P + S − λI.
    reasons : tuple of str
        The rule for each term that is no polynomial of degree two.
    """

    fluctuation: Rows
    mean: Rows
    reasons: tuple[str, ...]

    @property
    def uses_kernels(self) -> bool:
        """Whether a term is convex as the exponential of a positive kernel."""
        return KERNEL in self.reasons


def decompose(stated: StatedEnergy) -> Decomposition:
    """Return the decomposition; a statement for every d is looked at in d = 1.

    In every dimension at once, polynomials of degree two are |x|², ⟨x, y⟩, |y|² and constants, so that their
    matrices are those of d = 1 times the identity.

    Raises
    ------
    Rejected
        If a term that is no polynomial of degree two is not shown to be convex.
    """
    d = stated.dimension or 1
    pair, reasons = _part(stated, stated.pair, ("x", "y"), d)
    potential, more = _part(stated, stated.potential, ("x",), d)
    H, K = pair.hessian, potential.hessian
    half = Fraction(1, 2)
    P = _combined(lambda i, j: half * (H[i][j] + H[d + i][d + j]) + K[i][j], d)
    S = _combined(lambda i, j: half * (H[i][d + j] + H[d + i][j]), d)
    below = _combined(lambda i, j: stated.modulus * (i == j), d)
    fluctuation = _combined(lambda i, j: P[i][j] - below[i][j], d)
    mean = _combined(lambda i, j: fluctuation[i][j] + S[i][j], d)
    return Decomposition(fluctuation, mean, (*reasons, *more))


def _combined(entry: Any, size: int) -> Rows:
    return tuple(tuple(Fraction(entry(i, j)) for j in range(size)) for i in range(size))


def _part(stated: StatedEnergy, node: Any, names: Sequence[str], d: int) -> tuple[Quadratic, tuple[str, ...]]:
    """Return the quadratic part of an expression and the reasons for which the rest is convex."""
    rules = rules_of(stated, names, d)
    if node is None:
        return rules.arithmetic.number(Fraction(0)), ()
    parts = rules.terms(node)
    polynomials = [part.polynomial for part in parts if part.polynomial is not None]
    reasons = [_reason(rules, part) for part in parts if part.polynomial is None]
    return reduce(add, polynomials, rules.arithmetic.number(Fraction(0))), tuple(reasons)


def _reason(rules: Rules, part: Term) -> str:
    shape = rules.shape(part.node).times(part.coefficient)
    if not shape.convex and _is_kernel(rules, part):
        return KERNEL
    if not shape.convex:
        raise Rejected(f"a term is not shown to be convex: {shape.reason}")
    return shape.reason


def _is_kernel(rules: Rules, part: Term) -> bool:
    """Whether a term is a positive multiple of e^s, s of degree two in (x, y), as in :data:`KERNEL`."""
    s = rules.exponent(part.node)
    if part.coefficient <= 0:
        return False
    d, odd = divmod(len(s.slope) if s else 1, 2)
    if s is None or odd or not rules.has_pairs:
        return False
    own = tuple(row[:d] for row in s.hessian[:d])
    mixed = tuple(row[d:] for row in s.hessian[:d])
    swapped = tuple(row[d:] for row in s.hessian[d:])
    symmetric = s.slope[:d] == s.slope[d:] and own == swapped and mixed == tuple(zip(*mixed, strict=True))
    return symmetric and is_semidefinite(own) and is_semidefinite(mixed)


def rules_of(stated: StatedEnergy, names: Sequence[str], d: int) -> Rules:
    """Return what decides about functions of the coordinates of the named tokens in dimension d."""
    size = len(names) * d
    number, variable = (getattr(Quadratics(size), name) for name in ("number", "variable"))
    tokens = {name: tuple((variable(k * d + i),) for i in range(d)) for k, name in enumerate(names)}
    parameters = {
        name: tuple(tuple(number(entry) for entry in row) for row in as_rows(value, d))
        for name, value in stated.parameters.items()
    }
    return Rules(parameters, tokens, size, d)
