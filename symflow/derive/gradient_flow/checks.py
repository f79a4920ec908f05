r"""Independent checks of gradient-flow structures, at a few tokens with rational coordinates.

Velocities come from the definition of the model, gradients from differences or derivatives of the energy in
coordinates; nothing here has seen the integrands being matched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mpmath import mp
from sympy import Float, Matrix, Rational, S, diff, symbols, zeros

from symflow.derive.components import Draw, explicit, in_digits
from symflow.derive.gradient_flow.matching import Averages, Joined
from symflow.derive.gradient_flow.necessity import Necessity
from symflow.derive.gradient_flow.parameters import Parameters
from symflow.derive.particles.cloud import Cloud, clouds, defined_velocities, projected
from symflow.derive.steps import Checked
from symflow.models.statement import Statement

#: Dimensions and numbers of tokens.
SIZES = ((1, 2), (2, 3))
#: Residuals are evaluated to these digits and have to be below the threshold.
DIGITS, ZERO = 60, Float("1e-45", 60)
#: The same for two tokens.
_PAIR_SIZES = ((2, 2), (3, 2))
_PAIRS = f"explicit matrices at two rational tokens, d = 2, 3, {DIGITS} digits"
_COMPONENTS = f"explicit matrices at rational tokens, (d, n) = {', '.join(map(str, SIZES))}, {DIGITS} digits"


@dataclass(frozen=True)
class Sample:
    """A few tokens and the values of every symbol of model and energy.

    Attributes
    ----------
    cloud : Cloud
        Tokens, and the parameters of the model.
    values : dict
        Every parameter.
    found : Averages
        The energy.
    """

    cloud: Cloud
    values: dict[Any, Any]
    found: Averages

    def of(self, expression: Any, **tokens: Any) -> Any:
        """Return the expression with explicit matrices."""
        at = {getattr(self.found, name): value for name, value in tokens.items()}
        return explicit(expression, {**self.values, **at}, self.cloud.sizes)

    def energy(self, tokens: Any, law: Any) -> Any:
        """Return F of a law of finitely many atoms, by its definition."""
        pairs = sum(
            p * q * self.of(self.found.pair, x=a, y=b)
            for p, a in zip(law, tokens, strict=True)
            for q, b in zip(law, tokens, strict=True)
        )
        alone = sum(p * self.of(self.found.potential, x=a) for p, a in zip(law, tokens, strict=True))
        return pairs / 2 + alone

    def first_variation(self, place: Any) -> Any:
        """Return δF/δμ at a place: the derivative of F in the mass there, written with both sums."""
        weights = zip(self.cloud.law, self.cloud.tokens, strict=True)
        pair = self.found.pair
        parts = (p * (self.of(pair, x=place, y=b) + self.of(pair, x=b, y=place)) for p, b in weights)
        return sum(parts) / 2 + self.of(self.found.potential, x=place)

    def gradient(self, token: Any) -> Any:
        """Return ∇δF/δμ at a token by derivatives in coordinates."""
        coordinates = symbols(f"z0:{len(token)}", real=True)
        varied = self.first_variation(Matrix(coordinates))
        at = dict(zip(coordinates, token, strict=True))
        slopes = Matrix([diff(varied, z).xreplace(at) for z in coordinates])
        return projected(slopes, token, self.found.space)

    def mass(self, token: Any) -> Any:
        """Return g at a token."""
        if self.found.weight is None:
            return S.One
        weights = zip(self.cloud.law, self.cloud.tokens, strict=True)
        return sum(p * self.of(self.found.weight, x=token, y=b) for p, b in weights)


def samples(
    statement: Statement, found: Averages, seed: int, joined: Joined | None = None, sizes: Any = SIZES
) -> Iterator[Sample]:
    """Yield samples whose parameters satisfy the equations of ``joined``."""
    right = () if joined is None else tuple(joined.table.values())
    for cloud in clouds(statement, seed, sizes):
        d = len(cloud.tokens[0])
        draw = Draw(d, seed=seed)
        known = (found.x, found.y, *cloud.shared)
        texts = [found.pair, found.potential, *right, *([found.functional] if found.functional else [])]
        extra = draw.values(texts, skip=known)
        values = _satisfying({**extra, **cloud.shared}, joined, cloud)
        shared = {symbol: values[symbol] for symbol in cloud.shared}
        changed = Cloud(cloud.tokens, cloud.law, cloud.causal, shared, cloud.own, cloud.sizes)
        yield Sample(changed, values, found)


def _satisfying(values: dict[Any, Any], joined: Joined | None, cloud: Cloud) -> dict[Any, Any]:
    # drawn entries are at most 1/2, so that up to size 3 the shift makes square matrices invertible
    changed = {s: v + 2 * Matrix.eye(v.rows) if _is_square(v) else v for s, v in values.items()}
    if joined is not None:
        changed |= {s: (changed[s] + changed[s].T) / 2 for s in joined.symmetric}
        changed |= {s: explicit(image, changed, cloud.sizes) for s, image in joined.table.items()}
    return changed


def _is_square(value: Any) -> bool:
    return bool(getattr(value, "is_Matrix", False) and value.rows == value.cols)


def is_zero(entries: Any) -> bool:
    """Whether numbers vanish to :data:`DIGITS` digits."""
    return all(abs(entry.evalf(DIGITS)) < ZERO for entry in entries)


def _where(sample: Sample) -> str:
    return f"d = {len(sample.cloud.tokens[0])}, n = {len(sample.cloud.tokens)}"


@dataclass(frozen=True)
class FirstVariation:
    """The derivative of F in masses, and the average of r against derivatives in coordinates."""

    statement: Statement
    found: Averages

    def run(self) -> Checked:
        """Vary the masses of atoms, then move a test point."""
        for sample in samples(self.statement, self.found, 29):
            if not is_zero([self._in_masses(sample)]):
                return Checked(False, _COMPONENTS, f"{_where(sample)}: derivative in the masses")
            for token in sample.cloud.tokens:
                weights = zip(sample.cloud.law, sample.cloud.tokens, strict=True)
                slope = sum(
                    (p * sample.of(self.found.slope, x=token, y=b) for p, b in weights), zeros(len(token), 1)
                )
                gap = projected(slope, token, self.found.space) - sample.gradient(token)
                if not is_zero(gap):
                    return Checked(False, _COMPONENTS, f"{_where(sample)}: gradient")
        return Checked(True, _COMPONENTS, "residual 0")

    def _in_masses(self, sample: Sample) -> Any:
        tokens, law, epsilon = sample.cloud.tokens, sample.cloud.law, symbols("epsilon", real=True)
        added = [Rational(j + 1, 3) for j in range(len(law))]
        added[-1] -= sum(added)
        moved = [p + epsilon * q for p, q in zip(law, added, strict=True)]
        slope = diff(sample.energy(tokens, moved), epsilon).xreplace({epsilon: S.Zero})
        return slope - sum(q * sample.first_variation(z) for q, z in zip(added, tokens, strict=True))


@dataclass(frozen=True)
class Identities:
    """MΓg = ∇δF/δμ at every token, with Γ by its definition."""

    statement: Statement
    found: Averages
    joined: Joined

    def run(self) -> Checked:
        """Compare both sides."""
        for sample in samples(self.statement, self.found, 31, self.joined):
            metric = sample.of(self.joined.metric)
            velocities = defined_velocities(self.statement, sample.cloud)
            for token, velocity in zip(sample.cloud.tokens, velocities, strict=True):
                gap = sample.mass(token) * metric * velocity - sample.gradient(token)
                if not is_zero(gap):
                    return Checked(False, _COMPONENTS, f"{_where(sample)}: {list(gap.evalf(10))}")
        return Checked(True, _COMPONENTS, "residual 0")


@dataclass(frozen=True)
class DissipationRate:
    """The derivative of F along tokens that move with their velocities, expanded in time."""

    statement: Statement
    found: Averages
    joined: Joined

    def run(self) -> Checked:
        """Compare with the average of g⟨Γ, MΓ⟩."""
        time = symbols("t", real=True)
        for sample in samples(self.statement, self.found, 37, self.joined):
            cloud, metric = sample.cloud, sample.of(self.joined.metric)
            velocities = defined_velocities(self.statement, cloud)
            moved = [x + time * v for x, v in zip(cloud.tokens, velocities, strict=True)]
            rate = diff(sample.energy(moved, cloud.law), time).xreplace({time: S.Zero})
            expected = sum(
                p * sample.mass(x) * (v.T * metric * v)[0]
                for p, x, v in zip(cloud.law, cloud.tokens, velocities, strict=True)
            )
            if not is_zero([rate - expected]):
                return Checked(False, _COMPONENTS, f"{_where(sample)}: {(rate - expected).evalf(10)}")
        return Checked(True, _COMPONENTS, "residual 0")


@dataclass(frozen=True)
class GradientOfTokens:
    """n∇F of the energy as a function of the tokens, in coordinates, against gMx'."""

    statement: Statement
    found: Averages
    joined: Joined

    def run(self) -> Checked:
        """Move each token in each direction."""
        for sample in samples(self.statement, self.found, 41, self.joined):
            cloud, metric, count = sample.cloud, sample.of(self.joined.metric), len(sample.cloud.tokens)
            velocities = defined_velocities(self.statement, cloud)
            for i, (token, velocity) in enumerate(zip(cloud.tokens, velocities, strict=True)):
                coordinates = symbols(f"z0:{len(token)}", real=True)
                moved = [*cloud.tokens[:i], Matrix(coordinates), *cloud.tokens[i + 1 :]]
                energy, at = sample.energy(moved, cloud.law), dict(zip(coordinates, token, strict=True))
                slopes = Matrix([diff(energy, z).xreplace(at) for z in coordinates])
                gradient = count * projected(slopes, token, self.found.space)
                if not is_zero(sample.mass(token) * metric * velocity - gradient):
                    return Checked(False, _COMPONENTS, f"{_where(sample)}, token {i}")
        return Checked(True, _COMPONENTS, "residual 0")


