r"""How far two laws can move apart: the bounds on a ball, put together by Grönwall's inequality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Identity, Poly, PolynomialError, S, Symbol, Trace

from symflow.algebra.affine import affine_parts
from symflow.algebra.families import FamilySum
from symflow.algebra.norms import SpectralNorm
from symflow.derive.definition import active_heads
from symflow.derive.derivation import Argument
from symflow.derive.stability.growth import Growth, growth
from symflow.derive.stability.heads import HeadBounds, head_bounds
from symflow.derive.stability.numbers import Settled, arb_of, ball_of, float_up, read, settle
from symflow.derive.stability.ranges import RADIUS
from symflow.derive.stability.steps import steps
from symflow.errors import InputError
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Family, Statement

#: The largest factor of a score whose numbers are drawn at random tokens; beyond, steps have symbols for it.
_TEMPERATE = 4

#: min(1/θ of the first position, p/(p − 1)): what a causal mask multiplies the dependence on the law by.
MASK = Symbol("kappa", positive=True)
#: Parts by which the radius grows between two evaluations of a bound.
_PARTS, _MOST_STEPS = 128, 4000


@dataclass(frozen=True)
class BallConstants:
    """Upper bounds on a ball: speed, and the Lipschitz constants in the token and in the law."""

    speed: float
    query: float
    law: float


@dataclass(frozen=True)
class Stability(Argument):
    r"""Bounds of the velocity on a ball, and the stability estimate that follows.

    .. math:: W_p(\mu(t), \nu(t)) \le \exp\Big(\int_0^t (\Lambda_x + \Lambda_\mu)(R(s))\,ds\Big)
              W_p(\mu_0, \nu_0), \qquad R' = B(R),\ R(0) = R_0

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    heads : tuple of HeadBounds
        Of every head with a factor that is not zero.
    speed, query, law : Expr
        B, Λ_x and Λ_μ in the radius R and in norms of the parameters; on the sphere R is one. Under a causal
        mask Λ_μ contains ``kappa`` = min(1/θ, p/(p−1)), θ the mass of the first position.
    growth : Growth
        Of the radius of the support.
    """

    heads: tuple[HeadBounds, ...]
    speed: Any
    query: Any
    law: Any
    growth: Growth

    def constants(self, params: Mapping[str, Any], radius: float = 1.0, *, order: float = 1) -> BallConstants:
        """Return the numbers for given parameters, rounded upwards.

        Parameters
        ----------
        params : mapping of str to array_like
            Values of the parameters of the statement.
        radius : float
            R ≥ 0, one on the sphere.
        order : float
            p ≥ 1 of the distance, which matters under a causal mask only.

        Raises
        ------
        InputError
            If a parameter or the radius is not usable, or a mask without a sink meets p = 1.
        """
        settled = self._settled(params, order)
        return BallConstants(*(float_up(part) for part in self._at(settled, arb_of(self._radius(radius)))))

    def radius(self, params: Mapping[str, Any], radius: float, time: float) -> float:
        """Return an upper bound of the radius of the support after a time; see :meth:`exponent`."""
        return self._run(params, radius, time, 2)[0]

    def exponent(self, params: Mapping[str, Any], radius: float, time: float, *, order: float = 1) -> float:
        r"""Return an upper bound of :math:`\int_0^t (\Lambda_x + \Lambda_\mu)(R(s))\,ds`.

        B and the Λ do not decrease in R, so that sums over a grid of radii bound the integral.

        Parameters
        ----------
        params, order
            As for :meth:`constants`.
        radius : float
            R₀.
        time : float
            t ≥ 0.

        Raises
        ------
        InputError
            If an argument is not usable, or if the bound of the radius ends before the time.
        """
        return self._run(params, radius, time, order)[1]

    def _run(
        self, params: Mapping[str, Any], radius: float, time: float, order: float
    ) -> tuple[float, float]:
        settled = self._settled(params, order)
        start, left = arb_of(self._radius(radius)), arb_of(_not_negative(time, "time"))
        if self.statement.space == "sphere":
            _, query, law = self._at(settled, start)
            return 1.0, float_up((query + law) * left)
        return self._climbed(settled, start, left, time)

    def _climbed(self, settled: Settled, inner: Any, left: Any, time: float) -> tuple[float, float]:
        """Add up over shells: a token needs at least (R₁ − R₀)/B(R₁) from one radius to the next."""
        total = arb_of(0.0)
        for _ in range(_MOST_STEPS):
            speed, query, law = self._at(settled, inner)
            if speed == 0:
                return float_up(inner), float_up(total + (query + law) * left)
            width = (inner + speed * left).mid() / _PARTS
            outer = (inner + width).mid()
            speed, query, law = self._at(settled, outer)
            if not (query + law).is_finite():
                break
            if speed * left <= outer - inner:  # the rest of the time ends within this shell
                return float_up(outer), float_up(total + (query + law) * left)
            needed = ((outer - inner) / speed).lower()
            total = total + (query + law) * needed
            left, inner = (left - needed).upper(), outer
        raise InputError(
            f"time = {time}: the bound of the support is known up to about {time - float_up(left):.6g} only; "
            "it may end there"
        )

    def _at(self, settled: Settled, radius: Any) -> tuple[Any, Any, Any]:
        speed, query, law = (ball_of(part, {**settled.scalars, "R": radius}) for part in settled.formulas)
        return speed, query, law

    def _radius(self, radius: float) -> float:
        if self.statement.space == "sphere" and radius != 1:
            raise InputError(f"radius = {radius!r}: tokens on the sphere have radius 1")
        return _not_negative(radius, "radius")

    def _settled(self, params: Mapping[str, Any], order: float) -> Settled:
        numbers = read(self.statement, params)
        return settle((self.speed, self.query, self.law), numbers, kappa=self._mask(order))

    def _mask(self, order: float) -> Any:
        from flint import arb

        if not order >= 1:
            raise InputError(f"order = {order!r}: a distance W_p has p ≥ 1")
        if not self.law.has(MASK):
            return arb(1)
        sink = float(getattr(self.model, "sink", 0))
        hardy = arb_of(order) / (arb_of(order) - 1) if order > 1 else None
        if not sink and hardy is None:
            raise InputError(
                f"{self.statement.name}: without a sink the velocity is not Lipschitz in W_1; "
                "give Masked(..., sink=...) or order > 1"
            )
        if not sink:
            return hardy
        return 1 / arb_of(sink) if hardy is None else (1 / arb_of(sink)).min(hardy)


def stability(model: AttentionModel, given: Iterable[str] | None = None) -> Stability:
    r"""Derive how fast two solutions of a model can separate.

    Every constant follows from the expressions of the statement, by the rules of
    :mod:`symflow.derive.stability.ranges` and :mod:`symflow.derive.stability.heads`.

    Parameters
    ----------
    model : AttentionModel
    given : iterable of str, optional
        Names of the parameters in use.

    Raises
    ------
    InputError
        If it is not a model, there is noise, whose laws have no bounded support, the score is not Lipschitz
        on balls, or a mask meets doubly stochastic weights.

    References
    ----------
    CACP25 (well-posedness for compactly supported laws).

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> found = stability(Softmax())
    >>> found.speed, found.query
    (R*SpectralNorm(V), R**2*SpectralNorm(A)*SpectralNorm(V))
    >>> found.constants({"A": [[1]], "V": [[2]]}, radius=1).query
    2.0
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {model!r}")
    statement = model.statement(given)
    _refuse(statement)
    heads, constants = _bounds(statement)
    rise = growth(constants[0])
    shown = model, statement, heads, constants, rise
    if not model.scale.free_symbols and model.scale > _TEMPERATE:  # checks draw scores of order one
        symbolic = model.with_symbolic_scale().statement(given)
        shown = model, symbolic, *_bounds(symbolic), growth(_bounds(symbolic)[1][0])
    return Stability(model, statement, steps(*shown), heads, *constants, rise)


