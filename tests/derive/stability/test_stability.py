"""Constants on balls: against the formulas that are known, by their checks, and where there are none."""

import math
import pickle

import numpy as np
import pytest
from sympy import Symbol, exp

from symflow.algebra.norms import SpectralNorm
from symflow.algebra.symbols import dimension, matrix
from symflow.derive.stability import stability
from symflow.derive.stability.checks import RangeChecked
from symflow.derive.stability.ranges import RADIUS as R
from symflow.derive.stability.ranges import range_of
from symflow.errors import CheckFailed, InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.unnormalised import Unnormalised
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead

MODELS = {
    "softmax": (Softmax().with_symbolic_scale(), None),
    "softmax-QK": (Softmax(beta=2), {"Q", "K", "V"}),
    "repulsive": (Softmax(sign=-1), None),
    "affine": (Softmax(feed_forward=True), {"Q", "K", "V", "bq", "bk", "bv", "bo", "W", "c"}),
    "l2": (L2(), None),
    "sinkhorn": (Sinkhorn().with_symbolic_scale(), {"Q", "K", "V"}),
    "sigmoid": (Sigmoid(), None),
    "linear": (Linear(), None),
    "unnormalised": (Unnormalised(), None),
    "multihead": (MultiHead(Softmax()), None),
    "unlike": (MultiHead([Softmax(), L2()]), None),
    "masked": (Masked(Softmax(), sink=0.25), None),
    "masked-linear": (Masked(Linear()), None),
    "user": (Attention("Max(dot(x, A*y), 0) + erf(dot(c, y)) + norm2(x - y)"), None),
    "sphere": (Softmax(space="sphere"), set()),
    "sphere-unnormalised": (Unnormalised(space="sphere"), None),
}

d = dimension("d")
A, V, Q, K = (matrix(name, d, d) for name in ("A", "V", "Q", "K"))
a, v = SpectralNorm(A), SpectralNorm(V)


@pytest.mark.parametrize("name", MODELS)
def test_every_step_passes_its_check_and_prints(name):
    found = stability(*MODELS[name])
    assert found.check()
    assert r"\Lambda_\mu" in found.to_latex()
    assert "<math" in found.to_html()


@pytest.mark.parametrize(
    ("model", "speed", "query", "law"),
    [
        (Softmax(), R * v, R**2 * a * v, v * (1 + 2 * R**2 * a) * exp(2 * R**2 * a)),
        (Sigmoid(), R * v, R**2 * a * v / 4, v * (1 + R**2 * a / 4)),
        (Linear(), R**3 * a * v, R**2 * a * v, 2 * R**2 * a * v),
        (
            Unnormalised(),
            R * v * exp(R**2 * a),
            R**2 * a * v * exp(R**2 * a),
            v * exp(R**2 * a) * (1 + R**2 * a),
        ),
        (
            Sinkhorn(),
            R * v,
            R**2 * a * v,
            v * exp(4 * R**2 * a) * (1 + 4 * R**2 * a + R**2 * a * (1 + exp(2 * R**2 * a))),
        ),
    ],
    ids=["softmax", "sigmoid", "linear", "unnormalised", "sinkhorn"],
)
def test_constants_by_hand(model, speed, query, law):
    found = stability(model, {"A", "V"})
    for derived, expected in ((found.speed, speed), (found.query, query), (found.law, law)):
        assert (derived - expected).expand() == 0


def test_the_scale_is_a_factor_of_the_scores():
    plain, scaled = stability(Softmax()), stability(Softmax().with_symbolic_scale())
    ratio = Symbol("beta", nonnegative=True) / Symbol("temperature", positive=True)
    assert (scaled.query - ratio * plain.query).expand() == 0


def test_heads_add_up_in_numbers():
    rng = np.random.default_rng(0)
    one = {"A": rng.normal(size=(2, 2)), "V": rng.normal(size=(2, 2))}
    two = {"A": rng.normal(size=(2, 2)), "V": rng.normal(size=(2, 2))}
    both = {name: np.stack([one[name], two[name]]) for name in one}
    single, several = stability(Softmax()), stability(MultiHead(Softmax()))
    parts = [single.constants(params, 0.5) for params in (one, two)]
    total = several.constants(both, 0.5)
    for name in ("speed", "query", "law"):
        assert getattr(total, name) == pytest.approx(sum(getattr(p, name) for p in parts), rel=1e-12)


def test_numbers_are_upper_bounds_of_the_formula():
    rng = np.random.default_rng(1)
    params = {"A": rng.normal(size=(4, 4)), "V": rng.normal(size=(4, 4))}
    norms = {name: np.linalg.norm(value, 2) for name, value in params.items()}
    found = stability(Softmax()).constants(params, 0.7)
    exact = 0.49 * norms["A"] * norms["V"]
    assert exact * (1 - 1e-14) <= found.query <= exact * (1 + 1e-7)


