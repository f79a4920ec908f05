r"""Finds the average of a value under a Gaussian law, for each way of weighting it.

Every writer ends in an equality ``average = constant + slope·(x − α)`` in the state and the parameters,
without names that the proof introduced, so that it can be summed over heads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Identity, Integer, Inverse, MatPow, Rational, Trace, ZeroMatrix, exp

from symflow.algebra.affine import affine_parts
from symflow.algebra.assembly import product, total
from symflow.algebra.grammar import to_text
from symflow.algebra.quadratic import QuadraticForm, quadratic_form
from symflow.certify.search.chain import ChainWriter
from symflow.certify.search.sign import gram_terms, write_definite
from symflow.errors import ClosureUndecided, NotQuadratic
from symflow.models.statement import Head

_HALF = Rational(1, 2)
ONE = Integer(1)


@dataclass(frozen=True)
class AverageSetting:
    """One head, its average and the names around it.

    Attributes
    ----------
    head : Head
        Of the statement.
    average, centre : MatrixSymbol
        Names of the average, and of the centre of a square.
    query, key, mean, covariance, factor, noise : MatrixSymbol
        The bound names of the claim.
    moments : tuple
        Second and first moment and mass: of the law, or of all positions up to the own one.
    signs : Mapping
        Signs of scalars.
    """

    head: Head
    average: Any
    centre: Any
    query: Any
    key: Any
    mean: Any
    covariance: Any
    factor: Any
    noise: Any
    moments: tuple[Any, Any, Any]
    signs: Mapping[Any, str]

    @property
    def score(self) -> Any:
        """The exponent of the kernel; SymPy may have cancelled a logarithm in the kernel itself."""
        if self.head.kernel != exp(self.head.score):
            raise NotQuadratic(f"the kernel {self.head.kernel} is not exp(score)", self.head.kernel)
        return self.head.score

    @property
    def kernel_text(self) -> str:
        """The kernel as it is stored."""
        is_normalised = self.head.normalise != "none"
        return f"exp({to_text(self.score)})" if is_normalised else to_text(self.head.kernel)

    @property
    def hypothesis(self) -> str:
        """The id of the hypothesis that says what the average is."""
        return f"average {self.average.name}"

    @property
    def value(self) -> tuple[Any, Any]:
        """W and w with value = Wy + w."""
        return affine_parts(self.head.value, self.key)

    def affine(self, constant: Any, slope: Any) -> Any:
        """Return ``constant + slope·(x − α)``."""
        return total(constant, product(slope, self.query - self.mean))

    @property
    def tilt(self) -> Any:
        """Second derivative of the score in the key where its sign does not bound it, else None."""
        if self.head.normalise != "softmax":
            return None
        second = quadratic_form(self.score, self.query, self.key).C
        bounded = second.is_ZeroMatrix or gram_terms(second, self.signs) is not None
        return None if bounded else second


@dataclass(frozen=True)
class Averaged:
    """The id of a line that says ``average = constant + slope·(x − α)``, and the two parts."""

    line: str
    constant: Any
    slope: Any


def write_average(chain: ChainWriter, s: AverageSetting) -> Averaged:
    """Write the average of a head."""
    return _WRITERS[s.head.normalise](chain, s)


# --- rows normalised one by one ----------------------------------------------------------------------------


def _write_tilted(chain: ChainWriter, s: AverageSetting) -> Averaged:
    r"""With y = α + Fz the exponent is a square in z around ζ = T⁻¹Fᵀ(Bx + c + Cα), T = I − FᵀCF."""
    form, (slope, offset) = quadratic_form(s.score, s.query, s.key), s.value
    precision = total(Identity(s.factor.shape[0]), -1 * s.factor.T * form.C * s.factor)
    square, rest, definite, centred = _write_square(chain, s, form, precision)
    affine = _write_affine_value(chain, s)
    centre = s.mean + s.factor * s.centre
    average = chain.lemma(
        "gaussian-integral",
        "equal",
        {"left": s.average, "right": total(product(slope, centre), offset)},
        (s.hypothesis, "covariance", square, definite, affine),
        centre=s.centre,
        rest=rest,
        slope=slope,
        offset=offset,
    )
    moved, gain = _write_centre_without_factor(chain, s, form, centred)
    at_mean = total(s.mean, product(s.covariance, total(product(form.B, s.mean), form.c)))
    constant = total(product(slope, gain, at_mean), offset)
    gradient = product(slope, gain, s.covariance, form.B)
    line = chain.equal(
        "combination",
        s.average,
        s.affine(constant, gradient),
        (average, moved),
        before=[ONE, slope],
        after=[ONE, ONE],
    )
    return Averaged(line, constant, gradient)


def _write_square(
    chain: ChainWriter, s: AverageSetting, form: QuadraticForm, precision: Any
) -> tuple[str, Any, str, str]:
    """Write the completed square; return its id and constant, and the ids of T ≻ 0 and T ζ = Fᵀ(…)."""
    polynomial, token = _polynomial(form, s.key, s.query), s.mean + s.factor * s.noise
    split = chain.equal("normal-form", s.score, polynomial)
    score, expanded = (term.xreplace({s.key: token}) for term in (s.score, polynomial))
    moved = chain.equal("instance", score, expanded, (split,), variable=s.key, value=token)
    push = total(form.B * s.query, form.c, product(form.C, s.mean))
    definite, centred = _write_centre(chain, s, form, precision, push)
    rest = _polynomial(form, s.mean, s.query) + _HALF * Trace(s.centre.T * precision * s.centre)
    shifted = s.noise - s.centre
    square = chain.equal(
        "combination",
        score - _HALF * Trace(s.noise.T * s.noise),
        -_HALF * Trace(shifted.T * precision * shifted) + rest,
        (moved, centred),
        before=[ONE, -1 * s.noise.T],
        after=[ONE, ONE],
    )
    return square, rest, definite, centred


def _polynomial(form: Any, y: Any, x: Any) -> Any:
    """Return ``yᵀBx + ½yᵀCy + cᵀy + r(x)`` without terms that vanish."""
    parts = ((1, form.B, y.T * form.B * x), (_HALF, form.C, y.T * form.C * y), (1, form.c, form.c.T * y))
    kept = [factor * Trace(term) for factor, coefficient, term in parts if not coefficient.is_ZeroMatrix]
    return Add(*kept) + form.rest


def _write_centre(
    chain: ChainWriter, s: AverageSetting, form: QuadraticForm, precision: Any, push: Any
) -> tuple[str, str]:
    """Write T ≻ 0 and T ζ = Fᵀ(Bx + c + Cα); return the ids."""
    target = product(s.factor.T, push)
    if form.C.is_ZeroMatrix:
        definite = chain.add("identity", "definite", {"matrix": precision})
        return definite, chain.equal("definition", s.centre, target)
    gram = gram_terms(form.C, s.signs)
    definite = "domain" if gram is None else write_definite(chain, precision, s.factor, gram, s.signs)
    regular = chain.add("definite-invertible", "invertible", {"matrix": precision}, (definite,))
    defined = chain.equal("definition", s.centre, Inverse(precision) * target)
    solved = chain.equal(
        "combination", precision * s.centre, target, (defined,), before=[precision], after=[ONE]
    )
    # I − ΣC is invertible too; the claimed equations use its inverse
    chain.add(
        "exchange",
        "invertible",
        {"matrix": total(Identity(s.factor.shape[0]), -1 * s.covariance * form.C)},
        (regular, "covariance"),
        first=s.factor,
        second=s.factor.T * form.C,
    )
    return definite, solved


def _write_centre_without_factor(
    chain: ChainWriter, s: AverageSetting, form: QuadraticForm, centred: str
) -> tuple[str, Any]:
    """Write ``α + Fζ = (I − ΣC)⁻¹(α + Σ(Bx + c))``; return the id and (I − ΣC)⁻¹."""
    centre = s.mean + s.factor * s.centre
    target = total(s.mean, product(s.covariance, total(form.B * s.query, form.c)))
    premises = (centred, "covariance")
    if form.C.is_ZeroMatrix:
        line = chain.equal("combination", centre, target, premises, before=[s.factor], after=[ONE])
        return line, Identity(s.factor.shape[0])
    gain = total(Identity(s.factor.shape[0]), -1 * s.covariance * form.C)
    solved = chain.equal("combination", gain * centre, target, premises, before=[s.factor], after=[ONE])
    turned = Inverse(gain)
    line = chain.equal("combination", centre, turned * target, (solved,), before=[turned], after=[ONE])
    return line, turned


# --- kernels without normalisation -------------------------------------------------------------------------


def _write_moments(chain: ChainWriter, s: AverageSetting) -> Averaged:
    r"""A kernel pᵀy + q that is affine in the key needs two moments."""
    (slope, offset), (form, outer) = s.value, _affine_kernel(s)
    push, rest = total(product(form.B, s.query), form.c), form.rest
    affine = _write_affine_value(chain, s)
    split = chain.equal("normal-form", s.head.kernel, Trace(push.T * s.key) + rest)
    second, first, mass = s.moments
    left = total(product(slope, second), product(offset, first.T))
    right = total(product(slope, first), product(offset, mass))
    at_mean = total(product(left, total(product(form.B, s.mean), form.c)), right * _at(rest, s.query, s.mean))
    gradient = total(product(left, form.B), product(right, outer.c.T))
    line = chain.lemma(
        "gaussian-moments",
        "equal",
        {"left": s.average, "right": s.affine(at_mean, gradient)},
        (s.hypothesis, affine, split),
        push=push,
        rest=rest,
        slope=slope,
        offset=offset,
    )
    return Averaged(line, at_mean, gradient)


def _affine_kernel(s: AverageSetting) -> tuple[QuadraticForm, QuadraticForm]:
    """Return the kernel as a form in the key, and what is free of the key as a form in the query."""
    kernel = s.head.kernel
    try:
        form = quadratic_form(kernel, s.query, s.key)
        outer = quadratic_form(form.rest, s.key, s.query)
    except NotQuadratic as error:
        raise ClosureUndecided(f"only kernels that are affine in the key have a rule: {error}") from error
    if not (form.C.is_ZeroMatrix and outer.C.is_ZeroMatrix):
        raise ClosureUndecided(f"only kernels that are affine in each token have a rule, not {kernel}")
    return form, outer


def _at(scalar: Any, query: Any, mean: Any) -> Any:
    return scalar.xreplace({query: mean})


# --- doubly stochastic scalings ----------------------------------------------------------------------------


def _write_scaled(chain: ChainWriter, s: AverageSetting) -> Averaged:
    r"""T = 2(I + (I + 4NNᵀ)^{1/2})⁻¹, N = FᵀBF, and FTFᵀB = 2ΣB(I + (I + 4ΣBᵀΣB)^{1/2})⁻¹."""
    form, (slope, offset), F = quadratic_form(s.score, s.query, s.key), s.value, s.factor
    bilinear, key_part = form.B, _polynomial(_without_mixed_part(form), s.key, s.query) - form.rest
    parts = Trace(s.key.T * bilinear * s.query) + form.rest + key_part
    split = chain.equal("normal-form", s.score, parts)
    inner = product(F.T, bilinear, F)
    spread, definite = _write_spread(chain, inner)
    one = Identity(F.shape[0])
    optimal = chain.equal("normal-form", spread + spread * inner * inner.T * spread, one)
    affine = _write_affine_value(chain, s)
    shift = s.query - s.mean
    gain = F * spread * F.T * bilinear
    average = chain.lemma(
        "gaussian-scaling",
        "equal",
        {"left": s.average, "right": total(product(slope, s.mean + gain * shift), offset)},
        (s.hypothesis, "covariance", split, definite, optimal, affine),
        bilinear=bilinear,
        query_part=form.rest,
        key_part=key_part,
        slope=slope,
        offset=offset,
    )
    moved, closed = _write_gain(chain, s, bilinear, inner, spread)
    constant, gradient = total(product(slope, s.mean), offset), product(slope, closed)
    line = chain.equal(
        "combination",
        s.average,
        s.affine(constant, gradient),
        (average, moved),
        before=[ONE, slope],
        after=[ONE, shift],
    )
    return Averaged(line, constant, gradient)


def _without_mixed_part(form: QuadraticForm) -> QuadraticForm:
    return replace(form, B=ZeroMatrix(*form.B.shape))


def _write_spread(chain: ChainWriter, inner: Any) -> tuple[Any, str]:
    """Write that T = 2(I + (I + 4NNᵀ)^{1/2})⁻¹ is definite; return T and the id."""
    one = Identity(inner.shape[0])
    if inner.is_ZeroMatrix:
        return one, chain.add("identity", "definite", {"matrix": one})
    radicand, definite = _write_radicand(chain, inner.T)
    chain.add("definite-root", "principal-root", {"matrix": radicand}, (definite,))
    root = MatPow(radicand, _HALF)
    rooted = chain.add("root-definite", "definite", {"matrix": root}, (definite,))
    identity = chain.add("identity", "definite", {"matrix": one})
    shifted = chain.add("sum", "definite", {"matrix": one + root}, (identity, rooted))
    chain.add("definite-invertible", "invertible", {"matrix": one + root}, (shifted,))
    half = chain.add("inverse-definite", "definite", {"matrix": Inverse(one + root)}, (shifted,))
    spread = 2 * Inverse(one + root)
    return spread, chain.add("sum", "definite", {"matrix": spread}, (half, half))


def _write_radicand(chain: ChainWriter, factor: Any) -> tuple[Any, str]:
    """Write I + 4XᵀX ≻ 0; return the matrix and the id."""
    gram, one = factor.T * factor, Identity(factor.shape[1])
    positive = chain.add("gram", "semidefinite", {"matrix": gram}, factor=factor)
    four = chain.add("scalar-sign", "nonnegative", {"scalar": Integer(4)})
    scaled = chain.add("scale", "semidefinite", {"matrix": 4 * gram}, (positive, four))
    identity = chain.add("identity", "definite", {"matrix": one})
    return one + 4 * gram, chain.add("sum", "definite", {"matrix": one + 4 * gram}, (identity, scaled))


def _write_gain(
    chain: ChainWriter, s: AverageSetting, bilinear: Any, inner: Any, spread: Any
) -> tuple[str, Any]:
    """Write FTFᵀB = 2ΣB(I + P^{1/2})⁻¹, P = I + 4ΣBᵀΣB; return the id and the right side."""
    F, sigma, one = s.factor, s.covariance, Identity(s.factor.shape[0])
    gain = F * spread * F.T * bilinear
    if inner.is_ZeroMatrix:
        closed = ZeroMatrix(*gain.shape)
        return chain.equal("normal-form", gain, closed), closed
    radicand, definite = _write_radicand(chain, inner)
    rooted = chain.add("definite-root", "principal-root", {"matrix": radicand}, (definite,))
    turned = F.T * bilinear.T * F * F.T * bilinear
    claimed = one + 4 * sigma * bilinear.T * sigma * bilinear
    exchanged = chain.add(
        "exchange", "principal-root", {"matrix": claimed}, (rooted, "covariance"), first=F, second=-4 * turned
    )
    root = MatPow(claimed, _HALF)
    chain.add("shifted-root", "invertible", {"matrix": one + root}, (exchanged,))
    closed = 2 * sigma * bilinear * Inverse(one + root)
    # (I + 4NNᵀ)FᵀB = FᵀB·P, so that the roots intertwine too
    return chain.equal("normal-form", gain, closed, ("covariance",)), closed


def _write_affine_value(chain: ChainWriter, s: AverageSetting) -> str:
    slope, offset = s.value
    return chain.equal("normal-form", s.head.value, total(product(slope, s.key), offset))


_WRITERS: Mapping[str, Callable[[ChainWriter, AverageSetting], Averaged]] = {
    "softmax": _write_tilted,
    "none": _write_moments,
    "sinkhorn": _write_scaled,
}
