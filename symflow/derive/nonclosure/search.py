"""The search for a witness that Gaussians are not preserved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import comb
from typing import Any

from sympy import (
    Abs,
    Expr,
    Heaviside,
    Max,
    Min,
    Poly,
    PolynomialError,
    Rational,
    S,
    Symbol,
    diff,
    exp,
    simplify,
)

from symflow.derive.nonclosure import balls, moments
from symflow.derive.nonclosure.divergence import diverging_normaliser
from symflow.derive.nonclosure.evaluation import NotEvaluable
from symflow.derive.nonclosure.reduction import Integral, X, Y, at_size_one, parameters
from symflow.derive.nonclosure.witness import Law, Witness
from symflow.errors import InputError, NotGaussianPreserving
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement

_HALF = Rational(1, 2)
_ORDERS = (2, 3, 4)
_SHORT = 12  # operations of a number that is easy to read
_MANY = 12
_NEAR = Rational(1, 1024)
_POINTS = (S.Zero, S.One, _HALF)
_LAWS = ((Law(S.Zero, S.One),), (Law(S.One, S.One),), (Law(S.One, Rational(1, 4)),))
_MASKED_LAWS = ((Law(S.Zero, S.One), Law(S.One, S.One)), (Law(S.One, S.One), Law(S.Zero, _HALF)))
#: where a velocity has corners
_STEPS = (S.One, _HALF)
_CORNERS = (Max, Min, Abs, Heaviside)

Expectation = Callable[[Expr, Law], Any]


def refute_closure(model: AttentionModel, statement: Statement | None = None) -> NotGaussianPreserving | None:
    r"""Return an exact witness that a mechanism does not keep Gaussians Gaussian, or None.

    In dimension one, a Gaussian with σ² > 0 that solves :math:`\partial_t\mu + \partial_x(\mu\Gamma_\mu) =
    \varepsilon\,\partial_x^2\mu` has :math:`\Gamma_\mu` affine: the flux :math:`(\Gamma_\mu - a - bx)\mu` is
    constant, and integrable only if it vanishes. So one derivative of order k ≥ 2 that is not zero, at one
    point, for one law and one choice of parameters, refutes the closure for all sizes.

    Integrals of polynomials times exponentials of quadratics are exact, all others enclosed in balls.

    Parameters
    ----------
    model : AttentionModel
        A shipped variant, a combination, or a user's own mechanism.
    statement : Statement, optional
        Its definition; by default that of all matrix parameters by their shortest names.

    Returns
    -------
    NotGaussianPreserving or None
        An error to raise, with the evidence as ``witness``. None says that nothing was found: the velocity
        may be affine, or affine at size one only, as for a mechanism that differs from a closed one in
        d ≥ 2 alone; or the integrals are infinite or beyond both methods (Sinkhorn weights).

    Raises
    ------
    NormaliserDiverges
        If the normaliser is infinite for every Gaussian of positive variance, so that there is no velocity.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> from symflow.models.attention.sigmoid import Sigmoid
    >>> print(refute_closure(Sigmoid()).witness)
    d = 1, A = 1, V = 1, μ = N(0, 1): Γ′′′(0) = -3/8 ≠ 0
    """
    stated = model.statement() if statement is None else statement
    divergence = diverging_normaliser(stated)
    if divergence is not None:
        raise divergence
    try:
        integrals = at_size_one(stated)
    except InputError:
        return None
    masked = stated.positions is not None
    if all(_is_affine(integral, masked) for integral in integrals):
        return None
    for candidates, expectation in ((_candidates, _exact), (_few_candidates, balls.expectation)):
        witness = _plainest(w for c in candidates(stated, integrals) for w in c.witnesses(expectation))
        if witness is not None:
            return NotGaussianPreserving(_message(witness), witness)
    return None


def _plainest(found: Iterator[Witness]) -> Witness | None:
    """Return the first witness with a short value, else the first of all; does not look at many."""
    first: Witness | None = None
    for witness in islice(found, _MANY):
        if not isinstance(witness.value, Expr) or witness.value.count_ops() <= _SHORT:
            return witness
        first = first or witness
    return first


def _is_affine(integral: Integral, masked: bool) -> bool:
    """Whether the integral is affine in x for every law: a known closure, or a weight affine in x."""
    if not integral.normalised:
        return bool(diff(integral.kernel, X, 2) == 0)
    if masked or not isinstance(integral.kernel, exp) or diff(integral.value, Y, 2) != 0:
        return False
    score = integral.kernel.args[0]
    derivatives = (diff(score, Y, 3), diff(score, Y, 2, X), diff(score, Y, X, 2))
    return all(simplify(part) == 0 for part in derivatives)


def _message(witness: Witness) -> str:
    return (
        f"{witness.model} does not keep Gaussians Gaussian. In dimension one the velocity of a Gaussian "
        f"solution is affine, but here {witness}"
    )


@dataclass(frozen=True)
class _Candidate:
    """A choice of parameters and laws."""

    model: str
    values: tuple[tuple[Symbol, Rational], ...]
    laws: tuple[Law, ...]
    integrals: tuple[Integral, ...]

    @property
    def weights(self) -> tuple[Rational, ...]:
        return (Rational(1, len(self.laws)),) * len(self.laws)

    def witnesses(self, expectation: Expectation) -> Iterator[Witness]:
        """Yield at each point the first derivative or second difference that is not zero."""
        corners = any(integral.kernel.has(*_CORNERS) for integral in self.integrals)
        seek = self._differences if corners else self._derivatives
        for point in _POINTS:
            if not self._is_dominated(point):
                continue
            try:
                for order, step, value in seek(expectation, point):
                    if _is_nonzero(value):
                        yield self._state(point, order, step, value)
                        break
            except (moments.NotElementary, moments.Diverges, balls.NotBounded, NotEvaluable):
                continue

    def _is_dominated(self, point: Rational) -> bool:
        """Whether the integrals converge around the point; derivatives alone may exist where they do not."""
        kernels = [part.kernel.subs(X, point + shift) for part in self.integrals for shift in (-_NEAR, _NEAR)]
        return all(balls.is_dominated(kernel, law) for kernel in kernels for law in self.laws)

    def _state(self, point: Rational, order: int, step: Rational | None, value: Any) -> Witness:
        return Witness(
            model=self.model,
            parameters=tuple((symbol.name, value) for symbol, value in self.values),
            laws=self.laws,
            weights=self.weights,
            point=point,
            order=order,
            step=step,
            value=moments.tidy(value) if isinstance(value, Expr) else balls.rounded(value),
            integrals=self.integrals,
        )

    def _derivatives(
        self, expectation: Expectation, point: Rational
    ) -> Iterator[tuple[int, Rational | None, Any]]:
        """Yield the derivatives of Γ at a point, of every order."""
        totals = [
            _derivatives_of(part, self.laws, self.weights, point, expectation) for part in self.integrals
        ]
        for order in _ORDERS:
            yield order, None, sum(parts[order] for parts in totals)

    def _differences(
        self, expectation: Expectation, point: Rational
    ) -> Iterator[tuple[int, Rational | None, Any]]:
        """Yield second differences of Γ around a point; they need no derivative."""
        for step in _STEPS:
            values = [self._velocity(expectation, point + shift) for shift in (step, 0, -step)]
            yield 2, step, values[0] - 2 * values[1] + values[2]

    def _velocity(self, expectation: Expectation, point: Rational) -> Any:
        parts = (_jet(part, self.laws, self.weights, point, expectation, 0) for part in self.integrals)
        return sum(top[0] / bottom[0] for top, bottom in parts)


def _jet(
    integral: Integral,
    laws: Sequence[Law],
    weights: Sequence[Rational],
    point: Rational,
    expectation: Expectation,
    order: int,
) -> tuple[list[Any], list[Any]]:
    """Return the derivatives in x of numerator and denominator at a point, up to an order."""
    tops, bottoms = [], []
    kernel = integral.kernel
    for j in range(order + 1):
        at_point = kernel.subs(X, point)
        tops.append(_average(integral.prefactor * integral.value * at_point, laws, weights, expectation))
        if integral.normalised:
            bottoms.append(_average(at_point, laws, weights, expectation))
        else:
            bottoms.append(1 if j == 0 else 0)
        kernel = diff(kernel, X)
    return tops, bottoms


def _derivatives_of(
    integral: Integral,
    laws: Sequence[Law],
    weights: Sequence[Rational],
    point: Rational,
    expectation: Expectation,
) -> list[Any]:
    """Return the derivatives of a quotient: Γ·D = N gives Γ⁽ʲ⁾D = N⁽ʲ⁾ − Σ_{i<j} C(j,i) Γ⁽ⁱ⁾D⁽ʲ⁻ⁱ⁾."""
    tops, bottoms = _jet(integral, laws, weights, point, expectation, _ORDERS[-1])
    found: list[Any] = []
    for j, top in enumerate(tops):
        lower = sum(comb(j, i) * found[i] * bottoms[j - i] for i in range(j))
        found.append((top - lower) / bottoms[0])
    return found


def _average(
    integrand: Expr, laws: Sequence[Law], weights: Sequence[Rational], expectation: Expectation
) -> Any:
    exact = expectation is _exact
    parts = (
        (weight if exact else balls.ball(weight)) * expectation(integrand, law)
        for weight, law in zip(weights, laws, strict=True)
    )
    return sum(parts)


def _exact(integrand: Expr, law: Law) -> Expr:
    return moments.expectation(integrand, law)


def _is_nonzero(value: Any) -> bool:
    if isinstance(value, Expr):
        return moments.is_certainly_nonzero(value)
    return 0 not in balls.rounded(value)


def _candidates(statement: Statement, integrals: tuple[Integral, ...]) -> Iterator[_Candidate]:
    """Yield choices of parameters and laws, plain ones first; those of integrable velocity before others."""
    laws = _LAWS if statement.positions is None else _MASKED_LAWS
    symbols = parameters(statement)
    plain = [
        _Candidate(statement.name, values, law, tuple(part.substitute(dict(values)) for part in integrals))
        for values in _assignments(symbols)
        for law in laws
    ]
    yield from sorted(plain, key=lambda candidate: not _is_integrable(candidate))


def _few_candidates(statement: Statement, integrals: tuple[Integral, ...]) -> Iterator[_Candidate]:
    yield from list(_candidates(statement, integrals))[:12]


def _assignments(symbols: tuple[Symbol, ...]) -> Iterator[tuple[tuple[Symbol, Rational], ...]]:
    """Yield values of the parameters: all one, all one half, and one of them with another sign."""
    for size in (S.One, _HALF):
        yield tuple((symbol, size) for symbol in symbols)
    for changed in symbols:
        if not changed.is_nonnegative:
            yield tuple((symbol, -S.One if symbol == changed else S.One) for symbol in symbols)


def _is_integrable(candidate: _Candidate) -> bool:
    """Whether ∫∫ of the exponentials against the laws of query and key is finite, as far as can be seen."""
    query = candidate.laws[-1]
    for part in candidate.integrals:
        if part.normalised or not isinstance(part.kernel, exp):
            continue
        try:
            score = Poly(part.kernel.args[0], X, Y)
        except PolynomialError:
            return False
        if score.total_degree() > 2:
            return False
        xx, yy, xy = (score.coeff_monomial(m) for m in (X**2, Y**2, X * Y))
        for law in candidate.laws:
            first, second = 1 / query.variance - 2 * xx, 1 / law.variance - 2 * yy
            if not (first > 0 and first * second - xy**2 > 0):
                return False
    return True
