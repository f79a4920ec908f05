r"""Attention that sees cosines only: what each token adds to the velocity is w(⟨x, y⟩) P_x y.

The weight w is read off the derived flow of tokens, term by term, for tokens of length one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Add, Dummy, Expr, Identity, MatAdd, MatMul, S, Symbol, Trace, Transpose, expand, simplify

from symflow.errors import InputError
from symflow.flow import SCORE, PairTerm, TokenFlow

COSINE = Symbol("u", real=True)  #: ⟨x, y⟩ in the weight of a zonal term


@dataclass(frozen=True)
class ZonalTerm:
    r"""One integral :math:`P_x\,\frac{a}{N(x)}\int w(\langle x, y\rangle)\,y\,d\mu(y)`.

    Attributes
    ----------
    weight : Expr
        w in the symbol :data:`COSINE`.
    normalise : str
        ``"none"``: N is one; ``"softmax"``: N is the integral of w over the law; ``"sinkhorn"``: w is scaled
        to a doubly stochastic kernel instead.
    strength : Expr
        The number a.
    """

    weight: Expr
    normalise: str
    strength: Expr = S.One

    def at(self, cosine: Any) -> Expr:
        """Return w at a cosine."""
        return self.weight.subs(COSINE, cosine)


def zonal_terms(model: Any) -> tuple[ZonalTerm, ...]:
    """Return the weights of a model on the sphere as functions of the cosine.

    Parameters
    ----------
    model : AttentionModel
        On the sphere, with Q, K, V multiples of the identity, for example left out.

    Raises
    ------
    InputError
        If the tokens are not on the sphere, a mask or a background distinguishes tokens or directions, or a
        score or value is no function of the cosine.
    """
    from symflow.derive.particles import token_flow

    flow = token_flow(model, ()).flow
    if flow.space != "sphere":
        raise InputError(f"{flow.name}: cosines describe tokens on the sphere only; give space='sphere'")
    if flow.weights is not None:
        raise InputError(f"{flow.name}: under a causal mask tokens are not alike")
    if _multiple(flow.background, flow.x) is None:  # a multiple of x is projected away
        raise InputError(f"{flow.name}: what is added to the attention singles out directions")
    return tuple(_zonal(flow, term) for term in flow.terms)


def _zonal(flow: TokenFlow, term: PairTerm) -> ZonalTerm:
    if term.family is not None:
        raise InputError(f"{flow.name}: heads have matrices of their own, which single out directions")
    if term.feature != flow.y or not _vanishes(term.offset):
        raise InputError(f"{flow.name}: the value is no multiple of the token")
    strength = _factor(term.matrix)
    if strength is None:
        raise InputError(f"{flow.name}: V = {term.matrix} singles out directions")
    values: dict[Any, Any] = {pairing.symbol: _pairing(flow, pairing) for pairing in term.pairings}
    values |= {symbol: _number(flow, expr) for symbol, expr in (*term.rows, *term.columns)}
    score = term.score.subs(values)
    weight = term.weight.subs(SCORE, score)
    return ZonalTerm(weight, term.normalise, term.prefactor * strength)


def _pairing(flow: TokenFlow, pairing: Any) -> Expr:
    left, right = _multiple(pairing.left, flow.x), _multiple(pairing.right, flow.y)
    if left is None or right is None:
        raise InputError(f"{flow.name}: the score sees more than the cosine of two tokens")
    if pairing.difference:
        return expand(left**2 + right**2 - 2 * left * right * COSINE)
    return left * right * COSINE


def _number(flow: TokenFlow, expr: Any) -> Expr:
    """Return a number of one token, which may use its length only."""
    length = Dummy("length")
    squares = {Trace(MatMul(Transpose(v), v)): length for v in (flow.x, flow.y)}
    value = expr.subs(squares).subs(length, 1)
    if value.has(flow.x) or value.has(flow.y):
        raise InputError(f"{flow.name}: the score sees more than the cosine of two tokens")
    return simplify(value)


def _multiple(expr: Any, vector: Any) -> Expr | None:
    """Return c where the expression is c times the vector, as its parts show."""
    if expr == vector:
        return S.One
    if _vanishes(expr):
        return S.Zero
    if isinstance(expr, MatAdd):
        parts = [_multiple(part, vector) for part in expr.args]
        return None if None in parts else Add(*parts)
    if isinstance(expr, MatMul):
        scalar, rest = expr.as_coeff_matrices()
        kept = [matrix for matrix in rest if not isinstance(matrix, Identity)]
        return scalar if kept == [vector] else None
    return None


def _factor(matrix: Any) -> Expr | None:
    """Return c where the matrix is cI."""
    if isinstance(matrix, Identity):
        return S.One
    if isinstance(matrix, MatMul):
        scalar, rest = matrix.as_coeff_matrices()
        return scalar if all(isinstance(part, Identity) for part in rest) else None
    return S.Zero if _vanishes(matrix) else None


def _vanishes(expr: Any) -> bool:
    return bool(getattr(expr, "is_ZeroMatrix", False))
