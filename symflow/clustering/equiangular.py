r"""Tokens with one common cosine γ: its equation, hitting times, and a witness without an integrator.

Where all cosines are equal they stay equal, and γ solves one scalar equation. It is derived from the flow of
tokens: in :math:`\frac{d}{dt}\langle x_i, x_j\rangle` the token i itself, the token j, and the n − 2
others add three kinds of terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Integer, Symbol, exp, factor, lambdify, latex, powsimp

from symflow.checking import Array, real_array, real_number
from symflow.clustering.zonal import ZonalTerm, zonal_terms
from symflow.errors import InputError

GAMMA = Symbol("gamma", real=True)
COUNT = Symbol("n", integer=True, positive=True)
_DIGITS = 30


@dataclass(frozen=True)
class Contribution:
    """What ``count`` tokens k add to d⟨x_i, x_j⟩/dt through x_i': w(``seen``)(``cosine`` − ``seen``·γ)."""

    who: str
    count: Expr
    seen: Expr
    cosine: Expr

    @property
    def geometry(self) -> Expr:
        """⟨P_{x_i} x_k, x_j⟩."""
        return self.cosine - self.seen * GAMMA


#: Every token k seen from the pair (i, j): ⟨x_i, x_k⟩ and ⟨x_k, x_j⟩.
CLASSES = (
    Contribution("k = i", Integer(1), Integer(1), GAMMA),
    Contribution("k = j", Integer(1), GAMMA, Integer(1)),
    Contribution("others", COUNT - 2, GAMMA, GAMMA),
)


