r"""What a functional of a law can contain besides averages: its density, and entropic transport to itself.

.. math:: \mathrm{OT}(\mu,\mu) = \min_{\pi}\ -\int s\,d\pi + \mathrm{KL}(\pi\,|\,\mu\otimes\mu),
          \qquad \pi = e^{a(x) + s(x,y) + b(y)}\,\mu\otimes\mu

The minimum is over couplings of μ with itself; a and b are its potentials. Only their sum is unique.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr, MatrixSymbol, Symbol, Tuple, exp

from symflow.algebra.functionals.average import LAW, Bound, fresh


class LawFunction(Expr):  # type: ignore[misc]
    """A number that depends on the law in another way than through averages."""

    is_commutative = True
    is_real = True
    is_extended_real = True


class Density(LawFunction):
    r"""The density of the law at a point, :math:`d\mu/dx(z)`.

    Parameters
    ----------
    z : MatrixExpr, shape (d, 1)
        The point.
    """

    def __new__(cls, z: Any, law: Symbol = LAW) -> Any:
        """Return the node."""
        return super().__new__(cls, z, law)

    @property
    def point(self) -> Any:
        """The point."""
        return self.args[0]

    def _latex(self, printer: Any, exp: str | None = None, **_: Any) -> str:
        density = rf"\frac{{d{printer._print(self.args[1])}}}{{dx}}({printer._print(self.point)})"
        return density if exp is None else rf"\left({density}\right)^{{{exp}}}"


class _Transport(LawFunction):
    """What cost and potentials share: a score with two bound vectors."""

    @staticmethod
    def _bound(score: Any, x: MatrixSymbol, y: MatrixSymbol) -> tuple[Any, Any, Any]:
        first, second = Bound("s_1", *x.shape), Bound("s_2", *y.shape)
        return score.xreplace({x: first, y: second}), first, second

    @property
    def score(self) -> Any:
        """s(x, y) in the two bound vectors."""
        return self.args[0]

    @property
    def ends(self) -> tuple[Any, Any]:
        """The two bound vectors."""
        return self.args[1][0], self.args[1][1]

    def score_at(self, x: Any, y: Any) -> Any:
        """Return s(x, y)."""
        first, second = self.ends
        return self.score.xreplace({first: x, second: y})

    @property
    def free_symbols(self) -> set[Any]:
        """Symbols of the score but the bound vectors, and those of the point."""
        parts: set[Any] = set().union(*(part.free_symbols for part in self.args if part != LAW))
        return parts - set(self.ends)


class TransportCost(_Transport):
    r"""The entropic cost of transporting a law to itself, :math:`\mathrm{OT}(\mu,\mu)` above.

    Parameters
    ----------
    score : Expr
        s(x, y), minus the cost divided by the temperature.
    x, y : MatrixSymbol, shape (d, 1)
        Its two ends; they are bound.
    """

    def __new__(cls, score: Any, x: Any, y: Any = None) -> Any:
        """Return the node; x may be the pair of both ends, as in its own ``args``."""
        score, first, second = cls._bound(score, *(x if y is None else (x, y)))
        return super().__new__(cls, score, Tuple(first, second))

    def potentials(self, z: Any) -> tuple[Any, Any]:
        """Return a(z) and b(z)."""
        left, right = (Potential(self.score, self.args[1], Symbol(side), z) for side in "ab")
        return left, right

    def _latex(self, printer: Any, **_: Any) -> str:
        return r"\mathrm{OT}(\mu,\mu)"


class Potential(_Transport):
    """One of the two potentials of entropic transport of a law to itself, at a point."""

    def __new__(cls, score: Any, ends: Any, side: Symbol, z: Any) -> Any:
        """Return the node: ``side`` is ``a`` for the first end, ``b`` for the second."""
        score, first, second = cls._bound(score, *ends)
        return super().__new__(cls, score, Tuple(first, second), side, z)

    @property
    def side(self) -> str:
        """``"a"`` or ``"b"``."""
        return str(self.args[2])

    @property
    def point(self) -> Any:
        """Where the potential is taken."""
        return self.args[3]

    @property
    def free_symbols(self) -> set[Any]:
        """As of the cost, without the name of the potential."""
        found: set[Any] = self.score.free_symbols | self.point.free_symbols
        return found - set(self.ends)

    def coupling(self) -> tuple[Any, Any, Any]:
        r"""Return :math:`s`, :math:`k_\infty` between the point and a new vector, and that vector."""
        other = fresh(self.point.shape, (self,))
        pair = (self.point, other) if self.side == "a" else (other, self.point)
        a, b = (Potential(self.score, self.args[1], Symbol(n), p) for n, p in zip("ab", pair, strict=True))
        score = self.score_at(*pair)
        return score, exp(a + score + b), other

    def _latex(self, printer: Any, exp: str | None = None, **_: Any) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"{self.side}{power}({printer._print(self.point)})"

    def _sympystr(self, printer: Any, **_: Any) -> str:
        return f"{self.side}({printer._print(self.point)})"


def law_functions(expr: Any) -> list[Any]:
    """Return the densities, costs and potentials that stand in no average."""
    if isinstance(expr, LawFunction):
        return [expr]
    if getattr(expr, "is_Average", False):
        return []
    found = [node for part in getattr(expr, "args", ()) for node in law_functions(part)]
    return list(dict.fromkeys(found))
