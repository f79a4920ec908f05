r"""Scores that are affine in the query and in the key, up to squares that a sphere may make constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, Integer, S, Trace, Transpose, ZeroMatrix, exp

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product, total
from symflow.errors import NoExpansion, NotAffine
from symflow.flow import SCORE, Pairing, PairTerm, TokenFlow


@dataclass(frozen=True)
class Bilinear:
    r"""A score :math:`y^\top B x + a^\top x + b^\top y + s + \sum c\,|Gx|^2 + \sum c\,|Hy|^2`.

    Attributes
    ----------
    matrix : MatrixExpr
        B (d × d).
    query, key : MatrixExpr
        a and b (d × 1).
    constant : Expr
        s, free of tokens.
    query_squares, key_squares : tuple of (Expr, MatrixExpr)
        The pairs (c, G) and (c, H).
    """

    matrix: Any
    query: Any
    key: Any
    constant: Expr
    query_squares: tuple[tuple[Expr, Any], ...] = ()
    key_squares: tuple[tuple[Expr, Any], ...] = ()


def bilinear(term: PairTerm, x: Any, y: Any) -> Bilinear:
    """Return the coefficients of a score.

    Raises
    ------
    NoExpansion
        If the score is of another form.

    Examples
    --------
    >>> from symflow.derive.particles import token_flow
    >>> from symflow.models.attention.l2 import L2
    >>> flow = token_flow(L2()).flow
    >>> bilinear(flow.terms[0], flow.x, flow.y).matrix
    2*K.T*Q
    """
    own = {pairing.symbol for pairing in term.pairings}
    numbers = {symbol for symbol, _ in (*term.rows, *term.columns)}
    if term.score.free_symbols & numbers:
        raise NoExpansion(f"the score {term.score} contains numbers of one token alone")
    rest, parts = term.score, []
    for pairing in term.pairings:
        slope = term.score.diff(pairing.symbol)
        if slope.free_symbols & own:
            raise NoExpansion(f"the score {term.score} is not affine in {pairing.symbol}")
        rest = rest.subs(pairing.symbol, 0)
        parts.append(_parts(pairing, slope, x, y))
    return Bilinear(
        matrix=total(ZeroMatrix(y.shape[0], x.shape[0]), *(part.matrix for part in parts)),
        query=total(ZeroMatrix(x.shape[0], 1), *(part.query for part in parts)),
        key=total(ZeroMatrix(y.shape[0], 1), *(part.key for part in parts)),
        constant=rest + sum((part.constant for part in parts), S.Zero),
        query_squares=tuple(pair for part in parts for pair in part.query_squares),
        key_squares=tuple(pair for part in parts for pair in part.key_squares),
    )


def affine_scores(flow: TokenFlow) -> tuple[Bilinear, ...]:
    """Return the weight of every term, which must be affine in both tokens and not normalised."""
    found = []
    for term in flow.terms:
        if term.weight != SCORE or term.normalise != "none" or term.feature != flow.y:
            raise NoExpansion(f"{flow.name}: weights are not affine in the tokens, or are normalised")
        score = bilinear(term, flow.x, flow.y)
        if score.query_squares or score.key_squares:
            raise NoExpansion(f"{flow.name}: the weight {term.score} contains a squared token")
        found.append(score)
    return tuple(found)


def exponential_scores(flow: TokenFlow) -> tuple[Bilinear, ...]:
    """Return the score of every term, whose weights must be exponentials of tokens on a sphere."""
    if flow.space != "sphere":
        raise NoExpansion(f"{flow.name}: tokens do not live on a sphere")
    if flow.weights is not None:
        raise NoExpansion(f"{flow.name}: tokens see only those before them, so they share no moments")
    for term in flow.terms:
        if term.weight != exp(SCORE) or term.normalise == "sinkhorn" or term.feature != flow.y:
            raise NoExpansion(f"{flow.name}: weights are no exponentials of the score")
    return tuple(bilinear(term, flow.x, flow.y) for term in flow.terms)


def _parts(pairing: Pairing, slope: Expr, x: Any, y: Any) -> Bilinear:
    """Return what ``slope`` times one pairing contributes."""
    try:
        (left, g), (right, h) = affine_parts(pairing.left, x), affine_parts(pairing.right, y)
    except NotAffine as error:
        raise NoExpansion(f"a side of the pairing {pairing.symbol} is not affine in its token") from error
    if not pairing.difference:
        return Bilinear(
            matrix=_times(slope, Transpose(right).doit(), left),
            query=_times(slope, Transpose(left).doit(), h),
            key=_times(slope, Transpose(right).doit(), g),
            constant=slope * _dot(g, h),
        )
    gap = total(g, _times(S.NegativeOne, h))
    return Bilinear(
        matrix=_times(-2 * slope, Transpose(right).doit(), left),
        query=_times(2 * slope, Transpose(left).doit(), gap),
        key=_times(-2 * slope, Transpose(right).doit(), gap),
        constant=slope * _dot(gap, gap),
        query_squares=((slope, left),),
        key_squares=((slope, right),),
    )


def _times(scalar: Expr, *factors: Any) -> Any:
    """Return a multiple of a product, zero where a factor is."""
    if any(factor.is_ZeroMatrix for factor in factors):
        return ZeroMatrix(factors[0].rows, factors[-1].cols)
    done = product(*factors) if len(factors) > 1 else factors[0]
    return done if scalar == Integer(1) else (scalar * done).doit(deep=False)


def _dot(g: Any, h: Any) -> Expr:
    if g.is_ZeroMatrix or h.is_ZeroMatrix:
        return S.Zero
    return Trace(Transpose(g) * h)
