"""Proofs about the interaction energy of tokens on the sphere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sympy import Identity, Integer, MatMul, Rational, Symbol, Trace, ZeroMatrix, exp

from symflow.algebra.symbols import dimension, vector
from symflow.algebra.variation import gateaux
from symflow.certify.certificate import Certificate
from symflow.certify.search.chain import ChainWriter
from symflow.certify.search.long_time import stated_certificate

_ONE, _HALF = Integer(1), Rational(1, 2)
_TOKENS = ("token", "other token")


def _dot(left: Any, right: Any) -> Any:
    return Trace(left.T * right)


@dataclass
class _Pair:
    """What the proofs have in common: two tokens, and the energy of the pair."""

    chain: ChainWriter = field(default_factory=ChainWriter)

    def __post_init__(self) -> None:
        self.d = dimension("d")
        self.x, self.y, self.p, self.q, self.u, self.w = (vector(name, self.d) for name in "xypquw")
        self.beta = Symbol("beta", positive=True)
        self.cosine = _dot(self.x, self.y)
        self.weight = exp(self.beta * self.cosine)
        self.value = self.weight / self.beta
        self.still = ZeroMatrix(self.d, 1)

    def turned(self, token: Any) -> Any:
        """(p qᵀ − q pᵀ) x."""
        return _dot(self.q, token) * self.p - _dot(self.p, token) * self.q

    def moved(self, functional: Any, derivative: Any, motion: Any, partner: Any) -> str:
        """Write a derivative along a motion of the tokens."""
        ends = {"functional": functional, "motion": motion, "partner_motion": partner}
        return self.chain.add("along-motion", "pair-derivative", {**ends, "derivative": derivative})

    def summed(self, summand: Any, over: Any, total: Any, form: Any) -> str:
        """Write a sum over an orthonormal basis."""
        ends = {"summand": summand, "over": over, "total": total}
        return self.chain.add("over-basis", "basis-sum", ends, form=form)

    def gradient(self) -> tuple[str, Any]:
        """Write the derivative of the energy where one token turns."""
        turn = self.turned(self.x)
        slope = self.weight * _dot(turn, self.y)
        return self.moved(self.value, slope, turn, self.still), slope

    def variation(self) -> tuple[str, Any]:
        """Write the second variation under rotations of a block; return its line and the summand."""
        x, y, p, q, c, chain = self.x, self.y, self.p, self.q, self.cosine, self.chain
        turn = self.turned(x)
        fixed = self.moved(self.value, Integer(0), turn, self.turned(y))
        first, slope = self.gradient()
        second = gateaux(slope, {x: turn})
        curved = self.moved(slope, second, turn, self.still)
        arm = _dot(q, x) * y - _dot(q, y) * x
        form = MatMul(self.weight * self.beta, arm, arm.T)
        form += MatMul(self.weight * _dot(q, x), q, y.T) - MatMul(self.weight * _dot(q, q), x, y.T)
        form += MatMul(self.weight * _dot(q, y), q, x.T)
        form -= MatMul(self.weight * _dot(q, y) * _dot(q, x), Identity(self.d))
        partial = Trace(form)
        over_first = self.summed(second, p, partial, form)
        squares = _dot(y, y) * x * x.T - 2 * c * x * y.T + _dot(x, x) * y * y.T
        outer = MatMul(self.weight * self.beta, squares) + MatMul(self.weight * (2 - self.d), x, y.T)
        outer -= MatMul(self.weight * c, Identity(self.d))
        total = 2 * self.weight * (self.beta * (_dot(x, x) * _dot(y, y) - c**2) - (self.d - 1) * c)
        over_second = self.summed(partial, q, total, outer)
        share = self.weight * (self.beta * (1 - c**2) - (self.d - 1) * c)
        factor = 2 * self.beta * self.weight
        on_sphere = chain.equal(
            "combination",
            total,
            2 * share,
            _TOKENS,
            before=[factor * _dot(y, y), factor],
            after=[_ONE, _ONE],
        )
        premises = (fixed, first, curved, over_first, over_second, on_sphere)
        ends = {"pair": self.value, "total": share}
        line = chain.lemma("rotation-variation", "block-variation", ends, premises, first=p, second=q)
        return line, share

    def below_one(self) -> str:
        """Write 1 − ⟨x, y⟩ ≥ 0."""
        lengths = ("length", "other length")
        return self.chain.add("dot-bound", "nonnegative", {"scalar": 1 - self.cosine}, lengths)

    def above_minus_one(self) -> str:
        """Write 1 + ⟨x, y⟩ ≥ 0."""
        lengths = ("length", "other length")
        return self.chain.add("dot-bound", "nonnegative", {"scalar": 1 + self.cosine}, lengths)

    def positive(self, scalar: Any, *signs: str) -> str:
        """Write that a scalar is positive as the signs of its symbols show."""
        return self.chain.add("scalar-sign", "positive", {"scalar": scalar}, signs)

    def product(self, scalar: Any, *factors: str) -> str:
        """Write that a product is not negative."""
        return self.chain.add("scalar-product", "nonnegative", {"scalar": scalar}, factors)

    def sum(self, scalar: Any, *terms: str) -> str:
        """Write that a sum is not negative."""
        return self.chain.add("scalar-sum", "nonnegative", {"scalar": scalar}, terms)

    def ordered(self, low: Any, high: Any, gap: str) -> str:
        """Write e^low ≤ e^high."""
        ends = {"scalar": exp(high) - exp(low)}
        return self.chain.add("exponential", "nonnegative", ends, (gap,), low=low, high=high)

    def opposed(self) -> str:
        """Write that tokens at a critical point are equal or one is opposed to their sum."""
        x, y, w, c = self.x, self.y, self.w, self.cosine
        first, _ = self.gradient()
        change = y - c * x
        climb = self.chain.equal(
            "normal-form", _dot(w, change), _dot(w, y) - _dot(w, x) + (1 - c) * _dot(w, x)
        )
        premises = (first, self.positive(self.weight), self.below_one(), climb)
        ends = {"pair": self.value, "weight": self.weight, "change": change}
        return self.chain.lemma(
            "hemisphere-equilibrium", "opposed-token", ends, premises, axis=w, first=self.p, second=self.q
        )


def prove_block_inequality(claim: str, part: str) -> Certificate:
    """Sum the second derivatives over all rotations of a block; where the Hessian is ⪯ 0 so is the sum."""
    pair = _Pair()
    line, share = pair.variation()
    ends = {"pair": pair.value, "excess": -share}
    pair.chain.lemma("second-order-condition", "block-rotation", ends, (line,))
    return stated_certificate(claim, pair.chain, part)


def _numbers() -> tuple[Any, ...]:
    beta, e, r = (Symbol(name, positive=True) for name in ("beta", "e", "r"))
    return beta, e, r, Symbol("h", real=True), dimension("d")


def prove_share_factors(claim: str, part: str) -> Certificate:
    """Write the quadratic as a product with the help of r² = e² + 4β²."""
    chain = ChainWriter()
    beta, e, r, h, d = _numbers()
    chain.equal(
        "combination",
        (d - 1) * h - beta * (1 - h**2),
        (h - (r - e) / (2 * beta)) * (beta * h + (r + e) / 2),
        ("sizes", "root"),
        before=[-h, 1 / (4 * beta)],
        after=[_ONE, _ONE],
    )
    return stated_certificate(claim, chain, part)


def prove_other_factor(claim: str, part: str) -> Certificate:
    """βh + (r + e)/2 = βg + e/2 + e²/(2(r + 2β)) is positive."""
    beta, e, r, h, _ = _numbers()
    g = Symbol("g", nonnegative=True)
    shown, claimed = beta * g + e / 2 + e**2 / (2 * (r + 2 * beta)), beta * h + (r + e) / 2
    return _positive(claim, part, shown, claimed, {"cosine": -beta, "root": -1 / (2 * (r + 2 * beta))}, "g")


def prove_above_zero(claim: str, part: str) -> Certificate:
    """r − e = 4β²/(r + e) is positive."""
    beta, e, r, *_ = _numbers()
    return _positive(claim, part, 4 * beta**2 / (r + e), r - e, {"root": -1 / (r + e)})


def prove_below_one(claim: str, part: str) -> Certificate:
    """2β + e − r = 4βe/(2β + e + r) is positive."""
    beta, e, r, *_ = _numbers()
    whole = 2 * beta + e + r
    return _positive(claim, part, 4 * beta * e / whole, 2 * beta + e - r, {"root": 1 / whole})


def _positive(
    claim: str, part: str, shown: Any, claimed: Any, multipliers: Mapping[str, Any], *more: str
) -> Certificate:
    """Write that ``shown`` is positive by its signs, and that it is what is claimed to be."""
    chain = ChainWriter()
    signs = tuple(f"sign of {name}" for name in ("beta", "e", "r", *more))
    positive = chain.add("scalar-sign", "positive", {"scalar": shown}, signs)
    equality = chain.equal(
        "combination",
        shown,
        claimed,
        tuple(multipliers),
        before=list(multipliers.values()),
        after=[_ONE] * len(multipliers),
    )
    chain.add("replace", "positive", {"scalar": claimed}, (positive, equality))
    return stated_certificate(claim, chain, part)


def prove_small_beta(claim: str, part: str) -> Certificate:
    """Bound the variation below by a line in the cosine: (d − 1)(sinh β + c cosh β) + variation ≥ 0."""
    pair = _Pair()
    opposed = pair.opposed()
    variation, share = pair.variation()
    c, beta, m = pair.cosine, pair.beta, Symbol("m", positive=True)
    up, down = exp(beta), exp(-beta)
    below, above = pair.below_one(), pair.above_minus_one()
    right = pair.ordered(beta * c, beta, pair.product(beta * (1 - c), "sign of beta", below))
    left = pair.ordered(-beta, beta * c, pair.product(beta * (1 + c), "sign of beta", above))
    half = pair.positive(_HALF)
    upper = pair.product((1 + c) * (up - pair.weight) / 2, half, above, right)
    lower = pair.product((1 - c) * (pair.weight - down) / 2, half, below, left)
    chord = pair.sum((up - down) / 2 + c * (up + down) / 2 - c * pair.weight, upper, lower)
    spread = (pair.d - 1) * ((up - down) / 2 + c * (up + down) / 2 - c * pair.weight)
    widened = pair.product(spread, "dimension", chord)
    bulge = pair.product(
        beta * pair.weight * (1 - c) * (1 + c), "sign of beta", pair.positive(pair.weight), below, above
    )
    slope, offset = (pair.d - 1) * (up + down) / 2, (pair.d - 1) * (up - down) / 2
    line = pair.sum(share + slope * c + offset, widened, bulge)
    steep = pair.product(slope, "dimension", pair.positive((up + down) / 2))
    bound = (up + down - m * (up - down)) / (2 * (m + 1) ** 2)
    share_of_n = pair.positive(1 / (2 * (m + 1) ** 2), "sign of m")
    positive = pair.chain.add("scalar-product", "positive", {"scalar": bound}, ("range", share_of_n))
    pair.chain.lemma(
        "turning-saddle",
        "saddle-bound",
        {"pair": pair.value, "others": m, "bound": bound},
        (opposed, variation, line, steep, positive, "sign of m"),
        slope=slope,
        offset=offset,
    )
    return stated_certificate(claim, pair.chain, part)


def prove_radius(claim: str, part: str) -> Certificate:
    """β(m + 1) < 1 and e^{−2β} ≥ 1 − 2β give e^β(1 − m + (1 + m)e^{−2β}) > 0."""
    chain = ChainWriter()
    beta, m = (Symbol(name, positive=True) for name in ("beta", "m"))
    tangent = chain.add(
        "exponential-tangent",
        "nonnegative",
        {"scalar": exp(-2 * beta) + 2 * beta - 1},
        exponent=-2 * beta,
    )
    count = chain.add("scalar-sign", "positive", {"scalar": 1 + m}, ("sign of m",))
    scaled = chain.add(
        "scalar-product",
        "nonnegative",
        {"scalar": (1 + m) * (exp(-2 * beta) + 2 * beta - 1)},
        (count, tangent),
    )
    two = chain.add("scalar-sign", "positive", {"scalar": Integer(2)})
    twice = chain.add("scalar-product", "positive", {"scalar": 2 * (1 - (m + 1) * beta)}, (two, "radius"))
    inner = chain.add("scalar-sum", "positive", {"scalar": 1 - m + (1 + m) * exp(-2 * beta)}, (scaled, twice))
    front = chain.add("scalar-sign", "positive", {"scalar": exp(beta)})
    ends = {"scalar": exp(beta) + exp(-beta) - m * (exp(beta) - exp(-beta))}
    chain.add("scalar-product", "positive", ends, (front, inner))
    return stated_certificate(claim, chain, part)


def prove_space(claim: str, part: str) -> Certificate:
    """Move all tokens along the fields P_x u; the sum of the second derivatives is not negative for d ≥ 3."""
    pair = _Pair()
    m, e = Symbol("m", positive=True), Symbol("e", positive=True)
    c, floor = pair.cosine, exp(-pair.beta)
    inside = pair.beta * (1 - c) * (1 + c) + e - c
    total = 2 * pair.weight * (1 - c) * inside
    premises = [pair.opposed(), *_along_field(pair, total)]
    below, above = pair.below_one(), pair.above_minus_one()
    bulge = pair.product(pair.beta * (1 - c) * (1 + c), "sign of beta", below, above)
    heavy = pair.positive(2 * pair.weight)
    premises.append(pair.product(total, heavy, below, pair.sum(inside, bulge, "space", below)))
    lighter = pair.ordered(
        -pair.beta, pair.beta * c, pair.product(pair.beta * (1 + c), "sign of beta", above)
    )
    outer = pair.sum(e - c, "space", below)
    two = pair.positive(Integer(2))
    gained = pair.product(2 * (pair.weight - floor) * (1 - c) * (e - c), two, lighter, below, outer)
    curved = pair.product(2 * pair.weight * pair.beta * (1 - c) ** 2 * (1 + c), heavy, below, bulge)
    square = _square(pair)
    kept = pair.product(2 * floor * c**2, pair.positive(2 * floor), square)
    slope, offset = 2 * floor * (e + 1), -2 * floor * e
    premises.append(pair.sum(total + slope * c + offset, gained, curved, kept))
    steep = pair.chain.add("scalar-sign", "nonnegative", {"scalar": slope}, ("sign of e",))
    bound = 2 * floor * (e * (m + 1) + 1) / ((e + 1) * (m + 1) ** 3)
    premises += [steep, pair.positive(bound, "sign of e", "sign of m"), "sign of m", "sizes"]
    pair.chain.lemma(
        "field-saddle",
        "saddle-bound",
        {"pair": pair.value, "others": m, "bound": bound},
        tuple(premises),
        direction=pair.u,
        total=total,
        slope=slope,
        offset=offset,
    )
    return stated_certificate(claim, pair.chain, part)


def _square(pair: _Pair) -> str:
    """Write ⟨x, y⟩² ≥ 0."""
    c, row = pair.cosine, pair.cosine * pair.x.T
    gram = pair.chain.add("gram", "semidefinite", {"matrix": row.T * row}, factor=row)
    long = pair.chain.add("trace-sign", "nonnegative", {"scalar": c**2 * _dot(pair.x, pair.x)}, (gram,))
    ends = c**2 * _dot(pair.x, pair.x), c**2
    unit = pair.chain.equal("combination", *ends, ("token",), before=[c**2], after=[_ONE])
    return pair.chain.add("replace", "nonnegative", {"scalar": c**2}, (long, unit))


def _along_field(pair: _Pair, total: Any) -> tuple[str, str, str, str]:
    """Write both derivatives along x' = P_x u, y' = P_y u, their sum over u, and its value on the sphere."""
    x, y, u, c, beta = pair.x, pair.y, pair.u, pair.cosine, pair.beta
    fields = u - _dot(x, u) * x, u - _dot(y, u) * y
    along = {x: fields[0], y: fields[1]}
    slope = gateaux(pair.value, along)
    second = gateaux(slope, along)
    first = pair.moved(pair.value, slope, *fields)
    curved = pair.moved(slope, second, *fields)
    both = (x + y) * (x + y).T
    form = MatMul(pair.weight * (beta * (1 - c) ** 2 - 1 + c), both)
    form += MatMul(pair.weight * (1 - c), 2 * Identity(pair.d) - x * x.T - y * y.T)
    summed = pair.summed(second, u, Trace(form), form)
    shrink = pair.weight * (1 - c) * (beta * (1 - c) - 2)
    on_sphere = pair.chain.equal(
        "combination",
        Trace(form),
        total,
        (*_TOKENS, "sizes"),
        before=[shrink, shrink, 2 * pair.weight * (1 - c)],
        after=[_ONE, _ONE, _ONE],
    )
    return first, curved, summed, on_sphere


def prove_consensus_maximum(claim: str) -> Certificate:
    """e^β − e^{βc} ≥ β(1 − c)e^{βc} ≥ β(1 − c)e^{−β}, where 2 − 2c = |x − y|²."""
    pair = _Pair()
    c, beta, floor = pair.cosine, pair.beta, exp(-pair.beta)
    below, above = pair.below_one(), pair.above_minus_one()
    room = beta * (1 - c)
    tangent = pair.chain.add(
        "exponential-tangent", "nonnegative", {"scalar": exp(room) - room - 1}, exponent=room
    )
    inverse = pair.positive(1 / beta, "sign of beta")
    over = pair.product(
        (exp(beta) - pair.weight - pair.weight * room) / beta, inverse, pair.positive(pair.weight), tangent
    )
    lighter = pair.ordered(-beta, beta * c, pair.product(beta * (1 + c), "sign of beta", above))
    kept = pair.product((pair.weight - floor) * (1 - c), lighter, below)
    gap = floor / 2
    positive = pair.positive(gap)
    line = pair.sum(exp(beta) / beta - pair.value - gap * (2 - 2 * c), over, kept)
    cosine = Symbol("c", real=True)
    pair.chain.lemma(
        "pairwise-maximum",
        "dirac-maximum",
        {"pair": pair.value, "gap": gap},
        (positive, line),
        cosine=cosine,
        profile=exp(beta * cosine) / beta,
    )
    return stated_certificate(claim, pair.chain)
