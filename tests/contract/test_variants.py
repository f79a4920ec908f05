"""What every attention variant gets from being stated: ODE, LaTeX, kernel, run, proof, verification.

The tests run over the registry and over two variants that exist only here, so that a new variant is
tested with no new test file. What it gets depends on whether it keeps Gaussians Gaussian: equations, or
a witness that there are none.
"""

import numpy as np
import pytest

import symflow
from symflow.derive.closure import gaussian_closure
from symflow.errors import ClosureUndecided, NormaliserDiverges, NotGaussianPreserving
from symflow.models.attention.model import AttentionModel
from symflow.models.combinators.masked import Masked
from symflow.models.combinators.multihead import MultiHead
from symflow.models.registry import attention_models
from symflow.verify import verify


class SelfTerm(AttentionModel):
    """A throw-away variant: softmax attention with a term ½yᵀCy and a linear term."""

    name = "self-term"
    title = "Softmax attention with a self term"
    score = "dot(Q*x, K*y) + dot(y, C*y)/2 + dot(c, y)"
    value = "V*y"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d"), "C": ("d", "d"), "c": ("d",)}


class Repelled(AttentionModel):
    """A throw-away variant whose normaliser diverges once Σ reaches ½: keys far away weigh more."""

    name = "far-sighted"
    title = "Far-sighted attention"
    score = "dot(Q*x, K*y) + norm2(y)"
    value = "V*y"
    parameters = {"Q": ("k", "d"), "K": ("k", "d"), "V": ("d", "d")}


def closes(model):
    """Whether a closure is derived."""
    try:
        gaussian_closure(model)
    except (NotGaussianPreserving, ClosureUndecided):
        return False
    return True


VARIANTS = [variant() for variant in (*attention_models().values(), SelfTerm)]
CLOSED = [model for model in VARIANTS if closes(model)]
NOT_CLOSED = [model for model in VARIANTS if model not in CLOSED]
CASES = [(model, given) for model in CLOSED for given in model.parametrisations()]
#: Heads of every closed variant in their shortest form, and masks where they are closed too.
HEADS = [(model, min(model.parametrisations(), key=len)) for model in map(MultiHead, CLOSED) if closes(model)]
#: Those of which kernels are built: with an inverse in every head, and without.
BUILT = [(model, given) for model, given in HEADS if model.name in ("multihead-l2", "multihead-softmax")]
MASKS = [(model, min(model.parametrisations(), key=len)) for model in map(Masked, CLOSED) if closes(model)]


def label(value):
    return "-".join(sorted(value)) if isinstance(value, frozenset) else getattr(value, "name", None)


def draw(model, given, d=3, k=2, heads=2, seed=5):
    """Return small random parameters of the right shapes."""
    rng = np.random.default_rng(seed)
    statement = model.statement(given)
    sizes = {"d": d, "k": k}
    values = {}
    for p in statement.parameters:
        if hasattr(p, "shape"):
            shape = tuple(sizes.get(str(size), 1) for size in p.shape)
            shape = shape if shape[1] > 1 else shape[:1]
            leading = (heads,) if p.name in statement.stacked else ()
            values[p.name] = 0.3 * rng.standard_normal(leading + shape)
    return values


def law(d=3, seed=6, scale=0.3):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((d, d))
    return symflow.Gaussian(rng.standard_normal(d), scale * factor @ factor.T / d)


@pytest.mark.parametrize(("model", "given"), [*CASES, *HEADS, *MASKS], ids=label)
def test_every_step_of_the_derivation_checks(model, given):
    assert gaussian_closure(model, given).check()


@pytest.mark.parametrize(("model", "given"), [*CASES, *HEADS, *MASKS], ids=label)
def test_the_derivation_is_typeset(model, given):
    derivation = gaussian_closure(model, given)
    document, fragment, page = derivation.to_latex(), derivation.to_latex(fragment=True), derivation.to_html()
    assert document.startswith("\\documentclass") and "\\documentclass" not in fragment
    assert r"\dot{\Sigma}" in fragment
    assert "<math" in page and "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(("model", "given"), [*CASES, *BUILT], ids=label)
def test_the_kernel_equals_its_numpy_printer(model, given):
    initial, values = law(), draw(model, given)
    results = [
        symflow.compile(model, backend=backend)(0.0, initial.mean, initial.cov, **values)
        for backend in ("compiled", "numpy")
    ]
    for compiled, printed in zip(*results, strict=True):
        assert np.abs(compiled - printed).max() <= 1e-13 * max(1.0, np.abs(printed).max())


@pytest.mark.parametrize(("model", "given"), [*CASES, *BUILT], ids=label)
def test_a_run_keeps_a_covariance_a_covariance(model, given):
    run = symflow.solve(model, law(), draw(model, given), (0.0, 0.5), t_eval=[0.0, 0.25, 0.5])
    assert run.status == "finished"
    for cov in run.cov:
        eigenvalues = np.linalg.eigvalsh(cov)
        assert (cov == cov.T).all() and eigenvalues[0] > -1e-14 * eigenvalues[-1]


@pytest.mark.parametrize("model", CLOSED, ids=label)
def test_that_gaussians_are_preserved_is_proved_and_replays(model):
    verdict = symflow.check("gaussian-preservation", model)
    assert verdict.status == "proved" and verdict.replay()


@pytest.mark.parametrize("model", NOT_CLOSED, ids=label)
def test_where_gaussians_are_not_preserved_there_is_a_witness(model):
    with pytest.raises(NotGaussianPreserving) as refused:
        gaussian_closure(model)
    assert refused.value.witness is not None
    verdict = symflow.check("gaussian-preservation", model)
    assert verdict.status == "refuted" and verdict.replay()


@pytest.mark.parametrize("model", NOT_CLOSED, ids=label)
def test_there_is_no_kernel_without_a_closure(model):
    with pytest.raises(NotGaussianPreserving):
        symflow.compile(model)(0.0, law().mean, law().cov, **draw(model, None))


def test_a_throw_away_variant_is_verified():
    table = verify(SelfTerm(), {"A", "V", "C", "c"})
    assert table.passed, table.to_json()


def test_a_diverging_normaliser_is_refused_by_name():
    values = draw(Repelled(), None)
    with pytest.raises(NormaliserDiverges, match="normaliser of far-sighted") as caught:
        symflow.solve(Repelled(), symflow.Gaussian(np.zeros(3), np.eye(3)), values, (0.0, 1.0))
    assert caught.value.value == pytest.approx(2.0)


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_the_kernel_itself_refuses_where_the_normaliser_diverges(backend):
    values = draw(Repelled(), None)
    kernel = symflow.compile(Repelled(), backend=backend)
    assert np.isfinite(kernel(0.0, np.zeros(3), 0.4 * np.eye(3), **values)[1]).all()
    # Two eigenvalues of I − ΣC are negative: its determinant does not tell.
    outside = np.diag([0.7, 0.8, 0.1])
    with pytest.raises(NormaliserDiverges):
        kernel(0.0, np.zeros(3), outside, **values)
    with pytest.raises(NormaliserDiverges):
        kernel.rhs(values)(0.0, np.concatenate([np.zeros(3), outside.ravel()]))


def test_below_the_divergence_the_same_variant_runs():
    values = draw(Repelled(), None) | {"V": -np.eye(3)}
    run = symflow.solve(Repelled(), symflow.Gaussian(np.zeros(3), 0.2 * np.eye(3)), values, (0.0, 0.2))
    assert run.status == "finished"
