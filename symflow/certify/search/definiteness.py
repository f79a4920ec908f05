"""Searches for the sign of a quadratic form: exact at a point, branch and bound on a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, product
from math import ceil, floor, log10
from typing import Any

from symflow.algebra.exact.boxes import Box, halves, midpoint
from symflow.algebra.exact.elimination import bound_smallest
from symflow.algebra.exact.inertia import Inertia, inertia, quadratic_value, smallest_eigenvalue
from symflow.algebra.exact.numbers import Ball
from symflow.algebra.exact.rational import fraction, fractions, psd_factor, rational_matrix
from symflow.algebra.exact.real import sign
from symflow.algebra.text.syntax import MAX_DIGITS
from symflow.certify.identically import constant_kernel
from symflow.certify.propositions.definiteness import ALLOWED, StatedForm, complement, holds
from symflow.certify.symmetric_functions import signs_on_interval
from symflow.certify.terms import Rejected
from symflow.errors import InputError, Undecided

BITS = 128
MAX_BOXES = 20_000  #: evaluations of the matrix on a box
_SMALLEST = Fraction(1, 1 << 40)  #: part of the box below which rounding is no longer small
#: Boxes at which the bound of an open form is computed; beyond, more boxes are left than it is worth.
_BOUNDED = 500
_BISECTIONS = 20
_SHARES = (Fraction(1), Fraction(99, 100), Fraction(1, 2))  #: of a bound, tried in turn as a margin
_SLACK, _LEAST = Fraction(1, 10**9), Fraction(1, 10**12)
_DIGITS = 8  #: of a bound that is stored
_MAX_TEXT = 300  #: characters of a number of a stored factor
_MAX_CORNERS = 6  #: parameters up to which all corners of the box are tried


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes
    ----------
    status : str
        ``"proved"``, ``"refuted"`` or ``"undecided"``.
    proof : dict
        The proof object; empty where nothing was decided.
    reason : str
        Why nothing was decided, with the best bound.
    """

    status: str
    proof: dict[str, Any]
    reason: str = ""


def decide_form(stated: StatedForm, expired: Callable[[], bool]) -> Found:
    """Decide whether a form has the property of its statement.

    Parameters
    ----------
    stated : StatedForm
    expired : callable
        Says whether the time is up.

    Raises
    ------
    Undecided
        If an exact computation is too large.
    """
    return _on_box(stated, expired) if stated.box else _at_point(stated)


# ---------------------------------------------------------------------------------------- a matrix of numbers


def _at_point(stated: StatedForm) -> Found:
    rows = stated.exact()
    found = inertia(rows)
    proof: dict[str, Any] | None
    if stated.claimed == "indefinite":
        proved = holds("indefinite", found)
        proof = _directions(rows, found, (-1, 1)) if proved else None
    elif proved := holds(stated.claimed, found):
        proof = _factor(rows, stated)
    else:
        wrong = (s for s in (-stated.side, 0) if s not in ALLOWED[stated.claimed])
        proof = _directions(rows, found, (next(s for s in wrong if _occurs(found, s)),))
    low, high = smallest_eigenvalue([[stated.side * entry for entry in row] for row in rows])
    slack = (
        max(abs(low), abs(high), _LEAST) * _SLACK
    )  # an eigenvalue at a bound is told from no singular matrix
    margin = [str(_rounded(low - slack, -1)), str(_rounded(high + slack, 1))]
    return Found("proved" if proved else "refuted", {**(proof or _pivots(found)), "margin": margin})


def _occurs(found: Inertia, wanted: int) -> int:
    return {1: found.positive, 0: found.zero, -1: found.negative}[wanted]


def _direction(found: Inertia, wanted: int) -> Sequence[Any] | None:
    """Return a direction in which the form has a sign."""
    if wanted == 0:
        return found.null_space[0]
    return found.positive_direction if wanted > 0 else found.negative_direction


def _directions(rows: list[list[Any]], found: Inertia, signs: Sequence[int]) -> dict[str, Any]:
    """Return directions of the given signs with their values."""
    vectors = [vector for s in signs if (vector := _direction(found, s)) is not None]
    described = [
        {"vector": [str(c) for c in vector], "value": str(quadratic_value(rows, vector))}
        for vector in vectors
    ]
    return {"method": "directions", "directions": described}


