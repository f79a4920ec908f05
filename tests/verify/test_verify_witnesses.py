"""Each witness sees a wrong kernel, and the independent routes agree with closed forms that share no code."""

from dataclasses import replace

import numpy as np
import pytest

from symflow.errors import InputError
from symflow.models.attention.l2 import L2
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.verify import COLUMNS, verify
from symflow.verify.components import closure_by_components
from symflow.verify.definition import sampled_velocity, velocity_at_fifty_digits, velocity_on_lattice
from symflow.verify.evaluate import context
from symflow.verify.points import Point, adversarial_points, random_points
from symflow.verify.subject import Scale, Subject, drift
from symflow.verify.table import Row, Table
from symflow.verify.witnesses import WITNESSES


@pytest.fixture(scope="module")
def subject():
    return Subject.of(L2(), frozenset({"Q", "K", "V"}))


class _Wrong:
    """A kernel whose covariance is off by a relative amount."""

    def __init__(self, kernel, amount):
        self._kernel, self._amount = kernel, amount
        self.backend = kernel.backend

    def __call__(self, t, *state, **params):
        mean, cov = self._kernel(t, *state, **params)
        return mean * (1 + self._amount), cov * (1 + self._amount)


@pytest.mark.parametrize(
    "witness", [w for w in WITNESSES if w.__name__ not in ("scipy_integration", "sampling")]
)
def test_a_kernel_that_is_off_by_a_billionth_fails(subject, witness):
    assert witness(subject, 0).passed
    wrong = replace(subject, compiled=_Wrong(subject.compiled, 1e-9))
    row = witness(wrong, 0)
    assert not row.passed
    assert row.worst


def test_sampling_sees_an_error_beyond_its_resolution(subject):
    (sampling,) = (w for w in WITNESSES if w.__name__ == "sampling")
    assert sampling(subject, 0).passed
    assert not sampling(replace(subject, compiled=_Wrong(subject.compiled, 0.1)), 0).passed


def test_integration_sees_a_wrong_printer(subject):
    (integration,) = (w for w in WITNESSES if w.__name__ == "scipy_integration")
    assert integration(subject, 0).passed

    class Printed:
        def rhs(self, params):
            right = subject.printed.rhs(params)
            return lambda t, y: right(t, y) * (1 + 1e-6)

    assert not integration(replace(subject, printed=Printed()), 0).passed


def test_a_kernel_that_returns_nan_fails(subject):
    row = WITNESSES[0](replace(subject, compiled=_Wrong(subject.compiled, np.nan)), 0)
    assert not row.passed
    assert row.error == float("inf")


def test_components_and_quadrature_give_the_closed_form_of_softmax():
    statement = Softmax().statement({"A", "V"})
    A, V = np.array([[0.3, 0.7], [-0.2, -0.5]]), np.array([[1.0, 0.5], [0.0, 2.0]])
    mean, cov = np.array([0.1, -0.4]), np.array([[2.0, 0.5], [0.5, 1.0]])
    params, sizes = {"A": A, "V": V}, {"d": 2}
    half = V @ cov @ A @ cov
    alpha, sigma = closure_by_components(statement, params, sizes, mean, cov)
    np.testing.assert_allclose(np.array(alpha, float).ravel(), V @ (mean + cov @ A @ mean), rtol=1e-14)
    np.testing.assert_allclose(np.array(sigma, float), half + half.T, rtol=1e-14)
    x = np.array([0.7, -0.3])
    wanted = V @ (mean + cov @ A @ x)
    np.testing.assert_allclose(
        velocity_on_lattice(statement, params, sizes, (mean, cov), x), wanted, rtol=1e-12
    )
    rng = np.random.default_rng(1)
    found, error = sampled_velocity(statement, params, sizes, (mean, cov), x, 100_000, rng)
    assert (np.abs(found - wanted) < 5 * error).all()  # p < 1e-6 for a correct estimator
    assert (error < 0.05).all()


def test_quadrature_on_the_line_reaches_fifty_digits():
    statement = L2().statement({"Q", "K", "V"})
    params = {"Q": np.array([[0.5]]), "K": np.array([[0.75]]), "V": np.array([[2.0]])}
    ctx = context()
    found = velocity_at_fifty_digits(
        statement, params, (np.array([0.25]), np.array([[1.5]])), ctx.mpf(-0.5), ctx
    )
    m, s, q, k, x = (ctx.mpf(v) for v in (0.25, 1.5, 0.5, 0.75, -0.5))
    wanted = 2 * (m + 2 * s * k * q * x) / (1 + 2 * s * k**2)
    assert abs(found - wanted) < ctx.mpf(10) ** -45


def test_components_refuse_a_diverging_normaliser():
    statement = Attention("dot(y, x) + dot(y, C*y)/2").statement()
    params = {"C": np.array([[3.0]]), "V": np.array([[1.0]])}
    with pytest.raises(InputError, match="diverges"):
        closure_by_components(statement, params, {"d": 1}, np.array([0.0]), np.array([[1.0]]))


