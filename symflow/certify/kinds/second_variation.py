r"""Second variation: geodesics along which an energy bends the other way than is claimed.

The proof object is ``{"witnesses": [...]}``, each witness an object with a ``type``:

``atoms``
    ``{"type": "atoms", "weights": [...], "points": [[...], ...], "velocities": [[...], ...], "value": v,
    "length": g}`` with rational weights, points and velocities. v is d²F/dt² along the geodesic and g the
    squared length of the velocity: exact texts of rationals and exponentials, or both balls
    ``{"midpoint": m, "radius": r}``; v < λg.
``gaussian``
    ``{"type": "gaussian", "mean": m, "covariance": rows, "shift": b, "slope": rows, "value": v,
    "length": g}``: the law N(m, Σ), Σ ≻ 0, with the velocity b + S(x − m), S symmetric.
``dirac``
    ``{"type": "dirac", "acceleration": a, "ratio": q, "radius": r}`` for every dimension at once: on Diracs
    geodesics have the acceleration a(x, v), and d²F/dt² = q(x)|v|², where q depends on |x| only and is below
    λ at |x| = r.

The replay moves the atoms along the geodesic by series in first-order parameters and computes the energy from
its definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symflow.algebra.text.syntax import read
from symflow.certify.certificate import Certificate
from symflow.certify.convexity_latex import atoms_latex, dirac_latex, gaussian_latex, statement_latex
from symflow.certify.lemmas.curvature import COINCIDENT_ATOMS
from symflow.certify.propositions import propositions, require_scope
from symflow.certify.propositions.convexity import (
    CONVEXITY,
    MAX_DIMENSION,
    NO_UPPER_BOUND,
    NON_CONVEXITY,
    Convexity,
    StatedEnergy,
    number,
    read_energy,
    rows,
)
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.taylor import dirac
from symflow.certify.taylor.gaussian import GaussianEnergy, MovingGaussian, is_definite
from symflow.certify.taylor.geodesics import AtomicEnergy, Atoms
from symflow.certify.taylor.hyperdual import Hyperduals, Ring
from symflow.certify.taylor.matrices import Evaluation
from symflow.certify.taylor.rings import BallRing, ExactRing
from symflow.certify.terms import Rejected
from symflow.errors import InputError

PRECISION = 256  # bits
MAX_ATOMS = 6
MAX_WITNESSES = 12
_ATOMS = frozenset(("type", "weights", "points", "velocities", "value", "length"))
_GAUSSIAN = frozenset(("type", "mean", "covariance", "shift", "slope", "value", "length"))
_DIRAC = frozenset(("type", "acceleration", "ratio", "radius"))


@dataclass(frozen=True)
class _Seen:
    """What a witness shows."""

    line: ReplayedLine
    dimension: int | None
    atoms: int
    unbounded: bool = False


class SecondVariation(ProofKind):
    """Witnesses against convexity, or for what a claim says about the lack of it."""

    name = "second-variation"

    def replay(self, certificate: Certificate) -> Replay:
        """Compute every second derivative from the definitions and compare."""
        seen: list[_Seen] = []
        try:
            claim = _claim(certificate)
            stated = claim.read(certificate.statement)
            for index, witness in enumerate(_witnesses(certificate.proof)):
                seen.append(_check(stated, witness, f"W{index + 1}"))
            assumes = _conclude(claim, seen)
        except (InputError, Rejected) as error:
            return Replay(False, tuple(part.line for part in seen), str(error))
        lines = tuple(part.line for part in seen)
        shown = {line.id: line.statement for line in lines}
        return Replay(True, lines, assumes=assumes, witness=shown)

    def to_latex(self, certificate: Certificate, outcome: Replay) -> list[str]:
        """Return the energy and every witness."""
        stated = read_energy(certificate.statement)
        lines = [*statement_latex(stated), r"\begin{enumerate}"]
        for witness in certificate.proof["witnesses"]:
            lines += _LATEX[witness["type"]](witness, stated)
        return [*lines, r"\end{enumerate}"]


def _dirac_latex(witness: Mapping[str, Any], _stated: StatedEnergy) -> list[str]:
    ratio = dirac.read_ratio(witness["ratio"])
    below = dirac.value_at_radius(dirac.radial_polynomial(ratio), number(witness["radius"]))
    return dirac_latex(dirac.read_vector(witness["acceleration"]), ratio, witness["radius"], below)


_LATEX = {"atoms": atoms_latex, "gaussian": gaussian_latex, "dirac": _dirac_latex}


def _claim(certificate: Certificate) -> Convexity:
    claim = propositions().get(certificate.claim)
    if not isinstance(claim, Convexity):
        raise Rejected(f"a second variation says nothing about {certificate.claim}")
    refutes = claim.claim == CONVEXITY.claim
    if certificate.status != ("refuted" if refutes else "proved"):
        raise Rejected(f"second variations do not show that {claim.claim} is {certificate.status}")
    require_scope(certificate, (claim.denial if refutes else claim.scope)(certificate.statement))
    return claim


def _witnesses(proof: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    listed = proof.get("witnesses")
    if set(proof) != {"witnesses"} or not isinstance(listed, (list, tuple)):
        raise Rejected("a second variation has the key witnesses, a list")
    if not 0 < len(listed) <= MAX_WITNESSES or not all(isinstance(one, Mapping) for one in listed):
        raise Rejected(f"'witnesses' must be a list of one to {MAX_WITNESSES} objects")
    return listed


def _check(stated: StatedEnergy, witness: Mapping[str, Any], name: str) -> _Seen:
    if witness.get("type") == "atoms":
        return _check_atoms(stated, witness, name)
    if witness.get("type") == "dirac":
        return _check_dirac(stated, witness, name)
    if witness.get("type") == "gaussian":
        return _check_gaussian(stated, witness, name)
    raise Rejected("the type of a witness is 'atoms', 'gaussian' or 'dirac'")


def _conclude(claim: Convexity, seen: Sequence[_Seen]) -> tuple[str, ...]:
    """Check that the witnesses show all that the claim says; return the lemmas that this takes."""
    everywhere = [part for part in seen if part.dimension is None]
    if claim is NO_UPPER_BOUND:
        if not any(part.unbounded for part in everywhere):
            raise Rejected("no family of Diracs with second derivatives without upper bound is given")
        return ()
    if claim is not NON_CONVEXITY:
        return ()
    shown = {(part.dimension, part.atoms) for part in seen}
    missing = [d for d in (1, 2, 3) if (d, 2) not in shown]
    if not everywhere or missing:
        lack = f"two atoms in dimension {missing[0]}" if missing else "Diracs in every dimension"
        raise Rejected(f"a witness for {lack} is missing")
    return (COINCIDENT_ATOMS,)


# ---- atoms


def _check_atoms(stated: StatedEnergy, witness: Mapping[str, Any], name: str) -> _Seen:
    if set(witness) != _ATOMS:
        raise Rejected(f"{name}: atoms have the keys {', '.join(sorted(_ATOMS))}")
    atoms = _read_atoms(witness, stated)
    shown, how = _compare(stated, witness, lambda ring: _moved_atoms(stated, atoms, ring))
    said = f"{_atoms_in_words(atoms)}: d²F/dt² = {shown[0]} < {_bound(stated)} with |velocity|² = {shown[1]}"
    return _Seen(ReplayedLine(name, said, how, True), atoms.dimension, len(atoms.points))


def _moved_atoms(stated: StatedEnergy, atoms: Atoms, ring: Ring) -> tuple[Any, Any]:
    return AtomicEnergy(stated, ring, atoms.dimension).second_derivative(atoms)


# ---- values


Computed = Callable[[Ring], tuple[Any, Any]]  #: second derivative and squared length in a ring


def _compare(
    stated: StatedEnergy, witness: Mapping[str, Any], computed: Computed
) -> tuple[tuple[str, str], str]:
    """Return both values as they are stated after comparing them, and how they were computed."""
    value, length = witness["value"], witness["length"]
    if isinstance(value, str) and isinstance(length, str):
        return _exact(stated, computed, value, length)
    return _enclosed(stated, computed, value, length)


def _exact(stated: StatedEnergy, computed: Computed, *texts: str) -> tuple[tuple[str, str], str]:
    ring = ExactRing()
    found = computed(ring)
    claimed = tuple(_exact_value(text, ring) for text in texts)
    for what, one, other in zip(("second derivative", "squared length"), found, claimed, strict=True):
        if ring.sign(one - other):
            raise Rejected(f"the {what} is not {other}")
    if ring.sign(found[0] - stated.modulus * found[1]) >= 0:
        raise Rejected(f"the second derivative {texts[0]} is not below {_bound(stated)}")
    return (texts[0], texts[1]), "exact series along the geodesic, sign by Lindemann–Weierstrass"


def _exact_value(text: str, ring: ExactRing) -> Any:
    """Return the number that a text of rationals and exponentials writes."""
    if len(text) > 20_000:
        raise Rejected("a value is too long")
    return Evaluation(Hyperduals(ring), {}, {}).number(read(text)).value


def _enclosed(stated: StatedEnergy, computed: Computed, *claimed: Any) -> tuple[tuple[str, str], str]:
    import flint

    with flint.ctx.workprec(PRECISION):
        ring = BallRing()
        found = computed(ring)
        shown = tuple(_within(ball, stored, ring) for ball, stored in zip(found, claimed, strict=True))
        if not found[0] < ring.number(stated.modulus) * found[1]:
            raise Rejected(f"the second derivative {shown[0]} is not below {_bound(stated)}")
    return (shown[0], shown[1]), f"series along the geodesic in balls of {PRECISION} bits"


def _within(found: Any, stored: Any, ring: BallRing) -> str:
    """Return a stored ball as text after checking that it contains what was found."""
    if not isinstance(stored, Mapping) or set(stored) != {"midpoint", "radius"}:
        raise Rejected("a ball has the keys midpoint, radius")
    midpoint, radius = (number(stored[key]) for key in ("midpoint", "radius"))
    inside = found > ring.number(midpoint - radius) and found < ring.number(midpoint + radius)
    if radius <= 0 or not inside:
        raise Rejected(f"{midpoint} ± {radius} does not contain {found}")
    return f"{float(midpoint):.12g} ± {float(radius):.1e}"


def _read_atoms(witness: Mapping[str, Any], stated: StatedEnergy) -> Atoms:
    weights = witness["weights"]
    if not isinstance(weights, (list, tuple)) or not 0 < len(weights) <= MAX_ATOMS:
        raise Rejected(f"there are one to {MAX_ATOMS} atoms")
    shares = tuple(number(weight) for weight in weights)
    if any(share <= 0 for share in shares) or sum(shares) != 1:
        raise Rejected("the weights must be positive and add up to one")
    points, velocities = (_vectors(witness[key], key, len(shares)) for key in ("points", "velocities"))
    dimension = len(points[0])
    if len(velocities[0]) != dimension or stated.dimension not in (None, dimension):
        raise Rejected(f"points and velocities must have {stated.dimension or dimension} coordinates")
    if len(set(points)) < len(points):
        raise Rejected("the atoms must be distinct")
    if not all(stated.domain.has_inside(x) for x in points):
        raise Rejected(f"an atom is not in the interior of {stated.domain}")
    if stated.space == "sphere":
        if dimension < 2:
            raise Rejected("the unit sphere of ℝ has no geodesics")
        _require_tangent(points, velocities)
    if stated.metric.name == "bures" and len(points) > 1:
        raise Rejected("atoms are no Gaussian law, but a single one, of variance zero")
    return Atoms(shares, points, velocities)


def _vectors(listed: Any, key: str, count: int) -> tuple[tuple[Fraction, ...], ...]:
    if not isinstance(listed, (list, tuple)) or len(listed) != count:
        raise Rejected(f"{key!r} must list one vector for each weight")
    for vector in listed:
        if not isinstance(vector, (list, tuple)) or not 0 < len(vector) <= MAX_DIMENSION:
            raise Rejected(f"{key!r}: a vector has 1 to {MAX_DIMENSION} coordinates")
    if len({len(vector) for vector in listed}) > 1:
        raise Rejected(f"{key!r} must have one length")
    return tuple(tuple(number(text) for text in vector) for vector in listed)


def _require_tangent(points: Sequence[Sequence[Fraction]], velocities: Sequence[Sequence[Fraction]]) -> None:
    for x, v in zip(points, velocities, strict=True):
        if sum(c * c for c in x) != 1:
            raise Rejected("an atom is not on the unit sphere")
        if sum(a * b for a, b in zip(x, v, strict=True)):
            raise Rejected("a velocity is not tangent to the sphere")


def _atoms_in_words(atoms: Atoms) -> str:
    size = "Dirac" if len(atoms.points) == 1 else f"{len(atoms.points)} atoms"
    points, velocities = (
        ", ".join(f"({', '.join(map(str, vector))})" for vector in part)
        for part in (atoms.points, atoms.velocities)
    )
    weights = "" if len(set(atoms.weights)) == 1 else f", weights {', '.join(map(str, atoms.weights))}"
    return f"{size} at {points}, velocity {velocities}{weights}"


def _bound(stated: StatedEnergy) -> str:
    return f"{stated.modulus}·|velocity|²" if stated.modulus else "0"


# ---- Gaussian laws


def _check_gaussian(stated: StatedEnergy, witness: Mapping[str, Any], name: str) -> _Seen:
    if set(witness) != _GAUSSIAN:
        raise Rejected(f"{name}: a Gaussian law has the keys {', '.join(sorted(_GAUSSIAN))}")
    law = _read_gaussian(witness, stated)

    def computed(ring: Ring) -> tuple[Any, Any]:
        second = GaussianEnergy(stated, ring, law.dimension).second_derivative(law)
        return second, ring.number(law.square)

    shown, how = _compare(stated, witness, computed)
    velocity = f"{_in_words([law.shift])} + {_in_words(law.slope)}(x − mean)"
    said = (
        f"N({_in_words([law.mean])}, {_in_words(law.covariance)}), velocity {velocity}: "
        f"d²F/dt² = {shown[0]} < {_bound(stated)} with E|velocity|² = {shown[1]}"
    )
    return _Seen(ReplayedLine(name, said, how, True), law.dimension, 0)


def _read_gaussian(witness: Mapping[str, Any], stated: StatedEnergy) -> MovingGaussian:
    if stated.space != "euclidean" or stated.metric.name == "twisted" or not stated.domain.is_everything:
        raise Rejected("Gaussian laws move along geodesics of the Wasserstein metric on all of ℝᵈ only")
    mean, shift = (_vectors([witness[key]], key, 1)[0] for key in ("mean", "shift"))
    covariance, slope = (rows(witness[key], key) for key in ("covariance", "slope"))
    d = len(mean)
    if stated.dimension not in (None, d) or len(shift) != d:
        raise Rejected(f"mean and shift must have {stated.dimension or d} coordinates")
    for key, matrix in (("covariance", covariance), ("slope", slope)):
        if len(matrix) != d or matrix != tuple(zip(*matrix, strict=True)):
            raise Rejected(f"{key!r} must be a symmetric matrix of size {d}")
    if not is_definite(covariance):
        raise Rejected("the covariance must be positive definite")
    return MovingGaussian(mean, covariance, shift, slope)


def _in_words(listed: Sequence[Sequence[Fraction]]) -> str:
    return "[" + "; ".join(" ".join(map(str, row)) for row in listed) + "]"


# ---- Diracs in every dimension


def _check_dirac(stated: StatedEnergy, witness: Mapping[str, Any], name: str) -> _Seen:
    if set(witness) != _DIRAC:
        raise Rejected(f"{name}: Diracs have the keys {', '.join(sorted(_DIRAC))}")
    curve = dirac.dirac_curve(stated)
    acceleration = dirac.read_vector(witness["acceleration"])
    ratio = dirac.read_ratio(witness["ratio"])
    radius = number(witness["radius"])
    if radius < 0:
        raise Rejected("a radius is not negative")
    curve.check_geodesic(acceleration)
    curve.check_second_derivative(acceleration, ratio)
    radial = dirac.radial_polynomial(ratio)
    below = dirac.value_at_radius(radial, radius)
    if not below < stated.modulus:
        raise Rejected(
            f"the second derivative per unit speed at |x| = {radius} is {below}, not below {stated.modulus}"
        )
    unbounded = dirac.is_unbounded_above(radial)
    said = (
        f"Diracs in every dimension: geodesics have x'' = {witness['acceleration']}, and along them "
        f"d²F/dt² = ({witness['ratio']})·|velocity|², which is {below}·|velocity|² at |x| = {radius}"
    )
    if unbounded:
        said += " and exceeds every multiple of |velocity|² for large |x|"
    how = "normal form of matrix words at symbolic d, for every direction of the equation of geodesics"
    return _Seen(ReplayedLine(name, said, how, True), None, 1, unbounded)
