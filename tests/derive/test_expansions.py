"""Expansions: every check passes, wrong formulas fail, bounds hold, what has none is refused by reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from sympy import S, Symbol, exp, gamma, hyper, pi, sin, sqrt

from symflow.derive.expansions import checks as routes
from symflow.derive.expansions.bilinear import bilinear
from symflow.derive.expansions.enclosures import PRECISION, enclose, expansion
from symflow.derive.expansions.harmonics import HarmonicSum, harmonic_sum
from symflow.derive.expansions.legendre import harmonics
from symflow.derive.expansions.moments import in_tokens, moment_sum
from symflow.derive.expansions.series import MOST_MODES, Series
from symflow.derive.particles import token_flow
from symflow.errors import InputError, NoExpansion
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.combinators.masked import Masked


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize(
    ("model", "given"),
    [
        (Softmax(space="sphere"), ()),
        (Softmax(space="sphere", beta=3), ("Q", "K", "V", "bq", "bk", "bv", "bo")),
        (L2(space="sphere"), ("Q", "K", "V")),
        (Unnormalised(space="sphere"), ("A", "V")),
    ],
    ids=["softmax", "softmax-affine", "l2", "unnormalised"],
)
def test_harmonic_sums(model: Any, given: tuple[str, ...], dimension: int) -> None:
    found = harmonic_sum(token_flow(model, given), dimension)
    assert found.check()
    assert "Bernstein" in found.to_latex(fragment=True)
    assert found.to_html().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (Linear(), None),
        (Linear(), ("Q", "K", "V", "bq", "bk", "bv", "bo")),
        (Linear(space="sphere"), ()),
        (Masked(Linear()), None),
    ],
    ids=["product", "affine", "sphere", "masked"],
)
def test_moment_sums(model: Any, given: Any) -> None:
    assert moment_sum(token_flow(model, given)).check()


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Softmax(), "do not live on a sphere"),
        (Sigmoid(space="sphere"), "no exponentials"),
        (Linear(space="sphere"), "no exponentials"),
        (Sinkhorn(space="sphere"), "no exponentials"),
        (Masked(Softmax(space="sphere")), "before them"),
    ],
)
def test_what_has_no_harmonics(model: Any, reason: str) -> None:
    with pytest.raises(NoExpansion, match=reason):
        harmonic_sum(token_flow(model), 2)


def test_what_has_no_moments() -> None:
    with pytest.raises(NoExpansion, match="not affine"):
        moment_sum(token_flow(Softmax()))


def test_other_spheres_are_refused() -> None:
    with pytest.raises(InputError, match="must be 2"):
        harmonic_sum(token_flow(Softmax(space="sphere"), ()), 4)


# ------------------------------------------------------------------------------------- checks that can fail


@dataclass(frozen=True)
class _Wrong(Series):
    """A series whose coefficients are those of d + 2 dimensions."""

    @property
    def power_coefficient(self) -> Any:
        return Series(self.dimension + 2).power_coefficient


@pytest.mark.parametrize("dimension", [2, 3])
def test_wrong_coefficients_fail(monkeypatch: pytest.MonkeyPatch, dimension: int) -> None:
    monkeypatch.setattr(routes, "series_of", _Wrong)
    assert not routes.ExactMoments(dimension).run().passed


def test_a_wrong_tail_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    true = routes.tail_bound
    monkeypatch.setattr(routes, "tail_bound", lambda *a: true(*a) / 2)
    assert not routes.TailBound(2).run().passed
    monkeypatch.setattr(routes, "tail_bound", lambda *a: true(*a) * 2)
    assert not routes.TailBound(3).run().passed


def test_wrong_weights_of_the_addition_theorem_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubled(modes: int) -> Any:
        steps, weights, slants = harmonics(modes)
        return steps, tuple([2 * w for w in row] for row in weights), slants

    monkeypatch.setattr(routes, "harmonics", doubled)
    assert not routes.AdditionTheorem(3).run().passed


def test_wrong_parts_of_a_score_fail() -> None:
    flow = token_flow(L2()).flow
    parts = bilinear(flow.terms[0], flow.x, flow.y)
    wrong = replace(parts, matrix=parts.matrix * 2)
    term = flow.terms[0]
    assert routes.ScoreIsBilinear(in_tokens(term), parts, flow.x, flow.y).run().passed
    assert not routes.ScoreIsBilinear(in_tokens(term), wrong, flow.x, flow.y).run().passed


def test_wrong_moments_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = token_flow(Linear(), ("Q", "K", "V", "bq", "bk", "bv", "bo")).flow
    term, true = flow.terms[0], routes.weight_at
    parts = bilinear(term, flow.x, flow.y)
    check = routes.MomentsAgainstPairs(parts, term.matrix, term.offset, flow.x, flow.y)
    assert check.run().passed
    monkeypatch.setattr(
        routes, "weight_at", lambda parts, *a: true(replace(parts, key=parts.query, query=parts.key), *a)
    )
    assert not check.run().passed


# ------------------------------------------------------------------------------------------- ball arithmetic


@pytest.mark.parametrize("kappa", [0.0, 1e-8, 0.5, 9.0, 81.0, 900.0])
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_tail_is_proved_and_no_mode_is_wasted(dimension: int, kappa: float) -> None:
    found = expansion(dimension, kappa, 1e-15)
    if found is None:
        assert dimension == 3
        assert kappa == 900.0  # needs more than the most modes
        return
    assert found.tail <= Fraction(1e-15)
    tail, shorter = _tail(dimension, kappa, found.modes), _tail(dimension, kappa, found.modes - 1)
    assert tail <= mpmath.mpf(found.tail.numerator) / found.tail.denominator
    assert found.modes == 1 or 2 * shorter > 1e-15  # the bound is within a factor of two


def _tail(dimension: int, kappa: float, start: int) -> Any:
    with mpmath.workdps(40):
        if kappa == 0.0:
            return mpmath.mpf(start == 0)
        number = [2 if dimension == 2 else 2 * k + 1 for k in range(start, start + 200)]
        terms = (routes.bessel(dimension, k, mpmath.mpf(kappa)) for k in range(start, start + 200))
        return mpmath.fsum(n * c for n, c in zip(number, terms, strict=True))


@pytest.mark.parametrize("dimension", [2, 3])
def test_coefficients_are_those_of_bessel_functions(dimension: int) -> None:
    found = expansion(dimension, 7.5, 1e-16)
    assert found is not None
    with mpmath.workdps(40):
        for k in range(1, found.modes + 1):
            number = 2 if dimension == 2 else 2 * k + 1
            exact = number * routes.bessel(dimension, k, mpmath.mpf(7.5)) / 7.5
            assert abs(found.slope[k] - exact) <= 2e-16 * exact


def test_more_than_the_most_modes_is_none() -> None:
    assert expansion(2, 1e6, 1e-16) is None
    assert MOST_MODES[2] >= 1000


def test_balls_of_expressions() -> None:
    from flint import arb, ctx

    x = Symbol("x")
    with ctx.workprec(PRECISION):
        expr = exp(x) * sqrt(pi) / gamma(x + S.Half) + hyper((), (2,), x) ** 2
        ball = enclose(expr, {x: arb(3)})
        with mpmath.workdps(30):
            value = mpmath.exp(3) * mpmath.sqrt(mpmath.pi) / mpmath.gamma(3.5) + mpmath.hyp0f1(2, 3) ** 2
            assert abs(mpmath.mpf(ball.mid().str(35, radius=False)) - value) < 1e-25
        with pytest.raises(InputError, match="no rule"):
            enclose(sin(x), {x: arb(3)})


def test_it_says_what_it_is() -> None:
    found = harmonic_sum(token_flow(Softmax(space="sphere"), ()), 3)
    assert isinstance(found, HarmonicSum)
    assert "d = 3: 1 terms" in repr(found)
