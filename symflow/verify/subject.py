"""What is verified: one model with one set of given parameters, its derivation and its two kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symflow.codegen.kernel import Kernel, compile
from symflow.derive.closure import gaussian_closure
from symflow.derive.derivation import Derivation
from symflow.flow import Flow
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement
from symflow.verify.evaluate import context, to_float
from symflow.verify.places import evaluators
from symflow.verify.points import Point
from symflow.verify.table import Row

Array = NDArray[np.float64]
ULP = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Subject:
    """One model and parametrisation with everything that the witnesses look at.

    Attributes
    ----------
    model : AttentionModel
    given : frozenset of str
    derivation : Derivation
        With ``beta`` and ``temperature`` as symbols.
    compiled, printed : Kernel
        The compiled kernel and the NumPy printer's.
    """

    model: AttentionModel
    given: frozenset[str]
    derivation: Derivation
    compiled: Kernel
    printed: Kernel
    _scales: dict[tuple[Any, ...], Scale] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, model: AttentionModel, given: frozenset[str]) -> Subject:
        """Derive, generate and compile."""
        derivation = gaussian_closure(model.with_symbolic_scale(), given)
        return cls(model, given, derivation, compile(derivation), compile(derivation, backend="numpy"))

    @property
    def flow(self) -> Flow:
        """The differential equations that the kernels come from."""
        return self.derivation.flow

    @property
    def statement(self) -> Statement:
        """The definition of the model."""
        return self.derivation.statement

    def scale(self, point: Point) -> Scale:
        """Return the derived drift at a point; several witnesses look at the same points."""
        arrays = (*point.state, *point.params.values())
        key = (point.name, *(array.tobytes() for array in arrays))
        if key not in self._scales:
            self._scales[key] = Scale.at(self.flow, point)
        return self._scales[key]

    def row(
        self,
        quantity: str,
        witness: str,
        errors: list[tuple[float, str]],
        tolerance: float,
        note: str,
    ) -> Row:
        """Return the row of a comparison from the error at every point and the point's name."""
        names = self.model.name, label(self.model, self.given)
        return Row.of_errors(*names, quantity, witness, errors, tolerance, note)


def label(model: AttentionModel, given: frozenset[str]) -> str:
    """Return the names of the parameters in use, for a row."""
    noise = [] if model.noise.is_zero else ["diffusion"]
    return ", ".join([*sorted(given), *noise])


@dataclass(frozen=True)
class Scale:
    """The drift at a point: exact, its natural scale, and the condition of the solves."""

    exact: tuple[Any, ...]
    natural: tuple[float, ...]
    condition: float
    ctx: Any

    @classmethod
    def at(cls, flow: Flow, point: Point) -> Scale:
        """Evaluate the derived symbols of ``flow`` at ``point`` with 50 digits, position after position."""
        ctx = context()
        exact: list[list[Any]] = [[] for _ in flow.drift]
        natural, condition = [0.0] * len(flow.drift), 0.0
        for values, magnitude in evaluators(flow, point, ctx):
            for index, drift in enumerate(flow.drift):
                exact[index].append(values(drift))
                size = float(to_float(magnitude(drift)).max(initial=0.0))
                natural[index] = max(natural[index], size)
            condition = max(condition, magnitude.condition)
        return cls(tuple(stacked(parts, ctx) for parts in exact), tuple(natural), condition, ctx)

    def errors(self, computed: tuple[Array, ...]) -> tuple[float, ...]:
        """Return, per state, the largest error divided by the natural scale; 0/0 counts as 0."""
        return tuple(
            relative(self._distance(e, c), n)
            for e, c, n in zip(self.exact, computed, self.natural, strict=True)
        )

    def ulps(self, computed: tuple[Array, ...]) -> float:
        """Return the largest error in units of ulp × (1 + condition) of the natural scale."""
        return max(self.errors(computed)) / (ULP * (1.0 + self.condition))

    def against(self, *exact: Any) -> Scale:
        """Return the same scale around other exact values, one mpmath matrix per state."""
        return replace(self, exact=exact)

    def _distance(self, exact: Any, computed: Array) -> float:
        flat = np.asarray(computed, dtype=np.float64).reshape(exact.rows, exact.cols)
        if not np.isfinite(flat).all():
            return float("inf")
        return float(
            max(
                abs(exact[i, j] - self.ctx.mpf(float(flat[i, j])))
                for i in range(exact.rows)
                for j in range(exact.cols)
            )
        )


def stacked(blocks: list[Any], ctx: Any) -> Any:
    """Return matrices of the context below each other."""
    rows = [[block[i, j] for j in range(block.cols)] for block in blocks for i in range(block.rows)]
    return ctx.matrix(rows)


def drift(kernel: Kernel, point: Point) -> tuple[Array, ...]:
    """Return what the kernel computes at the point, one array per state."""
    return tuple(np.asarray(a) for a in kernel(0.0, *point.state, **point.params))


def relative(error: float, scale: float) -> float:
    """Return ``error/scale``; a vanishing scale admits no error at all."""
    if scale == 0.0:
        return 0.0 if error == 0.0 else float("inf")
    return error / scale
