"""A model with numbers, read exactly: what the theorems about long times decide their hypotheses on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sympy import Expr, MatAdd, MatrixSymbol, Rational, exp

from symflow.algebra.affine import affine_parts
from symflow.algebra.exact.rational import RationalMatrix, fmpq, fractions, psd_factor, rational_matrix
from symflow.algebra.families import FamilySum
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.sampling import evaluate
from symflow.codegen.arrays import listed
from symflow.derive.closure import gaussian_closure
from symflow.derive.derivation import Derivation
from symflow.errors import InputError
from symflow.integrate.problem import Problem, read_problem
from symflow.models.scalars import exact_scalar
from symflow.models.statement import Head

Values = dict[str, Any]  #: nested lists of fractions, or fractions, by name


@dataclass(frozen=True)
class ExactHead:
    r"""One integral against the law with rational coefficients.

    The score is :math:`y^\top Bx + \tfrac12y^\top Cy + c^\top y + r(x)`, the value :math:`My + m`, both
    ``flint.fmpq_mat``; M and m contain the prefactor. ``kernel`` is ``"exp"``, ``"score"`` or ``"other"``.
    """

    normalise: str
    kernel: str
    B: RationalMatrix
    C: RationalMatrix
    c: RationalMatrix
    M: RationalMatrix
    m: RationalMatrix
    rest_is_zero: bool


@dataclass(frozen=True, eq=False)
class ExactProblem:
    r"""A model, a Gaussian and parameters as rational numbers.

    .. math:: \Gamma_\mu(x) = \sum_h \Gamma^{(h)}_\mu(x) + Wx + w, \qquad \mu_0 = \mathcal N(\alpha, \Sigma)

    Attributes
    ----------
    problem : Problem
    derivation : Derivation
        The closed equations at symbolic size, against which solutions are checked.
    alpha, sigma : flint.fmpq_mat
        The initial law; sigma is positive semidefinite exactly.
    heads : tuple of ExactHead
        Heads with the same weights are one, with the sum of their values.
    W, shift : flint.fmpq_mat
    diffusion : flint.fmpq
    values : dict
        All parameters by name.
    notes : tuple of str
        How numbers were read, where that is not obvious; LaTeX text.
    irrational : tuple of str
        Parameters with an irrational entry, of which only the nearest double was read.
    """

    problem: Problem
    derivation: Derivation
    alpha: RationalMatrix
    sigma: RationalMatrix
    heads: tuple[ExactHead, ...]
    W: RationalMatrix
    shift: RationalMatrix
    diffusion: Any
    values: Values
    notes: tuple[str, ...]
    irrational: tuple[str, ...] = ()

    @property
    def dim(self) -> int:
        """Dimension d."""
        return int(self.sigma.nrows())

    def drift(self, alpha: RationalMatrix, sigma: RationalMatrix) -> tuple[RationalMatrix, RationalMatrix]:
        """Return the derived right-hand sides at a rational point, by exact evaluation of the formulas."""
        flow = self.derivation.flow
        point = {flow.states[0].name: fractions(alpha), flow.states[1].name: fractions(sigma)}
        values = {**_flat(self.values, self._stacked), **point}
        mean, cov = (evaluate(self._expanded(e), values, self.sizes) for e in flow.drift)
        return rational_matrix(mean), rational_matrix(cov)

    def velocity_gradient(self) -> RationalMatrix | None:
        """Return L at the initial law from the derived formula, None where its value is irrational."""
        flow = self.derivation.flow
        if flow.covariance is None:
            return None
        mean, cov = flow.states
        point = {mean.name: fractions(self.alpha), cov.name: fractions(self.sigma)}
        values = {**_flat(self.values, self._stacked), **point}
        try:
            return rational_matrix(
                evaluate(self._expanded(flow.covariance.velocity_gradient), values, self.sizes)
            )
        except InputError:
            return None

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by name, the numbers of heads of families among them."""
        return _sizes(self.problem)

    @property
    def _stacked(self) -> frozenset[str]:
        return frozenset(self.problem.statement.stacked)

    def _expanded(self, expression: Any) -> Any:
        """Return a sum over a family written out."""
        for family in expression.atoms(FamilySum):
            count = self.sizes[family.count.name]
            terms = (_renamed(family.body, family.members, h) for h in range(count))
            expression = expression.subs(family, MatAdd(*terms))
        return expression


