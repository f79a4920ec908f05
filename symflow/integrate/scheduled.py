"""A kernel bound to the numbers of a problem, whether its parameters are constant or depend on time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symflow.checking import Array
from symflow.codegen.calls import evaluate
from symflow.codegen.kernel import Kernel
from symflow.integrate.backends import runtime
from symflow.integrate.problem import Problem

Rhs = Callable[[float, Array], Array]


def bound_call(kernel: Kernel, problem: Problem, entry: str, dims: Sequence[int]) -> Any:
    """Return ``call(t, y, dy) -> status`` for one entry, its parameters up to date at every t.

    Splines and expressions in t are evaluated in compiled code, functions of the caller in Python.
    """
    call = kernel.bind(entry, dims, problem.kernel_values)
    if not problem.schedule:
        return call
    if kernel.backend != "compiled":
        return Rebound(kernel, problem, entry, dims, call.size)
    order = [slot.name for slot in kernel.interface(problem.parametrisation, entry).parameters]
    sources = [(order.index(name), moving.source()) for name, moving in problem.schedule.items()]
    return runtime().Scheduled(call, sources)


@dataclass(frozen=True, eq=False)
class Rebound:
    """A printed function that is bound anew at every time."""

    kernel: Kernel
    problem: Problem
    entry: str
    dims: Sequence[int]
    size: int

    def __call__(self, t: float, y: Array, dy: Array) -> int:
        """Write the derivative at (t, y) into dy and return the status."""
        values = self.problem.kernel_values_of(self.problem.values_at(t))
        return int(self.kernel.bind(self.entry, self.dims, values)(t, y, dy))


def right_hand_side(
    kernel: Kernel, problem: Problem, entry: str = "moments", dims: Sequence[int] | None = None
) -> Rhs:
    """Return ``f(t, y)`` of the moments, or of another entry, for SciPy."""
    if not problem.schedule:
        known = (
            {}
            if dims is None
            else dict(
                zip(
                    kernel.interface(problem.parametrisation, entry).entry(entry).dimensions,
                    dims,
                    strict=True,
                )
            )
        )
        return kernel.rhs(problem.kernel_values, entry, known)
    call = bound_call(kernel, problem, entry, problem.dims if dims is None else dims)
    return lambda t, y: evaluate(call, t, np.ascontiguousarray(y))


def jacobian(kernel: Kernel, problem: Problem) -> Rhs:
    """Return ``J(t, y)`` of the moments for SciPy."""
    if not problem.schedule:
        return kernel.jacobian(problem.kernel_values)
    call = bound_call(kernel, problem, "tangent", problem.dims)

    def columns(t: float, y: Array) -> Array:
        n = y.size
        point, matrix = np.concatenate([y, np.zeros(n)]), np.empty((n, n))
        for column in range(n):
            point[n + column] = 1.0
            matrix[:, column] = evaluate(call, t, point)[:n]
            point[n + column] = 0.0
        return matrix

    return columns
