"""Statement: what a model says, as SymPy; everything else is derived from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sympy import Expr, MatrixSymbol, S, Symbol, exp

from symflow.errors import InputError
from symflow.flow import SCORE

#: How the weights of a head are normalised.
NORMALISATIONS = ("softmax", "sinkhorn", "none")


@dataclass(frozen=True)
class Family:
    """The index of heads that share one line: ``members`` stand for the h-th of ``count`` matrices."""

    members: tuple[MatrixSymbol, ...]
    count: Symbol


@dataclass(frozen=True)
class Positions:
    r"""Tokens (s, x) whose position s is fixed and which see positions τ ≤ s only.

    There are ``count`` positions in increasing order, ``weights`` is their law θ, and every integral
    against μ becomes :math:`\sum_{\tau\le s}\theta_\tau\int\cdot\,d\mu_\tau`.
    """

    count: Symbol
    weights: MatrixSymbol


@dataclass(frozen=True)
class Head:
    r"""One integral against the law of the tokens.

    .. math:: \text{prefactor}\cdot\int v(y)\,w_\mu(x,y)\,d\mu(y)

    with :math:`w_\mu = k` for ``"none"``, :math:`w_\mu(x,y) = k(x,y)/\int k(x,z)\,d\mu(z)` for
    ``"softmax"``, and :math:`w_\mu(x,y) = a(x)k(x,y)b(y)` with both marginals one for ``"sinkhorn"``.

    Attributes
    ----------
    score : Expr
        s(x, y), a SymPy scalar over ``Trace`` atoms, including the factor ``beta/temperature``.
    kernel : Expr
        k(x, y) as a function of the score: ``exp(s)``, ``s``, ``1/(1 + exp(-s))``, ….
    value : MatrixExpr
        v(y), a column vector of size d.
    normalise : str
        One of :data:`NORMALISATIONS`.
    prefactor : Expr
        A scalar free of x and y: the sign of the attention, and 1/ε for Sinkhorn.
    family : Family or None
        Where the term is summed over heads.
    weight : Expr
        k in the symbol :data:`~symflow.flow.SCORE` of the score.
    """

    score: Expr
    kernel: Expr
    value: Any
    normalise: str
    prefactor: Expr = S.One
    family: Family | None = None
    weight: Expr = field(default_factory=lambda: exp(SCORE))


@dataclass(frozen=True)
class Statement:
    r"""The definition of one model at symbolic size.

    .. math:: dX = \Gamma_\mu(X)\,dt + \sqrt{2\varepsilon}\,dW, \qquad
              \Gamma_\mu(x) = b(x) + \sum_{\text{heads}} \int v(y)\,w_\mu(x,y)\,d\mu(y)

    Attributes
    ----------
    name : str
        Identifier of the model and of its parametrisation, e.g. ``"softmax-A"``.
    heads : tuple of Head
        The integrals; several where heads of different mechanisms are added.
    background : MatrixExpr
        b(x), affine in x: an output bias and a feed-forward layer ``W*x + c`` (zero matrix when none).
    diffusion : Expr
        ε of the idiosyncratic noise; zero when there is none.
    x, y : MatrixSymbol
        Query and key token.
    parameters : tuple of MatrixSymbol or Symbol
        Matrix parameters, then scalar ones, in call order. A member of a family stands for the whole array.
    dimensions : tuple of Symbol
        Sizes, ``d`` first.
    reference : str
        Citation key and equation.
    positions : Positions or None
        Present for causal masks.
    space : str
        ``"euclidean"``, or ``"sphere"``: there the velocity is :math:`P_x\Gamma_\mu(x)`, P_x = I − xxᵀ.
    """

    name: str
    heads: tuple[Head, ...]
    background: Any
    diffusion: Expr
    x: MatrixSymbol
    y: MatrixSymbol
    parameters: tuple[MatrixSymbol | Symbol, ...]
    dimensions: tuple[Symbol, ...]
    reference: str
    positions: Positions | None = None
    space: str = "euclidean"

    @property
    def head(self) -> Head:
        """The only head.

        Raises
        ------
        InputError
            If there are several, or it stands for a family.
        """
        if len(self.heads) != 1 or self.heads[0].family is not None:
            raise InputError(f"{self.name} has several heads; look at .heads")
        return self.heads[0]

    @property
    def score(self) -> Expr:
        """Score of the only head."""
        return self.head.score

    @property
    def value(self) -> Any:
        """Value of the only head."""
        return self.head.value

    @property
    def normalise(self) -> str:
        """Normalisation of the only head."""
        return self.head.normalise

    @property
    def stacked(self) -> dict[str, Symbol]:
        """Names of the parameters with a leading axis, and its symbolic size."""
        families = [head.family for head in self.heads if head.family is not None]
        return {member.name: family.count for family in families for member in family.members}
