"""What is verified: a model for n tokens with one set of given parameters, and its two kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symflow.codegen.kernel import Kernel, compile
from symflow.derive.particles import TokenDerivation, token_flow
from symflow.flow import TokenFlow
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Statement
from symflow.verify.subject import Array, label
from symflow.verify.systems.clouds import Cloud
from symflow.verify.table import Row

_SPACES = {"euclidean": "tokens on ℝᵈ", "sphere": "tokens on the sphere"}


@dataclass(frozen=True, eq=False)
class System:
    """One model and parametrisation with everything that the witnesses look at.

    Attributes
    ----------
    model : AttentionModel
    given : frozenset of str
    derivation : TokenDerivation
        With ``beta`` and ``temperature`` as symbols.
    compiled, printed : Kernel
        The compiled kernel and the NumPy printer's.
    """

    model: AttentionModel
    given: frozenset[str]
    derivation: TokenDerivation
    compiled: Kernel
    printed: Kernel

    @classmethod
    def of(cls, model: AttentionModel, given: frozenset[str]) -> System:
        """Derive, generate and compile.

        Raises
        ------
        NoTokenFlow
            If the model has no system of tokens.
        """
        derivation = token_flow(model.with_symbolic_scale(), given)
        kernels = (compile(model, backend, given, "tokens") for backend in ("auto", "numpy"))
        return cls(model, given, derivation, *kernels)

    @property
    def flow(self) -> TokenFlow:
        """The system that the kernels come from."""
        return self.derivation.flow

    @property
    def statement(self) -> Statement:
        """The definition of the model."""
        return self.derivation.statement

    @property
    def is_scaled(self) -> bool:
        """Whether weights are scaled to be doubly stochastic."""
        return any(term.normalise == "sinkhorn" for term in self.flow.terms)

    @property
    def is_normalised(self) -> bool:
        """Whether the weights of every token are normalised, so that no score is too large."""
        return all(term.normalise != "none" for term in self.flow.terms)

    def row(
        self, quantity: str, witness: str, errors: list[tuple[float, str]], tolerance: float, note: str
    ) -> Row:
        """Return the row of a comparison from the error at every point and the point's name."""
        model = f"{self.model.name}, {_SPACES[self.model.space]}"
        parameters = label(self.model, self.given) or "identities"
        return Row.of_errors(model, parameters, quantity, witness, errors, tolerance, note, True)


def velocity(kernel: Kernel, cloud: Cloud) -> Array:
    """Return what a kernel computes for the tokens of a cloud, (n, d)."""
    return np.asarray(kernel(0.0, cloud.x, **cloud.params))