def read_exactly(model: Any, initial: Any, params: Any) -> ExactProblem:
    """Check the input as :func:`symflow.solve` does and read its numbers exactly.

    Parameters
    ----------
    model : AttentionModel
    initial : Gaussian
    params : mapping of str to array_like
        Floats are the fractions that they are; integers, ``Fraction`` and SymPy rationals keep their value.

    Raises
    ------
    InputError
        As :func:`symflow.solve`, for a parameter that depends on time, and for a causal mask.
    NotGaussianPreserving, ClosureUndecided
        If no closed equations are known.
    """
    if isinstance(params, Mapping):  # read twice: as floats and exactly
        params = {name: listed(value, str(name)) for name, value in params.items()}
    problem = read_problem(model, initial, params)
    if problem.statement.positions is not None:
        raise InputError(
            f"{problem.model.name} has one law per position; long_time is available for one law only"
        )
    derivation = gaussian_closure(problem.model.with_symbolic_scale(), problem.given)
    notes: list[str] = []
    irrational: list[str] = []
    values = _values(problem, params, irrational)
    sigma = _covariance(problem, notes)
    sizes = _sizes(problem)
    statement = problem.statement
    flat = _flat(values, frozenset())
    weight, shift = affine_parts(statement.background, statement.x)
    return ExactProblem(
        problem=problem,
        derivation=derivation,
        alpha=rational_matrix([[float(entry)] for entry in problem.initial.mean]),
        sigma=sigma,
        heads=_merged(head for each in statement.heads for head in _heads(each, problem, values)),
        W=rational_matrix(evaluate(weight, flat, sizes)),
        shift=rational_matrix(evaluate(shift, flat, sizes)),
        diffusion=fmpq(evaluate(statement.diffusion, flat, sizes)),
        values=values,
        notes=tuple(notes),
        irrational=tuple(irrational),
    )


def _sizes(problem: Problem) -> dict[str, int]:
    names = (symbol.name for symbol in problem.statement.dimensions)
    return dict(zip(names, problem.dims, strict=True))


def _covariance(problem: Problem, notes: list[str]) -> RationalMatrix:
    """Return Σ₀, or the product of its factor where rounding made it indefinite."""
    sigma = rational_matrix(problem.initial.cov.tolist())
    if psd_factor(sigma) is not None:
        return sigma
    factor = rational_matrix(problem.initial.factor().tolist())
    notes.append(
        r"by rounding $\Sigma_0$ as given is not positive semidefinite; "
        rf"it is read as $FF^{{\top}}$ with the factor of rank {problem.initial.rank} that a simulation uses"
    )
    return factor * factor.transpose()


def _values(problem: Problem, params: Mapping[str, Any], irrational: list[str]) -> Values:
    model = problem.model
    scalars = {"beta": model.beta, "temperature": model.temperature, "diffusion": model.diffusion}
    values: Values = {}
    stacked = frozenset(problem.statement.stacked)
    for symbol in problem.statement.parameters:
        name = symbol.name
        if name in params:
            values[name] = _exact(params[name], symbol, stacked, irrational)
        elif isinstance(symbol, MatrixSymbol):
            values[name] = _exact(
                problem.values[name], symbol, stacked, irrational
            )  # a bias that was not given
        else:
            exact = exact_scalar(name, scalars[name], allow_zero=True)
            values[name] = _entry(exact, name, irrational)
    return values


