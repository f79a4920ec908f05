"""Sweeps: every cell is the run of its spec, and a store is the same however it came about."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import symflow
from symflow.errors import InputError, SweepInterrupted
from symflow.spec import parse_spec
from symflow.sweeps import work
from symflow.sweeps.plan import make_plan
from symflow.sweeps.store import open_store
from symflow.sweeps.work import Job, run_job

ROOT = Path(__file__).parents[2]


class _LastFirst(Executor):
    """Runs jobs when it is asked for the last one, in the opposite order."""

    def __init__(self, count: int) -> None:
        self._count, self._jobs = count, []

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._jobs.append((future, lambda: function(*arguments, **named)))
        if len(self._jobs) == self._count:
            for waiting, job in reversed(self._jobs):
                waiting.set_running_or_notify_cancel()
                waiting.set_result(job())
        return future


def test_every_cell_is_the_run_of_its_values(spec: Any, tmp_path: Path) -> None:
    found = symflow.sweep(spec(), tmp_path / "store").load()
    assert dict(found.status.sizes) == {"beta": 4, "A_0_1": 3}
    assert found.beta.values.tolist() == [0.5, 1.0, 1.5, 2.0]
    assert found.time.values.tolist() == [0.0, 0.5, 1.0]
    assert (found.status == "finished").all()
    cov0 = np.array([[2.0, 0.5], [0.5, 1.0]])
    for beta in found.beta.values:
        for entry in found.A_0_1.values:
            cell, s = found.sel(beta=beta, A_0_1=entry), beta * np.array([[-2.0, entry], [entry, -2.0]])
            for t in (0.0, 0.5, 1.0):  # V = I: closed form; a hundred times what rtol = 1e-9 asks
                exact = np.linalg.inv(np.linalg.inv(cov0) - t * s)
                np.testing.assert_allclose(cell["cov"].sel(time=t), exact, rtol=0, atol=1e-7)
            np.testing.assert_array_equal(cell["cov"].sel(time=1.0), cell["final_cov"])


def test_a_reader_needs_nothing_but_xarray(spec: Any, tmp_path: Path) -> None:
    symflow.sweep(spec(), tmp_path / "store")
    found = xarray.open_zarr(tmp_path / "store")
    assert found["cov"].dims == ("beta", "A_0_1", "time", "row", "column")
    assert found.attrs["versions"]["symflow"] == symflow.__version__
    assert '"attention": "softmax"' in found.attrs["spec"]


@pytest.mark.parametrize("how", ["threads", "reversed", "processes", "dask"])
def test_bytes_do_not_depend_on_the_executor(spec: Any, content: Any, tmp_path: Path, how: str) -> None:
    symflow.sweep(spec(), tmp_path / "one", threads=1)
    if how == "threads":
        with ThreadPoolExecutor(3) as pool:
            symflow.sweep(spec(), tmp_path / "other", pool)
    elif how == "reversed":
        symflow.sweep(spec(), tmp_path / "other", _LastFirst(12))
    elif how == "processes":
        with ProcessPoolExecutor(2, mp_context=_spawn()) as pool:
            symflow.sweep(spec(), tmp_path / "other", pool)
    else:
        from distributed import LocalCluster

        quiet = {"dashboard_address": None, "worker_dashboard_address": None}
        with (
            LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **quiet) as cluster,
            cluster.get_client() as client,
        ):
            symflow.sweep(spec(), tmp_path / "other", client.get_executor())
    assert content(tmp_path / "other") == content(tmp_path / "one")


def _spawn() -> Any:
    import multiprocessing

    return multiprocessing.get_context("spawn")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models of all runs that sweeps begin in this process."""
    begun: list[Any] = []
    run_alone, ensemble = work.run_alone, work.ensemble

    def counted(spec: Any, *arguments: Any) -> Any:
        begun.append(spec.model)
        return run_alone(spec, *arguments)

    def counted_together(model: Any, initials: Any, params: Any, *arguments: Any, **named: Any) -> Any:
        betas = params.get("beta", [model.beta] * len(initials))
        begun.extend(model.with_scalars(beta=beta) for beta in betas)
        return ensemble(model, initials, params, *arguments, **named)

    monkeypatch.setattr(work, "run_alone", counted)
    monkeypatch.setattr(work, "ensemble", counted_together)
    return begun