@dataclass(frozen=True)
class TwoAtoms:
    r"""The gradient at one of two atoms less Sw is (1 − θ)(k(y, x) − k(x, y))R₂y, and no multiple of Sw."""

    statement: Statement
    found: Averages
    why: Necessity

    def run(self) -> Checked:
        """Differentiate the energy of two atoms at parameters that are not symmetric."""
        for sample in samples(self.statement, self.found, 43, sizes=_PAIR_SIZES):
            x, y = sample.cloud.tokens
            parallel = []
            for theta in (Rational(1, 2), Rational(1, 3)):
                found = self._at(sample, x, y, theta)
                if found is None:
                    return Checked(False, _PAIRS, f"{_where(sample)}: the gradient has another form")
                parallel.append(found)
            if all(parallel):
                return Checked(False, _PAIRS, f"{_where(sample)}: parallel without the equation")
        return Checked(True, _PAIRS, "residual 0; not parallel for two values of θ")

    def _at(self, sample: Sample, x: Any, y: Any, theta: Any) -> bool | None:
        """Return whether gradient and Sw are parallel; None where the formula fails."""
        cloud = sample.cloud
        law = Cloud((x, y), (theta, 1 - theta), False, cloud.shared, cloud.own, cloud.sizes)
        two = Sample(law, sample.values, self.found)
        front, own, other = (two.of(m) for m in (self.why.front, self.why.own, self.why.exchanged))
        velocity = two.mass(x) * defined_velocities(self.statement, law)[0]
        w = theta * self._kernel(two, x, x) * x + (1 - theta) * self._kernel(two, x, y) * y
        S_w = (own + other) * w
        there, back = (self._kernel(two, a, b) for a, b in ((x, y), (y, x)))
        gap = two.gradient(x) - S_w - (1 - theta) * (back - there) * other * y
        if not is_zero(gap) or not is_zero(front * w - velocity):
            return None
        gradient = two.gradient(x)
        minors = [S_w[i] * gradient[j] - S_w[j] * gradient[i] for i in range(len(x)) for j in range(i)]
        return is_zero(minors)

    def _kernel(self, two: Sample, a: Any, b: Any) -> Any:
        return two.of(self.statement.head.kernel, x=a, y=b)


@dataclass(frozen=True)
class Definite:
    """M·L = R with the matrices of both sides, and eigenvalues of one sign."""

    joined: Joined
    parameters: Parameters
    metric: Any
    sign: int

    def run(self) -> Checked:
        """Multiply out, and look at the eigenvalues in digits."""
        method = "products of explicit matrices and eigenvalues in digits"
        if self.joined.invertible:
            names = {m: self.parameters.values.get(m) for m in (self.joined.left, self.joined.right)}
            left, right = names.values()
            if left is not None and right is not None and self.metric * left != right:
                return Checked(False, method, "M is another matrix")
        values = mp.eigsy(in_digits(self.metric), eigvals_only=True)
        passed = self.metric == self.metric.T and all(value * self.sign > 0 for value in values)
        return Checked(bool(passed), method, f"eigenvalues {', '.join(mp.nstr(v, 6) for v in values)}")
