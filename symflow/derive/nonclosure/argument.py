r"""The argument that a mechanism does not keep Gaussians Gaussian, as steps with checks."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from sympy import Function, Symbol, diff, exp, simplify, sqrt

from symflow.derive.components import Draw, explicit, is_nonzero
from symflow.derive.definition import definition
from symflow.derive.derivation import Argument
from symflow.derive.nonclosure.reduction import X, scalar
from symflow.derive.nonclosure.witness import Witness
from symflow.derive.steps import Checked, Formula, Step
from symflow.errors import CheckFailed
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Head, Statement


@dataclass(frozen=True)
class Refutation(Argument):
    """Why a model does not keep Gaussians Gaussian.

    Attributes
    ----------
    model, statement, steps
        As for every :class:`~symflow.derive.derivation.Argument`.
    witness : Witness
        The exact evidence.
    """

    witness: Witness

    def __repr__(self) -> str:
        return f"Refutation({self.statement.name}: {self.witness})"


def refutation(model: AttentionModel, statement: Statement, witness: Witness) -> Refutation:
    """Return the argument around a witness: definition, what Gaussian solutions need, and the evidence.

    Parameters
    ----------
    model : AttentionModel
    statement : Statement
        That the witness is about.
    witness : Witness
        As :class:`~symflow.errors.NotGaussianPreserving` carries it.
    """
    defined = replace(definition(model, statement), check=SizeOne(statement))
    left, value = witness.inequality()
    result = Step(
        kind="result",
        title=f"No Gaussian closure: {model.title}",
        statement=f"Gaussian laws are not preserved. For {witness.setting()}",
        formulas=(Formula(left, value),),
        rule="exact integration" if witness.exact else "enclosure of integrals in balls",
        reference=statement.reference,
        check=ByQuadrature(witness),
    )
    return Refutation(model, statement, (defined, affine_lemma(), result), witness)


@functools.cache
def affine_lemma() -> Step:
    """Return the lemma that a Gaussian solution on the line has an affine velocity."""
    return Step(
        kind="lemma",
        title="The velocity of a Gaussian solution",
        statement=r"Let $\mu(t) = \mathcal{N}(m,v)$ with $v > 0$ solve $\partial_t\mu + "
        r"\partial_x(\mu\,\Gamma_\mu) = \varepsilon\,\partial_x^2\mu$ on the line, $\varepsilon \ge 0$. "
        r"Then, with a constant $c$,",
        formulas=(
            Formula(
                r"\Gamma_\mu(x)", r"\dot m + \frac{\dot v - 2\varepsilon}{2v}\,(x - m) + \frac{c}{\mu(x)}"
            ),
        ),
        rule=r"integration in x; $\mu\,\Gamma_\mu$ is integrable, so that $c = 0$: affine",
        reference="",
        check=VelocityOfAGaussian(),
    )


@dataclass(frozen=True)
class VelocityOfAGaussian:
    """The stated velocity solves the continuity equation of a Gaussian, with any constant."""

    def run(self) -> Checked:
        """Differentiate the density itself."""
        t, eps, c = Symbol("t", real=True), Symbol("epsilon", nonnegative=True), Symbol("c", real=True)
        m, v = Function("m", real=True)(t), Function("v", positive=True)(t)
        density = exp(-((X - m) ** 2) / (2 * v)) / sqrt(v)
        velocity = diff(m, t) + (diff(v, t) - 2 * eps) / (2 * v) * (X - m) + c / density
        left = diff(density, t) + diff(density * velocity, X) - eps * diff(density, X, 2)
        residual = simplify(left / density)
        return Checked(bool(residual == 0), "derivatives of the Gaussian density", f"residual {residual}")


@dataclass(frozen=True)
class SizeOne:
    """The kernels and values at size one, which the evidence is about, are those of the definition."""

    statement: Statement

    def run(self) -> Checked:
        """Write the definition out in matrices of one entry, at random rational tokens and parameters."""
        for number, head in enumerate(self.statement.heads):
            if not self._agrees(head, seed=number):
                return Checked(False, "components at d = 1", f"head {number + 1} differs")
        return Checked(True, "components at d = 1", "equal at random rational tokens and parameters")

    def _agrees(self, head: Head, seed: int) -> bool:
        tokens, draw = (self.statement.x, self.statement.y), Draw(1, seed=23 + seed)
        values = draw.values([head.kernel, head.value], skip=tokens)
        values |= {token: draw.matrix(1, 1) for token in tokens}
        numbers = {
            scalar(symbol): value[0] if symbol.is_Matrix else value for symbol, value in values.items()
        }
        kernel, value = (explicit(e, values, draw.sizes) for e in (head.kernel, head.value))
        pairs = ((kernel, scalar(head.kernel)), (value[0], scalar(head.value)))
        return not any(is_nonzero(seen - reduced.xreplace(numbers)) for seen, reduced in pairs)


@dataclass(frozen=True)
class ByQuadrature:
    """A witness compared with high-precision quadrature of the definition and differences."""

    witness: Witness

    def run(self) -> Checked:
        """Integrate with fifty digits."""
        method = "quadrature of the definition with 50 digits and differences"
        try:
            self.witness.check()
        except CheckFailed as error:
            return Checked(False, method, str(error))
        return Checked(True, method, str(self.witness))
