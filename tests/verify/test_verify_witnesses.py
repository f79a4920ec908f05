"""Each witness sees a wrong kernel, and the table holds what they say."""

from dataclasses import replace

import numpy as np
import pytest

from symflow.codegen.kernel import compile
from symflow.derive.closure import gaussian_closure
from symflow.errors import CheckFailed, NotGaussianPreserving
from symflow.models.attention.l2 import L2
from symflow.models.attention.linear import Linear
from symflow.models.attention.sigmoid import Sigmoid
from symflow.models.attention.sinkhorn import Sinkhorn
from symflow.models.attention.softmax import Softmax
from symflow.models.attention.user import Attention
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.verify import COLUMNS, verify
from symflow.verify.points import Point, adversarial_points, random_points
from symflow.verify.subject import Scale, Subject, drift
from symflow.verify.table import Row, Table
from symflow.verify.witnesses import WITNESSES, applicable

#: Those that resolve a relative error of a billionth; the others sample, or look at ``solve``.
PRECISE = (
    "exact_values",
    "printed_values",
    "components",
    "quadrature_on_the_line",
    "quadrature_in_the_plane",
    "scaling_on_a_grid",
)


@pytest.fixture(scope="module")
def subject():
    return Subject.of(L2(), frozenset({"Q", "K", "V"}))


def printed_subject(model, given):
    """A subject without a compiled kernel: what is tested here is the witnesses."""
    derivation = gaussian_closure(model.with_symbolic_scale(), given)
    kernels = [compile(derivation, backend="numpy") for _ in range(2)]
    return Subject(model, frozenset(given), derivation, *kernels)


class _Wrong:
    """A kernel whose right-hand side is off by a relative amount."""

    def __init__(self, kernel, amount):
        self._kernel, self._amount = kernel, amount
        self.backend = kernel.backend

    def __call__(self, t, *state, **params):
        mean, cov = self._kernel(t, *state, **params)
        return mean * (1 + self._amount), cov * (1 + self._amount)

    def rhs(self, params):
        right = self._kernel.rhs(params)
        return lambda t, y: right(t, y) * (1 + self._amount)


def mistaken(kind):
    """A variant that averages twice what it should."""
    return type(f"Twice{kind.__name__}", (kind,), {"value": f"2*({kind.value})"})()


class Sharper(Sinkhorn):
    """Its score is three times that of Sinkhorn attention, by mistake."""

    score = f"3*({Sinkhorn.score})"


def kernel_of(model, given):
    return compile(gaussian_closure(model.with_symbolic_scale(), given), backend="numpy")


FAULTS = {
    "softmax": (Softmax(), mistaken(Softmax), {"A", "V"}),
    "l2": (L2(), mistaken(L2), {"Q", "K", "V"}),
    "sinkhorn": (Sinkhorn(), mistaken(Sinkhorn), {"A", "V"}),
    "heads": (MultiHead(Softmax()), MultiHead(mistaken(Softmax)), {"A", "V", "W"}),
    "mask": (Masked(Linear()), Masked(mistaken(Linear)), {"A", "V"}),
    "layer and noise": (
        Linear(feed_forward=True, diffusion=0.1),
        replace(mistaken(Linear), feed_forward=True, diffusion=0.1),
        {"A", "V", "W", "c"},
    ),
}


@pytest.mark.parametrize(("model", "wrong", "given"), FAULTS.values(), ids=FAULTS)
def test_a_wrong_factor_in_the_kernel_is_caught_by_every_witness(model, wrong, given):
    subject = replace(printed_subject(model, given), compiled=kernel_of(wrong, given))
    witnesses = {w.__name__: w for w in applicable(subject)}
    del witnesses["scipy_integration"]  # it looks at ``solve``: see below
    passed = [name for name, witness in witnesses.items() if witness(subject, 0).passed]
    assert not passed
    assert len(witnesses) >= 6


@pytest.mark.parametrize("name", ["coupling", "scaling_on_a_grid", "components", "sampling"])
def test_a_wrong_factor_in_the_score_of_a_coupling_is_caught(name):
    subject = printed_subject(Sinkhorn(), {"A", "V"})
    (witness,) = (w for w in applicable(subject) if w.__name__ == name)
    assert witness(subject, 0).passed
    assert not witness(replace(subject, compiled=kernel_of(Sharper(), {"A", "V"})), 0).passed


@pytest.mark.parametrize("model", [Softmax(diffusion=0.1), Masked(Linear(diffusion=0.1), sink=0.5)])
def test_particles_see_a_wrong_factor_of_the_noise(model):
    subject = printed_subject(model, {"A", "V"})
    (witness,) = (w for w in applicable(subject) if w.__name__ == "noisy_particles")
    assert witness(subject, 0).passed

    class Noisier:
        def rhs(self, params):
            return subject.printed.rhs(dict(params) | {"diffusion": 2 * params["diffusion"]})

    assert not witness(replace(subject, compiled=Noisier()), 0).passed