def test_the_radius_grows_like_the_comparison_equation():
    params = {"A": [[1.0]], "V": [[1.0]]}
    exact = math.exp(0.5)
    assert exact <= stability(Softmax()).radius(params, 1.0, 0.5) <= 1.02 * exact
    exact = (1 - 2 * 0.4) ** -0.5
    assert exact <= stability(Linear()).radius(params, 1.0, 0.4) <= 1.05 * exact


def test_the_exponent_bounds_the_integral():
    params = {"A": [[1.0]], "V": [[1.0]]}
    times = np.linspace(0.0, 0.3, 2001)
    squares = np.exp(2 * times)
    exact = np.trapezoid(squares + (1 + 2 * squares) * np.exp(2 * squares), times)
    assert exact <= stability(Softmax()).exponent(params, 1.0, 0.3) <= 1.05 * exact


def test_linear_attention_is_bounded_up_to_the_blow_up_of_a_dirac():
    found = stability(Linear())
    assert not found.growth.is_global
    with pytest.raises(InputError, match="may end there"):
        found.exponent({"A": [[1.0]], "V": [[1.0]]}, 1.0, 0.5)


def test_nothing_moves_without_values():
    params = {"A": [[1.0]], "V": [[0.0]]}
    found = stability(Softmax())
    assert found.radius(params, 2.0, 5.0) == 2.0
    assert found.exponent(params, 2.0, 5.0) == 0.0


def test_a_mask_needs_a_sink_or_an_order_above_one():
    params = {"A": [[0.0]], "V": [[1.0]]}
    assert stability(Masked(Softmax(), sink=0.25)).constants(params).law == 4.0
    assert stability(Masked(Softmax())).constants(params, order=2).law == 2.0
    assert stability(Masked(Softmax(), sink=0.25)).constants(params, order=2).law == 2.0
    with pytest.raises(InputError, match="without a sink"):
        stability(Masked(Softmax())).constants(params, order=1)


def test_a_bound_that_is_too_small_fails_its_check():
    statement = Softmax().statement()
    weight = range_of(statement.score, statement.x, statement.y)
    small = type(weight)(weight.low, weight.high, weight.query / 2, weight.key, weight.mixed)
    assert RangeChecked(statement, statement.score, weight).run().passed
    assert not RangeChecked(statement, statement.score, small).run().passed
    found = stability(Softmax())
    steps = list(found.steps)
    index = next(i for i, step in enumerate(steps) if step.title.endswith("with the law"))
    wrong = type(steps[index].check)(statement, found.speed, found.query, found.law / 3, "law")
    steps[index] = type(steps[index])(**{**vars(steps[index]), "check": wrong})
    with pytest.raises(CheckFailed, match="with the law"):
        type(found)(**{**vars(found), "steps": tuple(steps)}).check()


def test_pickles():
    found = stability(MultiHead(Softmax()))
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (Softmax(diffusion=1), "noise"),
        (Attention("Heaviside(dot(x, A*y))"), "Heaviside"),
        (Attention("dot(kappa, y)"), "rename the parameter 'kappa'"),
        (Attention("log(dot(x, y))"), "may vanish"),
        (Masked(Sinkhorn()), "triangular"),
        ("softmax", "must be an attention model"),
    ],
    ids=["noise", "jump", "name", "log", "sinkhorn", "text"],
)
def test_what_has_no_constants_is_refused(model, match):
    with pytest.raises(InputError, match=match):
        stability(model)


@pytest.mark.parametrize(
    ("params", "options", "match"),
    [
        ({"A": [[1.0]]}, {}, "'V' is missing"),
        ({"A": [[1.0]], "V": [[1.0]], "Z": 1}, {}, "'Z' is unknown"),
        ({"A": [[1.0]], "V": [[1.0, 2.0]]}, {}, "'V"),
        ({"A": [[math.nan]], "V": [[1.0]]}, {}, "finite"),
        ({"A": [[1.0]], "V": [[1.0]]}, {"radius": -1.0}, "radius"),
        ({"A": [[1.0]], "V": [[1.0]]}, {"order": 0.5}, "order"),
    ],
)
def test_bad_numbers_are_refused(params, options, match):
    with pytest.raises(InputError, match=match):
        stability(Softmax()).constants(params, **options)


@pytest.mark.parametrize("model", [Softmax(space="sphere", beta=100), Unnormalised(beta=4)])
def test_a_bound_beyond_doubles_is_no_failure(model):
    """Whole runs grow at most like the exponential of a large number here, which no double holds."""
    assert stability(model).check()


@pytest.mark.parametrize(
    "model", [Softmax(space="sphere", beta=1e5), Linear(beta=1000), Sinkhorn(temperature="1/100")]
)
def test_steps_are_checked_at_any_scale(model):
    """The checks draw scores of order one; the constants are those of the model's own numbers."""
    found = stability(model)
    assert found.check()
    once = stability(type(model)(space=model.space)).constants({"A": [[1]], "V": [[1]]}, radius=1)
    assert found.constants({"A": [[1]], "V": [[1]]}, radius=1).query > once.query
