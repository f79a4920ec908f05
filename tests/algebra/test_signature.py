"""Signatures: what is read without building an expression is what building one finds."""

from __future__ import annotations

import random

import pytest

from symflow.algebra.grammar import parse_score
from symflow.algebra.text.signature import is_settled_by_shapes, signature
from symflow.algebra.text.syntax import read
from symflow.errors import GrammarError, InputError

SETTLED = [
    "dot(Q*x, K*y)",
    "beta*dot(Q*x + bq, K*y + bk)/sqrt(d)",
    "-norm2(Q*x - K*y)/2 + dot(c, y)",
    "y.T*A*x - 1/3*norm2(y)/s",
    "dot(x, dot(c, y)*W*y)",
    "(x.T*A*y)*dot(y, y)*t",
]
OPEN = ["1/(a - a)", "1/0", "norm2(y)**2", "dot(y, inv(A)*y)", "exp(a)", "1/sqrt(2)", "1/norm2(y)"]


@pytest.mark.parametrize("text", SETTLED)
def test_shapes_are_those_of_the_expression(text: str) -> None:
    found, parsed = signature(text), parse_score(text)
    assert is_settled_by_shapes(found.node)
    assert found.parameters == parsed.shapes
    assert found.sizes == tuple(s.name for s in parsed.dimensions)


@pytest.mark.parametrize("text", OPEN)
def test_texts_whose_values_may_be_wrong_are_not_settled(text: str) -> None:
    assert not is_settled_by_shapes(read(text))


def _random_text(rng: random.Random, depth: int) -> str:
    """Draw a text of sums, products, transposes and inner products; most do not fit together."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["x", "y", "Q", "K", "W", "a", "b", "c", "d", "k", "2"])
    first, second = (_random_text(rng, depth - 1) for _ in range(2))
    forms = ["{}*{}", "({} + {})", "({} - {})", "dot({}, {})", "({}).T*{}", "norm2({})*{}", "{}/a*{}"]
    return rng.choice(forms).format(first, second)


@pytest.mark.parametrize("kind", ["scalar", "vector"])
def test_a_settled_text_whose_shapes_fit_can_be_built(kind: str) -> None:
    """Seeded; of 3000 texts hundreds have to fit, or the test would be empty."""
    rng, fitting = random.Random(1), 0
    for _ in range(3000):
        text = _random_text(rng, 3)
        try:
            found = signature(text, kind=kind)
        except GrammarError:
            continue
        assert is_settled_by_shapes(found.node), text
        assert parse_score(text, kind=kind).shapes == found.parameters, text
        fitting += 1
    assert fitting > 200


def test_requests_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(InputError, match="kind = 'matrix'"):
        signature("dot(x, y)", kind="matrix")
    with pytest.raises(InputError, match="are the tokens"):
        signature("dot(x, y)", {"x": ("d",)})
