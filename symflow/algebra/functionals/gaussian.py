r"""Functionals at Gaussian laws, by tilting and by moments.

An average of a polynomial times the exponential of a quadratic polynomial has a closed form, and so has the
logarithm of such an exponential. What is none of these is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Add, Dummy, Expr, Inverse, Mul, Rational, Trace, exp, expand, log, pi, sift

from symflow.algebra.determinant import LogDet
from symflow.algebra.functionals.average import averages
from symflow.algebra.functionals.nodes import Density, law_functions
from symflow.algebra.gaussian import log_normaliser, tilted_covariance, tilted_mean
from symflow.algebra.moments import expectation
from symflow.algebra.quadratic import quadratic_form
from symflow.algebra.symbols import vector
from symflow.algebra.words import normal_form
from symflow.errors import InputError

_HALF = Rational(1, 2)


@dataclass(frozen=True)
class OnGaussian:
    r"""A functional of :math:`\mathcal N(\alpha, \Sigma)`.

    Attributes
    ----------
    value : Expr
        In α, Σ and parameters.
    curvatures : tuple of MatrixExpr
        The functional is finite where :math:`\lambda_{\max}(\Sigma^{1/2}C\Sigma^{1/2}) < 1` for each C.
    needs_density : bool
        Whether Σ has to be invertible.
    """

    value: Expr
    curvatures: tuple[Any, ...] = ()
    needs_density: bool = False


def on_gaussian(functional: Expr, alpha: Any, Sigma: Any) -> OnGaussian:
    r"""Return a functional at the law :math:`\mathcal N(\alpha, \Sigma)`.

    Parameters
    ----------
    functional : Expr
        In averages and the density, with at most one free vector.
    alpha : MatrixSymbol, shape (d, 1)
        Mean.
    Sigma : MatrixSymbol, shape (d, d)
        Covariance.

    Raises
    ------
    NotQuadratic, NotPolynomial, InputError
        If an average has no closed form.

    Examples
    --------
    >>> from sympy import Trace
    >>> from symflow.algebra.functionals.average import Average
    >>> from symflow.algebra.symbols import dimension, matrix, vector
    >>> d = dimension("d")
    >>> alpha, Sigma, y, z = vector("alpha", d), matrix("Sigma", d, d), vector("y", d), vector("z", d)
    >>> on_gaussian(Average(Trace(z.T * z), z), alpha, Sigma).value
    Trace(alpha.T*alpha) + Trace(Sigma)
    >>> on_gaussian(Average(exp(Trace(y.T * z)), z), alpha, Sigma).value
    exp(Trace(alpha.T*y) + Trace(y.T*Sigma*y)/2)
    """
    law = _Law(alpha, Sigma)
    value = law.value(functional)
    return OnGaussian(value, tuple(dict.fromkeys(law.curvatures)), law.needs_density)


class _Law:
    def __init__(self, alpha: Any, Sigma: Any) -> None:
        self.alpha, self.sigma = alpha, Sigma
        self.curvatures: list[Any] = []
        self.needs_density = False

    def value(self, expr: Any) -> Any:
        """Return the expression without averages and densities."""
        found = {}
        for node in averages(expr):
            body, z = node.opened(self.alpha, self.sigma, expr)
            found[node] = self._expectation(self.value(body), z)
        for node in law_functions(expr):
            found[node] = self._density(node)
        return _simplified(expr.xreplace(found))

    def _density(self, node: Any) -> Any:
        if not isinstance(node, Density):
            raise InputError(f"{node} has no closed form by tilting")
        self.needs_density = True
        gap = node.point - self.alpha
        square = Trace(gap.T * Inverse(self.sigma) * gap)
        size = self.sigma.rows
        return exp(normal_form(-_HALF * square - _HALF * LogDet(self.sigma), (self.sigma,)).to_sympy()) * (
            2 * pi
        ) ** (-size * _HALF)

    def _expectation(self, body: Any, z: Any) -> Any:
        return Add(*(self._term(term, z) for term in Add.make_args(_expanded(body))))

    def _term(self, term: Any, z: Any) -> Any:
        fixed, moving = sift(Mul.make_args(term), lambda part: z not in part.free_symbols, binary=True)
        exponents, factors = sift(moving, lambda part: isinstance(part, exp), binary=True)
        polynomial = Mul(*factors)
        if not exponents:
            mean = expectation(polynomial, z, self.alpha, self.sigma) if factors else polynomial
            return Mul(*fixed) * mean
        return Mul(*fixed) * self._tilted(Add(*(part.args[0] for part in exponents)), polynomial, z)

    def _tilted(self, exponent: Any, polynomial: Any, z: Any) -> Any:
        """Return the average of the polynomial times the exponential."""
        none = vector(str(Dummy("none")), z.rows)
        form = quadratic_form(exponent, none, z, (self.sigma,))
        if not form.C.is_ZeroMatrix:
            self.curvatures.append(form.C)
        mass = exp(Add(log_normaliser(form, self.alpha, self.sigma, none), form.rest))
        if polynomial == 1:
            return mass
        mean = tilted_mean(form, self.alpha, self.sigma, none)
        return mass * expectation(polynomial, z, mean, tilted_covariance(form, self.sigma))


def _expanded(expr: Any) -> Any:
    """Return a sum of products of constants, polynomials and exponentials of z."""
    return expand(_without_logarithms(expr), power_exp=False, power_base=False, log=False, mul=True)


def _without_logarithms(expr: Any) -> Any:
    """Write the logarithm of a product with exponentials as a sum."""
    return expr.replace(lambda node: isinstance(node, log) and node.args[0].has(exp), _logarithm)


def _logarithm(node: Any) -> Any:
    parts = Mul.make_args(node.args[0])
    exponents, factors = sift(parts, lambda part: isinstance(part, exp), binary=True)
    rest = Mul(*factors)
    return Add(*(part.args[0] for part in exponents), *([] if rest == 1 else [_log(rest)]))


def _log(value: Any) -> Any:
    base, power = value.as_base_exp()
    return power * log(base)


def _simplified(expr: Any) -> Any:
    return _without_logarithms(expr) if isinstance(expr, Expr) and expr.has(log) else expr
