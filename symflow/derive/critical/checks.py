"""Independent checks of Hessians: derivatives in one variable, at a few tokens with rational coordinates.

The energy is written out with explicit matrices along a curve in t and differentiated by SymPy; nothing here
has seen a Gateaux derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Matrix, Rational, Symbol, cos, sin

from symflow.derive.components import Draw, explicit, is_nonzero
from symflow.derive.steps import Checked

if TYPE_CHECKING:
    from symflow.derive.critical.form import HessianForm

#: Dimensions and numbers of tokens.
SIZES = ((2, 2), (3, 2))
_METHOD = (
    f"derivatives in t of the sum written out, at rational tokens, (d, n) = {', '.join(map(str, SIZES))}"
)
_T = Symbol("t", real=True)


@dataclass(frozen=True)
class Sample:
    """A few tokens with velocities, and the values of the parameters.

    Attributes
    ----------
    tokens, velocities : list of Matrix
    speeds : list of Rational
        Lengths of the velocities.
    values, sizes : dict
    """

    tokens: list[Any]
    velocities: list[Any]
    speeds: list[Any]
    values: dict[Any, Any]
    sizes: dict[Any, int]

    def energy(self, form: HessianForm, tokens: list[Any]) -> Any:
        """Return F by its definition."""
        s, n = form.statement, len(tokens)
        pairs = sum(self.of(s.pair, {s.x: a, s.y: b}) for a in tokens for b in tokens)
        return pairs / (2 * n * n) + sum(self.of(s.potential, {s.x: a}) for a in tokens) / n

    def of(self, expression: Any, tokens: dict[Any, Any]) -> Any:
        """Return a scalar with explicit matrices."""
        return explicit(expression, {**self.values, **tokens}, self.sizes)

    def along(self, form: HessianForm, pair: Any, alone: Any) -> Any:
        """Return the sum over tokens and velocities of what a derivation says of pairs and tokens."""
        s, n = form.statement, len(self.tokens)
        places = list(zip(self.tokens, self.velocities, strict=True))
        pairs = sum(
            self.of(pair, {s.x: a, s.y: b, form.xi: v, form.eta: w}) for a, v in places for b, w in places
        )
        return pairs / (2 * n * n) + sum(self.of(alone, {s.x: a, form.xi: v}) for a, v in places) / n


def samples(form: HessianForm, seed: int) -> Iterator[Sample]:
    """Yield tokens on the space of the form, with tangent velocities of rational length."""
    s = form.statement
    for d, n in SIZES:
        draw = Draw(d, seed=seed + 10 * d + n)
        values = draw.values([s.pair, s.potential], skip=(s.x, s.y))
        found = [_place(draw, d, form.space) for _ in range(n)]
        tokens, velocities, speeds = (list(part) for part in zip(*found, strict=True))
        yield Sample(tokens, velocities, speeds, values, {**draw.sizes, s.dimensions[0]: d})


def _place(draw: Draw, d: int, space: str) -> tuple[Any, Any, Any]:
    """Return a rational token, a tangent vector and its length, a rational too."""
    speed = Rational(1, 2) + abs(draw.matrix(1, 1)[0])
    if space == "euclidean":
        return draw.matrix(d, 1), draw.matrix(d, 1), speed
    # the columns of a rational rotation (Cayley's) are a point and unit tangent vectors there
    skew = draw.matrix(d, d)
    skew = skew - skew.T
    turned = (Matrix.eye(d) - skew) * (Matrix.eye(d) + skew).inv()
    return turned[:, 0], speed * turned[:, 1], speed


@dataclass(frozen=True)
class FirstDerivative:
    """dF/dt along straight lines against the derivative of each summand."""

    form: HessianForm

    def run(self) -> Checked:
        """Differentiate once."""
        return _compare(self.form, 41, 1, self.form.slope, self.form.potential_slope, _line)


@dataclass(frozen=True)
class SecondDerivative:
    """d²F/dt² along parabolas x + tξ + t²a/2 with drawn accelerations."""

    form: HessianForm

    def run(self) -> Checked:
        """Differentiate twice along straight lines and once along the accelerations."""
        form = self.form
        for sample in samples(form, 43):
            draw = Draw(len(sample.tokens[0]), seed=47)
            bent = [draw.matrix(len(token), 1) for token in sample.tokens]
            lines = [
                _line(*place) for place in zip(sample.tokens, sample.velocities, sample.speeds, strict=True)
            ]
            parabolas = [line + _T**2 / 2 * a for line, a in zip(lines, bent, strict=True)]
            pushed = [token + _T * a for token, a in zip(sample.tokens, bent, strict=True)]
            curved = sample.energy(form, parabolas).diff(_T, 2) - sample.energy(form, lines).diff(_T, 2)
            if is_nonzero((curved - sample.energy(form, pushed).diff(_T)).subs(_T, 0).doit()):
                return Checked(
                    False, _METHOD, f"d = {len(sample.tokens[0])}: the accelerations count otherwise"
                )
        return Checked(True, _METHOD, "0 difference in every case")


@dataclass(frozen=True)
class GreatCircles:
    """d²F/dt² along the geodesics themselves, cosines and sines, against the form."""

    form: HessianForm

    def run(self) -> Checked:
        """Differentiate twice."""
        form = self.form
        curve = _circle if form.space == "sphere" else _line
        return _compare(form, 53, 2, form.pair, form.potential, curve)


def _line(token: Any, velocity: Any, speed: Any) -> Any:
    return token + _T * velocity


def _circle(token: Any, velocity: Any, speed: Any) -> Any:
    return cos(speed * _T) * token + sin(speed * _T) / speed * velocity


def _compare(
    form: HessianForm, seed: int, order: int, pair: Any, alone: Any, curve: Callable[[Any, Any, Any], Any]
) -> Checked:
    for sample in samples(form, seed):
        places = zip(sample.tokens, sample.velocities, sample.speeds, strict=True)
        moved = sample.energy(form, [curve(*place) for place in places])
        expected = moved.diff(_T, order).subs(_T, 0).doit()
        if is_nonzero(expected - sample.along(form, pair, alone)):
            return Checked(False, _METHOD, f"d = {len(sample.tokens[0])}: {expected} was expected")
    return Checked(True, _METHOD, "0 difference in every case")
