"""Every example runs as its comment says; the specs of published figures hold the published draws."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symflow import L2, MultiHead, Softmax, check, gaussian_closure, long_time, solve
from symflow.claims import claims
from symflow.spec import load_spec

FOLDER = Path(__file__).parents[1] / "examples"
SMALL = sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem != "minilm-head")
PAPER = sorted(path.stem for path in (FOLDER / "paper").glob("*.toml"))
DEFINITION = sorted(path.stem for path in (FOLDER / "paper" / "definition").glob("*.toml"))
BLOW_UP = {"softmax-blow-up", "blow-up-softmax", "blow-up-multihead"}


@cache
def _run(name: str, **changes: Any) -> Any:
    spec = load_spec(FOLDER / f"{name}.toml")
    if spec.network is not None:
        return spec.deep_transformer().run(spec.initial, spec.noise.seed)
    return solve(spec.model, spec.initial, spec.parameters, spec.t_span, t_eval=spec.t_eval, **spec.solver)


def _spectrum(name: str) -> np.ndarray[Any, Any]:
    """Return the last eigenvalues in decreasing order, from the singular values of the factor."""
    return np.linalg.svd(_run(name).factor[-1], compute_uv=False) ** 2


@pytest.mark.parametrize(
    "name", [*SMALL, *(f"paper/{n}" for n in PAPER), *(f"paper/definition/{n}" for n in DEFINITION)]
)
def test_the_status_is_the_one_of_the_comment(name: str) -> None:
    expected = "blow-up" if Path(name).stem in BLOW_UP else "finished"
    assert _run(name).status == expected
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("name", ["softmax-zero", "softmax-line", "softmax-plane", "multihead"])
def test_the_limit_has_the_rank_of_the_comment(name: str) -> None:
    """What is off the limit decays like 1/t: below a fifth of the limit's smallest eigenvalue at the end."""
    spec = load_spec(FOLDER / f"{name}.toml")
    found = long_time(spec.model, spec.initial, spec.parameters)
    expected = {"softmax-zero": 0, "softmax-line": 1, "softmax-plane": 2, "multihead": 1}[name]
    assert found.limit_rank == expected
    limit = np.sort(np.linalg.eigvalsh(np.array(found.limit, float)))[::-1]
    assert _spectrum(name)[expected:].max() < 0.2 * (limit[expected - 1] if expected else 1.0)


def test_the_law_of_two_heads_ends_on_the_line_that_neither_sees() -> None:
    _, axes = np.linalg.eigh(_run("multihead").cov[-1])
    spread = 0.01  # the rest is 0.0099 of a largest eigenvalue of 1.07
    assert abs(axes[:, -1] @ [1, -1, 1]) / np.sqrt(3) > 1 - spread


def test_one_model_collapses_or_blows_up() -> None:
    values = _spectrum("softmax-both")
    assert values[1] < 1e-12 * values[0]
    spec = load_spec(FOLDER / "softmax-both.toml")
    assert spec.initial is not None
    for correlation in (0.0, 0.75):
        law = type(spec.initial)([0, 0], [[1, correlation], [correlation, 1]])
        assert solve(spec.model, law, spec.parameters, (0, 20)).status == "blow-up"


def test_noise_tends_to_the_steady_state_of_the_comment() -> None:
    spec = load_spec(FOLDER / "layer-and-noise.toml")
    cov, A, W = _run("layer-and-noise").cov[-1], spec.parameters["A"], spec.parameters["W"]
    drift = cov @ A @ cov + W @ cov
    np.testing.assert_allclose(drift + drift.T + 2 * 0.1 * np.eye(2), 0, atol=1e-9)


def test_sinkhorn_decouples_and_decays() -> None:
    run = _run("sinkhorn")
    np.testing.assert_allclose(run.mean, np.exp(-run.t / 2)[:, None] * [1.0, -0.5], rtol=1e-7, atol=1e-11)


def test_an_attention_sink_is_heard_at_every_position() -> None:
    cov = _run("masked-linear").cov
    assert cov.shape[1:] == (4, 2, 2)
    traces = np.trace(cov[-1], axis1=1, axis2=2)
    assert (np.diff(traces) < 0).all()  # the later a position, the more it listens to, the more it contracts


def test_the_score_of_the_comment_closes() -> None:
    spec = load_spec(FOLDER / "distance-score.toml")
    assert gaussian_closure(spec.model).check()


# ---- published figures


def _indefinite(seed: int, wanted: Any) -> tuple[Any, Any]:
    draws = np.random.RandomState(seed)
    while True:
        Q, K = draws.randn(2, 2), draws.randn(2, 2)
        if wanted(np.linalg.eigvalsh(K.T @ Q + Q.T @ K)):
            return Q, K


