"""Critical points of energies of tokens on spheres: strict saddles, and all of them on the circle."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symflow.certify.propositions.circle import MAX_TOKENS
from symflow.certify.propositions.saddle import SENSES
from symflow.certify.search.saddle import strict_saddle
from symflow.certify.sphere.exact import ExactPoint
from symflow.certify.terms import Rejected
from symflow.certify.verdict import Verdict
from symflow.claims.claim import Claim, Deadline
from symflow.claims.deciding import replayed, undecided
from symflow.errors import InputError

if TYPE_CHECKING:
    from symflow.certify.certificate import Certificate
    from symflow.checking import Array
    from symflow.energies import Energy

SADDLE, ALL = "saddle", "critical-points"
#: How many starts, and into how many parts a turn is divided: what is tried in turn.
_EFFORTS = ((300, 1 << 11), (2000, 1 << 13))
#: Gradients, and eigenvalues, below these shares of the largest eigenvalue count as zero in the search.
_SLOPE, _FLAT = 1e-6, 1e-10
#: A critical point further than this from given floats is another one.
_FAR = 1e-4
_LEAST_RADIUS = Fraction(1, 10**10)


# ------------------------------------------------------------------------------------------ strict saddles


def _saddle(energy: Any, points: Any, sense: str | None = None, *, deadline: Deadline) -> Verdict:
    from symflow.critical.entry import definition_of

    energy = _energy(energy)
    sense = energy.model.sense if sense is None else sense
    if sense not in SENSES:
        raise InputError(f"sense = {sense!r} is unknown; use {' or '.join(map(repr, SENSES))}")
    definition_of(energy)  # refuses what is no sum over pairs and tokens
    exact = _exact_points(points)
    deadline.check()
    certificate = _approximate(energy, points, sense) if exact is None else _exact(energy, exact, sense)
    if isinstance(certificate, str):
        return undecided(SADDLE, certificate, SADDLE)
    return replayed(certificate, deadline)


def _energy(energy: Any) -> Energy:
    """Return an energy; a number stands for the interaction energy with that beta."""
    from symflow.energies import Energy, Interaction

    if isinstance(energy, Energy):
        return energy
    if isinstance(energy, int | float | Fraction) and not isinstance(energy, bool):
        return Interaction(energy)  # type: ignore[arg-type]
    raise InputError(
        f"an energy of symflow.energies, or a number for beta, is needed, got {type(energy).__name__}"
    )


def _exact_points(points: Any) -> list[list[Any]] | None:
    """Return tokens of exactly unit length in one number field, None for floats that are not.

    Raises
    ------
    InputError
        If they are no array (n, d), d ≥ 2, or exact and not of unit length.
    """
    from symflow.curvature.exact import elements, is_exact, nested

    entries, shape = nested(points, "points")
    if len(shape) != 2 or shape[1] < 2:
        raise InputError(f"points has shape {shape}; give tokens of shape (n, d) with d at least 2")
    exact = all(is_exact(entry) for entry in entries)
    found = elements(entries) if exact else [Fraction(float(entry)) for entry in entries]
    rows = [found[k : k + shape[1]] for k in range(0, len(found), shape[1])]
    for index, row in enumerate(rows):
        square = sum((c * c for c in row[1:]), row[0] * row[0])
        if square == 1:
            continue
        if exact:
            raise InputError(
                f"points[{index}] has the squared length {square}; give points of the unit sphere"
            )
        return None
    return rows


def _exact(energy: Energy, points: list[list[Any]], sense: str) -> Certificate:
    """Return a certificate with a direction where there is one, else one that there is none."""
    from symflow.algebra.exact.inertia import inertia
    from symflow.critical.entry import definition_of

    given = (energy.model.pair, energy.model.potential), energy.exact(), points, sense
    try:
        point = ExactPoint(definition_of(energy), points)
        if any(value != 0 for values in point.gradient() for value in values):
            return strict_saddle(*given, refuted=True)
        found = inertia(point.hessian())
    except Rejected as error:
        raise InputError(f"the energy has no exact derivatives at these tokens: {error}") from error
    weights = found.positive_direction if SENSES[sense] > 0 else found.negative_direction
    if weights is None:
        return strict_saddle(*given, refuted=True)
    return strict_saddle(*given, direction=_combined(point.frame, weights))


def _combined(frame: Sequence[Sequence[Sequence[Any]]], weights: Sequence[Fraction]) -> list[list[Any]]:
    """Return one tangent vector per token."""
    found, start = [], 0
    for vectors in frame:
        parts = [(w, vectors[k]) for k, w in enumerate(weights[start : start + len(vectors)])]
        found.append([sum(w * vector[c] for w, vector in parts) for c in range(len(vectors[0]))])
        start += len(vectors)
    return found


def _approximate(energy: Energy, points: Any, sense: str) -> Certificate | str:
    """Return a certificate about a critical point near floats, or why there is none."""
    import numpy as np

    from symflow.checking import real_array
    from symflow.codegen.hessians import compile_hessian
    from symflow.critical.search import nearest

    x = real_array(points, "points")
    lengths = np.linalg.norm(x, axis=1)
    if (abs(lengths - 1.0) > _FAR).any():
        k = int(np.argmax(abs(lengths - 1.0)))
        raise InputError(f"points[{k}] has the length {lengths[k]:.6g}; give points of the unit sphere")
    x = x / lengths[:, None]
    kernel = compile_hessian(energy, "sphere", backend="numpy")
    moved = nearest(kernel, x)
    distance = float(np.linalg.norm(moved - x, axis=1).max())
    here = kernel.newton(moved)
    slope, values = np.linalg.norm(here.slopes), np.linalg.eigvalsh(here.matrix[0])
    largest = np.abs(values).max()
    critical = distance < _FAR and slope < _SLOPE * largest
    wanted = (values * SENSES[sense] > _FLAT * largest).any()
    radius = Fraction(_rounded_up(4.0 * distance)) if critical else Fraction(_FAR).limit_denominator(10**6)
    rows = [[Fraction(c) for c in row] for row in x.tolist()]
    given = (energy.model.pair, energy.model.potential), energy.exact(), rows, sense
    return strict_saddle(*given, radius=max(radius, _LEAST_RADIUS), refuted=not (critical and wanted))


def _rounded_up(distance: float) -> Fraction:
    """Return the next power of ten."""
    radius = _LEAST_RADIUS
    while radius < distance:
        radius *= 10
    return radius


# ------------------------------------------------------------------------------ all of them, on the circle


def _all(energy: Any, tokens: Any, *, deadline: Deadline) -> Verdict:
    from symflow.critical import critical_points
    from symflow.critical.complete import circle_certificate
    from symflow.critical.entry import definition_of

    energy = _energy(energy)
    if not isinstance(tokens, int) or isinstance(tokens, bool) or not 2 <= tokens <= MAX_TOKENS:
        raise InputError(f"tokens = {tokens!r} must be a whole number from 2 to {MAX_TOKENS}")
    if not definition_of(energy).is_invariant:
        raise InputError("the energy must not change under rotations; write tokens in inner products only")
    verdict = undecided(ALL, "nothing was tried", ALL)
    for starts, parts in _EFFORTS:
        deadline.check()
        atlas = critical_points(energy, tokens, 2, starts=starts, certify=False, backend="numpy")
        try:
            verdict = replayed(circle_certificate(energy, atlas, parts), deadline)
        except InputError as error:  # consensus was not found, or the statement has no such certificate
            verdict = undecided(ALL, str(error), ALL)
        if verdict.status != "undecided":
            break
    return verdict


# ------------------------------------------------------------------------------------- from a spec file


def _saddle_of_spec(text: str) -> tuple[Any, ...]:
    from symflow.spec import load_spec
    from symflow.spec.tokens import exact_tokens

    spec = load_spec(text)
    energy, tokens = _stated(spec)
    exact = exact_tokens(spec.data["initial"])
    return energy, tokens if exact is None else exact


def _all_of_spec(text: str) -> tuple[Any, ...]:
    from symflow.spec import load_spec

    energy, tokens = _stated(load_spec(text))
    if tokens.shape[1] != 2:
        raise InputError(f"[initial] has tokens in dimension {tokens.shape[1]}; on the circle d = 2")
    return energy, len(tokens)


def _stated(spec: Any) -> tuple[Energy, Array]:
    """Return energy and tokens of a spec; raises `InputError` naming the section that is missing."""
    if spec.energy is None:
        raise InputError(f"{spec.name}: section [energy] is missing; add it to the spec file")
    spec.require("initial")
    if not hasattr(spec.initial, "ndim"):
        raise InputError(f"{spec.name}: [initial] holds a Gaussian law; tokens are needed")
    return spec.energy.energy, spec.initial


CLAIMS = (
    Claim(
        id=ALL,
        title="Critical points on the circle",
        quoted=r"On the circle consensus is the only stable critical point of the interaction energy.",
        holds=r"For the given energy of pairs, strictly monotone in $\langle x, y\rangle$, and number of "
        r"tokens: a list of all critical points in $(S^1)^n$ up to rotations, reflections and permutations, "
        r"each isolated modulo rotations, with the numbers of directions in which the energy increases and "
        r"decreases; only consensus has the numbers of consensus. Refuted by another strict local extremum "
        r"of that kind, modulo rotations.",
        hypotheses=r"$W(x, y) = w(\langle x, y\rangle)$ with $w' \ne 0$ on $[-1, 1]$; $2 \le n \le 8$.",
        method=ALL,
        documented="proved",
        reference="",
        decide=_all,
        arguments=("energy", "tokens"),
        from_text=_all_of_spec,
    ),
    Claim(
        id=SADDLE,
        title="Strict saddle",
        quoted=r"The tokens are a strict saddle of the energy.",
        holds=r"The tokens are a critical point of the energy on the product of spheres, and the second "
        r"derivative along some great circles is positive, for an energy to be maximised, or negative, for "
        r"one to be minimised (so that a local extremum of the other kind counts: almost every gradient flow "
        r"avoids it, too). Floats of not exactly unit length stand for a critical point within a stated "
        r"distance. Refuted where a derivative does not vanish or there is no such direction.",
        hypotheses=r"Finitely many tokens on a sphere, energies that are sums over pairs and tokens.",
        method=SADDLE,
        documented="proved",
        reference="",
        decide=_saddle,
        arguments=("energy", "points", "sense?"),
        from_text=_saddle_of_spec,
    ),
)
