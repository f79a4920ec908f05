"""Sweeps of tokens: drawn by the cell's seed alone, run in company or alone with the same bits."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symflow
from symflow import Softmax, energies, solve
from symflow.errors import InputError
from symflow.spec import parse_spec
from symflow.sweeps.plan import make_plan
from symflow.sweeps.work import Job, run_job

ROOT = Path(__file__).parents[2]
EVERYTHING = ["x", "mean", "cov", "final", "cosine_fraction(0.999)", "clusters", "merge_time", "energy"]
EVERYTHING += ["nfev", "t_last"]


@pytest.fixture
def cloud() -> dict[str, Any]:
    """Tokens on the circle: β × seed."""
    return {
        "model": {"attention": "softmax", "space": "sphere"},
        "initial": {"tokens": "uniform", "n": 6, "d": 2},
        "time": {"t_span": [0, 20], "points": 5},
        "solver": {"rtol": 1e-8},
        "sweep": {"model.beta": [1.0, 4.0], "initial.seed": {"range": [3, 6]}, "statistics": EVERYTHING},
    }


def test_every_statistic_is_that_of_the_run(cloud: Any, tmp_path: Path) -> None:
    found = symflow.sweep(cloud, tmp_path / "store").load()
    assert (found.status == "finished").all()
    for beta in (1.0, 4.0):
        for seed in (3, 4, 5):
            start = parse_spec(cloud | {"initial": cloud["initial"] | {"seed": seed}}).initial
            run = solve(
                Softmax(space="sphere", beta=beta), start, {}, (0, 20), t_eval=found.time.values, rtol=1e-8
            )
            cell = found.sel(beta=beta, seed=seed)
            np.testing.assert_array_equal(cell["x"], run.x)
            np.testing.assert_array_equal(cell["final_x"], run.x[-1])
            np.testing.assert_array_equal(cell["clusters"], run.clusters().count)
            np.testing.assert_allclose(cell["mean"], run.x.mean(axis=1), rtol=0, atol=1e-15)
            for t in range(5):
                np.testing.assert_allclose(cell["cov"][t], np.cov(run.x[t].T, bias=True), rtol=0, atol=1e-15)
            pairs = [run.cosines()[t][np.triu_indices(6, 1)] for t in range(5)]
            share = [(each >= 0.999).mean() for each in pairs]
            np.testing.assert_allclose(cell["cosine_fraction(0.999)"], share, rtol=1e-15)
            energy = [energies.Interaction(beta).value(x) for x in run.x]
            np.testing.assert_allclose(cell["energy"], energy, rtol=1e-14)
            assert cell.nfev == run.nfev
            assert cell.t_last == 20.0
    merged = found.clusters[..., -1] == 1
    assert merged.any()
    assert (np.isfinite(found.merge_time) == merged).all()


def test_a_merge_time_alone_looks_at_the_whole_run(cloud: Any, tmp_path: Path) -> None:
    sections = cloud["sweep"]
    found = {
        name: symflow.sweep(cloud | {"sweep": sections | {"statistics": names}}, tmp_path / name)
        for name, names in (("alone", ["merge_time"]), ("both", ["clusters", "merge_time"]))
    }
    times = found["alone"].merge_time.values
    assert np.array_equal(times, found["both"].merge_time.values)
    assert np.isfinite(times).any()
    assert (times[np.isfinite(times)] < 20.0).any()  # not only the ends of the run


def test_bits_depend_on_nothing_but_the_cell(cloud: Any, content: Any, tmp_path: Path) -> None:
    symflow.sweep(cloud, tmp_path / "one", threads=1)
    with ThreadPoolExecutor(3) as pool:
        symflow.sweep(cloud, tmp_path / "threads", pool)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        symflow.sweep(cloud, tmp_path / "process", pool)
    assert content(tmp_path / "one") == content(tmp_path / "threads") == content(tmp_path / "process")
    alone = cloud | {"sweep": {"model.beta": [4.0], "initial.seed": [5], "statistics": ["final"]}}
    every = symflow.sweep(cloud, tmp_path / "one").sel(beta=4.0, seed=5).load()
    single = symflow.sweep(alone, tmp_path / "alone").isel(beta=0, seed=0).load()
    np.testing.assert_array_equal(single.final_x, every.final_x)


def test_company_does_not_change_a_cell(cloud: Any) -> None:
    """Cells of one block that run as one ensemble, and the same cells one by one."""
    plan = make_plan(parse_spec(cloud))
    together = Job(plan.cells, plan.kind, plan.positions, True, range(6), (0, 1, 2, 3, 4, 5))
    company = run_job(together)
    for cell in range(6):
        single = run_job(Job(plan.cells, plan.kind, plan.positions, True, range(6), (cell,)))
        assert set(single.status) == {cell}
        for name, values in single.arrays[cell].items():
            np.testing.assert_array_equal(values, company.arrays[cell][name])


def test_one_bad_cell_does_not_spoil_its_company(cloud: Any, tmp_path: Path) -> None:
    data = cloud | {"sweep": {"model.beta": [1.0, 0.0], "initial.seed": [1, 2], "statistics": ["energy"]}}
    found = symflow.sweep(data, tmp_path / "store").load()  # the interaction energy divides by β
    assert found.status.values.tolist() == [["finished", "finished"], ["error", "error"]]
    assert "divides by beta" in str(found.message.values[1, 0])
    assert np.isfinite(found.energy.values[0]).all()


def test_sizes_may_vary_where_what_is_kept_does_not(cloud: Any, tmp_path: Path) -> None:
    sweep = {"initial.d": [2, 3], "initial.n": [1, 5], "statistics": ["cosine_fraction(0.9)"]}
    found = symflow.sweep(cloud | {"sweep": sweep}, tmp_path / "store").load()
    assert (found.status == "finished").all()
    assert (found["cosine_fraction(0.9)"].sel(n=1) == 1.0).all()
    for statistics, words in ((["final"], "'token'"), (None, "'token'"), (["mean"], "'row'")):
        refused = {"sweep": {k: v for k, v in (sweep | {"statistics": statistics}).items() if v}}
        with pytest.raises(InputError, match=words):
            symflow.sweep(cloud | refused, tmp_path / "other")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sweep": {"initial.seed": [0, -1]}}, ['"initial.seed"[1]', "-1"]),
        (
            {"sweep": {"initial.seed": [0], "statistics": ["cosine_fraction"]}},
            ["write cosine_fraction(level)"],
        ),
        ({"sweep": {"initial.seed": [0], "statistics": ["cosine_fraction(x)"]}}, ["must be numbers"]),
        ({"sweep": {"initial.seed": [0], "statistics": ["eigenvalues"]}}, ["Gaussian only"]),
        ({"solver": {"method": "taylor"}}, ["taylor", "tokens"]),
        ({"model": {"attention": "softmax"}}, ["[parameters] is missing"]),
    ],
)
def test_bad_sweeps_of_tokens_are_refused(
    cloud: Any, tmp_path: Path, changes: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        symflow.sweep(cloud | changes, tmp_path / "store")
    for word in words:
        assert word in str(caught.value)
    assert not (tmp_path / "store").exists()


def test_the_phase_diagram_of_the_examples(tmp_path: Path) -> None:
    found = symflow.sweep(ROOT / "examples" / "sweeps" / "phase-diagram.toml", tmp_path / "store").load()
    share = found["cosine_fraction(0.999)"].mean("seed")
    assert (share.sel(time=0.0) < 0.2).all()
    assert (share.isel(time=-1) > share.isel(time=0)).all()
    assert share.sel(beta=0.5).isel(time=-1) == 1.0  # for small β everything meets
    assert np.isfinite(found.merge_time.sel(beta=0.5)).all()