def test_adversarial_points_cover_the_edges(subject):
    points = {p.name: p for p in adversarial_points(subject.flow, 3, 0)}
    assert {"zero covariance", "covariance of rank one", "beta = 1e+06", "tiny state", "huge state"} <= set(
        points
    )
    assert np.linalg.matrix_rank(points["covariance of rank one"].state[1]) == 1
    assert not points["zero covariance"].state[1].any()
    assert np.linalg.cond(points["nearly singular covariance"].state[1]) > 1e13
    for point in points.values():
        assert (point.state[1] == point.state[1].T).all()


def test_points_stay_where_the_normaliser_is_finite():
    model = Attention("dot(Q*x, K*y) + 4*dot(y, C*y)")
    subject = Subject.of(model, frozenset(model.parameters))
    for point in random_points(subject.flow, 3, 5, 0):
        tilt = 8 * (point.params["C"] + point.params["C"].T) / 2
        tilt = tilt * point.params["beta"] / point.params["temperature"]
        root = np.linalg.cholesky(point.state[1])
        assert np.linalg.eigvalsh(root.T @ tilt @ root)[-1] < 1
    assert WITNESSES[0](subject, 0).passed


def test_points_do_not_depend_on_what_was_drawn_before(subject):
    first = next(random_points(subject.flow, 3, 1, 0))
    list(random_points(subject.flow, 2, 4, 9))
    again = next(random_points(subject.flow, 3, 1, 0))
    np.testing.assert_array_equal(first.state[1], again.state[1])


class Tilted(Softmax):
    """A variant that exists only here."""

    name = "tilted-for-a-test"
    score = "dot(Q*x, K*y) - dot(y, D.T*D*y)/2 + dot(c, y)"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "D": ("k", "d"), "c": ("d",), "V": ("d", "d")}
    biases = {}
    value = "V*y"
    output = ""


def test_a_throw_away_variant_is_verified_by_its_declaration_alone():
    table = verify(Tilted())
    assert table.passed
    assert {row.model for row in table} == {"tilted-for-a-test"}
    assert len(table) == len(WITNESSES) * len(Tilted().parametrisations())


def test_a_shipped_model_by_name_also_compares_thread_counts():
    seen = []
    table = verify("softmax", {"A", "V"}, progress=seen.append)
    assert table.passed
    assert any("BLAS" in row.witness for row in table)
    assert len(seen) == len(table)


def test_the_table_is_plain_data():
    row = Row("softmax", "A, V", "right-hand side", "witness", 3, 1.5, 64.0, True)
    table = Table((row,))
    assert table.to_json()["rows"][0]["tolerance"] == 64.0
    assert table.to_rows() == [("softmax", "A, V", "right-hand side", "witness", 3, 1.5, 64.0, True)]
    assert len(COLUMNS) == len(table.to_rows()[0])
    assert not Table(()).passed
    assert not Table((row, replace(row, passed=False))).passed


def test_cancellation_at_a_large_beta_is_no_false_alarm():
    """C046: βΣA ≈ −I at β = 50 leaves 1e-12 of terms of size 1, and errors are measured by the terms."""
    subject = Subject.of(Softmax(), frozenset({"A", "V"}))
    params = {
        "A": np.array([[-(1 + 1e-12) / 50]]),
        "V": np.eye(1),
        "beta": np.array(50.0),
        "temperature": np.array(1.0),
    }
    point = Point("cancelling", {"d": 1}, (np.array([1 / 3]), np.eye(1)), params)
    scale = Scale.at(subject.flow, point)
    for kernel in (subject.compiled, subject.printed):
        values = drift(kernel, point)
        assert scale.ulps(values) < 4
        left = float(scale.exact[0][0, 0])
        assert abs(left) < 1e-11
        assert abs(float(values[0][0]) - left) > 1e-8 * abs(
            left
        )  # a comparison relative to what is left would fail


@pytest.mark.parametrize("model", [Softmax(), L2()])
def test_a_large_beta_stays_within_the_tolerance(model):
    """C046: adversarial points at β = 50, against fifty digits."""
    subject = Subject.of(model, frozenset({"Q", "K", "V"}))
    for point in adversarial_points(subject.flow, 3, 0):
        sharp = replace(point, params={**point.params, "beta": np.array(50.0)})
        assert Scale.at(subject.flow, sharp).ulps(drift(subject.compiled, sharp)) < 64


def test_a_score_that_a_root_of_the_dimension_scales():
    """1/√d is neither rational nor a parameter."""
    model = Attention("(dot(Q*x, K*y) + dot(y, C*y)/2)/sqrt(d)")
    subject = Subject.of(model, frozenset({"Q", "K", "V", "C"}))
    named = ("exact_values", "printed_values", "components", "quadrature_on_the_line")
    rows = [witness(subject, 0) for witness in WITNESSES if witness.__name__ in named]
    assert len(rows) == len(named)
    assert all(row.passed for row in rows)