def _exact(raw: Any, symbol: Any, stacked: frozenset[str], irrational: list[str]) -> Any:
    """Return a parameter as nested lists of fractions, a vector as one column."""
    if callable(raw) and not hasattr(raw, "__array__") and not hasattr(raw, "shape"):
        raise InputError(f"{symbol.name} is a function of time; long_time needs constant parameters")
    array = np.array(listed(raw, symbol.name), dtype=object)
    axes = 2 + (symbol.name in stacked)
    if isinstance(symbol, MatrixSymbol) and symbol.shape[1] == 1 and array.ndim == axes - 1:
        array = array[..., None]
    read = np.vectorize(lambda entry: _entry(entry, symbol.name, irrational), otypes=[object])
    exact = read(array).tolist()
    return exact if isinstance(symbol, MatrixSymbol) else np.array(exact, dtype=object).reshape(-1)[0]


def _entry(value: Any, name: str, irrational: list[str]) -> Fraction:
    if isinstance(value, Rational):
        return Fraction(int(value.p), int(value.q))
    if isinstance(value, Expr):
        if not value.is_number:
            raise InputError(f"{name} depends on {value.free_symbols}; long_time needs numbers")
        irrational.extend([name] if name not in irrational else [])
        value = float(value)
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        raise InputError(f"{name} is not finite")
    return Fraction(value.item() if isinstance(value, np.generic) else value)


# ------------------------------------------------------------------------------------------------ the heads


def _heads(head: Head, problem: Problem, values: Values) -> Iterator[ExactHead]:
    """Yield a head, or each head of a family."""
    sizes = _sizes(problem)
    statement = problem.statement
    form = quadratic_form(head.score, statement.x, statement.y)
    weight, shift = affine_parts(head.value, statement.y)
    kernels = {exp(head.score): "exp", head.score: "score"}
    members = frozenset() if head.family is None else frozenset(s.name for s in head.family.members)
    count = 1 if head.family is None else sizes[head.family.count.name]
    for h in range(count):
        own = {name: value[h] if name in members else value for name, value in values.items()}

        def number(expression: Any, own: Values = own) -> RationalMatrix:
            return rational_matrix(evaluate(expression, own, sizes))

        factor = fmpq(evaluate(head.prefactor, own, sizes))
        yield ExactHead(
            normalise=head.normalise,
            kernel=kernels.get(head.kernel, "other"),
            B=number(form.B),
            C=number(form.C),
            c=number(form.c),
            M=number(weight) * factor,
            m=number(shift) * factor,
            rest_is_zero=form.rest == 0,
        )


def _merged(heads: Iterable[ExactHead]) -> tuple[ExactHead, ...]:
    """Return the heads, those with the same weights as one: its value is the sum of theirs."""
    merged: list[ExactHead] = []
    for head in heads:
        equal = next((k for k, other in enumerate(merged) if _same_weights(head, other)), None)
        if equal is None:
            merged.append(head)
        else:
            other = merged[equal]
            merged[equal] = replace(other, M=other.M + head.M, m=other.m + head.m)
    return tuple(merged)


def _same_weights(one: ExactHead, other: ExactHead) -> bool:
    """Whether two heads weigh the law alike; a rest r(x) of the score matters without a normaliser only."""
    known = one.kernel != "other" and (one.normalise != "none" or (one.rest_is_zero and other.rest_is_zero))
    kinds = (one.normalise, one.kernel) == (other.normalise, other.kernel)
    return known and kinds and bool(one.B == other.B and one.C == other.C and one.c == other.c)


def _flat(values: Values, stacked: frozenset[str]) -> Values:
    """Return the values with the h-th member of a family under a name of its own."""
    flat = {name: value for name, value in values.items() if name not in stacked and _is_flat(value)}
    for name in stacked:
        flat |= {_member(name, h): value for h, value in enumerate(values[name])}
    return flat


def _is_flat(value: Any) -> bool:
    """Whether a value is a number or a matrix, not a stack of matrices."""
    return not (isinstance(value, list) and isinstance(value[0][0], list))


def _member(name: str, index: int) -> str:
    return f"{name}[{index}]"


def _renamed(body: Any, members: tuple[MatrixSymbol, ...], index: int) -> Any:
    return body.subs({m: MatrixSymbol(_member(m.name, index), *m.shape) for m in members})