def _stop_at(count: int, stop: Callable[[], None]) -> Callable[[int, int], None]:
    stops = iter([stop])  # once: a second signal would end the tests themselves

    def progress(done: int, total: int) -> None:
        if done >= count:
            next(stops, bool)()

    return progress


def _raise() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "stop", [_raise, lambda: signal.raise_signal(signal.SIGINT)], ids=["error", "signal"]
)
def test_an_interrupted_sweep_goes_on(
    spec: Any, content: Any, runs: list[Any], tmp_path: Path, stop: Callable[[], None]
) -> None:
    with pytest.raises(SweepInterrupted, match=r"\d+ of 12 cells are done .* run the same sweep again"):
        symflow.sweep(spec(), tmp_path / "store", threads=1, progress=_stop_at(3, stop))
    kept = xarray.open_zarr(tmp_path / "store").load()
    done = int((kept.status != "").sum())
    assert 3 <= done < 12
    assert np.isfinite(kept["cov"].values[(kept.status == "finished").values]).all()
    runs.clear()
    seen: list[tuple[int, int]] = []
    symflow.sweep(spec(), tmp_path / "store", threads=1, progress=lambda *now: seen.append(now))
    assert len(runs) == 12 - done
    assert seen[0] == (done, 12)
    assert seen[-1] == (12, 12)
    symflow.sweep(spec(), tmp_path / "whole", threads=1)
    assert content(tmp_path / "store") == content(tmp_path / "whole")
    runs.clear()
    symflow.sweep(spec(), tmp_path / "store", progress=lambda *now: seen.append(now))
    assert runs == []
    assert seen[-1] == (12, 12)


def test_a_cell_that_was_not_marked_is_run_again(
    spec: Any, content: Any, runs: list[Any], tmp_path: Path
) -> None:
    """A process that was killed leaves arrays without a status; they do not count."""
    symflow.sweep(spec(), tmp_path / "store")
    before = content(tmp_path / "store")
    (tmp_path / "store" / "status" / "c" / "2" / "1").unlink()
    (tmp_path / "store" / "cov" / "c" / "2" / "1" / "0" / "0" / "0").write_bytes(b"")
    shutil.rmtree(tmp_path / "store" / "final_cov" / "c" / "2" / "1")
    runs.clear()
    found = symflow.sweep(spec(), tmp_path / "store").load()
    assert len(runs) == 1
    assert runs[0].beta == found.beta.values[2]
    assert content(tmp_path / "store") == before


def test_part_of_a_block_is_kept(spec: Any, runs: list[Any], tmp_path: Path) -> None:
    """With many cells a block holds several; what had ended of it stays as it was."""
    many = spec(sweep={"model.beta": {"linspace": [0.5, 2, 256]}, "parameters.A.0.1": [0.5, 1, 2]})
    plan = make_plan(parse_spec(many))
    assert plan.block_shape() == (2, 3)
    parts, whole = (open_store(tmp_path / name, plan, None) for name in ("parts", "whole"))
    place, block, wanted = next(parts.missing())
    job = Job(plan.cells, plan.kind, plan.positions, plan.times is not None, block, wanted)
    begun = run_job(job, lambda: len(runs) == 2)
    assert len(begun.status) == 2
    parts.write(place, block, begun)
    *_, rest = next(parts.missing())
    assert set(rest) == set(block) - set(begun.status)
    parts.write(place, block, run_job(replace(job, wanted=rest)))
    whole.write(place, block, run_job(job))
    assert next(parts.missing())[1] == next(whole.missing())[1] == range(6, 12)
    for name in ("status", "final_cov", "message"):
        chunks = [
            [f for f in (tmp_path / of / name / "c").rglob("*") if f.is_file()] for of in ("parts", "whole")
        ]
        assert [f.read_bytes() for f in chunks[0]] == [f.read_bytes() for f in chunks[1]] != []


