r"""Gaussian closure: the ODEs of mean and covariance that an attention model induces.

Every head is an affine velocity field (:mod:`symflow.derive.velocity`); heads, output bias and feed-forward
layer are added, noise adds 2εI, and under a causal mask every position has a law of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Identity, MatAdd, MatrixSymbol, Symbol, ZeroMatrix

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product, total
from symflow.algebra.families import FamilySum
from symflow.algebra.latex import latex
from symflow.algebra.symbols import matrix, vector
from symflow.algebra.transposition import transposed
from symflow.derive.checks import AffineField, ContinuityEquation
from symflow.derive.definition import active_heads, definition, field_label, is_superposition
from symflow.derive.derivation import Derivation
from symflow.derive.lemmas import closure_lemma, noisy_closure_lemma
from symflow.derive.steps import Formula, Step
from symflow.derive.velocity import AffineVelocity, Setting, affine_velocity
from symflow.derive.velocity.record import (
    NORMAL_FORM,
    WEIGHT,
    Running,
    argument,
    finite_normaliser,
    running_sum,
)
from symflow.errors import ClosureUndecided, InputError, NoGaussianLaws
from symflow.flow import Chain, CovarianceStructure, Flow
from symflow.models.attention.model import AttentionModel
from symflow.models.statement import Head, Statement


@dataclass(frozen=True)
class _Superposed:
    """The velocity of a model: the sum of its heads and of the background, one velocity per head."""

    parts: tuple[tuple[Head, AffineVelocity], ...]
    constant: Any
    linear: Any
    field: Any
    half: Any
    tilt: Any
    running: Running


def gaussian_closure(model: AttentionModel, given: Iterable[str] | None = None) -> Derivation:
    r"""Derive the ODEs that keep a Gaussian law Gaussian.

    .. math:: \dot\alpha = \Gamma(\alpha), \qquad \dot\Sigma = L\Sigma + \Sigma L^\top + 2\varepsilon I,
              \qquad \Gamma(x) = \Gamma(\alpha) + L(x - \alpha)

    Parameters
    ----------
    model : AttentionModel
        A shipped variant or a user's own mechanism.
    given : iterable of str, optional
        Names of the parameters in use, e.g. ``{"Q", "K", "V"}`` or ``{"A", "V", "bq"}``.

    Returns
    -------
    Derivation
        With ``mean_rhs`` and ``cov_rhs`` in the symbols ``alpha`` (d×1) and ``Sigma`` (d×d); under a causal
        mask those of one position, with the running sums of ``flow.chain``.

    Raises
    ------
    NotGaussianPreserving
        If it is proved that Gaussians do not stay Gaussian; ``witness`` is the exact evidence.
    ClosureUndecided
        If neither a closure nor a proof that there is none was found.
    NoGaussianLaws
        On the sphere.
    InputError
        If it is not a model, two symbols have one name, or a parameter is unknown or missing.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> gaussian_closure(Softmax()).mean_rhs
    V*(I + Sigma*A)*alpha
    """
    if not isinstance(model, AttentionModel):
        raise InputError(f"model must be an attention model such as Softmax(), got {model!r}")
    statement = model.statement(given)
    if statement.space != "euclidean":
        raise NoGaussianLaws(
            f"{statement.name}: a Gaussian does not live on the sphere; use token_flow for tokens on it, "
            "or space='euclidean'"
        )
    d = statement.dimensions[0]
    alpha, sigma = vector("alpha", d), matrix("Sigma", d, d)
    _refuse_equal_names(statement, alpha, sigma)
    try:
        velocity = _velocity(statement, alpha, sigma)
    except ClosureUndecided as error:
        from symflow.derive.nonclosure import refute_closure

        refutation = refute_closure(model, statement)
        if refutation is None:
            raise
        raise refutation from error
    _refuse_equal_names(statement, alpha, sigma, *_taken(statement, velocity))
    flow = _flow(statement, velocity, alpha, sigma)
    return Derivation(model, statement, _steps(model, statement, velocity, flow), flow)


def _taken(statement: Statement, velocity: _Superposed) -> tuple[Any, ...]:
    """Return the further symbols of a flow under a mask."""
    return () if statement.positions is None else (WEIGHT, *(symbol for symbol, _ in velocity.running))


def _refuse_equal_names(statement: Statement, *states: Any) -> None:
    """Refuse a parameter called like a state, which would be taken for it, or like another parameter."""
    names = [s.name for s in (*states, *statement.parameters)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{statement.name} has two symbols called {twice[0]!r}; rename the one in score or value "
            "(alpha and Sigma are mean and covariance; M0, M1, M2 and weight belong to masks)"
        )


def _velocity(statement: Statement, alpha: MatrixSymbol, sigma: MatrixSymbol) -> _Superposed:
    heads = active_heads(statement) or statement.heads[:1]
    several = is_superposition(statement)
    offset = ZeroMatrix(*alpha.shape) if several else statement.background
    labels = [field_label(statement, index if several else None) for index in range(len(heads))]
    parts = tuple(
        (head, affine_velocity(Setting(statement, head, offset, alpha, sigma, label)))
        for head, label in zip(heads, labels, strict=True)
    )
    rest = statement.background if several else ZeroMatrix(*alpha.shape)
    slope, shift = affine_parts(rest, statement.x)
    linears = [*((head, part.linear) for head, part in parts), (None, slope)]
    running = tuple(dict(pair for _, part in parts for pair in part.running).items())
    symmetric = (sigma, *(symbol for symbol, _ in running if symbol.rows == symbol.cols))
    return _Superposed(
        parts=parts,
        constant=total(*(_summed(h, v.constant) for h, v in parts), product(slope, alpha), shift),
        linear=total(*(_summed(h, linear) for h, linear in linears)),
        field=total(*(_summed(h, v.field) for h, v in parts), rest),
        half=total(*(_doubled(h, linear, sigma, symmetric) for h, linear in linears)),
        tilt=_common_tilt(statement, parts),
        running=running,
    )


def _summed(head: Head | None, expression: Any) -> Any:
    """Return the expression, summed over the family of the head where it has one."""
    if head is None or head.family is None:
        return expression
    return FamilySum(expression, head.family.members, head.family.count).doit(deep=False)


def _doubled(head: Head | None, linear: Any, sigma: MatrixSymbol, symmetric: tuple[Any, ...]) -> Any:
    """Return LΣ + ΣLᵀ with the transpose written out in the symbols."""
    half = total(*(product(term, sigma) for term in MatAdd.make_args(linear)))
    if half.is_ZeroMatrix:
        return half
    return MatAdd(_summed(head, half), _summed(head, transposed(half, symmetric)))


def _common_tilt(statement: Statement, parts: tuple[tuple[Head, AffineVelocity], ...]) -> Any:
    """Return the one tilt that bounds the domain; heads with domains of their own are not covered."""
    tilts = {velocity.tilt for _, velocity in parts if velocity.tilt is not None}
    members = {m for head, _ in parts if head.family is not None for m in head.family.members}
    if len(tilts) > 1 or any(tilt.free_symbols & members for tilt in tilts):
        raise ClosureUndecided(
            f"{statement.name}: the normaliser of every head has a domain of its own; "
            "a flow is defined where one tilt C bounds the covariance"
        )
    return next(iter(tilts), None)


def _flow(statement: Statement, velocity: _Superposed, alpha: MatrixSymbol, sigma: MatrixSymbol) -> Flow:
    noise: Expr = statement.diffusion
    spread = () if noise.is_zero else (2 * noise * Identity(sigma.rows),)
    positions, chain = statement.positions, None
    if positions is not None:
        chain = Chain(positions.count, velocity.running, WEIGHT, positions.weights)
    return Flow(
        name=statement.name,
        states=(alpha, sigma),
        drift=(velocity.constant, total(velocity.half, *spread)),
        parameters=statement.parameters,
        dimensions=statement.dimensions,
        covariance=CovarianceStructure(sigma, velocity.linear, velocity.tilt, noise),
        stacked=statement.stacked,
        chain=chain,
    )


def _steps(
    model: AttentionModel, statement: Statement, velocity: _Superposed, flow: Flow
) -> tuple[Step, ...]:
    heads = dict.fromkeys(step for _, part in velocity.parts for step in part.steps)  # a lemma once
    return (
        definition(model, statement),
        *heads,
        _affine_step(statement, velocity, flow),
        closure_lemma() if statement.diffusion.is_zero else noisy_closure_lemma(),
        _result(model, statement, velocity, flow),
    )


def _affine_step(statement: Statement, velocity: _Superposed, flow: Flow) -> Step:
    several = is_superposition(statement)
    label, at = field_label(statement), argument(statement)
    centre = at.replace("x", r"\alpha")
    return Step(
        kind="step",
        title="Superposition of heads" if several else "The field is affine",
        statement=("A sum of affine fields is affine: " if several else "Hence ")
        + rf"${label}{at} = {label}{centre} + L\,(x-\alpha)$ with",
        formulas=(Formula(f"{label}{centre}", velocity.constant), Formula("L", velocity.linear)),
        rule="superposition" if several else NORMAL_FORM,
        reference="",
        check=AffineField(
            field=_seen(velocity.field, flow),
            constant=_seen(velocity.constant, flow),
            linear=_seen(velocity.linear, flow),
            x=statement.x,
            mean=flow.states[0],
            covariance=flow.states[1],
        ),
    )


def _result(model: AttentionModel, statement: Statement, velocity: _Superposed, flow: Flow) -> Step:
    return Step(
        kind="result",
        title=f"Gaussian closure: {model.title}",
        statement=_solved(statement, velocity),
        formulas=_equations(flow),
        rule="closure lemma",
        reference=statement.reference,
        check=ContinuityEquation(
            field=_seen(velocity.field, flow),
            mean_rhs=_seen(flow.drift[0], flow),
            cov_rhs=_seen(flow.drift[1], flow),
            x=statement.x,
            mean=flow.states[0],
            covariance=flow.states[1],
            diffusion=statement.diffusion,
        ),
    )


def _seen(expression: Any, flow: Flow) -> Any:
    """Return an expression as the second of two positions sees it, with the running sums written out."""
    if flow.chain is None:
        return expression
    alpha, sigma = flow.states
    factor = MatrixSymbol("F_1", *sigma.shape)
    first = {
        alpha: MatrixSymbol("alpha_1", *alpha.shape),
        sigma: factor * factor.T,
        flow.chain.weight: Symbol(f"{flow.chain.weight.name}_1", positive=True),
    }
    return expression.xreplace({symbol: part.xreplace(first) + part for symbol, part in flow.chain.running})


def _solved(statement: Statement, velocity: _Superposed) -> str:
    if statement.positions is not None:
        return (
            r"With the laws of the earlier positions given, the lemma applies at every position $s$. From "
            r"$\mathcal{N}(\alpha_s(0),\Sigma_s(0))$ with $\Sigma_s(0) \succeq 0$ the equation is solved by "
            r"$\mathcal{N}(\alpha_s(t),\Sigma_s(t))$, one Gaussian law for every position, as long as the "
            r"solution of the following system exists:"
        )
    domain = "" if velocity.tilt is None else rf" and ${finite_normaliser(statement)}$"
    return (
        r"From $\mu(0) = \mathcal{N}(\alpha_0,\Sigma_0)$ with $\Sigma_0 \succeq 0$ the equation is "
        r"solved by $\mu(t) = \mathcal{N}(\alpha(t),\Sigma(t))$, as long as the solution of the following "
        rf"system exists{domain}:"
    )


def _equations(flow: Flow) -> tuple[Formula, ...]:
    if flow.chain is None:
        names = (r"\dot\alpha", r"\dot\Sigma")
        return tuple(Formula(name, drift) for name, drift in zip(names, flow.drift, strict=True))
    symbols = [*flow.states, *(symbol for symbol, _ in flow.chain.running)]
    here = {symbol: MatrixSymbol(f"{symbol.name}_s", *symbol.shape) for symbol in symbols}
    rows = [
        Formula(rf"\dot{{{latex(state)}}}_{{s}}", drift.xreplace(here))
        for state, drift in zip(flow.states, flow.drift, strict=True)
    ]
    sums = (running_sum(flow.chain.weight, part, flow.states) for _, part in flow.chain.running)
    running = (latex(here[symbol]) for symbol, _ in flow.chain.running)
    return (*rows, *(Formula(*pair) for pair in zip(running, sums, strict=True)))
