"""What every attention variant gets from being stated: ODE, LaTeX, kernel, run, proof, verification.

The tests run over the registry and over two variants that exist only here, so that a new variant is
tested with no new test file.
"""

import numpy as np
import pytest

import symflow
from symflow.derive.closure import gaussian_closure
from symflow.errors import NormaliserDiverges
from symflow.models.attention.model import AttentionModel
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


VARIANTS = [*attention_models().values(), SelfTerm]
CASES = [(variant, given) for variant in VARIANTS for given in variant().parametrisations()]


def label(value):
    return "-".join(sorted(value)) if isinstance(value, frozenset) else getattr(value, "name", None)


def draw(variant, given, d=3, k=2, seed=5):
    """Return small random parameters of the right shapes."""
    rng = np.random.default_rng(seed)
    statement = variant().statement(given)
    sizes = {"d": d, "k": k}
    shapes = {
        p.name: tuple(sizes.get(str(s), 1) for s in p.shape)
        for p in statement.parameters
        if hasattr(p, "shape")
    }
    return {name: 0.3 * rng.standard_normal(s if s[1] > 1 else s[0]) for name, s in shapes.items()}


def law(d=3, seed=6, scale=0.3):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((d, d))
    return symflow.Gaussian(rng.standard_normal(d), scale * factor @ factor.T / d)


@pytest.mark.parametrize(("variant", "given"), CASES, ids=label)
def test_every_step_of_the_derivation_checks(variant, given):
    assert gaussian_closure(variant(), given).check()


@pytest.mark.parametrize(("variant", "given"), CASES, ids=label)
def test_the_derivation_is_typeset(variant, given):
    derivation = gaussian_closure(variant(), given)
    document, fragment, page = derivation.to_latex(), derivation.to_latex(fragment=True), derivation.to_html()
    assert document.startswith("\\documentclass") and "\\documentclass" not in fragment
    assert r"\dot{\Sigma}" in fragment
    assert "<math" in page and "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(("variant", "given"), CASES, ids=label)
def test_the_kernel_equals_its_numpy_printer(variant, given):
    initial, values = law(), draw(variant, given)
    results = [
        symflow.compile(variant(), backend=backend)(0.0, initial.mean, initial.cov, **values)
        for backend in ("compiled", "numpy")
    ]
    for compiled, printed in zip(*results, strict=True):
        assert np.abs(compiled - printed).max() <= 1e-13 * max(1.0, np.abs(printed).max())


@pytest.mark.parametrize(("variant", "given"), CASES, ids=label)
def test_a_run_keeps_a_covariance_a_covariance(variant, given):
    run = symflow.solve(variant(), law(), draw(variant, given), (0.0, 0.5), t_eval=[0.0, 0.25, 0.5])
    assert run.status == "finished"
    for cov in run.cov:
        eigenvalues = np.linalg.eigvalsh(cov)
        assert (cov == cov.T).all() and eigenvalues[0] > -1e-14 * eigenvalues[-1]


@pytest.mark.parametrize("variant", VARIANTS, ids=label)
def test_that_gaussians_are_preserved_is_proved_and_replays(variant):
    verdict = symflow.check("gaussian-preservation", variant())
    assert verdict.status == "proved" and verdict.replay()


def test_a_throw_away_variant_is_verified():
    table = verify(SelfTerm())
    assert table.passed, table.to_json()


def test_a_diverging_normaliser_is_refused_by_name():
    values = draw(Repelled, None)
    with pytest.raises(NormaliserDiverges, match="normaliser of far-sighted") as caught:
        symflow.solve(Repelled(), symflow.Gaussian(np.zeros(3), np.eye(3)), values, (0.0, 1.0))
    assert caught.value.value == pytest.approx(2.0)


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_the_kernel_itself_refuses_where_the_normaliser_diverges(backend):
    values = draw(Repelled, None)
    kernel = symflow.compile(Repelled(), backend=backend)
    assert np.isfinite(kernel(0.0, np.zeros(3), 0.4 * np.eye(3), **values)[1]).all()
    # Two eigenvalues of I − ΣC are negative: its determinant does not tell.
    outside = np.diag([0.7, 0.8, 0.1])
    with pytest.raises(NormaliserDiverges):
        kernel(0.0, np.zeros(3), outside, **values)
    with pytest.raises(NormaliserDiverges):
        kernel.rhs(values)(0.0, np.concatenate([np.zeros(3), outside.ravel()]))


def test_below_the_divergence_the_same_variant_runs():
    values = draw(Repelled, None) | {"V": -np.eye(3)}
    run = symflow.solve(Repelled(), symflow.Gaussian(np.zeros(3), 0.2 * np.eye(3)), values, (0.0, 0.2))
    assert run.status == "finished"
