r"""The law of the cosine of two tokens in common noise, by its Fokker–Planck equation.

With :math:`Lf = G_0f' + G_1f''` the law p of u solves :math:`\partial_tp = -(G_0p)' + (G_1p)''` without flux
through the ends. Finite volumes in s = log((1 + u)/(1 − u)), whose cells shrink towards u = ±1 like the
distance to the ends, with exponentially fitted fluxes (Scharfetter and Gummel),

.. math:: J_{i+1/2} = \Delta^{-1}\bigl(B(-w)\,b_ip_i - B(w)\,b_{i+1}p_{i+1}\bigr), \qquad
          B(z) = \frac{z}{e^z-1}, \quad w = \Delta\,a/b \text{ between both cells},

are the generator of a Markov chain on the cells: mass is conserved and nothing becomes negative, whatever the
step of the implicit Euler method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu
from scipy.special import betainc

from symflow.checking import Array
from symflow.errors import InputError
from symflow.noise.pair import Field, PairCoefficients, cosine, output_times

REACH = 16.0  #: the ends of the grid in s; 1 − |u| is 2e-7 there
_CELLS = 400
_STEPS = 4000


@dataclass(frozen=True, eq=False)
class PairLaw:
    """The law of the cosine of two tokens over time, as masses of cells.

    Attributes
    ----------
    t : ndarray, (T,)
    edges : ndarray, (C + 1,)
        Ends of the cells in u, from −1 to 1.
    mass : ndarray, (T, C)
        Not negative; every row has the sum one.
    error : ndarray, (T,)
        How much the distribution function differs from that of a grid and steps twice as coarse, at most.
        Both errors of the method halve at least, so that it estimates the error of ``mass``.
    """

    t: Array
    edges: Array
    mass: Array
    error: Array

    @property
    def centres(self) -> Array:
        """Cosines in the middle of the cells (in s), (C,); ±1 for the outermost ones."""
        inner = np.tanh(0.5 * (_logit(self.edges[1:-2]) + _logit(self.edges[2:-1])) / 2)
        return np.concatenate([[-1.0], inner, [1.0]])

    @property
    def merged(self) -> Array:
        """Mass of the outermost cell, (T,): tokens that have met up to 1 − u = 2·10⁻⁷."""
        return self.mass[:, -1]

    @property
    def opposite(self) -> Array:
        """Mass of the cell next to u = −1, (T,)."""
        return self.mass[:, 0]

    def cdf(self, u: Any) -> Array:
        """Return P(cosine ≤ u) at every time, (T, …); linear in s within cells."""
        points = np.asarray(u, dtype=float)
        total = np.concatenate([np.zeros((len(self.t), 1)), np.cumsum(self.mass, axis=1)], axis=1)
        place, nodes = _logit(points), _logit(self.edges)
        return np.stack([np.interp(place, nodes, row) for row in total])

    def mean(self, function: Any = None) -> Array:
        """Return the mean of a function of u, by default of u itself, at every time."""
        values = self.centres if function is None else function(self.centres)
        return np.asarray(self.mass @ values)

    def density(self, index: int) -> tuple[Array, Array]:
        """Return centres and the density in u of the inner cells, at one time."""
        widths = np.diff(self.edges)
        return self.centres[1:-1], (self.mass[index] / widths)[1:-1]


def pair_law(
    noise: Field, start: float | str, times: Any, *, cells: int = _CELLS, steps: int = _STEPS
) -> PairLaw:
    """Solve the Fokker–Planck equation of the cosine of two tokens in common noise.

    Parameters
    ----------
    noise : Field
        κ and the dimension d ≥ 2.
    start : float or "uniform"
        u at t = 0, or two independent uniform tokens.
    times : array_like, (T,)
        Increasing, ≥ 0.
    cells : int
        C, even and at least 8.
    steps : int
        Of the implicit Euler method, altogether; even and at least 2.

    Returns
    -------
    PairLaw

    Raises
    ------
    InputError
        If the start is no cosine, times decrease, or ``cells`` or ``steps`` cannot be used.

    References
    ----------
    ABGSR26; Scharfetter, Gummel, Large-signal analysis of a silicon Read diode oscillator, 1969.
    """
    grid = output_times(times)
    for name, value, least in (("cells", cells, 8), ("steps", steps, 2)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least or value % 2:
            raise InputError(f"{name} = {value!r}; give an even integer, at least {least}")
    fine, coarse = (_law(noise, start, grid, cells // part, steps // part) for part in (1, 2))
    gap = np.abs(np.cumsum(fine.mass, axis=1)[:, 1::2] - np.cumsum(coarse.mass, axis=1))
    return replace(fine, error=gap.max(axis=1))


def _law(noise: Field, start: float | str, grid: Array, cells: int, steps: int) -> PairLaw:
    nodes = np.linspace(-REACH, REACH, cells + 1)
    edges = np.tanh(0.5 * nodes)
    edges[0], edges[-1] = -1.0, 1.0
    forward = _forward(noise, nodes)
    mass, kept, now = _initial(noise, start, nodes, edges), [], 0.0
    for end in grid:
        if end > now:
            mass = _advance(forward, mass, end - now, max(1, round(steps * (end - now) / grid[-1])))
        kept.append(mass)
        now = float(end)
    return PairLaw(grid, edges, np.stack(kept), np.zeros(len(grid)))


def _forward(noise: Field, nodes: Array) -> csc_array:
    """Return the matrix of dp/dt: its columns sum to zero, its entries beside the diagonal are ≥ 0."""
    numbers, width = PairCoefficients(noise), nodes[1] - nodes[0]
    a, b = numbers.logit(nodes[1:-1])
    _, here = numbers.logit(0.5 * (nodes[:-1] + nodes[1:]))
    w = width * a / b
    up = _bernoulli(-w) * here[:-1] / width**2
    down = _bernoulli(w) * here[1:] / width**2
    leaving = np.append(up, 0.0) + np.append(0.0, down)
    return csc_array(diags_array([up, -leaving, down], offsets=[-1, 0, 1]))


def _bernoulli(z: Array) -> Array:
    """Return z/(e^z − 1)."""
    safe = np.where(np.abs(z) < 1e-8, 1.0, np.clip(z, -700.0, 700.0))
    return np.asarray(np.where(np.abs(z) < 1e-8, 1.0 - 0.5 * z, safe / np.expm1(safe)))


def _advance(forward: csc_array, mass: Array, time: float, steps: int) -> Array:
    size = len(mass)
    solver = splu(csc_array(diags_array(np.ones(size)) - (time / steps) * forward))
    for _ in range(steps):
        mass = solver.solve(mass)
        mass = mass / mass.sum()  # only rounding: the columns of the matrix sum to one
    return mass


def _initial(noise: Field, start: float | str, nodes: Array, edges: Array) -> Array:
    """Return the masses at t = 0: a point is split so that the mean of s is right."""
    if isinstance(start, str):
        if start != "uniform":
            raise InputError(f"start = {start!r}; give a cosine or 'uniform'")
        shape = 0.5 * (int(noise.dim) - 1)
        return np.diff(betainc(shape, shape, 0.5 * (1.0 + edges)))
    centres = 0.5 * (nodes[:-1] + nodes[1:])
    place = np.clip(_logit(np.array([cosine(start, "start")])), centres[0], centres[-1])
    index = min(int(np.searchsorted(centres, place[0], side="right")) - 1, len(centres) - 2)
    share = (place[0] - centres[index]) / (centres[index + 1] - centres[index])
    mass = np.zeros(len(centres))
    mass[index : index + 2] = 1.0 - share, share
    return mass


def _logit(u: Array) -> Array:
    """Return s, cut off at the ends of the grid."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log1p(u) - np.log1p(-u), -REACH, REACH))
