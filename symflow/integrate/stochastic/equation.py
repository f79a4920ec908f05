"""What is integrated: tokens, their attention and their noise, bound to compiled steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sympy import exp

from symflow.algebra.grammar import parse
from symflow.algebra.words import identical
from symflow.checking import Array
from symflow.codegen.kernel import Kernel
from symflow.errors import BuildError
from symflow.flow import SCORE
from symflow.integrate.backends import compiled_for, runtime
from symflow.integrate.problem import Problem, read_problem
from symflow.integrate.scheduled import bound_call
from symflow.integrate.stochastic.field import Noise, paths_module, read_noise
from symflow.integrate.stochastic.options import Steps
from symflow.integrate.stochastic.streams import Numbers
from symflow.integrate.tokens.run import token_dims
from symflow.integrate.tokens.state import TokenLayout, Tokens
from symflow.models.attention.model import BETA, TEMPERATURE

_FUSED = 128  # tokens, up to which attention in lanes is faster than path by path


@dataclass(frozen=True, eq=False)
class Equation:
    """Tokens with noise, ready to run.

    Attributes
    ----------
    problem : Problem
    layout : TokenLayout
    steps : Steps
    noise : Noise
    key : (int, int)
        Of the streams.
    attention : (float, float) or None
        Scale and sign, where the steps sum attention themselves.
    kernel : Kernel or None
        What sums it otherwise.
    backend : str
    """

    problem: Problem
    layout: TokenLayout
    steps: Steps
    noise: Noise
    key: tuple[int, int]
    attention: tuple[float, float] | None
    kernel: Kernel | None
    backend: str

    def paths(self, x0: Array, numbers: Numbers, arrays: Mapping[str, Any]) -> Any:
        """Return paths with these numbers, from tokens (n, d) or (paths, n, d), that fill the arrays."""
        s = self.steps
        return paths_module().Paths(
            np.ascontiguousarray(x0), np.ascontiguousarray(numbers), self.key, s.t0, s.t1, s.dt, s.count,
            scheme=s.method, draw=self.noise.draw, sphere=self.layout.on_sphere, factor=self.noise.factor,
            substeps=s.substeps, attention=self.attention, **self.noise.settings, **arrays,
        )  # fmt: skip

    def worker(self, paths: Any) -> Any:
        """Return what advances the paths in one thread, with a right-hand side of its own."""
        return paths_module().Worker(paths, self._call())

    def _call(self) -> Any:
        if self.kernel is None:
            return None
        compiled = runtime()
        call = bound_call(self.kernel, self.problem, "tokens", token_dims(self.problem, self.problem.initial))
        ready = (compiled.Call, compiled.PyCall, compiled.Scheduled)
        return call if isinstance(call, ready) else compiled.PyCall(call, self.layout.size)

    @staticmethod
    def words() -> tuple[str, ...]:
        """Return what a velocity that fails tells, by number."""
        return tuple(runtime().STATUS)

    def remark(self) -> str:
        """Say what of the covariance is left out."""
        left = self.noise.truncation
        return f"; harmonics up to degree {self.steps.degree} leave out {left:.1e} of κ(1)" if left else ""

    def message(self, status: str, t: float, reason: int) -> str:
        """Say how a path ended, and what to do about it."""
        name, where = self.problem.model.name, f"t = {t:.10g}"
        if status == "finished":
            return f"reached {where}{self.remark()}"
        if status == "non-finite":
            return f"the tokens of {name} leave the range of floating-point numbers near {where}; reduce dt"
        why = self.words()[reason]
        return f"the velocity of {name} cannot be computed at {where} ({why}); reduce dt, or end earlier"


def read_equation(
    model: Any,
    tokens: Tokens,
    params: Mapping[str, Any],
    noise: Any,
    steps: Steps,
    key: tuple[int, int],
    backend: str,
) -> Equation:
    """Match a model, its parameters and a noise.

    Raises
    ------
    InputError
        If an argument cannot be used, before any work.
    BuildError
        Where the compiled runtime is missing, which takes the steps.
    """
    problem = read_problem(model.with_scalars(diffusion=0), tokens, params, (steps.t0, steps.t1))
    found = read_noise(noise, float(model.diffusion), tokens.count, tokens.dim, steps, tokens.on_sphere)
    if runtime() is None:
        raise BuildError("noise needs the compiled runtime; reinstall symflow with a C compiler on PATH")
    layout = TokenLayout(tokens.count, tokens.dim, tokens.on_sphere)
    attention = None if backend == "numpy" else _attention(problem, tokens.count)
    if attention is not None:
        return Equation(problem, layout, steps, found, key, attention, None, "compiled")
    kernel = compiled_for(problem.model, backend, problem.parametrisation, False, "tokens")
    return Equation(problem, layout, steps, found, key, None, kernel, kernel.backend)


def _attention(problem: Problem, count: int) -> tuple[float, float] | None:
    """Return scale and sign where the velocity is that of softmax of ⟨x, y⟩ and nothing else."""
    statement = problem.statement
    heads, known = statement.heads, problem.values.keys() <= {"beta", "temperature"}
    if not known or count > _FUSED or statement.space != "sphere" or statement.positions is not None:
        return None
    if len(heads) != 1 or heads[0].family is not None or heads[0].normalise != "softmax":
        return None
    (head,) = heads
    product = parse("dot(x, y)", {"x": statement.x, "y": statement.y})
    plain = head.weight == exp(SCORE) and head.value == statement.y and head.prefactor.is_number
    if not plain or not identical(head.score, BETA / TEMPERATURE * product):
        return None
    beta, temperature = (float(problem.values[name][0]) for name in ("beta", "temperature"))
    return beta / temperature, float(head.prefactor)
