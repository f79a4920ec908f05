"""The proof of constants on balls: bounds that the derivation finds, written line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sympy import Add, Mul, Pow, Symbol, Trace, exp

from symflow.algebra.grammar import to_text
from symflow.algebra.norms import SpectralNorm
from symflow.algebra.words import identical
from symflow.certify.certificate import Certificate, software
from symflow.certify.lemmas.stability import DOBRUSHIN, SCALING, WEIGHTED_AVERAGE
from symflow.certify.propositions import proposition
from symflow.certify.propositions.stability import StatedBounds
from symflow.certify.terms import transposed
from symflow.derive.stability.ranges import RADIUS, Range, range_of


def prove_stability_constants(claim: str) -> Certificate:
    """Write the bounds of every part of a claim about velocities on balls."""
    stated: Any = proposition(claim)
    return Certificate(
        claim=claim,
        status="proved",
        kind="ball-bounds",
        statement=stated.record(),
        scope=stated.scope(stated.record()),
        assumes=tuple(sorted((DOBRUSHIN, SCALING, WEIGHTED_AVERAGE))),
        proof={name: _part(part) for name, part in stated.parts.items()},
        versions=software(),
    )


def _part(stated: StatedBounds) -> dict[str, Any]:
    terms = stated.terms()
    kernel = terms.read(stated.kernel)
    target = kernel.args[0] if stated.normalise != "none" else kernel
    write = _Writer(terms, stated)
    lines = [write.line(*step) for step in _steps(target)]
    found = range_of(target, *write.tokens)
    by_range = _is_bounded_by_range(found)
    return {"lines": lines, "oscillation": "range" if by_range else "slope"}


def _is_bounded_by_range(found: Range) -> bool:
    """Whether the oscillation is bounded by the range: where it has one sign, or both bounds agree."""
    return bool(found.high == 0 or found.low == 0 or (found.spread - 2 * RADIUS * found.key).expand() == 0)


def _steps(function: Any) -> Iterator[tuple[Any, str]]:
    """Yield every function that is bounded on the way, with its rule."""
    if isinstance(function, exp):
        yield from _steps(function.args[0])
        yield function, "exponential"
    elif isinstance(function, Pow) and isinstance(function.base, Add):
        (inner,) = (part for part in function.base.args if part != 1)
        yield from _steps(-inner.args[0])
        yield function, "logistic"
    elif isinstance(function, Mul):
        (trace,) = (part for part in function.args if isinstance(part, Trace))
        yield from _steps(trace)
        yield function, "scaled"
    else:
        yield function, "form"
        parts = function.arg.args
        if len(parts) == 2 and identical(parts[0], transposed(parts[1])):
            yield function, "square"


class _Writer:
    """Bounds as text, norms by the names that the statement gives them."""

    def __init__(self, terms: Any, stated: StatedBounds) -> None:
        self.tokens = terms.symbols["x"], terms.symbols["y"]
        self._names = {
            SpectralNorm(terms.read(text)): terms.symbols[name] for name, text in stated.norms.items()
        }
        self._radius = terms.symbols["R"]

    def line(self, function: Any, rule: str) -> dict[str, Any]:
        """Return one line."""
        found = range_of(function, *self.tokens)
        low = -found.high if rule == "form" else found.low
        ends = {"low": low, "high": found.high, "query": found.query, "key": found.key, "mixed": found.mixed}
        if rule == "logistic":
            ends["mixed"] = None
        return {
            "of": to_text(function),
            "rule": rule,
            **{end: None if value is None else self._text(value) for end, value in ends.items()},
        }

    def _text(self, value: Any) -> str:
        named = value.xreplace(self._names)
        return str(to_text(named.xreplace({RADIUS: Symbol("R", nonnegative=True)})))
