"""Continuous solutions between the steps of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from symflow.checking import Array


class Dense(Protocol):
    """A continuous solution between monotone ``nodes`` (m + 1)."""

    @property
    def nodes(self) -> Array:
        """Where the steps begin and end."""
        ...

    def evaluate(self, times: Array) -> Array:
        """Return the state at each time; times outside of the nodes are extrapolated."""
        ...


@dataclass(frozen=True, eq=False)
class TableauDense:
    r"""Dense output of a tableau method, one row of coefficients per step.

    .. math:: y(t_i + \theta h) = y_i + \theta(c_0 + (1-\theta)(c_1 + \theta(c_2 + (1-\theta)(c_3 + \dots))))

    Attributes
    ----------
    nodes : ndarray, (m + 1,)
    states : ndarray, (m + 1, n)
    coefficients : ndarray, (m, rows, n)
    powers : bool
        Whether they are those of a power series, :math:`y_i + \sum_k c_k\theta^{k+1}`.

    References
    ----------
    Hairer, Nørsett, Wanner (1993), II.6.
    """

    nodes: Array
    states: Array
    coefficients: Array
    powers: bool = False

    def evaluate(self, times: Array) -> Array:
        """Return the state at each time, (len(times), n)."""
        out = np.empty((times.size, self.states.shape[1]))
        interpolate = _compiled_interpolate()
        if interpolate is not None:
            at = np.ascontiguousarray(times)
            interpolate(self.nodes, self.states, self.coefficients, at, out, powers=self.powers)
            return out
        steps = locate(self.nodes, times)
        for index in np.unique(steps):
            here = steps == index
            out[here] = self._within(int(index), times[here])
        return out

    def _within(self, index: int, times: Array) -> Array:
        left, right = self.nodes[index], self.nodes[index + 1]
        theta = ((times - left) / (right - left))[:, None]
        total = np.zeros((times.size, self.states.shape[1]))
        for row in range(self.coefficients.shape[1] - 1, -1, -1):
            factor = theta if self.powers or row % 2 == 0 else 1.0 - theta
            total = factor * (total + self.coefficients[index, row])
        total += self.states[index]
        total[times == right] = self.states[index + 1]
        return total


@dataclass(frozen=True, eq=False)
class PieceDense:
    """Dense output as one callable per step, as SciPy's implicit methods give it."""

    nodes: Array
    pieces: tuple[Any, ...]

    def evaluate(self, times: Array) -> Array:
        """Return the state at each time, (len(times), n)."""
        steps = locate(self.nodes, times)
        return np.stack([self.pieces[i](t) for i, t in zip(steps, times, strict=True)])


@dataclass(frozen=True, eq=False)
class JoinedDense:
    """Several dense outputs in a row, up to the time ``end`` where the run ended."""

    parts: tuple[Dense, ...]
    end: float

    @property
    def nodes(self) -> Array:
        """Where one part meets the next."""
        return np.array([*(part.nodes[0] for part in self.parts), self.end])

    def evaluate(self, times: Array) -> Array:
        """Return the state at each time, (len(times), n)."""
        which = locate(self.nodes, times)
        found = {int(i): self.parts[int(i)].evaluate(times[which == i]) for i in np.unique(which)}
        out = np.empty((times.size, next(iter(found.values())).shape[1]))
        for i, values in found.items():
            out[which == i] = values
        return out


def locate(nodes: Array, times: Array) -> Any:
    """Return for each time the index of its step: the last one that starts at or before it."""
    sign = 1.0 if nodes[-1] >= nodes[0] else -1.0
    return np.clip(np.searchsorted(sign * nodes, sign * times, side="right") - 1, 0, nodes.size - 2)


def _compiled_interpolate() -> Any:
    from symflow.integrate.backends import runtime

    compiled = runtime()
    return None if compiled is None else compiled.interpolate