@pytest.mark.parametrize("name", PRECISE)
def test_a_kernel_that_is_off_by_a_billionth_fails(subject, name):
    if name == "scaling_on_a_grid":
        subject = printed_subject(Sinkhorn(), {"A", "V"})
    (witness,) = (w for w in applicable(subject) if w.__name__ == name)
    assert witness(subject, 0).passed
    wrong = replace(subject, compiled=_Wrong(subject.compiled, 1e-9))
    row = witness(wrong, 0)
    assert not row.passed
    assert row.worst


def test_sampling_sees_an_error_beyond_its_resolution(subject):
    (sampling,) = (w for w in WITNESSES if w.__name__ == "sampling")
    assert sampling(subject, 0).passed
    assert not sampling(replace(subject, compiled=_Wrong(subject.compiled, 0.2)), 0).passed


def test_integration_sees_a_wrong_printer(subject):
    (integration,) = (w for w in WITNESSES if w.__name__ == "scipy_integration")
    assert integration(subject, 0).passed
    assert not integration(replace(subject, printed=_Wrong(subject.printed, 1e-6)), 0).passed


def test_a_kernel_that_returns_nan_fails(subject):
    row = WITNESSES[0](replace(subject, compiled=_Wrong(subject.compiled, np.nan)), 0)
    assert not row.passed
    assert row.error == float("inf")


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
    laws = [row for row in table if row.model == "tilted-for-a-test"]
    per_form = len(applicable(Subject.of(Tilted(), frozenset(Tilted.parameters))))
    assert len(laws) == per_form * len(Tilted().parametrisations())
    assert {row.model for row in table} == {"tilted-for-a-test", "tilted-for-a-test, tokens on ℝᵈ"}


def test_a_shipped_model_by_name_also_compares_thread_counts():
    seen = []
    table = verify("softmax", {"A", "V"}, progress=seen.append)
    assert table.passed
    assert any("BLAS" in row.witness for row in table)
    assert len(seen) == len(table) + 3  # the derivations, one per space and one of the laws, have no row


@pytest.mark.parametrize("model", ["sigmoid", "unnormalised", Masked(Softmax())])
def test_of_what_does_not_close_the_counterexample_is_verified(model):
    table = verify(model, {"A", "V"})
    assert table.passed
    refuted = [row for row in table if "tokens" not in row.model]
    assert [row.quantity for row in refuted] == ["Gaussians are not preserved"]
    assert all("≠ 0" in row.note for row in refuted)


def test_a_counterexample_with_a_wrong_number_fails(monkeypatch):
    with pytest.raises(NotGaussianPreserving) as caught:
        gaussian_closure(Sigmoid())
    witness = caught.value.witness
    forged = replace(witness, value=2 * witness.value)
    with pytest.raises(CheckFailed):
        forged.check()

    def refuse(*_):
        raise NotGaussianPreserving("", forged)

    monkeypatch.setattr("symflow.verify.subject.gaussian_closure", refuse)
    table = verify("sigmoid", {"A", "V"})
    assert not table.passed
    assert "quadrature gives" in next(iter(table)).worst


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (MultiHead(Softmax()), {"A", "V", "W"}),
        (Masked(Linear(), sink=0.25), {"A", "V"}),
        (Softmax(feed_forward=True, diffusion=0.1), {"A", "V", "W", "c"}),
    ],
    ids=["heads", "mask", "layer and noise"],
)
def test_compositions_are_verified_and_labelled(model, given):
    table = verify(model, given)
    assert table.passed, table.to_json()
    labels = {row.parametrisation for row in table if row.parametrisation}
    assert any("tokens" in row.model for row in table) == model.noise.is_zero
    noise = [] if model.noise.is_zero else ["diffusion"]
    assert labels == {", ".join([*sorted(given), *noise])}


def test_sinkhorn_is_verified():
    subject = Subject.of(Sinkhorn(), frozenset({"Q", "K", "V", "bq", "bk", "bv", "bo"}))
    rows = [witness(subject, 0) for witness in applicable(subject)]
    assert all(row.passed for row in rows), rows
    (grid,) = (row for row in rows if row.witness.startswith("Sinkhorn"))
    assert "residual" in grid.worst


def test_witnesses_apply_by_normalisation_and_noise():
    names = {
        key: {w.__name__ for w in applicable(printed_subject(model, {"A", "V"}))}
        for key, model in {"plain": Softmax(), "scaled": Sinkhorn(), "noisy": Linear(diffusion=1)}.items()
    }
    assert names["plain"] - names["scaled"] == {"quadrature_on_the_line", "quadrature_in_the_plane"}
    assert names["scaled"] - names["plain"] == {"scaling_on_a_grid", "coupling"}
    assert names["noisy"] - names["plain"] == {"noisy_particles"}


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