def _published(group: str) -> tuple[Any, Any, Any]:
    """Return Q, K, V as the published experiments draw them."""
    draws = np.random.RandomState(35 if group == "zero" else 36)
    if group == "zero":
        Q, V = draws.rand(2, 2), draws.randn(2, 2)
        return Q, -Q, V @ V.T
    if group in ("line", "plane"):
        q = draws.randn(1, 2)
        q /= np.linalg.norm(q)
        return q, -q, np.eye(2)
    if group in ("blow-up", "divergence"):
        return *_indefinite(33, lambda w: w[0] > 0), np.eye(2)
    Q, K = _indefinite(36, lambda w: w[0] * w[1] < 0)
    draws = np.random.RandomState(32 if group == "two-lines" else 35)
    if group == "both":
        draws.randn(8, 7)
    return Q, K, draws.randn(2, 2)


@pytest.mark.parametrize(
    "name", [*(f"paper/{n}" for n in PAPER), *(f"paper/definition/{n}" for n in DEFINITION)]
)
def test_the_numbers_are_the_published_draws(name: str) -> None:
    group = Path(name).stem.rsplit("-", 1)[0]
    Q, K, V = _published(group)
    found = load_spec(FOLDER / f"{name}.toml").parameters
    for given, drawn in (("Q", Q), ("K", K), ("V", V)):
        value = found[given].reshape(-1, 2)
        np.testing.assert_allclose(value[: len(drawn)], drawn, atol=5.1e-5)  # four decimals
        np.testing.assert_array_equal(value[len(drawn) :], 0.0)  # the head without a query
    if "W" in found:
        np.testing.assert_array_equal(found["W"][..., 0], np.eye(2))


@pytest.mark.parametrize("name", PAPER)
def test_the_scale_is_the_authors(name: str) -> None:
    """One evaluation of their covariance equation, typed here, against the derived one."""
    group, variant = name.rsplit("-", 1)
    spec = load_spec(FOLDER / "paper" / f"{name}.toml")
    Q, K, V = (spec.parameters[key].reshape(-1, 2) for key in "QKV")
    S = spec.initial.cov if spec.initial else None
    A, eye = K.T @ Q / np.sqrt(2), np.eye(2)
    if variant == "l2":
        half = 2 * V @ S @ np.linalg.solve(eye + 2 * K.T @ K @ S, A @ S)
    elif variant == "sinkhorn":
        return  # no scale
    elif variant == "multihead" and group != "both":
        half = sum(np.outer(eye[h], V[h]) @ S @ np.outer(K[h], Q[h]) @ S for h in range(2))
    else:
        half = V @ S @ A @ S
    step = 1e-6
    run = solve(
        spec.model, spec.initial, spec.parameters, (0, step), t_eval=[0, step], rtol=1e-12, atol=1e-15
    )
    # the difference quotient is off by step/2 · |Σ''|, below 1e-5 here
    np.testing.assert_allclose((run.cov[-1] - run.cov[0]) / step, half + half.T, atol=1e-5)


def test_without_a_scale_of_their_own_the_specs_are_the_shipped_models() -> None:
    for name in DEFINITION:
        model = load_spec(FOLDER / "paper" / "definition" / f"{name}.toml").model
        assert model in (Softmax(), L2(), MultiHead(Softmax()))


@pytest.mark.parametrize("name", [name for name in DEFINITION if name.endswith("softmax")])
def test_softmax_only_changes_its_clock(name: str) -> None:
    """Σ' is linear in A: the authors' run at time √2·t is the definition's at t."""
    spec = load_spec(FOLDER / "paper" / f"{name}.toml")
    other = load_spec(FOLDER / "paper" / "definition" / f"{name}.toml")
    end = 0.4
    slow = solve(spec.model, spec.initial, spec.parameters, (0, np.sqrt(2) * end))
    fast = solve(other.model, other.initial, other.parameters, (0, end))
    np.testing.assert_allclose(slow.cov[-1], fast.cov[-1], rtol=1e-7)


# ---- energies


@pytest.mark.parametrize(
    ("claim", "name", "status"),
    [
        ("convexity", "convex", "proved"),
        ("convexity", "not-convex", "refuted"),
        ("saddle", "saddle", "proved"),
    ],
)
def test_the_verdict_on_an_energy_is_the_one_of_the_comment(claim: str, name: str, status: str) -> None:
    entry = claims()[claim]
    assert entry.from_text is not None
    verdict = check(claim, *entry.from_text(str(FOLDER / "energies" / f"{name}.toml")))
    assert verdict.status == status
    assert verdict.replay()
    assert "replayed" in verdict.to_latex()
