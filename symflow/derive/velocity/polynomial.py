"""Weights that are a polynomial in y, not normalised: moments of the Gaussian law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Identity, Integer, MatMul, Mul, Trace, ZeroMatrix

from symflow.algebra.assembly import product, total
from symflow.algebra.latex import latex
from symflow.algebra.moments import expectation
from symflow.algebra.quadratic import QuadraticForm, quadratic_form
from symflow.algebra.symbols import matrix, vector
from symflow.algebra.terms import terms
from symflow.algebra.transposition import transposed
from symflow.derive.checks import LatticeQuadrature, RationalPoints
from symflow.derive.steps import Formula, Step
from symflow.derive.velocity.record import (
    NORMAL_FORM,
    WEIGHT,
    AffineVelocity,
    Running,
    Setting,
    argument,
    running_sum,
    undecided,
)
from symflow.errors import InputError, NotAffine, NotPolynomial, NotQuadratic


@dataclass(frozen=True)
class _Moments:
    """Second and first moment and mass of what is averaged over; the mass is a 1×1 matrix."""

    second: Any
    first: Any
    mass: Any

    @classmethod
    def of(cls, alpha: Any, sigma: Any) -> _Moments:
        """Return the moments of N(α, Σ)."""
        return cls(total(sigma, product(alpha, transposed(alpha))), alpha, Identity(1))


@dataclass(frozen=True)
class _Kernel:
    r"""A kernel :math:`(Bx + c)^\top y + g^\top x + \rho`; ρ is a 1×1 matrix."""

    bilinear: Any
    slope: Any
    outer: Any
    rest: Any


def velocity(setting: Setting) -> AffineVelocity:
    """Return the average of the value with a polynomial kernel.

    A kernel that is affine in both tokens needs two moments, which are kept as factors, and under a mask
    summed over positions; any other is multiplied out.

    Raises
    ------
    NotPolynomial, NotQuadratic, NotAffine
        If the kernel is not a polynomial, or the average is not affine in x.
    ClosureUndecided
        If the degree is too high.
    """
    try:
        return _by_two_moments(setting)
    except (NotQuadratic, NotAffine):
        if setting.statement.positions is not None:
            raise
        return _multiplied_out(setting)


def _by_two_moments(setting: Setting) -> AffineVelocity:
    r"""Return the average of the value :math:`Wy + m`, kernel :math:`(Bx + c)^\top y + g^\top x + \rho`.

    .. math:: (WM_2 + mM_1^\top)(Bx + c) + (WM_1 + mM_0)(g^\top x + \rho)

    with the moments :math:`M_2 = E[yy^\top]`, :math:`M_1 = E[y]`, :math:`M_0 = 1`, or their running sums.
    """
    form = quadratic_form(setting.head.kernel, setting.x, setting.y)
    kernel = _kernel(setting, form)
    own = _Moments.of(setting.alpha, setting.sigma)
    running = _running(setting)
    moments = own if running is None else _Moments(*(symbol for symbol, _ in running))
    weight, shift = setting.value_parts()
    left = total(product(weight, moments.second), product(shift, transposed(moments.first)))
    right = total(product(weight, moments.first), product(shift, moments.mass))
    derived = setting.velocity(
        field=_field(kernel, left, right, setting.x),
        constant=_field(kernel, left, right, setting.alpha),
        linear=total(product(left, kernel.bilinear), product(right, transposed(kernel.outer))),
    )
    used = () if running is None else _used(running, derived)
    steps = (_decomposition(setting, kernel), _velocity_step(setting, derived.field, used))
    return replace(derived, steps=steps, running=used)


def _multiplied_out(setting: Setting) -> AffineVelocity:
    """Return the average of a polynomial of higher degree, by Isserlis' theorem."""
    integrand = setting.head.kernel * setting.scaled_value()
    try:
        average = expectation(integrand, setting.y, setting.alpha, setting.sigma)
    except NotPolynomial:
        raise
    except InputError as error:  # of too high a degree
        raise undecided(setting, str(error)) from error
    rows, cols = setting.sigma.shape
    parts = [_split(*term, setting.x) for term in terms(average, (setting.sigma,))]
    linear = total(ZeroMatrix(rows, cols), *(part for part, of_x in parts if of_x))
    rest = total(ZeroMatrix(rows, 1), *(part for part, of_x in parts if not of_x))
    derived = setting.velocity(
        field=total(product(linear, setting.x), rest),
        constant=total(product(linear, setting.alpha), rest),
        linear=linear,
    )
    return replace(derived, steps=(_velocity_step(setting, derived.field, (), True),))


def _split(coefficient: Any, factors: tuple[Any, ...], x: Any) -> tuple[Any, bool]:
    """Return M and True for a term Mx, also where x stands in a scalar ``uᵀx``; a term without x and False.

    Raises
    ------
    NotAffine
        If the term is not affine in x.
    """
    inner = [f for f in Mul.make_args(coefficient) if f.has(x)]
    outer = [f for f in factors if f.has(x)]
    if not inner and not outer:
        return MatMul(coefficient, *factors).doit(deep=False), False
    if not inner and outer == [x] and factors[-1] == x:
        return MatMul(coefficient, *(factors[:-1] or [Identity(x.rows)])).doit(deep=False), True
    if len(inner) == 1 and isinstance(inner[0], Trace) and not outer:
        word = inner[0].arg if inner[0].arg.args[-1] == x else transposed(inner[0].arg)
        row = word.args[:-1]
        if word.args[-1] == x and not any(letter.has(x) for letter in row):
            return MatMul(coefficient / inner[0], *factors, *row).doit(deep=False), True
    term = MatMul(coefficient, *factors)
    raise NotAffine(f"the average is not affine in {x}: the term {term} is left over", term)


