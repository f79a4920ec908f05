"""Coefficients mean the same double in C, Cython and Python (C034)."""

from __future__ import annotations

import math
import re

import pytest
from sympy import Rational, Symbol, pi, sin, sqrt

from symflow.codegen.scalars import scalar_text
from symflow.errors import InputError

B, T = Symbol("beta", nonnegative=True), Symbol("temperature", positive=True)
NAMES = {"beta": "b", "temperature": "c"}
AT = {"b": 1.7, "c": 0.3}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (Rational(1, 2), 0.5),
        (Rational(-1, 3), -1 / 3),
        (-2 * B / T, -2 * 1.7 / 0.3),
        (Rational(2, 3) * B**2 / T**3, 2 / 3 * 1.7**2 / 0.3**3),
        ((B + 1) / (T + Rational(1, 2)), 2.7 / 0.8),
        (1 / B, 1 / 1.7),
        (B / sqrt(T), 1.7 / math.sqrt(0.3)),
        (sqrt(B) ** 3 / (2 * sqrt(B + T)), 1.7**1.5 / (2 * math.sqrt(2.0))),
        (sqrt(2) * B, math.sqrt(2) * 1.7),
        (pi, math.pi),
        (Rational(1, 10**20), 1e-20),
        (Rational(10**20 + 1), 1e20),
    ],
)
def test_value(expression: object, value: float) -> None:
    text = scalar_text(expression, NAMES)
    assert eval(text, {"sqrt": math.sqrt}, dict(AT)) == pytest.approx(value, rel=4e-16)


def test_no_integer_is_ever_divided() -> None:
    text = scalar_text(Rational(1, 3) * B / (5 * T), NAMES)
    assert not re.search(r"(?<![\w.])\d+(?![\w.])", text), text


@pytest.mark.parametrize("expression", [sin(B), Symbol("unknown"), sqrt(-1), B ** Rational(1, 3)])
def test_refused(expression: object) -> None:
    with pytest.raises(InputError):
        scalar_text(expression, NAMES)