def test_a_long_run_is_given_up(spec: Any, tmp_path: Path) -> None:
    """Ctrl-C does not wait for a run of hours: it is not kept, and would be begun again."""
    turning = {"V": [[0.0, 1.0], [-1.0, 0.0]], "A": [[0.0, 0.0], [0.0, 0.0]]}  # bounded for ever
    slow = spec(
        parameters=turning,
        time={"t_span": [0, 1e6]},
        solver={"method": "rk4", "dt": 1e-3},
        sweep={"initial.mean.0": [1.0, 2.0]},
    )

    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])

    def interrupt(done: int, total: int) -> None:
        if timer.ident is None:
            timer.start()

    start = time.perf_counter()
    try:
        with pytest.raises(SweepInterrupted, match="0 of 2 cells"):
            symflow.sweep(slow, tmp_path / "store", threads=1, progress=interrupt)
    finally:
        timer.cancel()
    assert time.perf_counter() - start < 30  # the run itself would take a minute


def test_ctrl_c_in_a_terminal(spec: Any, tmp_path: Path) -> None:
    path, store = tmp_path / "run.toml", tmp_path / "store"
    path.write_text(
        '[model]\nattention = "softmax"\n[parameters]\nV = [[1.0]]\nA = [[-1.0]]\n'
        "[initial]\nmean = [0.0]\ncov = [[1.0]]\n[time]\nt_span = [0, 1]\n"
        '[solver]\nmethod = "rk4"\ndt = 1e-5\n[sweep]\n"model.beta" = {linspace = [0.1, 9, 200]}\n'
    )
    command = [sys.executable, "-m", "symflow", "sweep", str(path), "--out", str(store), "--threads", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        for _ in range(600):
            if (store / "status" / "c").exists():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "of 200 cells are done and kept" in errors
    done = int((xarray.open_zarr(store).status == "finished").sum())
    assert f"{done} of 200" in errors
    assert 0 < done < 200


def test_what_fails_in_a_cell_is_recorded_there(spec: Any, tmp_path: Path) -> None:
    tilted = {"score": "dot(y, A*x) + dot(y, C*y)"}
    one = {"V": [[1.0]], "A": [[-1.0]], "C": [[0.25]]}
    data = spec(
        model=tilted,
        parameters=one,
        initial={"mean": [0.0], "cov": [[1.0]]},
        sweep={"initial.cov.0.0": [1.0, 9.0, 0.5]},
    )
    found = symflow.sweep(data, tmp_path / "store").load()
    assert found.status.values.tolist() == ["finished", "error", "finished"]
    assert "NormaliserDiverges" in str(found.message.values[1])
    assert np.isnan(found.final_mean.values[1]).all()
    assert np.isfinite(found.final_mean.values[[0, 2]]).all()


def test_blow_up_is_a_status_with_its_time(spec: Any, tmp_path: Path) -> None:
    one = {"V": [[1.0]], "A": [[1.0]]}
    data = spec(
        parameters=one,
        initial={"mean": [0.0], "cov": [[1.0]]},
        sweep={"model.beta": [0.25, 1.0], "statistics": ["cov", "t_last", "nfev"]},
    )
    found = symflow.sweep(data, tmp_path / "store").load()
    assert found.status.values.tolist() == ["finished", "blow-up"]
    assert found.t_star.values[1] == pytest.approx(0.5, rel=1e-6)  # 1/(2β): what the solver promises
    assert np.isnan(found.t_star.values[0])
    assert np.isfinite(found["cov"].values[1, 0]).all()
    assert np.isnan(found["cov"].values[1, 1:]).all()
    assert found.t_last.values[1] < 0.5
    assert (found.nfev > 0).all()


def test_positions_have_an_axis(spec: Any, tmp_path: Path) -> None:
    one = [[1.0]]
    data = spec(
        model={"attention": "linear", "mask": "causal"},
        parameters={"A": [[-1.0]], "V": one},
        initial={"mean": [[0.0], [1.0]], "cov": [one, one]},
        sweep={"model.sink": [0.0, 0.5], "statistics": ["final", "eigenvalues", "nfev"]},
    )
    found = symflow.sweep(data, tmp_path / "store").load()
    assert found.final_cov.dims == ("sink", "position", "row", "column")
    assert found.eigenvalues.dims == ("sink", "time", "position", "row")
    assert found.nfev.dims == ("sink",)


@pytest.mark.parametrize(
    ("sweep", "words"),
    [
        ({"model.beta": [1.0, -2.0]}, ['"model.beta"[1] = -2.0', "beta"]),
        ({"model.bta": [1.0]}, ['"model.bta"', "'beta'"]),
        ({"modl.beta": [1.0]}, ['"modl.beta"', "'model'"]),
        ({"beta": [1.0]}, ["'beta'", "no path"]),
        ({"model": {"beta": [1.0]}}, ["model.beta needs quotation marks"]),
        ({"model.beta": []}, ['"model.beta"', "no values"]),
        ({"model.beta": 3.0}, ['"model.beta"', "must be a list"]),
        ({"model.beta": {"linspace": [0, 1]}}, ['"model.beta" linspace', "[start, end, count]"]),
        ({"model.beta": {"linspace": [0, "x", 3]}}, ["linspace[1]", "'x'"]),
        ({"model.beta": {"linspace": [0, 1, 2.5]}}, ["linspace[2]", "2.5"]),
        ({"model.beta": {"geomspace": [0, 1, 3]}}, ["geomspace", "one sign"]),
        ({"model.beta": {"logspace": [0, 400, 3]}}, ["logspace", "range"]),
        ({"model.beta": {"range": 1.5}}, ["range = 1.5"]),
        ({"model.beta": {"linspce": [0, 1, 2]}}, ["linspace"]),
        ({"model.beta": {"range": 10**9}}, ["1000000000 values"]),
        ({"parameters.A.0.7": [1.0]}, ['"parameters.A.0.7"', "'7'", "2 entries"]),
        ({"parameters.A.0.1": [1.0, "s"]}, ['"parameters.A.0.1"[1]', "A[0, 1]"]),
        ({"model.attention": ["softmax", "softmx"]}, ['"model.attention"[1]', "softmx"]),
        ({"solver.method": ["dop853", "dop583"]}, ['"solver.method"[1]', "dop583"]),
        ({"time.points": [3, 1]}, ['"time.points"[1] = 1', "at least 2"]),
        ({"time.points": [3, 4], "statistics": ["cov"]}, ["output times", "'cov'"]),
        ({"initial.seed": [0]}, ['"initial.seed"', "tokens"]),
        ({"statistics": ["cov"]}, ["no key to vary"]),
        ({"model.beta": [1.0], "statistics": ["covv"]}, ["statistics[0] = 'covv'", "'cov'"]),
        ({"model.beta": [1.0], "statistics": ["cov", "cov"]}, ["statistics[1]", "twice"]),
        ({"model.beta": [1.0], "statistics": ["cov(1)"]}, ["statistics[0]", "write cov"]),
        ({"model.beta": [1.0], "statistics": ["x"]}, ["statistics[0] = 'x'", "tokens only"]),
        ({"model.beta": [1.0], "statistics": []}, ["statistics", "list of names"]),
        ({"model.beta": [1.0], "statistics": [3]}, ["statistics[0] = 3"]),
        ({"model.beta": [1.0], "statistics": ["a b"]}, ["statistics[0]", "'a b'"]),
    ],
)
def test_bad_sweeps_are_refused_before_any_work(
    spec: Any, runs: list[Any], tmp_path: Path, sweep: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        symflow.sweep(spec(sweep=sweep), tmp_path / "store")
    for word in words:
        assert word in str(caught.value)
    assert runs == []
    assert list(tmp_path.iterdir()) == []


def test_a_spec_without_a_sweep_is_refused(spec: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\[sweep\] is missing"):
        symflow.sweep(spec(sweep={}), tmp_path / "store")
    with pytest.raises(InputError, match=r"\[time\] is missing"):
        symflow.sweep(spec(time={}), tmp_path / "store")


def test_arguments_are_refused_by_name(spec: Any, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with pytest.raises(InputError, match="executor must be"):
        symflow.sweep(spec(), store, 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="threads = 0"):
        symflow.sweep(spec(), store, threads=0)
    with pytest.raises(InputError, match="spec must be"):
        symflow.sweep(3, store)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="drop one"):
        symflow.sweep(spec(), store, pool, threads=2)


def test_the_store_of_another_spec_is_refused_by_name(spec: Any, content: Any, tmp_path: Path) -> None:
    store = tmp_path / "store"
    symflow.sweep(spec(), store)
    before = content(store)
    others = {
        r"\[model\] temperature is absent there and 2 here": {
            "model": {"attention": "softmax", "temperature": 2}
        },
        r"\[time\] points is 3 there and 4 here": {"time": {"t_span": [0, 1], "points": 4}},
        r"\[sweep\] statistics": {"sweep": spec()["sweep"] | {"statistics": ["final"]}},
    }
    for message, sections in others.items():
        with pytest.raises(InputError, match=f"holds the sweep of another spec: {message}"):
            symflow.sweep(spec(**sections), store)
    assert content(store) == before


def test_files_and_versions_belong_to_the_identity(
    spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "w.npz"
    np.savez(weights, V=np.eye(2), A=-np.eye(2))
    data = spec(parameters={"file": str(weights)}, sweep={"model.beta": [1.0]})
    symflow.sweep(data, tmp_path / "store")
    symflow.sweep(data, tmp_path / "store")
    np.savez(weights, V=np.eye(2), A=np.eye(2))
    with pytest.raises(InputError, match=r"another content of .*w\.npz"):
        symflow.sweep(data, tmp_path / "store")
    np.savez(weights, V=np.eye(2), A=-np.eye(2))
    monkeypatch.setattr(symflow, "__version__", "9.9")
    with pytest.raises(InputError, match=r"begun with symflow .*this is 9\.9"):
        symflow.sweep(data, tmp_path / "store")


def test_what_is_no_store_is_left_alone(spec: Any, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="no store of a sweep"):
        symflow.sweep(spec(), tmp_path / "papers")
    with pytest.raises(InputError, match="is a file"):
        symflow.sweep(spec(), tmp_path / "file")
    with pytest.raises(InputError, match="does not exist"):
        symflow.sweep(spec(), tmp_path / "absent" / "store")
    assert (tmp_path / "papers" / "mine.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    symflow.sweep(spec(sweep={"model.beta": [1.0]}), tmp_path / "empty")


def test_a_spec_file_keeps_its_text(spec: Any, tmp_path: Path) -> None:
    text = (
        '# a comment\n[model]\nattention = "l2"\n[parameters]\nV = [[1.0]]\nQ = [[1.0]]\nK = [[1.0]]\n'
        '[initial]\nmean = [0.0]\ncov = [[1.0]]\n[time]\nt_span = [0, 1]\n[sweep]\n"model.beta" = [1, 2]\n'
    )
    (tmp_path / "run.toml").write_text(text)
    found = symflow.sweep(tmp_path / "run.toml", tmp_path / "store")
    assert found.attrs["spec"] == text
    again = symflow.sweep(symflow.load_spec(tmp_path / "run.toml"), tmp_path / "store")
    assert again.beta.values.tolist() == [1, 2]
