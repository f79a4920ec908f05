"""From the statement of a model to its system of tokens: one pair term per head."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Identity, MatMul, ZeroMatrix, exp

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product
from symflow.algebra.symbols import dimension
from symflow.derive.definition import active_heads
from symflow.derive.particles.pairings import PairedScore, paired_score
from symflow.derive.particles.symmetry import symmetric_if
from symflow.errors import InputError, NotAffine, NoTokenFlow
from symflow.flow import SCORE, PairTerm, TokenFlow
from symflow.models.statement import Head, Statement

#: The name of the number of tokens.
COUNT = "n"


def token_system(statement: Statement) -> TokenFlow:
    """Return the system of n tokens that a statement means.

    Raises
    ------
    NoTokenFlow
        With noise, for a masked coupling, or where a score is no function of pairings.
    InputError
        If a parameter is called like a token or the number of tokens.
    """
    _refuse(statement)
    positions = statement.positions
    count = dimension(COUNT) if positions is None else positions.count
    dimensions = statement.dimensions if positions is not None else (*statement.dimensions, count)
    return TokenFlow(
        name=f"{statement.name}-tokens",
        x=statement.x,
        y=statement.y,
        terms=tuple(_term(head, statement) for head in active_heads(statement)),
        background=statement.background,
        space=statement.space,
        parameters=statement.parameters,
        dimensions=dimensions,
        count=count,
        weights=None if positions is None else positions.weights,
        stacked=statement.stacked,
    )


def _refuse(statement: Statement) -> None:
    if not statement.diffusion.is_zero:
        raise NoTokenFlow(
            f"{statement.name}: with noise (diffusion = {statement.diffusion}) the tokens follow a "
            "stochastic equation, for which there is no token flow; use diffusion=0"
        )
    if statement.positions is not None and any(h.normalise == "sinkhorn" for h in active_heads(statement)):
        raise NoTokenFlow(
            f"{statement.name}: under a causal mask the weights are a lower triangular matrix, and the only "
            "doubly stochastic triangular matrix is diagonal, so that every token would see itself alone; "
            "use Sinkhorn attention without mask, or another variant"
        )
    known = [*(s.name for s in statement.parameters), statement.x.name, statement.y.name]
    sizes = [size.name for size in statement.dimensions]
    extra = [] if statement.positions is not None else [COUNT]
    names = [*known, *sizes, *extra]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{statement.name} has two symbols called {twice[0]!r} (x and y are tokens, n is their number); "
            "rename the one in score or value"
        )


def _term(head: Head, statement: Statement) -> PairTerm:
    x, y = statement.x, statement.y
    taken = {s.name for s in (*statement.parameters, *statement.dimensions, SCORE, x, y)} | {COUNT}
    found = paired_score(head.score, x, y, taken)
    score, weight = found.score, head.weight
    if weight == SCORE and isinstance(score, exp):  # so that large scores can be shifted
        score, weight = score.args[0], exp(SCORE)
    found = PairedScore(found.pairings, found.rows, found.columns, score)
    feature, matrix, offset = value_parts(head.value, y)
    return PairTerm(
        pairings=found.pairings,
        rows=found.rows,
        columns=found.columns,
        score=score,
        weight=weight,
        normalise=head.normalise,
        feature=feature,
        matrix=matrix,
        offset=offset,
        prefactor=head.prefactor,
        symmetric_if=symmetric_if(found, x, y),
        family=head.family,
    )


def value_parts(value: Any, y: Any) -> tuple[Any, Any, Any]:
    r"""Return f, M and c of :math:`v(y) = M f(y) + c`, with f(y) = y where the value is affine.

    Examples
    --------
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> value_parts(matrix("V", d, d) * vector("y", d) + vector("b", d), vector("y", d))
    (y, V, b)
    """
    try:
        matrix, offset = affine_parts(value, y)
    except (NotAffine, InputError):
        matrix, feature = _outer(value, y)
        return feature, matrix, ZeroMatrix(matrix.rows, 1)
    return y, matrix, offset


def _outer(value: Any, y: Any) -> tuple[Any, Any]:
    """Split off the constant matrices in front, which can wait for the average."""
    factors = MatMul.make_args(value)
    scalars = [f for f in factors if isinstance(f, Expr) and not hasattr(f, "shape")]
    matrices = [f for f in factors if hasattr(f, "shape")]
    index = next(i for i, f in enumerate(matrices) if y in f.free_symbols or i == len(matrices) - 1)
    outer = product(*matrices[:index]) if index else Identity(value.shape[0])
    inner = product(*matrices[index:])
    for scalar in scalars:
        inner = scalar * inner
    return outer, inner