def _rounded(value: Fraction, side: int) -> Fraction:
    """Return a decimal of few digits below (−1) or above (1) a number."""
    if value == 0:
        return value
    exponent = floor(log10(abs(value.numerator)) - log10(value.denominator))
    if abs(exponent) + 2 * _DIGITS > MAX_DIGITS:
        raise Undecided(f"an eigenvalue of about 10^{exponent} has more digits than a certificate may")
    unit = Fraction(10) ** (exponent - _DIGITS)
    return (floor if side < 0 else ceil)(value / unit) * unit


def _factor(rows: list[list[Any]], stated: StatedForm) -> dict[str, Any] | None:
    """Return A = ±L diag(D) Lᵀ of a rational semidefinite matrix with short numbers, else None."""
    if not all(isinstance(entry, Fraction) for row in rows for entry in row):
        return None
    factor = psd_factor(rational_matrix([[stated.side * entry for entry in row] for row in rows]))
    if factor is None:
        return None
    left = [[str(entry) for entry in row] for row in fractions(factor.L)] if factor.D else [[] for _ in rows]
    weights = [str(fraction(weight)) for weight in factor.D]
    if max((len(text) for row in [*left, weights] for text in row), default=0) > _MAX_TEXT:
        return None
    return {"method": "factor", "L": left, "D": weights}


def _pivots(found: Inertia) -> dict[str, Any]:
    return {
        "method": "pivots",
        "pivots": [list(pivot.rows) for pivot in found.pivots],
        "bits": found.bits,
        "kernel": [[str(c) for c in vector] for vector in found.null_space],
    }


# --------------------------------------------------------------------------------------------------- on a box


def _on_box(stated: StatedForm, expired: Callable[[], bool]) -> Found:
    search = _Covering(stated)
    for corner in _corners(stated.box):
        if (refuted := search.refutation(corner)) is not None:
            return refuted
    if (found := _by_coefficients(stated)) is not None:
        return found
    while True:
        if search.covered:
            return search.proved()
        if (refuted := search.step()) is not None:
            return refuted
        if expired():
            return search.undecided("when time was up")
        if search.evaluations > MAX_BOXES:
            return search.undecided("the most that is tried")
        if search.largest < _SMALLEST:
            return search.undecided(f"none of them larger than {float(_SMALLEST):.1g} of the whole")


def _corners(box: Box) -> list[tuple[Fraction, ...]]:
    """Return the centre and, for few parameters, the corners."""
    corners = list(product(*box)) if len(box) <= _MAX_CORNERS else [tuple(low for low, _ in box)]
    return [midpoint(box), *corners]


def _by_coefficients(stated: StatedForm) -> Found | None:
    """Return a proof along one parameter, None where the coefficients do not give one."""
    try:
        strict = not stated.claimed.endswith("semidefinite")
        if not signs_on_interval(stated, strictly=strict):
            return None
    except (Rejected, InputError):  # no rational functions of one parameter
        return None
    return Found("proved", {"method": "coefficients"})


def _constant_kernel(stated: StatedForm) -> list[tuple[Fraction, ...]]:
    """Return rational vectors that are mapped to zero for all parameters, where they help."""
    if not stated.claimed.endswith("semidefinite") or stated.form != "hessian":
        return []
    try:
        return constant_kernel(stated.nodes)
    except Rejected:  # too large
        return []


