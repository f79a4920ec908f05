"""Ball bounds: what a kernel can do on a ball, line by line, and what follows for its averages.

The proof object is ``{part: {"lines": [...], "oscillation": "range" | "slope"}, ...}``. A line is

    {"of": ..., "rule": ..., "low": ..., "high": ..., "query": ..., "key": ..., "mixed": ... or null}

and says that for all x, y of the ball of radius R the function ``of`` lies between ``low`` and ``high``, has
gradients in x and y of at most ``query`` and ``key``, and a mixed derivative of at most ``mixed``. The last
line is about the kernel, or its logarithm where the weights are normalised; ``oscillation`` chooses how the
oscillation of that in y is bounded. Every bound is computed again and compared by normal form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Abs, Add, MatMul, Mul, Pow, Rational, S, Trace, exp, log

from symflow.algebra.words import normal_form
from symflow.algebra.words.atoms import BILINEAR
from symflow.algebra.words.restore import atom_to_sympy
from symflow.certify.certificate import Certificate
from symflow.certify.lemmas.stability import DOBRUSHIN, SCALING, WEIGHTED_AVERAGE
from symflow.certify.propositions import stated_proposition
from symflow.certify.propositions.stability import RADIUS, SINK, TOKENS, BallBounds, StatedBounds
from symflow.certify.recheck import ProofKind, Replay, ReplayedLine
from symflow.certify.terms import Rejected, Terms, transposed
from symflow.errors import InputError

_LINE = frozenset(("of", "rule", "low", "high", "query", "key", "mixed"))
_ENDS = ("low", "high", "query", "key", "mixed")
MAX_LINES = 20


class BoundsOnBalls(ProofKind):
    """Lipschitz constants of velocities on balls, for every part of the claim."""

    name = "ball-bounds"

    def replay(self, certificate: Certificate) -> Replay:
        """Compute every bound again, part by part."""
        lines: list[ReplayedLine] = []
        assumes = {DOBRUSHIN}
        try:
            claim = stated_proposition(certificate)
            if not isinstance(claim, BallBounds):
                return Replay(False, reason=f"bounds on balls say nothing about {certificate.claim}")
            if set(certificate.proof) != set(claim.parts):
                raise Rejected(f"the proof must have the parts {', '.join(claim.parts)}")
            for name, part in claim.parts.items():
                lines += _Part(name, part).replay(certificate.proof[name])
                if part.normalise != "none":
                    assumes.add(WEIGHTED_AVERAGE)
                if part.normalise == "sinkhorn":
                    assumes.add(SCALING)
        except (InputError, Rejected) as error:
            return Replay(False, tuple(lines), str(error))
        return Replay(True, tuple(lines), assumes=tuple(sorted(assumes)))


@dataclass(frozen=True)
class _Bound:
    """Bounds of a function on the ball; ``mixed`` is None where none is claimed."""

    low: Any
    high: Any
    query: Any
    key: Any
    mixed: Any

    @property
    def size(self) -> Any:
        """Bound of the absolute value, for the two shapes that occur."""
        if self.low.is_nonnegative:
            return self.high
        if self.low == -self.high:
            return self.high
        if self.high == 0:
            return -self.low
        raise Rejected(f"the size of what lies between {self.low} and {self.high} is not settled")


class _Part:
    """One part of a claim while it is replayed."""

    def __init__(self, name: str, stated: StatedBounds) -> None:
        self._name, self._stated = name, stated
        self._terms: Terms = stated.terms()
        self._x, self._y = (self._terms.symbols[token] for token in TOKENS)
        self._radius = self._terms.symbols[RADIUS]
        self._norms = [(self._terms.symbols[n], self._terms.read(text)) for n, text in stated.norms.items()]
        self._known: dict[Any, _Bound] = {}

    def replay(self, proof: Any) -> list[ReplayedLine]:
        """Check every line, then the claimed bounds."""
        if not isinstance(proof, Mapping) or set(proof) != {"lines", "oscillation"}:
            raise Rejected(f"{self._name}: a part has the keys lines and oscillation")
        records = proof["lines"]
        if not isinstance(records, (list, tuple)) or not 0 < len(records) <= MAX_LINES:
            raise Rejected(f"{self._name}: 'lines' must be a list of at most {MAX_LINES} lines")
        seen = [self._line(f"{self._name}.{index}", record) for index, record in enumerate(records, 1)]
        return [*seen, self._conclusion(proof["oscillation"])]

    def _line(self, where: str, record: Any) -> ReplayedLine:
        if not isinstance(record, Mapping) or set(record) != _LINE:
            raise Rejected(f"{where}: a line has the keys {', '.join(sorted(_LINE))}")
        rule = _RULES.get(record["rule"]) if isinstance(record["rule"], str) else None
        if rule is None:
            raise Rejected(f"{where}: rule {record['rule']!r} is unknown; known are {', '.join(_RULES)}")
        function = self._terms.read(self._text(record["of"], where))
        found = rule(self, function)
        for end in _ENDS:
            self._compare(where, end, record[end], getattr(found, end))
        self._known[function] = found
        words = ", ".join(f"{end} {record[end]}" for end in _ENDS if record[end] is not None)
        return ReplayedLine(where, f"{record['of']} on the ball: {words}", record["rule"], True)

    def _text(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or len(value) > 2000:
            raise Rejected(f"{where}: bounds and functions must be text")
        return value

    def _compare(self, where: str, end: str, text: Any, value: Any) -> None:
        if text is None and end == "mixed":
            return
        if value is None:
            raise Rejected(f"{where}: there is no bound {end!r}")
        stated = self._terms.read(self._text(text, where))
        if not self._terms.same(stated, value):
            raise Rejected(f"{where}: {end} is {value}, not {text}")

    # ---- rules: bounds of a function from those of its parts

    def form(self, function: Any) -> _Bound:
        """Bound a sum of products uᵀMv of the tokens, M among the matrices with a stated norm."""
        size: Any = S.Zero
        query: Any = S.Zero
        key: Any = S.Zero
        mixed: Any = S.Zero
        for (scalars, word), coefficient in normal_form(function).terms.items():
            if word or len(scalars) != 1 or scalars[0][0].kind != BILINEAR or scalars[0][1] != 1:
                raise Rejected(f"{function} is not a sum of products of two tokens")
            if not coefficient.is_Rational:
                raise Rejected(f"{coefficient} is not a number; use the rule 'scaled'")
            letters = scalars[0][0].word
            queries, keys = self._ends(letters)
            norm = abs(coefficient) * self._norm(letters[1:-1])
            size += norm * self._radius**2
            query += queries * norm * self._radius
            key += keys * norm * self._radius
            mixed += queries * keys * norm
        return _Bound(-size, size, query, key, mixed)

    def _ends(self, letters: Any) -> tuple[int, int]:
        ends = [letters[0].symbol, letters[-1].symbol]
        if any(end not in (self._x, self._y) for end in ends):
            raise Rejected("a product must begin and end with a token")
        return ends.count(self._x), ends.count(self._y)

    def _norm(self, inside: Any) -> Any:
        if not inside:
            return S.One
        matrix = MatMul(*(atom_to_sympy(atom) for atom in inside)).doit()
        for bound, known in self._norms:
            if self._terms.same(matrix, known) or self._terms.same(matrix, transposed(known)):
                return bound
        raise Rejected(f"no norm of {matrix} is stated")

    def square(self, function: Any) -> _Bound:
        """A square |u|² of which a form is known is not negative."""
        found = self._known.get(function)
        parts: tuple[Any, ...] = function.arg.args if isinstance(function, Trace) else ()
        if found is None or len(parts) != 2 or not self._terms.same(parts[0], transposed(parts[1])):
            raise Rejected(f"{function} is not a square whose form was bounded")
        return _Bound(S.Zero, found.high, found.query, found.key, found.mixed)

    def scaled(self, function: Any) -> _Bound:
        """Multiply by a number of known sign."""
        for inner, found in self._known.items():
            factor = function / inner
            if factor.has(self._x) or factor.has(self._y):
                continue
            size = Abs(factor)
            ends = (factor * found.low, factor * found.high)
            if factor.is_nonpositive:
                ends = ends[::-1]
            elif not factor.is_nonnegative:
                raise Rejected(f"the sign of {factor} is not known")
            return _Bound(*ends, size * found.query, size * found.key, size * found.mixed)
        raise Rejected(f"{function} is no multiple of what was bounded before")

    def exponential(self, function: Any) -> _Bound:
        """Bound an exponential by the chain rule."""
        if not isinstance(function, exp):
            raise Rejected(f"{function} is not an exponential")
        found = self._inner(function.args[0])
        top = exp(found.high)
        mixed = top * (found.mixed + found.query * found.key)
        return _Bound(exp(found.low), top, top * found.query, top * found.key, mixed)

    def logistic(self, function: Any) -> _Bound:
        """Bound 1/(1 + e^{−u}), whose slope is at most a quarter."""
        base = function.base if isinstance(function, Pow) and function.exp == -1 else None
        rest = base - 1 if isinstance(base, Add) else None
        if not isinstance(rest, exp):
            raise Rejected(f"{function} is not a logistic function")
        found = self._inner(-rest.args[0])
        quarter = Rational(1, 4)
        return _Bound(S.Zero, S.One, quarter * found.query, quarter * found.key, None)

    def _inner(self, function: Any) -> _Bound:
        if function not in self._known:
            raise Rejected(f"{function} was not bounded before")
        return self._known[function]

    # ---- what follows for the average

    def _conclusion(self, oscillation: Any) -> ReplayedLine:
        stated = self._stated
        kernel = self._terms.read(stated.kernel)
        normalised = stated.normalise != "none"
        weight = self._inner(log_of(kernel) if normalised else kernel)
        slope = self._value_norm()
        prefactor = self._terms.read(stated.prefactor)
        if not prefactor.is_nonnegative:
            raise Rejected(f"the sign of {prefactor} is not known")
        if oscillation not in ("range", "slope"):
            raise Rejected("'oscillation' must be 'range' or 'slope'")
        parts = _FOLLOWS[stated.normalise](weight, slope, self._radius, oscillation)
        if stated.masked:
            parts = (*parts[:2], parts[2] / self._terms.symbols[SINK] if normalised else parts[2])
        for end, value in zip(("speed", "query", "law"), parts, strict=True):
            self._compare(self._name, end, getattr(stated, end), Mul(prefactor, value))
        words = f"speed {stated.speed}, in the token {stated.query}, in the law {stated.law}"
        return ReplayedLine(self._name, words, f"weights: {stated.normalise}", True)

    def _value_norm(self) -> Any:
        """Return the norm of V for a value V·y."""
        letters = list(normal_form(self._terms.read(self._stated.value)).terms.items())
        if len(letters) != 1 or letters[0][1] != 1 or letters[0][0][0]:
            raise Rejected("the value must be one matrix times the key")
        word = letters[0][0][1]
        if word[-1].symbol != self._y or any(atom.symbol in (self._x, self._y) for atom in word[:-1]):
            raise Rejected("the value must be one matrix times the key")
        return self._norm(word[:-1])


def log_of(kernel: Any) -> Any:
    """Return the logarithm of a kernel that is an exponential."""
    return kernel.args[0] if isinstance(kernel, exp) else log(kernel)


def _averaged(weight: _Bound, slope: Any, radius: Any, oscillation: str) -> tuple[Any, Any, Any]:
    swing = 2 * radius * weight.key if oscillation == "slope" else weight.high - weight.low
    query = slope * radius * radius * weight.mixed
    return slope * radius, query, slope * (1 + 2 * radius * weight.key) * exp(swing)


def _integrated(weight: _Bound, slope: Any, radius: Any, _: str) -> tuple[Any, Any, Any]:
    speed = slope * radius * weight.size
    return speed, slope * radius * weight.query, slope * (weight.size + radius * weight.key)


def _scaled(weight: _Bound, slope: Any, radius: Any, _: str) -> tuple[Any, Any, Any]:
    reach = radius * radius * weight.mixed  # R·G, G the spread of both gradients
    moved = reach * (1 + exp(2 * reach))
    return slope * radius, slope * reach, slope * exp(4 * reach) * (1 + 4 * reach + moved)


_RULES = {
    "form": _Part.form,
    "square": _Part.square,
    "scaled": _Part.scaled,
    "exponential": _Part.exponential,
    "logistic": _Part.logistic,
}
_FOLLOWS = {"softmax": _averaged, "none": _integrated, "sinkhorn": _scaled}
