r"""Laws of a few atoms at which no structure of the form Γ = Bg⁻¹∇(δF/δμ) can exist, for given matrices.

At an atom x of a law let γ be a positive multiple of Γ and h = ∇(δF/δμ), exact sums of exponentials of
rational numbers. Whatever the numbers g > 0 are, a symmetric definite B needs: γ and h vanish together; the
signs of ⟨γ, h⟩ are those of B; d + 1 Diracs determine B up to a positive factor; that B is symmetric and
definite; and γ is a positive multiple of Bh at every atom. On the sphere B is a multiple of the identity.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Matrix, Rational

from symflow.algebra.exact.evaluation import evaluate_exact
from symflow.algebra.exact.exponentials import ExpSum
from symflow.algebra.exact.real import ExactReal, rational_of
from symflow.derive.gradient_flow.matching import Averages
from symflow.derive.gradient_flow.parameters import definite_sign
from symflow.models.statement import Statement

#: Exact entries: fractions, or expressions in exponentials of fractions.
Vector = tuple[Any, ...]


@dataclass(frozen=True)
class State:
    """One atom of a law of a few atoms, with what is known of the velocity there.

    Attributes
    ----------
    atoms : tuple of Matrix
        The first is where velocity and gradient are taken.
    masses : tuple of Rational
    velocity : tuple of exact numbers
        A positive multiple of Γ.
    gradient : tuple of exact numbers
        A positive multiple of ∇δF/δμ.
    """

    atoms: tuple[Any, ...]
    masses: tuple[Any, ...]
    velocity: Vector
    gradient: Vector

    def __str__(self) -> str:
        parts = zip(self.masses, self.atoms, strict=True)
        return " + ".join(f"{p} δ({', '.join(map(str, x))})" for p, x in parts)


@dataclass(frozen=True)
class NotGradient:
    """Why there is no structure for the given parameters.

    Attributes
    ----------
    reason : str
        In words.
    states : tuple of State
        Laws that show it; the first atom of each is the place.
    mobility : Matrix or None
        B up to a positive factor where Diracs determine it.
    values : tuple of (str, value)
        The parameters.
    """

    reason: str
    states: tuple[State, ...]
    mobility: Any
    values: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        where = "; ".join(map(str, self.states))
        return f"{self.reason}: {where}"


def find_witness(statement: Statement, found: Averages, values: dict[Any, Any], d: int) -> NotGradient | None:
    """Return laws at which no structure exists, or None where none was found."""
    named = tuple(sorted((s.name, value) for s, value in values.items()))
    search = _Search(statement, found, values, d)
    result = search.run()
    return None if result is None else NotGradient(*result, named)


_Found = tuple[str, tuple[State, ...], Any]


@dataclass(frozen=True)
class _Search:
    statement: Statement
    found: Averages
    values: dict[Any, Any]
    d: int

    def run(self) -> _Found | None:
        single = [self.state((x,), (Rational(1),)) for x in self._places()]
        simple = _by_signs(single)
        if simple is not None:
            return simple
        mobility = Matrix.eye(self.d)
        if self.found.space == "euclidean":
            frame = single[: self.d + 1]
            mobility = _determined(frame)
            reason = mobility if isinstance(mobility, str) else _defect(mobility)
            if reason is not None:
                return reason, tuple(frame), None if mobility is reason else mobility
        return _scan(mobility, itertools.chain(single, self._several()))

    def _places(self) -> list[Any]:
        """Return the axes, their sum, and points beside them; on the sphere rational points of it."""
        axes = [Matrix([int(i == j) for i in range(self.d)]) for j in range(self.d)]
        total = sum(axes[1:], axes[0])
        others = [a + sign * b for a, b in itertools.combinations(axes, 2) for sign in (1, -1)]
        others += [a - 2 * b for a, b in itertools.permutations(axes, 2)]
        places = [*axes, total, *others]
        return places if self.found.space == "euclidean" else [_on_sphere(p) for p in places]

    def _several(self) -> Iterator[State]:
        """Yield laws of two atoms, on the sphere of three: there two atoms never fix a direction."""
        if self.found.space == "sphere":
            shares = [Rational(k, 16) for k in (4, 2, 6, 1, 7, 3, 5)]
            for atoms, share in itertools.product(itertools.permutations(self._places()[:5], 3), shares):
                yield self.state(atoms, (Rational(1, 2), share, Rational(1, 2) - share))
            return
        for a, b in itertools.permutations(self._places()[: self.d + 3], 2):
            yield self.state((a, b / 2), (Rational(1, 2),) * 2)

    def state(self, atoms: tuple[Any, ...], masses: tuple[Any, ...]) -> State:
        """Return Γ times its normaliser, and the gradient, without common positive factors."""
        velocity, gradient = (
            _without_factor(self._averaged(text, atoms, masses))
            for text in (self.found.velocity, self.found.slope)
        )
        return State(atoms, masses, velocity, gradient)

    def _averaged(self, text: Any, atoms: tuple[Any, ...], masses: tuple[Any, ...]) -> Vector:
        x, total = atoms[0], (Fraction(0),) * self.d
        for mass, y in zip(masses, atoms, strict=True):
            named = {**self.values, self.found.x: x, self.found.y: y}
            given = {s: v.tolist() if hasattr(v, "tolist") else v for s, v in named.items()}
            entries = evaluate_exact(text, given, dict.fromkeys(self.statement.dimensions, self.d))
            total = tuple(a + rational_of(mass) * e for a, (e,) in zip(total, entries, strict=True))
        if self.found.space == "sphere":
            point = tuple(map(rational_of, x))
            inner = _dot(point, total)
            total = tuple(a - inner * p for a, p in zip(total, point, strict=True))
        return total


def _on_sphere(place: Any) -> Any:
    """Return a rational point of the sphere: the reflection of an axis at a vector."""
    shifted = place + Matrix([Rational(j + 1, 3) for j in range(len(place))])
    axis = Matrix([int(j == 0) for j in range(len(place))])
    square = (shifted.T * shifted)[0]
    return axis - 2 * shifted * (shifted.T * axis)[0] / square


# ---- exact vectors ----------------------------------------------------------------------------------


def _without_factor(vector: Vector) -> Vector:
    """Divide by a positive factor that all entries share where what is left is rational, as at Diracs."""
    first = next((entry for entry in vector if _sign(entry) != 0), None)
    if first is None or isinstance(first, Fraction):
        return vector
    ratios = tuple(entry / first for entry in vector)
    if not all(isinstance(_rational(ratio), Fraction) for ratio in ratios):
        return vector
    return tuple(_sign(first) * _rational(ratio) for ratio in ratios)


def _rational(number: Any) -> Any:
    return number.constant() if isinstance(number, ExpSum) and number.is_constant else number


def _sign(number: Any) -> int:
    """Return the sign of a rational number, or of an expression in exponentials of rational numbers."""
    return number.sign() if isinstance(number, ExactReal) else bool(number > 0) - bool(number < 0)


def _dot(a: Vector, b: Vector) -> Any:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def _vanishes(vector: Vector) -> bool:
    return all(_sign(entry) == 0 for entry in vector)


def in_sympy(vector: Vector) -> Any:
    """Return an exact vector as a matrix of SymPy."""
    return Matrix(
        [e.to_sympy() if isinstance(e, ExactReal) else Rational(*e.as_integer_ratio()) for e in vector]
    )


# ---- contradictions ---------------------------------------------------------------------------------


def _by_signs(states: list[State]) -> _Found | None:
    known: State | None = None
    first = 0
    for state in states:
        still, flat = _vanishes(state.velocity), _vanishes(state.gradient)
        if still != flat:
            what = "the velocity vanishes and the gradient does not"
            return what if still else "the gradient vanishes and the velocity does not", (state,), None
        if still:
            continue
        sign = _sign(_dot(state.velocity, state.gradient))
        if sign == 0:
            return "velocity and gradient are orthogonal and do not vanish", (state,), None
        if known is None:
            known, first = state, sign
        elif sign != first:
            reason = "the energy increases along the velocity of one atom and decreases along that of another"
            return reason, (known, state), None
    return None


def _determined(frame: list[State]) -> Any:
    """Return B up to a positive factor from d + 1 Diracs; a reason where there is none; None where open."""
    vectors = [vector for state in frame for vector in (state.velocity, state.gradient)]
    if not all(isinstance(entry, Fraction) for vector in vectors for entry in vector):
        return None
    *axes, last = frame
    velocities = Matrix.hstack(*(in_sympy(s.velocity) for s in axes))
    gradients = Matrix.hstack(*(in_sympy(s.gradient) for s in axes))
    if gradients.det() == 0 or velocities.det() == 0:
        return None
    a, b = gradients.inv() * in_sympy(last.gradient), velocities.inv() * in_sympy(last.velocity)
    # γ_j = c_j B h_j with c_j > 0, and the same for the last one with c: b_j = a_j c/c_j
    if any(_sign(p) != _sign(q) for p, q in zip(a, b, strict=True)):
        return "no mobility maps the gradients at these Diracs to positive multiples of the velocities"
    if any(p == 0 for p in a):
        return None
    factors = Matrix.diag(*(q / p for p, q in zip(a, b, strict=True)))
    return velocities * factors * gradients.inv()


def _defect(mobility: Any) -> str | None:
    """Return what keeps a matrix that Diracs determine from being a mobility; None where nothing does."""
    if mobility is None or definite_sign(mobility) != 0:
        return None
    what = "definite" if mobility == mobility.T else "symmetric"
    return f"the Diracs determine the mobility up to a positive factor, and it is not {what}"


def _scan(mobility: Any, states: Iterable[State]) -> _Found | None:
    """Return the first state whose velocity has the wrong sign or is no multiple of B times the gradient."""
    known: list[State] = []
    for state in states:
        contradiction = _by_signs([*known, state])
        if contradiction is None and mobility is not None:
            contradiction = _compared(mobility, state)
        if contradiction is not None:
            return contradiction
        if not known and not _vanishes(state.velocity):
            known.append(state)
    return None


def _compared(mobility: Any, state: State) -> _Found | None:
    rows = [tuple(map(rational_of, mobility.row(i))) for i in range(mobility.rows)]
    image = tuple(_dot(row, state.gradient) for row in rows)
    pairs = itertools.combinations(range(len(image)), 2)
    if all(_sign(image[i] * state.velocity[j] - image[j] * state.velocity[i]) == 0 for i, j in pairs):
        return None
    return "the velocity is no multiple of the mobility times the gradient", (state,), mobility