class _Covering:
    """Boxes on which the form is definite, or still open; the largest open box is cut first."""

    def __init__(self, stated: StatedForm) -> None:
        self._stated = stated
        self._kernel = _constant_kernel(stated)
        self._kept = complement(self._kernel, stated.size)
        self._cut: dict[Box, tuple[Box, Box]] = {}
        self._open: list[tuple[Fraction, int, Box]] = []
        self._order = count()
        self.evaluations = 0
        self._add(stated.box, Fraction(1))

    @property
    def covered(self) -> bool:
        """Whether no box is open."""
        return not self._open

    @property
    def largest(self) -> Fraction:
        """Size of the largest open box as a part of the whole one; 1 where none is open."""
        return -self._open[0][0] if self._open else Fraction(1)

    def step(self) -> Found | None:
        """Cut a box; return a refutation if its centre gives one."""
        size, _, box = heappop(self._open)
        if (refuted := self.refutation(midpoint(box))) is not None:
            return refuted
        self._cut[box] = halves(box, self._stated.box)
        for half in self._cut[box]:
            self._add(half, -size / 2)  # the heap has negative sizes
        return None

    def proved(self) -> Found:
        """Return the cuts."""
        cuts, leaves, pending = [], [], [self._stated.box]
        while pending:
            box = pending.pop()
            parts = self._cut.get(box)
            cuts.append("1" if parts else "0")
            if parts:
                pending += reversed(parts)
            else:
                leaves.append(box)
        margin = "0" if self._kernel else str(self._margin(leaves))
        kernel = [[str(c) for c in vector] for vector in self._kernel]
        proof = {"cuts": "".join(cuts), "bits": BITS, "margin": margin, "kernel": kernel}
        return Found("proved", {"method": "boxes", **proof})

    def _margin(self, leaves: Sequence[Box]) -> Fraction:
        """Return a lower bound of the smallest eigenvalue that elimination shows on every leaf; maybe 0."""
        bound = self._bound(leaves) if len(leaves) <= _BOUNDED else None
        for share in _SHARES if bound is not None and bound > 0 else ():
            margin = _rounded(bound * share, -1)  # type: ignore[operator]
            if all(self._stated.is_definite(box, margin, BITS) for box in leaves):
                return margin
        return Fraction(0)

    def undecided(self, when: str) -> Found:
        """Return how far it came."""
        said = f"open on {len(self._open)} boxes after {self.evaluations}, {when}"
        bound = self._bound(self._coarse_cover())
        if bound is not None:
            what = "of -A" if self._stated.side < 0 else "of A"
            what += ", in the rows that a kernel leaves," if self._kernel else ""
            said += f"; on these the smallest eigenvalue {what} is at least {float(_rounded(bound, -1)):.9g}"
        return Found("undecided", {}, said)

    def _coarse_cover(self) -> list[Box]:
        """Return some boxes that cover all that are open: open ones, or those that they were cut from."""
        cover = [box for _, _, box in self._open]
        if len(cover) <= _BOUNDED:
            return cover
        cover = [self._stated.box]
        while len(cover) < _BOUNDED:
            cover = [part for box in cover for part in self._cut.get(box, (box,))]
        return cover

    def refutation(self, point: tuple[Fraction, ...]) -> Found | None:
        """Return a refutation at a point, exact where the entries have exact values there."""
        try:
            rows = self._stated.exact(point)
        except InputError:  # entries with an enclosure only
            return self._refutation_in_balls(point)
        if holds(self._stated.claimed, found := inertia(rows)):
            return None
        wrong = -self._stated.side
        vector = found.negative_direction if wrong < 0 else found.positive_direction
        if vector is None:
            vector = found.null_space[0]
        if not all(isinstance(c, Fraction) for c in vector):
            return None
        return self._refuted(point, vector, str(quadratic_value(rows, vector)))

    def _refutation_in_balls(self, point: tuple[Fraction, ...]) -> Found | None:
        """Return a refutation at a point whose value is told from zero in a ball."""
        rows = self._signed_balls(tuple((x, x) for x in point))
        if not all(entry.is_finite() for row in rows for entry in row):
            return None
        middle = [[Ball.of(entry).midpoint for entry in row] for row in rows]
        vector = inertia(middle).negative_direction
        if vector is None or sign(quadratic_value(middle, vector)) >= 0:
            return None
        from flint import arb, fmpq

        ball = quadratic_value(rows, [arb(fmpq(c.numerator, c.denominator)) for c in vector])
        return self._refuted(point, vector, "") if ball < 0 else None

    def _refuted(self, point: Sequence[Fraction], vector: Sequence[Fraction], value: str) -> Found:
        place, direction = [str(x) for x in point], [str(c) for c in vector]
        return Found("refuted", {"method": "point", "point": place, "vector": direction, "value": value})

    def _add(self, box: Box, size: Fraction) -> None:
        self.evaluations += 1
        if not self._stated.is_definite(box, Fraction(0), BITS, self._kept):
            heappush(self._open, (-size, next(self._order), box))

    def _signed_balls(self, box: Box) -> list[list[Any]]:
        return self._stated.shifted(box, Fraction(0), BITS)

    def _bound(self, boxes: Sequence[Box]) -> Fraction | None:
        """Return a lower bound of the smallest eigenvalue on boxes, None where an entry is not bounded."""
        bounds = []
        for box in boxes:
            rows = self._stated.shifted(box, Fraction(0), BITS, self._kept)
            if not all(entry.is_finite() for row in rows for entry in row):
                return None
            bounds.append(bound_smallest(rows, BITS, _BISECTIONS)[0])
        return min(bounds)
