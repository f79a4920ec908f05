"""Convexity by rules: what is shown convex is convex, on random expressions and on known ones."""

import random

import numpy as np
import pytest

from symflow.certify.propositions.convexity import NON_CONVEXITY, read_energy
from symflow.certify.search.convex_terms import convex_terms

PLAIN = {**NON_CONVEXITY.text, "parameters": {}, "metric": {"name": "wasserstein"}, "pair": ""}
LEAVES = ("u(x)", "u(x)/2", "1.0", "-u(x)", "2.0", "u(x) - 1", "1 + u(x)", "u(x)*3 - 1")
NODES = (
    *("exp({0})", "log({0})", "sqrt({0})", "({0})**2", "({0})**3", "1/({0})", "({0}) + ({1})"),
    *("({0})*({1})", "Max({0}, {1})", "Min({0}, {1})", "-({0})", "Abs({0})", "({0})**(-2)", "({0})**0"),
)
FUNCTIONS = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "Max": np.maximum,
    "Min": np.minimum,
    "Abs": np.abs,
}


def is_shown(text, **options):
    return convex_terms(read_energy({**PLAIN, "potential": text, **options})) is not None


def expression(rng, depth):
    if not depth:
        return rng.choice(LEAVES)
    return rng.choice(NODES).format(expression(rng, depth - 1), expression(rng, depth - 1))


def test_nothing_that_bends_downwards_is_shown_convex():
    """Second differences on a grid; a rule that is wrong for one expression in thirty is found."""
    rng, shown = random.Random(4), 0
    grid = np.linspace(-2.0, 2.0, 201)
    for _ in range(600):
        text = expression(rng, rng.randrange(1, 4))
        if not is_shown(text.replace("u(x)", "norm2(x)"), dimension="1"):
            continue
        shown += 1
        with np.errstate(all="ignore"):
            names = {**FUNCTIONS, "u": lambda x: x * x, "x": grid}
            values = np.ones_like(grid) * eval(text, {"__builtins__": {}}, names)
        assert not np.isnan(values).any(), text
        if np.isfinite(values).all():
            differences = values[2:] - 2 * values[1:-1] + values[:-2]
            assert differences.min() > -1e-9 * max(1.0, np.abs(values).max()), text
    assert shown > 150


@pytest.mark.parametrize(
    "text",
    ["norm2(x)", "exp(norm2(x))", "sqrt(norm2(x))", "norm2(x)**2", "Max(norm2(x), 1)", "Abs(norm2(x) + 1)",
     "log(exp(norm2(x)) + 2*exp(-norm2(x)/0.5 + 3*norm2(x)))", "1/(2 - 1)*norm2(x)", "-log(exp(-1))*0 + 1",
     "exp(norm2(x))*exp(norm2(x))", "-Min(-norm2(x), 1)", "2*(norm2(x) + exp(norm2(x)))"],
)  # fmt: skip
def test_known_functions_are_shown_convex(text):
    assert is_shown(text) == ("log(exp(-1))" not in text)


@pytest.mark.parametrize(
    "text",
    ["-norm2(x)", "log(1 + norm2(x))", "sqrt(1 + norm2(x)**2) - norm2(x)", "norm2(x)**3 - norm2(x)",
     "sin(norm2(x))", "tanh(norm2(x))", "sigmoid(norm2(x))", "1/norm2(x)", "0*log(norm2(x))",
     "(-exp(norm2(x)))**3",
     "exp(-norm2(x))", "Min(norm2(x), 1)", "1/(1 + norm2(x))", "norm2(x)**0 - exp(norm2(x))"],
)  # fmt: skip
def test_other_functions_are_not(text):
    assert not is_shown(text)