def _field(kernel: _Kernel, left: Any, right: Any, at: Any) -> Any:
    inner = total(product(kernel.bilinear, at), kernel.slope)
    alone = total(product(transposed(kernel.outer), at), kernel.rest)
    return total(product(left, inner), product(right, alone))


def _kernel(setting: Setting, form: QuadraticForm) -> _Kernel:
    """Read B, c, g, ρ off the kernel; what is of higher degree is refused."""
    outer = quadratic_form(form.rest, setting.y, setting.x)
    for square, name in ((form.C, "y"), (outer.C, "x")):
        if not square.is_ZeroMatrix:
            raise NotQuadratic(f"the kernel {setting.head.kernel} has a term of degree two in {name}", square)
    return _Kernel(form.B, form.c, outer.c, _one_by_one(outer.rest))


def _one_by_one(scalar: Any) -> Any:
    """Return a scalar over inner products as a 1×1 matrix in which they are products."""
    terms = [term for term in Add.make_args(scalar) if term != 0]
    return total(ZeroMatrix(1, 1), *(_word(term) for term in terms))


def _word(term: Any) -> Any:
    traces = [f for f in Mul.make_args(term) if isinstance(f, Trace) and f.arg.shape[0] == 1]
    coefficient = Mul(*(f for f in Mul.make_args(term) if f not in traces))
    words = [f.arg for f in traces] or [Identity(1)]
    return MatMul(coefficient, *words).doit(deep=False)


def _running(setting: Setting) -> Running | None:
    """Return the running moments under a mask, second, first and mass, else None."""
    if setting.statement.positions is None:
        return None
    d = setting.sigma.rows
    own = _Moments.of(setting.alpha, setting.sigma)
    return (
        (matrix("M2", d, d), WEIGHT * own.second),
        (vector("M1", d), WEIGHT * own.first),
        (matrix("M0", Integer(1), Integer(1)), WEIGHT * own.mass),
    )


def _used(running: Running, derived: AffineVelocity) -> Running:
    symbols = derived.constant.free_symbols | derived.linear.free_symbols
    return tuple(pair for pair in running if pair[0] in symbols)


def _decomposition(setting: Setting, kernel: _Kernel) -> Step:
    bilinear, slope, outer, rest = (setting.letter(name) for name in ("B", "c", "g", r"\rho"))
    named = ((bilinear, kernel.bilinear), (slope, kernel.slope), (outer, kernel.outer), (rest, kernel.rest))
    alone = Trace(product(transposed(kernel.outer), setting.x)) + Trace(kernel.rest)
    square = ZeroMatrix(*setting.sigma.shape)
    form = QuadraticForm(kernel.bilinear, square, kernel.slope, alone, setting.x, setting.y)
    return Step(
        kind="step",
        title="The kernel as a polynomial",
        statement=r"The kernel is affine in the key and in the query, "
        rf"$k(x,y) = ({bilinear}x + {slope})^{{\top}}y + {outer}^{{\top}}x + {rest}$ with",
        formulas=tuple(Formula(letter, part) for letter, part in named),
        rule=NORMAL_FORM,
        reference="",
        check=RationalPoints(setting.head.kernel, form.score()),
    )


def _velocity_step(setting: Setting, field: Any, running: Running, multiplied_out: bool = False) -> Step:
    own = field.xreplace({symbol: part.xreplace({WEIGHT: Integer(1)}) for symbol, part in running})
    states = (setting.alpha, setting.sigma)
    sums = (Formula(latex(symbol), running_sum(WEIGHT, part, states)) for symbol, part in running)
    return Step(
        kind="step",
        title="The velocity field",
        statement=_moments_in_words(running, multiplied_out),
        formulas=(Formula(f"{setting.label}{argument(setting.statement)}", field), *sums),
        rule="moments of a Gaussian law" + " (Isserlis' theorem)" * multiplied_out,
        reference="",
        check=LatticeQuadrature(
            Integer(0),
            total(setting.head.kernel * setting.scaled_value(), setting.offset),
            own,
            setting.y,
            setting.alpha,
            setting.sigma,
        ),
    )


def _moments_in_words(running: Running, multiplied_out: bool) -> str:
    if multiplied_out:
        return (
            r"The mean of a product of centred Gaussian factors is the sum over all pairings of products "
            r"of covariances. Multiplied out with $y = \alpha + z$, where $z$ has the law "
            r"$\mathcal{N}(0,\Sigma)$,"
        )
    if not running:
        moments = r"$\int y\,d\mu = \alpha$ and $\int yy^{\top}d\mu = \Sigma + \alpha\alpha^{\top}$"
        return rf"By the moments {moments} of $\mu = \mathcal{{N}}(\alpha,\Sigma)$,"
    return (
        r"Position $\tau$ has the law $\mathcal{N}(\alpha_\tau,\Sigma_\tau)$ and the weight $\theta_\tau$. "
        r"By the moments of all positions $\tau \le s$ together,"
    )
