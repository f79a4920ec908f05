"""Independent checks of the system of tokens, at a few tokens with rational coordinates."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Matrix, Rational, S, Transpose, diff, prod, symbols, zeros

from symflow.derive.components import ROOT_DIGITS, in_digits, is_nonzero
from symflow.derive.particles.cloud import (
    SIZES,
    Cloud,
    clouds,
    defined_velocities,
    kernels_of,
    normalised,
    projected,
)
from symflow.derive.steps import Checked
from symflow.flow import SCORE, Pairing, PairTerm, TokenFlow
from symflow.models.statement import Head, Statement

_SHAPES = ", ".join(f"({d}, {n})" for d, n in SIZES)
_COMPONENTS = f"explicit matrices at rational tokens, (d, n) = {_SHAPES}"


@dataclass(frozen=True)
class KernelOfScore:
    """The kernel of every head is its weight at its score."""

    statement: Statement

    def run(self) -> Checked:
        """Evaluate both at pairs of tokens."""
        for cloud in clouds(self.statement, 3):
            for head in self.statement.heads:
                for values, _, _ in _pairs(self.statement, cloud, head):
                    kernel, score = cloud.of(head.kernel, values), cloud.of(head.score, values)
                    if is_nonzero(kernel - cloud.of(head.weight.xreplace({SCORE: score}), values)):
                        return Checked(False, _COMPONENTS, f"{_where(cloud)}: {head.kernel}")
        return Checked(True, _COMPONENTS, "residual 0")


@dataclass(frozen=True)
class WeakForm:
    r"""Test functions along moving atoms: :math:`\frac{d}{dt}\sum\theta_j\varphi(x_j)`, expanded in time."""

    statement: Statement

    def run(self) -> Checked:
        """Compare with the sum of θ ⟨∇φ, v⟩ for monomials of degree up to two in each coordinate."""
        method = "monomials as test functions, expanded in time"
        for cloud in clouds(self.statement, 5):
            d = len(cloud.tokens[0])
            coordinates = symbols(f"z0:{d}", real=True)
            for powers in itertools.product(range(3), repeat=d):
                test = prod(z**power for z, power in zip(coordinates, powers, strict=True))
                if is_nonzero(self._residual(cloud, test, coordinates)):
                    return Checked(False, method, f"{_where(cloud)}: monomial {test}")
        return Checked(True, method, "residual 0")

    def _residual(self, cloud: Cloud, test: Any, coordinates: Any) -> Any:
        time = symbols("t", real=True)
        moved = slopes = S.Zero
        for j, (theta, token) in enumerate(zip(cloud.law, cloud.tokens, strict=True)):
            speed = token * Rational(j + 2, 3) + Matrix([j] * len(token))
            moved += theta * test.xreplace(dict(zip(coordinates, token + time * speed, strict=True)))
            at = dict(zip(coordinates, token, strict=True))
            slopes += theta * sum(
                diff(test, z).xreplace(at) * v for z, v in zip(coordinates, speed, strict=True)
            )
        return moved.expand().coeff(time, 1) - slopes


@dataclass(frozen=True)
class ScoreOfPairings:
    """The score of one head equals its form in pairings and numbers of one token."""

    statement: Statement
    head: Head
    term: PairTerm

    def run(self) -> Checked:
        """Evaluate both at every pair of tokens."""
        for cloud in clouds(self.statement, 7):
            for values, i, j in _pairs(self.statement, cloud, self.head):
                score = cloud.of(self.head.kernel, values)
                weight = _weight(self.term, cloud, values)
                if is_nonzero(score - weight):
                    return Checked(False, _COMPONENTS, f"{_where(cloud)}, tokens {i}, {j}: {score - weight}")
        return Checked(True, _COMPONENTS, "residual 0")


@dataclass(frozen=True)
class SymmetricScore:
    """s(x, y) = s(y, x) for parameters that satisfy the equations."""

    statement: Statement
    head: Head
    equations: tuple[tuple[Any, Any], ...]

    def run(self) -> Checked:
        """Exchange the tokens in the score as it was stated."""
        x, y = self.statement.x, self.statement.y
        for cloud in clouds(self.statement, 11):
            for values, i, j in _pairs(self.statement, cloud, self.head):
                equal = self._satisfied(values)
                there = cloud.of(self.head.score, equal)
                back = cloud.of(self.head.score, {**equal, x: values[y], y: values[x]})
                if is_nonzero(there - back):
                    return Checked(False, _COMPONENTS, f"{_where(cloud)}, tokens {i}, {j}: {there - back}")
        return Checked(True, _COMPONENTS, "residual 0")

    def _satisfied(self, values: dict[Any, Any]) -> dict[Any, Any]:
        changed = dict(values)
        for left, right in self.equations:
            is_transpose = isinstance(right, Transpose)
            changed[left] = (changed[left] + changed[left].T) / 2 if is_transpose else changed[right]
        return changed


@dataclass(frozen=True)
class TokenVelocities:
    """The system of tokens equals the integrals of the definition against the empirical law."""

    statement: Statement
    flow: TokenFlow

    def run(self) -> Checked:
        """Compute both velocities of every token."""
        for cloud in clouds(self.statement, 13):
            defined = defined_velocities(self.statement, cloud)
            derived = _derived_velocities(self.flow, cloud)
            for i, (one, other) in enumerate(zip(defined, derived, strict=True)):
                if any(is_nonzero(entry) for entry in one - other):
                    return Checked(False, _COMPONENTS, f"{_where(cloud)}, token {i}: {list(one - other)}")
        return Checked(True, _COMPONENTS, "residual 0")


@dataclass(frozen=True)
class Tangent:
    r""":math:`x^\top P_x v = (1-|x|^2)\,x^\top v`, and velocities of tokens on the sphere are tangent."""

    statement: Statement

    def run(self) -> Checked:
        """Take any rational vectors for the identity, and the velocities of the definition."""
        for cloud in clouds(self.statement, 17):
            for token, velocity in zip(cloud.tokens, defined_velocities(self.statement, cloud), strict=True):
                off = 2 * token + Matrix([Rational(1, 3)] * len(token))
                other = Matrix([Rational(i + 1, 7) for i in range(len(token))])
                identity = (off.T * projected(other, off, "sphere"))[0]
                expected = (1 - (off.T * off)[0]) * (off.T * other)[0]
                residuals = (identity - expected, (token.T * velocity)[0], (token.T * token)[0] - 1)
                if any(is_nonzero(residual) for residual in residuals):
                    return Checked(False, _COMPONENTS, f"{_where(cloud)}: {residuals}")
        return Checked(True, _COMPONENTS, "residual 0")


@dataclass(frozen=True)
class RescaledVelocity:
    r"""The derivative of :math:`e^{-tV}x_i` by a difference quotient, against Σ_j w_ij V(z_j − z_i)."""

    statement: Statement
    matrix: Any

    def run(self) -> Checked:
        """Differentiate at t = 3/4 to forty digits."""
        head = self.statement.heads[0]
        worst = mpmath.mpf(0)
        for cloud in clouds(self.statement, 19, sizes=((1, 3), (2, 3), (3, 2))):
            with mpmath.workdps(ROOT_DIGITS + 20):
                residual = self._residual(cloud, head)
            worst = max(worst, residual)
        passed = bool(worst < mpmath.mpf(10) ** -35)
        return Checked(passed, "difference quotient in time", f"residual {mpmath.nstr(worst, 2)}")

    def _residual(self, cloud: Cloud, head: Head) -> Any:
        rows = range(len(cloud.tokens))
        matrix = in_digits(cloud.of(self.matrix, cloud.shared))
        tokens = [in_digits(token) for token in cloud.tokens]
        speeds = [in_digits(v) for v in defined_velocities(self.statement, cloud)]
        kernels = kernels_of(head, self.statement, cloud, cloud.shared)
        weights = in_digits(Matrix(normalised(kernels, head.normalise, cloud)))
        time, step = mpmath.mpf(3) / 4, mpmath.mpf(10) ** -22
        frame = [mpmath.expm(-(time + h) * matrix) for h in (-step, step)]
        here = mpmath.expm(-time * matrix)
        z = [here * token for token in tokens]
        worst = mpmath.mpf(0)
        for i in rows:
            ends = [e * (tokens[i] + h * speeds[i]) for e, h in zip(frame, (-step, step), strict=True)]
            slope = (ends[1] - ends[0]) / (2 * step)
            expected = matrix * sum((weights[i, j] * (z[j] - z[i]) for j in rows), 0 * z[i])
            worst = max(worst, *(abs(entry) for entry in slope - expected))
        return worst


# ---- the system as it was derived -------------------------------------------------------------------


def _derived_velocities(flow: TokenFlow, cloud: Cloud) -> list[Any]:
    rows = range(len(cloud.tokens))
    found = [cloud.of(flow.background, {**cloud.shared, flow.x: token}) for token in cloud.tokens]
    for term in flow.terms:
        for values in cloud.heads(term.family):
            places = [[{**values, flow.x: a, flow.y: b} for b in cloud.tokens] for a in cloud.tokens]
            raw = [[_weight(term, cloud, place) for place in line] for line in places]
            weights = normalised(raw, term.normalise, cloud)
            features = [cloud.of(term.feature, {**values, flow.y: token}) for token in cloud.tokens]
            matrix, offset, factor = (cloud.of(e, values) for e in (term.matrix, term.offset, term.prefactor))
            for i in rows:
                average = sum((weights[i][j] * features[j] for j in rows), zeros(*features[0].shape))
                found[i] += factor * (matrix * average + offset * sum(weights[i]))
    return [projected(v, x, flow.space) for v, x in zip(found, cloud.tokens, strict=True)]


def _weight(term: PairTerm, cloud: Cloud, values: dict[Any, Any]) -> Any:
    numbers = {symbol: cloud.of(value, values) for symbol, value in (*term.rows, *term.columns)}
    numbers |= {pairing.symbol: _paired(pairing, cloud, values) for pairing in term.pairings}
    score = cloud.of(term.score, {**values, **numbers})
    return cloud.of(term.weight.xreplace({SCORE: score}), values)


def _paired(pairing: Pairing, cloud: Cloud, values: dict[Any, Any]) -> Any:
    left, right = cloud.of(pairing.left, values), cloud.of(pairing.right, values)
    if pairing.difference:
        left = right = left - right
    return (left.T * right)[0]


def _pairs(statement: Statement, cloud: Cloud, head: Head) -> Any:
    """Yield values with a query and a key token in them, and their indices."""
    for values in cloud.heads(head.family):
        for i, j in itertools.product(range(len(cloud.tokens)), repeat=2):
            yield {**values, statement.x: cloud.tokens[i], statement.y: cloud.tokens[j]}, i, j


def _where(cloud: Cloud) -> str:
    return f"d = {len(cloud.tokens[0])}, n = {len(cloud.tokens)}"
