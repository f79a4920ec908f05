"""Ensembles: the same as single runs, to the bit whatever the neighbours; ends, interruption, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

from symflow import L2, Attention, Ensemble, Gaussian, Linear, Masked, MultiHead, Softmax, ensemble, solve
from symflow.errors import InputError, NormaliserDiverges

RTOL = 1e-9
#: Both runs control their local errors at RTOL; over this horizon global errors stay within 100 of them.
CLOSE = 100 * RTOL


def laws(count: int, d: int, seed: int = 0) -> list[Gaussian]:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(count, d, d)) / np.sqrt(d)
    return [Gaussian(rng.normal(size=d), m @ m.T + 0.3 * np.eye(d)) for m in roots]


def matrices(d: int, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "A": -np.eye(d) + 0.2 * rng.normal(size=(d, d)) / np.sqrt(d),
        "V": np.eye(d) + 0.2 * rng.normal(size=(d, d)) / np.sqrt(d),
    }


def same(a: Ensemble, b: Ensemble) -> bool:
    """Whether two ensembles agree to the bit."""
    names = ("t", "mean", "factor", "t_star", "nfev", "last_t", "last_mean", "last_factor")
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=n != "nfev") for n in names) and bool(
        (a.status == b.status).all()
    )


def assert_like_single_runs(
    runs: Ensemble, model: Any, initials: Any, params: Any, span: Any, **more: Any
) -> None:
    for i in range(len(runs)):
        single = solve(model, initials[i], params, span, **more)
        member = runs.member(i)
        assert member.status == single.status
        if single.t_star is not None:
            assert member.t_star == pytest.approx(single.t_star, rel=1e-8)
        rows = min(member.t.size, single.t.size) - (single.status != "finished")
        np.testing.assert_array_equal(member.t[:rows], single.t[:rows])
        np.testing.assert_allclose(member.mean[:rows], single.mean[:rows], rtol=CLOSE, atol=CLOSE)
        np.testing.assert_allclose(member.cov[:rows], single.cov[:rows], rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("span", [(0.0, 2.0), (1.0, -0.2)])
def test_members_are_single_runs_forwards_and_backwards(span: tuple[float, float]) -> None:
    initials, params = laws(19, 2), matrices(2)
    times = np.linspace(*span, 9)
    runs = ensemble(Softmax(), initials, params, span, t_eval=times)
    assert runs.backend == "lanes"
    assert_like_single_runs(runs, Softmax(), initials, params, span, t_eval=times)


def test_a_turned_factor_solves_the_equations_of_the_covariance() -> None:
    # V = I: the exact solution is Σ(t)⁻¹ = Σ₀⁻¹ − t(A + Aᵀ)
    initials, params = laws(11, 3), matrices(3) | {"V": np.eye(3)}
    runs = ensemble(Softmax(), initials, params, (0, 10))
    drift = params["A"] + params["A"].T
    exact = np.array([np.linalg.inv(np.linalg.inv(law.cov) - 10.0 * drift) for law in initials])
    assert (np.triu(runs.factor[:, -1], 1) == 0.0).all()
    np.testing.assert_allclose(runs.cov[:, -1], exact, rtol=CLOSE, atol=CLOSE)


def test_a_solve_with_pivots_in_every_lane() -> None:
    rng = np.random.default_rng(3)
    params = {name: rng.normal(size=(2, 2)) for name in ("Q", "K", "V")}
    initials = laws(9, 2)
    runs = ensemble(L2(), initials, params, (0, 0.5))
    assert runs.backend == "lanes"
    assert_like_single_runs(runs, L2(), initials, params, (0, 0.5), t_eval=[0, 0.5])


def test_bits_do_not_depend_on_lane_chunk_thread_or_neighbours() -> None:
    initials, params, span = laws(53, 2), matrices(2), (0, 3.0)
    params["V"] = np.stack([params["V"] + 0.01 * i for i in range(53)])
    whole = ensemble(Softmax(), initials, params, span, t_eval=[0.5, 1.7, 3.0])
    for threads, chunk in ((1, 7), (2, 1), (2, 10), (3, 53)):
        again = ensemble(Softmax(), initials, params, span, t_eval=whole.t, threads=threads, chunk=chunk)
        assert same(whole, again)
    order = np.random.default_rng(0).permutation(53)[:21]
    some = ensemble(
        Softmax(), [initials[i] for i in order], params | {"V": params["V"][order]}, span, t_eval=whole.t
    )
    assert np.array_equal(some.factor, whole.factor[order])
    assert np.array_equal(some.mean, whole.mean[order])
    assert np.array_equal(some.nfev, whole.nfev[order])


def test_blow_up_is_told_per_member_and_does_not_disturb_the_others() -> None:
    # d = 1, V = A = 1: Σ' = 2Σ², so t* = 1/(2Σ₀)
    sigmas = np.linspace(0.1, 4.0, 33)
    runs = ensemble(Softmax(), [Gaussian([1.0], [[s]]) for s in sigmas], {"A": [[1.0]], "V": [[1.0]]}, (0, 1))
    blown = 0.5 / sigmas < 1.0
    assert (runs.status[blown] == "blow-up").all()
    assert (runs.status[~blown] == "finished").all()
    np.testing.assert_allclose(runs.t_star[blown], 0.5 / sigmas[blown], rtol=1e-8)
    assert np.isnan(runs.t_star[~blown]).all()
    assert np.isnan(runs.cov[blown, -1]).all()
    assert np.array_equal(runs.success, ~blown)
    assert runs.completed.all()
    member = runs.member(int(np.flatnonzero(blown)[0]))
    assert np.isfinite(member.cov).all()
    assert member.t[-1] == pytest.approx(member.t_star, rel=1e-8)
    np.testing.assert_allclose(runs.cov[~blown, -1, 0, 0], 1 / (1 / sigmas[~blown] - 2.0), rtol=1e-7)


def test_singular_laws_keep_their_rank() -> None:
    rng = np.random.default_rng(5)
    initials = [Gaussian(rng.normal(size=3), f @ f.T) for f in rng.normal(size=(9, 3, 2))]
    initials[4] = Gaussian(np.ones(3), np.diag([1.0, 0.0, 0.0]))
    params = matrices(3)
    runs = ensemble(Softmax(), initials, params, (0, 1.0))
    assert runs.factor.shape[-1] == 2
    ranks = [np.linalg.matrix_rank(cov, tol=1e-12) for cov in runs.cov[:, -1]]
    assert ranks == [law.rank for law in initials]
    assert_like_single_runs(runs, Softmax(), initials, params, (0, 1.0), t_eval=[0, 1])


def test_noise_adds_to_the_covariance() -> None:
    # A = 0: Σ' = 2ε, whatever V
    params = {"A": np.zeros((2, 2)), "V": np.eye(2)}
    runs = ensemble(Softmax(diffusion=0.25), laws(9, 2), params, (0, 2.0))
    added = runs.cov[:, -1] - runs.cov[:, 0]
    np.testing.assert_allclose(added, np.broadcast_to(np.eye(2), added.shape), atol=CLOSE)
    some = ensemble(Softmax(), laws(2, 2), params | {"diffusion": [0.0, 0.25]}, (0, 2.0))
    np.testing.assert_allclose(
        some.cov[:, -1] - some.cov[:, 0], np.stack([0 * added[0], added[0]]), atol=CLOSE
    )


def test_every_parameter_may_be_shared_or_own() -> None:
    params, initials = matrices(2), laws(5, 2)
    betas = np.array([0.5, 1.0, 1.5, 2.0, 2.5])
    runs = ensemble(Softmax(), initials, params | {"beta": betas}, (0, 1.0))
    for i, beta in enumerate(betas):
        single = solve(Softmax(beta=beta), initials[i], params, (0, 1.0), t_eval=[1.0])
        np.testing.assert_allclose(runs.cov[i, -1], single.cov[-1], rtol=CLOSE)
    one = ensemble(Softmax(), initials[0], params | {"A": np.stack([params["A"]] * 3)}, (0, 1.0))
    assert len(one) == 3
    assert np.array_equal(one.cov[0], one.cov[2])


@pytest.mark.parametrize("kind", ["mask", "heads", "unlike heads"])
def test_scalars_reach_the_model_inside(kind: str) -> None:
    """A scalar of each member belongs to what a combinator holds, too."""
    one, heads = np.eye(2), np.stack([np.eye(2), np.eye(2)])
    law, params = Gaussian([1.0, 0.0], one), {"A": -0.5 * heads, "V": heads}
    if kind == "mask":
        model: Any = Masked(Linear())
        law, params = Gaussian([[1.0, 0.0], [0.0, 1.0]], [one, one]), {"A": -0.5 * one, "V": one}
    elif kind == "heads":
        model = MultiHead(Softmax())
    else:
        model = MultiHead([Softmax(), L2()])
        params = {"A_1": -one, "V_1": one, "Q_2": one, "K_2": one, "V_2": -one}
    runs = ensemble(model, law, params | {"beta": np.array([0.5, 2.0])}, (0, 0.5))
    for m, beta in enumerate((0.5, 2.0)):
        single = solve(model.with_scalars(beta=beta), law, params, (0, 0.5))
        assert runs.member(m).cov[-1] == pytest.approx(single.cov[-1], rel=1e-8)
    assert np.abs(runs.cov[0, -1] - runs.cov[1, -1]).max() > 1e-2


def test_what_has_no_lanes_runs_member_by_member() -> None:
    initials, params = laws(3, 9), matrices(9)
    runs = ensemble(Softmax(), initials, params, (0, 0.5), threads=2)
    assert runs.backend == "auto"
    for i, law in enumerate(initials):
        single = solve(Softmax(), law, params, (0, 0.5), t_eval=[0, 0.5])
        assert np.array_equal(runs.member(i).cov, single.cov)
    t = sympy.Symbol("t")
    moving = ensemble(Softmax(), laws(2, 2), matrices(2) | {"A": sympy.Matrix([[-t, 0], [0, -1]])}, (0, 0.5))
    assert moving.success.all()
    assert moving.backend == "auto"


def test_a_normaliser_that_diverges_is_refused_with_the_index_of_the_member() -> None:
    model = Attention("dot(x, A*y) + dot(y, C*y)/2", "V*y")
    params = matrices(2) | {"C": 0.5 * np.eye(2)}
    initials = [Gaussian([0.0, 0.0], s * np.eye(2)) for s in (0.5, 1.0, 3.0)]
    with pytest.raises(NormaliserDiverges, match=r"member 2: .* 1\.5"):
        ensemble(model, initials, params, (0, 0.1))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_keeps_what_is_done(threads: int) -> None:
    def interrupt(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    initials, params = laws(6, 9), matrices(9)
    runs = ensemble(Softmax(), initials, params, (0, 0.5), progress=interrupt, threads=threads)
    assert 1 <= runs.completed.sum() < 6
    assert "interrupted" in runs.message
    i = int(np.flatnonzero(runs.completed)[0])
    single = solve(Softmax(), initials[i], params, (0, 0.5), t_eval=[0, 0.5])
    assert np.array_equal(runs.cov[i], single.cov)
    assert np.isnan(runs.mean[~runs.completed]).all()
    assert (runs.status[~runs.completed] == "stopped").all()


def test_the_wall_clock_keeps_what_is_done() -> None:
    # α' = Vα turns: the second member needs millions of steps
    rates = np.array([1.0, 1e8])[:, None, None]
    turn = rates * np.array([[0.0, 1.0], [-1.0, 0.0]])
    params = {"A": np.zeros((2, 2)), "V": turn}
    runs = ensemble(Softmax(), laws(2, 2), params, (0, 1.0), max_wall_time=0.3)
    assert runs.completed.tolist() == [True, False]
    assert "max_wall_time" in runs.message
    assert runs.member(1).status == "stopped"
    assert not runs.success[1]


def test_progress_counts_members() -> None:
    seen: list[tuple[int, int]] = []
    ensemble(
        Softmax(), laws(5, 2), matrices(2), (0, 1), progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (5, 5)


def test_saved_and_loaded(tmp_path: Path) -> None:
    runs = ensemble(Softmax(), laws(5, 2), matrices(2), (0, 1), t_eval=[0.3, 1.0])
    loaded = Ensemble.load(runs.save(tmp_path / "runs"))
    assert same(runs, loaded)
    assert np.array_equal(runs.cov, loaded.cov)
    assert (loaded.message, loaded.model, loaded.method) == (runs.message, runs.model, runs.method)
    with pytest.raises(InputError, match=r"Trajectory\.load"):
        Ensemble.load(runs.member(0).save(tmp_path / "run"))


def _given(**changed: Any) -> dict[str, Any]:
    return {"model": Softmax(), "initials": laws(3, 2), "params": matrices(2), "t_span": (0, 1)} | changed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (_given(initials=[]), "initials is empty"),
        (_given(initials=[*laws(1, 2), *laws(1, 3)]), r"initials\[1\]"),
        (_given(initials=[*laws(1, 2), "x"]), r"initials\[1\] must be a Gaussian"),
        (_given(params=matrices(2) | {"V": np.zeros((4, 2, 2))}), "V has 4 members .* initials has 3"),
        (_given(params=matrices(2) | {"V": np.full((3, 2, 2), np.nan)}), r"V\[0, 0, 0\] is nan"),
        (_given(params=matrices(2) | {"V": np.zeros((3, 2, 3))}), "V must have shape"),
        (_given(params=matrices(2) | {"U": np.eye(2)}), "U"),
        (_given(params={"A": np.eye(2)}), "V"),
        (_given(model="softmax"), "model must be an attention model"),
        (_given(threads=0), "threads = 0"),
        (_given(chunk=-1), "chunk = -1"),
        (_given(progress=3), "progress must be"),
        (_given(backend="gpu"), "backend 'gpu'"),
        (_given(t_eval=[0.5, 2.0]), r"t_eval\[1\]"),
        (_given(params=matrices(2) | {"temperature": [1.0, -1.0, 1.0]}), r"temperature\[1\]"),
    ],
)
def test_bad_input_is_refused_by_name_before_any_work(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ensemble(**arguments)