def _bounds(statement: Statement) -> tuple[tuple[HeadBounds, ...], tuple[Any, Any, Any]]:
    """Return the bounds of the heads, and speed and Lipschitz constants in query and law."""
    heads = tuple(head_bounds(head, statement.x, statement.y) for head in active_heads(statement))
    slope, constant = affine_parts(statement.background, statement.x)
    speed = SpectralNorm(constant) + SpectralNorm(slope) * RADIUS + _total(heads, "speed", statement)
    query = SpectralNorm(slope) + _total(heads, "query", statement)
    law = _total(heads, "law", statement)
    if statement.space == "sphere":
        speed, query, law = (part.subs(RADIUS, 1) for part in (speed, query + speed, law))
    return heads, (speed, query, law)


def _total(heads: tuple[HeadBounds, ...], name: str, statement: Statement) -> Expr:
    return sum((_summand(bounds, name, statement) for bounds in heads), S.Zero)


def _summand(bounds: HeadBounds, name: str, statement: Statement) -> Expr:
    part = getattr(bounds, name)
    if name == "law" and statement.positions is not None and bounds.head.normalise != "none":
        part = part * MASK
    family = bounds.head.family
    return part if family is None else _summed(part, family)


def _summed(part: Expr, family: Family) -> Expr:
    """Return the sum over the heads, power by power of the radius where it is a polynomial."""
    try:
        polynomial = Poly(part, RADIUS)
    except PolynomialError:
        polynomial = None
    if polynomial is None or any(coefficient.has(RADIUS) for coefficient in polynomial.coeffs()):
        return Trace(FamilySum(part * Identity(1), family.members, family.count))
    return sum(
        (
            Trace(FamilySum(coefficient * Identity(1), family.members, family.count)) * RADIUS**power
            for (power,), coefficient in polynomial.terms()
        ),
        S.Zero,
    )


def _refuse(statement: Statement) -> None:
    if not statement.diffusion.is_zero:
        raise InputError(
            f"{statement.name} has noise, which spreads every law over the whole space; bounds on balls "
            "say nothing about it"
        )
    clash = [p.name for p in statement.parameters if p.name in ("R", "R_0", "t", "kappa")]
    if clash:
        raise InputError(f"{statement.name}: rename the parameter {clash[0]!r}, which the estimate uses")
    if statement.positions is not None and any(h.normalise == "sinkhorn" for h in statement.heads):
        raise InputError(
            f"{statement.name}: no doubly stochastic scaling of a triangular kernel but the diagonal one"
        )


def _not_negative(value: float, name: str) -> float:
    if isinstance(value, bool) or not value >= 0 or value == float("inf"):
        raise InputError(f"{name} = {value!r} must be a finite number ≥ 0")
    return float(value)
