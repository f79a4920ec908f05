"""Finite-time blow-up seen from accepted steps: the rule of the compiled stepper, in Python."""

from __future__ import annotations

import math

import numpy as np

from symflow.checking import Array

_LEFT = 1e-9  # until the singularity, relative to the time gone by
_AGREEMENT = 0.05  # of two successive extrapolations, relative to what is left
_SLOPE, _STEEPEST = 1e-3, 20.0  # of laws (t* - t)^(-1/slope); steeper: infinite drift, finite state
_STREAK = 2  # how many extrapolations in a row have to agree
_STEPS = 4.0  # of fixed size, before they would jump over a singularity


class GrowthMonitor:
    r"""Extrapolates the time at which ``ρ = |z|²`` becomes infinite, z the last components of the state.

    .. math:: q = \rho/\rho', \qquad \hat t = t + q/(-\dot q)

    For :math:`\rho\sim C(t^*-t)^{-p}` q is linear and two values give t* whatever p is; for exponential
    growth q is constant, for double exponential growth its zero keeps its distance.

    Parameters
    ----------
    t0, t1 : float
        Start and end of the run.
    dt : float
        Size of a fixed step, which cannot approach a singularity; 0 for adaptive steps.
    left : float
        How close to come, relative to the time gone by.
    watch : int
        First component of z.
    """

    def __init__(self, t0: float, t1: float, dt: float = 0.0, left: float = _LEFT, watch: int = 0) -> None:
        self._watch = watch
        self._t0, self._t1, self._dt, self._left = t0, t1, dt, left
        self._direction = 1.0 if t1 >= t0 else -1.0
        self._q = self._time = 0.0
        self._streak = 0
        self.singularity = math.inf

    def update(self, t: float, y: Array, slope: Array) -> bool:
        """Take in an accepted point and tell whether the extrapolated singularity has converged onto it."""
        t = float(t)
        z, rising = y[self._watch :], slope[self._watch :]
        rho, rate = float(np.sum(z * z)), 2.0 * self._direction * float(np.sum(z * rising))
        if not (rho > 0.0 and rate > 0.0 and math.isfinite(rate)):
            self._q, self._streak = 0.0, 0
            return False
        before, elapsed = self._q, abs(t - self._time)
        self._q, self._time = rho / rate, t
        decline = (self._q - before) / elapsed if elapsed > 0.0 and before > 0.0 else 0.0
        if not -_STEEPEST < decline < -_SLOPE:
            self._streak, self.singularity = 0, math.inf
            return False
        left = self._q / -decline
        guess = t + self._direction * left
        self._streak = self._streak + 1 if abs(guess - self.singularity) <= _AGREEMENT * left else 0
        self.singularity = guess
        tolerance = max(self._left * abs(guess - self._t0), 100.0 * math.ulp(guess))
        if self._direction * (self._t1 - guess) > 0.0:
            tolerance = max(tolerance, _STEPS * self._dt)
        return self._streak >= _STREAK and left <= tolerance