@dataclass(frozen=True)
class EquiangularFlow:
    r"""The scalar equation :math:`\dot\gamma = f(\gamma)` of the common cosine of n ≥ 2 tokens.

    Attributes
    ----------
    model : str
        Name of the model.
    rhs : Expr
        f in ``gamma``, ``n`` and the scalar parameters that the model keeps as symbols.
    """

    model: str
    rhs: Expr

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that need values, beside n."""
        return tuple(sorted(s.name for s in self.rhs.free_symbols - {GAMMA, COUNT}))

    def to_latex(self) -> str:
        """Return the equation in LaTeX."""
        return rf"\dot\gamma = {latex(self.rhs)}"

    def rate(self, gamma: float, n: int, **values: float) -> float:
        """Return dγ/dt.

        Parameters
        ----------
        gamma : float
            Cosine, in [−1/(n − 1), 1].
        n : int
            Number of tokens, at least 2.
        **values : float
            Of the parameters that the model keeps as symbols.
        """
        import mpmath

        with mpmath.workdps(_DIGITS):
            return float(self._function(n, values)(mpmath.mpf(gamma)))

    def hitting_time(self, level: float, n: int, start: float = 0.0, **values: float) -> float:
        r"""Return when the cosine reaches ``level``: no integrator, a quadrature with 30 digits.

        .. math:: t = \int_{\gamma_0}^{\text{level}}\frac{d\gamma}{f(\gamma)}

        Parameters
        ----------
        level : float
            Less than one, and not less than ``start``.
        n : int
            Number of tokens, at least 2.
        start : float
            γ at time zero; zero for orthonormal tokens.
        **values : float
            Of the parameters that the model keeps as symbols.

        Raises
        ------
        InputError
            If the level is not between start and one, a value is missing, or f is not positive on the way.
        """
        import mpmath

        with mpmath.workdps(_DIGITS):
            time = self._time(self._function(n, values), *_path(start, level, n))
            if not time < mpmath.mpf(2) ** 1023:
                exponent = float(mpmath.log10(time))
                raise InputError(f"level {level!r} is reached at 10^{exponent:.6g}, beyond doubles")
        return float(time)

    def cosine_at(self, time: float, n: int, start: float = 0.0, **values: float) -> float:
        """Return γ at one time to about fifteen digits, by inverting :meth:`hitting_time`.

        Parameters
        ----------
        time : float
            At least zero.
        n, start, values
            As for :meth:`hitting_time`.
        """
        import mpmath

        target = real_number(time, "time")
        if target < 0.0:
            raise InputError(f"time = {target!r} must not be negative")
        function = self._function(n, values)
        gamma = float(self.curve([0.0, target], n, start, **values)[-1])
        with mpmath.workdps(_DIGITS):
            first, point = (mpmath.mpf(v) for v in _path(start, gamma, n))
            for _ in range(3):  # Newton: d(time)/dγ = 1/f
                point -= (self._time(function, first, point) - target) * function(point)
            return float(point)

    def curve(self, times: Any, n: int, start: float = 0.0, **values: float) -> Array:
        """Return γ at increasing times from the first one, where it is ``start``, by SciPy's DOP853.

        Parameters
        ----------
        times : array_like, (T,)
            Increasing.
        n, start, values
            As for :meth:`hitting_time`.
        """
        import numpy as np
        from scipy.integrate import solve_ivp

        grid = real_array(times, "times")
        if grid[-1] == grid[0]:
            return np.full(grid.shape, float(start))
        function = self._function(n, values, "math")
        found = solve_ivp(
            lambda _, y: [function(min(float(y[0]), 1.0))],
            (grid[0], grid[-1]),
            [real_number(start, "start")],
            method="DOP853",
            t_eval=grid,
            rtol=1e-13,
            atol=1e-15,
        )
        if not found.success:
            raise InputError(f"the equation of the cosine could not be integrated: {found.message}")
        return np.asarray(found.y[0])

    @cached_property
    def _names(self) -> tuple[Symbol, ...]:
        return tuple(sorted(self.rhs.free_symbols - {GAMMA, COUNT}, key=lambda s: s.name))

    def _function(self, n: int, values: dict[str, float], module: str = "mpmath") -> Callable[[Any], Any]:
        if isinstance(n, bool) or not isinstance(n, int) or n < 2:
            raise InputError(f"n = {n!r} must be a number of tokens, at least 2")
        missing = sorted(set(self.parameters) ^ set(values))
        if missing:
            known = ", ".join(self.parameters) or "none"
            raise InputError(f"parameter {missing[0]!r}: the equation needs values of {known}")
        from sympy import Rational

        exact = {s: Rational(str(real_number(values[s.name], s.name))) for s in self._names}
        expression = self.rhs.subs({COUNT: n, **exact})
        return lambdify(GAMMA, expression, modules=module)  # type: ignore[no-any-return]

    @staticmethod
    def _time(function: Callable[[Any], Any], start: Any, level: Any) -> Any:
        import mpmath

        if start == level:
            return mpmath.mpf(0)
        if not (function(mpmath.mpf(start)) > 0 and function(mpmath.mpf(level)) > 0):
            raise InputError("the cosine does not increase there, so that it does not reach the level")
        # near one the integrand is like 1/(1 − γ): in s = −log(1 − γ) it is smooth
        return mpmath.quad(
            lambda s: mpmath.exp(-s) / function(1 - mpmath.exp(-s)),
            mpmath.linspace(-mpmath.log(1 - mpmath.mpf(start)), -mpmath.log(1 - mpmath.mpf(level)), 5),
        )


def equiangular_flow(model: Any) -> EquiangularFlow:
    r"""Derive the equation of the common cosine from the flow of tokens.

    Parameters
    ----------
    model : AttentionModel
        On the sphere, Q, K, V left out; scalars may be symbols.

    Returns
    -------
    EquiangularFlow

    Raises
    ------
    InputError
        If the attention is no function of cosines.

    References
    ----------
    GLPR23, Theorem 6.8.

    Examples
    --------
    >>> from symflow.models.attention.linear import Linear
    >>> equiangular_flow(Linear(space="sphere")).rhs.factor()
    -2*gamma*(gamma - 1)*(gamma*n - gamma + 1)/n
    """
    terms = zonal_terms(model)
    return EquiangularFlow(model.name, Add(*(common_rate(term) for term in terms)))


def common_rate(term: ZonalTerm) -> Expr:
    """Return what one term adds to dγ/dt: twice what comes through x_i', by the symmetry of i and j."""
    # all rows have one sum, so that Sinkhorn's scaling divides by it too
    normalised = term.normalise != "none"
    unit = term.at(1) if normalised and isinstance(term.weight, exp) else Integer(1)
    weights = {seen: _ratio(term.at(seen), unit) for seen in (Integer(1), GAMMA)}
    # of n tokens one is seen at cosine one, the others at γ
    mass = weights[Integer(1)] + (COUNT - 1) * weights[GAMMA] if normalised else COUNT
    geometry = {
        seen: factor(Add(*(part.count * part.geometry for part in CLASSES if part.seen == seen)))
        for seen in weights
    }
    return 2 * term.strength * Add(*(weights[seen] * geometry[seen] for seen in weights)) / mass


def _ratio(weight: Expr, unit: Expr) -> Expr:
    """Return w/w(1), for exponentials with one exponent, so that none of them overflows."""
    return weight if unit == 1 else powsimp(weight / unit)


def _path(start: float, level: float, n: int) -> tuple[float, float]:
    first, last = real_number(start, "start"), real_number(level, "level")
    if not first <= last < 1.0:
        raise InputError(f"level = {last!r}: give one from start = {first!r} up to, but less than, one")
    if not first > -1.0 / (n - 1):
        raise InputError(f"start = {first!r}: {n} tokens have a common cosine above −1/(n − 1)")
    return first, last
