"""Certificates about one Gaussian law: from a closed form, or from a theorem that applies to its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Poly, Rational, Symbol

from symflow.certify.certificate import Certificate, software
from symflow.certify.propositions import proposition

CLOCK = Symbol("u")


@dataclass(frozen=True)
class LawStatement:
    """What a certificate about one law states, and the proof that its system is closed."""

    model: Mapping[str, Any]
    parameters: Mapping[str, Any]
    sizes: Mapping[str, int]
    mean: Sequence[Sequence[Fraction]]
    covariance: Sequence[Sequence[Fraction]]
    closure: Certificate

    def certificate(
        self,
        claim: str,
        status: str,
        kind: str,
        proof: Mapping[str, Any],
        assumes: Sequence[str],
        **extra: Any,
    ) -> Certificate:
        """Return the certificate of a claim; ``extra`` are further entries of its statement."""
        stated = {
            "model": dict(self.model),
            "parameters": {name: texts(value) for name, value in self.parameters.items()},
            "sizes": dict(self.sizes),
            "mean": texts(self.mean),
            "covariance": texts(self.covariance),
            **extra,
        }
        return Certificate(
            claim=claim,
            status=status,
            kind=kind,
            statement=stated,
            scope=proposition(claim).scope(stated),
            assumes=tuple(sorted({*self.closure.assumes, *assumes})),
            proof={"closure": self.closure.proof, **proof},
            versions=software(),
        )


def texts(value: Any) -> Any:
    """Return nested lists of numbers as text ``p`` or ``p/q``."""
    if isinstance(value, (list, tuple)):
        return [texts(entry) for entry in value]
    return str(Fraction(value))


@dataclass(frozen=True)
class CurveProof:
    """A rational curve as text, its clock, and whether the clock ends in finite time."""

    clock: Mapping[str, Any]
    solution: Sequence[Sequence[str]]
    ends: bool

    @property
    def assumes(self) -> tuple[str, ...]:
        """Lemmas that a conclusion rests on."""
        scalar = () if self.clock["rhs"] == "1" else ("autonomous-scalar",)
        return (*scalar, "cauchy-lipschitz")

    @property
    def proof(self) -> dict[str, Any]:
        """The part of the proof object that is about the curve."""
        return {"clock": dict(self.clock), "solution": [list(row) for row in self.solution]}


def curve_proof(entries: Sequence[Sequence[Any]], rate: Sequence[Fraction]) -> CurveProof:
    """Return the proof object of a curve that starts at clock 0.

    Parameters
    ----------
    entries : rows of SymPy expressions
        Rational functions of :data:`CLOCK`.
    rate : sequence of Fraction
        Coefficients of the clock's right-hand side, from the constant term up.
    """
    speed = Poly([Rational(c.numerator, c.denominator) for c in reversed(rate)], CLOCK)
    if speed.eval(0) == 0:  # the clock stands still, and so does the curve
        start = [[entry.subs(CLOCK, 0) for entry in row] for row in entries]
        return CurveProof(_clock("t", "1", None), [[str(entry) for entry in row] for row in start], False)
    if speed.eval(0) < 0:
        speed = Poly(-speed.as_expr().subs(CLOCK, -CLOCK), CLOCK)
        entries = [[entry.subs(CLOCK, -CLOCK) for entry in row] for row in entries]
    fractions = [[entry.together().as_numer_denom() for entry in row] for row in entries]
    poles = [Poly(bottom, CLOCK) for row in fractions for _, bottom in row]
    end = _first_root([speed, *poles])
    stops = end is not None and _vanishes(speed, end)
    ends = not stops if end is not None else speed.degree() >= 2
    name = "t" if speed.as_expr() == 1 else CLOCK.name
    solution = [[_quotient(top, bottom, name) for top, bottom in row] for row in fractions]
    return CurveProof(_clock(name, _text(speed, name), _end(end, name)), solution, ends)


def _clock(name: str, rhs: str, end: Any) -> dict[str, Any]:
    return {"name": name, "rhs": rhs, "start": "0", "end": end}


@dataclass(frozen=True)
class _Root:
    """The smallest positive root of some polynomials, isolated."""

    poly: Poly
    low: Rational
    high: Rational


def _first_root(polys: Sequence[Poly]) -> _Root | None:
    """Return the smallest positive root of all ``polys``."""
    found = [root for poly in polys if poly.degree() > 0 for root in _positive_roots(poly)]
    while len(found) > 1:
        ceiling = min(root.high for root in found)
        kept = [root for root in found if root.low <= ceiling]
        if len(kept) > 1 and all(_same(kept[0], other) for other in kept[1:]):
            return kept[0]
        found = [_halved(root) for root in kept] if len(kept) == len(found) else kept
    return found[0] if found else None


def _positive_roots(poly: Poly) -> Iterator[_Root]:
    """Yield the smallest positive root of every irreducible factor."""
    for factor, _ in poly.factor_list()[1]:
        for (low, high), _ in factor.intervals(inf=0):
            if low == high == 0:
                continue
            if low == 0:  # a bracket that touches zero is refined until it does not
                low, high = factor.refine_root(low, high, eps=high / 2**20)
            yield _Root(factor, low, high)
            break


def _same(one: _Root, other: _Root) -> bool:
    return bool(one.poly == other.poly)


def _halved(root: _Root) -> _Root:
    if root.low == root.high:
        return root
    low, high = root.poly.refine_root(root.low, root.high, eps=(root.high - root.low) / 2)
    return _Root(root.poly, low, high)


def _vanishes(poly: Poly, root: _Root) -> bool:
    return bool(poly.rem(root.poly).is_zero)


def _end(root: _Root | None, name: str) -> Any:
    if root is None:
        return None
    if root.poly.degree() == 1:
        a, b = root.poly.all_coeffs()
        return str(-b / a)
    while root.low == root.high or 0 in (root.poly.eval(root.low), root.poly.eval(root.high)):
        root = _Root(root.poly, root.low - (root.high - root.low), root.high + (root.high - root.low))
    return {"root of": _text(root.poly, name), "between": [str(root.low), str(root.high)]}


def _text(poly: Poly, name: str) -> str:
    return str(poly.as_expr().subs(CLOCK, Symbol(name)))


def _quotient(top: Any, bottom: Any, name: str) -> str:
    upper, lower = (str(part.expand().subs(CLOCK, Symbol(name))) for part in (top, bottom))
    return upper if lower == "1" else f"({upper})/({lower})"
