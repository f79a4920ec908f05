"""Independent check of the exponents of a layer: its own generator, evaluated next to u = 1."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import mpmath
from sympy import Rational, Symbol, lambdify

from symflow.derive.noise.symbols import COSINE
from symflow.derive.steps import Checked
from symflow.models.noise.statement import NoiseStatement

_DIGITS = 70
_SIGMAS = ((Rational(0), Rational(0)), (Rational(1, 10), Rational(2, 5)))


@dataclass(frozen=True)
class ExponentsFromPowers:
    """L½log(1 − u) and L(1 − u)/(1 − u) with κ in closed form, at 1 − u = 10⁻²⁴."""

    layer: NoiseStatement
    drift: Any
    diffusion: Any
    lyapunov: Any
    dissipation: Any

    def run(self) -> Checked:
        """Compare for two sizes and two pairs of biases; the error is of the order of √(1 − u)."""
        worst = mpmath.mpf(0)
        with mpmath.workdps(_DIGITS):
            gap = mpmath.mpf(10) ** -24
            for size, (outer, inner) in itertools.product((3, 64), _SIGMAS):
                given = [(self.layer.dim, size), (self.layer.sigma_w, outer), (self.layer.sigma_u, inner)]
                values = {name: value for name, value in given if isinstance(name, Symbol)}
                drift, diffusion = (
                    lambdify(COSINE, part.subs(values), "mpmath")(1 - gap)
                    for part in (self.drift, self.diffusion)
                )
                found = (-(drift / gap + diffusion / gap**2) / 2, -drift / gap)
                for seen, formula in zip(found, (self.lyapunov, self.dissipation), strict=True):
                    expected = mpmath.mpmathify(formula.subs(values).evalf(_DIGITS))
                    worst = max(worst, abs(seen - expected))
        passed = bool(worst < mpmath.mpf(10) ** -8)
        return Checked(passed, "the generator of the layer at 1 − u = 10⁻²⁴", mpmath.nstr(worst, 2))
