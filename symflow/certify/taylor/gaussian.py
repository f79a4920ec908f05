r"""Second derivatives of an energy along geodesics of Gaussian laws in the Wasserstein metric.

A geodesic through :math:`\mathcal N(m, \Sigma)` moves every point by :math:`X + t(b + S(X - m))` with a
symmetric S. The mean of a polynomial of degree two, or of its exponential, over independent Gaussian tokens
is a closed form in its coefficients, which are series in time here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import Any

from symflow.algebra.text.syntax import Node, read
from symflow.certify.propositions.convexity import StatedEnergy
from symflow.certify.taylor.decomposition import rules_of
from symflow.certify.taylor.disciplined import Term
from symflow.certify.taylor.hyperdual import Hyperdual, Hyperduals, Ring
from symflow.certify.taylor.matrices import Evaluation, Matrix
from symflow.certify.taylor.quadratics import Quadratic
from symflow.certify.terms import Rejected

Rows = tuple[tuple[Fraction, ...], ...]
#: In c + ⟨l, z⟩ + ½⟨z, Hz⟩ with z = a + Bζ, ζ centred with covariance C.
_CONSTANT = "c + dot(l, a) + dot(a, H*a)/2"
_MEAN = read(f"{_CONSTANT} + tr(B.T*H*B*C)/2")
_EXPONENT = read(f"{_CONSTANT} + dot(B.T*(H*a + l), inv(inv(C) - B.T*H*B)*B.T*(H*a + l))/2")
_PRECISION_MATRIX = read("inv(C) - B.T*H*B")


@dataclass(frozen=True)
class MovingGaussian:
    """A Gaussian law and the velocity b + S(x − m), exact; Σ ≻ 0 and S are symmetric."""

    mean: tuple[Fraction, ...]
    covariance: Rows
    shift: tuple[Fraction, ...]
    slope: Rows

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.mean)

    @property
    def square(self) -> Fraction:
        """E|v|² = |b|² + tr(SΣS)."""
        indices = range(self.dimension)
        spread = (
            self.slope[i][j] * self.covariance[j][k] * self.slope[k][i]
            for i in indices
            for j in indices
            for k in indices
        )
        return sum((c * c for c in self.shift), Fraction(0)) + sum(spread, Fraction(0))


class GaussianEnergy:
    """An energy of Gaussian laws in a ring, of polynomials of degree two and exponentials of such."""

    def __init__(self, stated: StatedEnergy, ring: Ring, dimension: int) -> None:
        self._stated = stated
        self._series = Hyperduals(ring)
        self._dimension = dimension

    def second_derivative(self, law: MovingGaussian) -> Any:
        """Return the second derivative along the geodesic.

        Raises
        ------
        Rejected
            If a term is of another form, an integral is infinite, or a value is not exact in this ring.
        """
        half = Fraction(1, 2)
        pair = self._mean(self._stated.pair, law, ("x", "y"))
        potential = self._mean(self._stated.potential, law, ("x",))
        return (self._series.number(half) * pair + potential).mixed

    def _mean(self, node: Node | None, law: MovingGaussian, names: tuple[str, ...]) -> Hyperdual:
        total = self._series.number(Fraction(0))
        if node is None:
            return total
        rules = rules_of(self._stated, names, self._dimension)
        moved = self._moved(law, len(names))
        for term in rules.terms(node):
            if term.polynomial is not None:
                total = total + self._value(_MEAN, term.polynomial, moved)
            else:
                total = total + self._exponential(term, rules.exponent(term.node), law, moved)
        return total

    def _exponential(
        self, term: Term, exponent: Quadratic | None, law: MovingGaussian, moved: Mapping[str, Matrix]
    ) -> Hyperdual:
        if exponent is None:
            raise Rejected("a term is neither a polynomial of degree two nor the exponential of one")
        copies = len(exponent.slope) // self._dimension
        _require_finite(exponent, _repeated(law.covariance, copies))
        matrix = self._evaluation(exponent, moved).matrix(_PRECISION_MATRIX)
        root = self._series.call("sqrt", self._determinant(matrix) * self._determinant(moved["C"]))
        value = self._series.call("exp", self._value(_EXPONENT, exponent, moved))
        return self._series.number(term.coefficient) * value * self._series.call("inverse", root)

    def _value(self, node: Node, polynomial: Quadratic, moved: Mapping[str, Matrix]) -> Hyperdual:
        found: Hyperdual = self._evaluation(polynomial, moved).number(node)
        return found

    def _evaluation(self, polynomial: Quadratic, moved: Mapping[str, Matrix]) -> Evaluation:
        number = self._series.number
        coefficients = {
            "c": ((number(polynomial.value),),),
            "l": tuple((number(entry),) for entry in polynomial.slope),
            "H": tuple(tuple(number(entry) for entry in row) for row in polynomial.hessian),
        }
        return Evaluation(self._series, {**coefficients, **moved}, {"n": len(polynomial.slope)})

    def _moved(self, law: MovingGaussian, copies: int) -> dict[str, Matrix]:
        """Return a = m + tb, B = I + tS and C = Σ for independent copies of the law."""
        number = self._series.ring.number
        starts = zip(law.mean * copies, law.shift * copies, strict=True)
        a = tuple((self._series.curve(number(m), number(b)),) for m, b in starts)
        slope = _repeated(law.slope, copies)
        B = tuple(
            tuple(self._series.curve(number(Fraction(i == j)), number(entry)) for j, entry in enumerate(row))
            for i, row in enumerate(slope)
        )
        C = tuple(
            tuple(self._series.number(entry) for entry in row) for row in _repeated(law.covariance, copies)
        )
        return {"a": a, "B": B, "C": C}

    def _determinant(self, matrix: Matrix) -> Hyperdual:
        """Return the determinant by elimination of a matrix that is positive definite at the start."""
        rest = [list(row) for row in matrix]
        for k, pivot_row in enumerate(rest):
            scale = self._series.call("inverse", pivot_row[k]) if k + 1 < len(rest) else None
            for row in rest[k + 1 :]:
                factor = row[k] * scale
                row[k:] = [
                    entry - factor * above for entry, above in zip(row[k:], pivot_row[k:], strict=True)
                ]
        found: Hyperdual = reduce(mul, (rest[k][k] for k in range(len(rest))))
        return found


def _repeated(block: Rows, copies: int) -> Rows:
    """Return a block diagonal matrix."""
    size = len(block)
    return tuple(
        tuple(
            block[i % size][j % size] if i // size == j // size else Fraction(0) for j in range(copies * size)
        )
        for i in range(copies * size)
    )


def is_definite(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Whether a symmetric rational matrix is positive definite."""
    from symflow.algebra.exact.rational import inertia, rational_matrix

    return inertia(rational_matrix(rows)).positive == len(rows)


def _require_finite(exponent: Quadratic, covariance: Sequence[Sequence[Fraction]]) -> None:
    """Refuse an exponential whose mean is infinite: Σ⁻¹ − H must be positive definite."""
    from symflow.algebra.exact.rational import fractions, rational_matrix

    if not is_definite(fractions(rational_matrix(covariance).inv() - rational_matrix(exponent.hessian))):
        raise Rejected("the energy of the Gaussian law is infinite")
