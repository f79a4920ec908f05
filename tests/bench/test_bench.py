"""Benchmarks: every contestant computes the same, in turn; peers that fail or are missing are told."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symflow.bench import TASKS, run, run_bench
from symflow.bench.contest import EXPONENTIAL, OWN, Contest, Entry, Needs, Run, Times, result_of
from symflow.bench.limits import Limits, measure_limits
from symflow.bench.processes import Ended, Process, Processes
from symflow.bench.velocity import definition, needs, sphere
from symflow.bench.worker import Runs
from symflow.errors import InputError

#: Of a right-hand side rounding, of a run a hundred times its tolerance, of few paths four standard errors.
ALLOWED = {"T1": 1e-14, "T2": 1e-6, "T3": 1e-7, "T4": 0.3, "T7": 1e-12}

LIMITS = Limits(speed=1e9, exponential=1e-9, products=1e9, bandwidth=1e9)


def _contest(**made: Callable[[], Run]) -> Contest:
    entries = {name: Entry((OWN,), make) for name, make in made.items()}
    return Contest("T0", "one", entries, lambda: np.array([1.0]), "ms", 1e3)


def test_contestants_agree() -> None:
    report = run_bench(size="small", rounds=1)
    assert not report.failed
    assert not report.missing  # peers are not asked for
    assert {result.task for result in report.results} == set(TASKS)
    for place in {(result.task, result.case) for result in report.results}:
        found = {result.name: result for result in report.results if (result.task, result.case) == place}
        assert OWN in found
        assert len(found) >= 2
        for result in found.values():
            assert result.error < ALLOWED[result.task]
            assert 0.0 < result.shortest <= result.median
            assert (result.limit is None) == (result.task in ("T3", "T7"))
    assert report.machine["versions"]


def test_a_process_has_the_cores_and_pools_it_was_given() -> None:
    with Processes() as processes:
        process = processes.of("numpy", 1)
        assert processes.of("numpy", 1) is process
        cores = os.sched_getaffinity(process.pid)
        assert len(cores) == 1
        assert process.ask(do="forget") == {}  # it has started
        assert cores <= os.sched_getaffinity(0)
        with open(f"/proc/{process.pid}/environ", encoding="utf-8") as file:
            environment = dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry)
        assert environment["OPENBLAS_NUM_THREADS"] == environment["SYMFLOW_NUM_THREADS"] == "1"


def test_a_process_that_ends_is_told() -> None:
    process = Process(1, realtime=False)
    with pytest.raises(Ended, match="KeyError: 'T0'"):
        process.ask(do="make", task="T0", size="small", case="none", name="NumPy")
    process.close()


def test_rounds_are_interleaved(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, str]] = []

    class Family:
        def __init__(self, family: str) -> None:
            self.family = family

        def ask(self, **request: Any) -> dict[str, Any]:
            asked.append((request["do"], self.family, request.get("name", "")))
            if self.family == "scipy" and request["do"] == "time" and len(asked) > 12:
                raise Ended("out of memory")
            if request["do"] == "limits":
                return {"speed": 1.0, "exponential": 1.0, "products": 1.0, "bandwidth": 1.0}
            return (
                {"failed": "no"}
                if request.get("name") == "c"
                else {"error": 0.0, "first": 1.0, "seconds": 2.0}
            )

    class Families(Processes):
        def of(self, family: str, threads: int) -> Any:
            return Family(family)

        def drop(self, family: str, threads: int) -> None:
            asked.append(("drop", family, ""))

    entries = {
        name: Entry((family,), lambda: lambda: 0.0)
        for name, family in {
            OWN: OWN,
            "a": "numpy",
            "b": "scipy",
            "c": "numpy",
            "d": "no_such_package",
        }.items()
    }
    contest = Contest("T0", "one", entries, lambda: np.zeros(1), "ms", 1e3)
    monkeypatch.setattr(run, "Processes", Families)
    monkeypatch.setitem(TASKS, "T0", lambda size: iter([contest]))
    report = run_bench(["T0"], peers=True, rounds=3)
    timed = [name for do, _, name in asked if do == "time"]
    assert timed == [OWN, OWN, OWN, "a", OWN, "b"] + [OWN, OWN, OWN, "a", OWN, "b"] + [OWN, OWN, OWN, "a"]
    assert report.missing == ["no_such_package"]
    assert report.failed == {"T0, one, c, threads 1": "no", "T0, one, b, threads 1": "out of memory"}
    assert [result.name for result in report.results] == [OWN, "a"]


def test_a_peer_that_fails_is_left_out_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Run:
        raise RuntimeError("no compiler\nhere")

    contest = _contest(symflow=lambda: lambda: np.ones(1), peer=broken)
    monkeypatch.setitem(TASKS, "T0", lambda size: iter([contest]))
    runs = Runs(level=0)
    request = {"do": "make", "task": "T0", "size": "small", "case": "one"}
    assert runs.answer(request | {"name": "peer"}) == {"failed": "RuntimeError: no compiler here"}
    made = runs.answer(request | {"name": OWN})
    assert made["error"] == 0.0
    assert runs.answer({"do": "time", "name": OWN})["seconds"] < made["first"] + 1.0
    runs.answer({"do": "forget"})
    with pytest.raises(KeyError):
        runs.answer({"do": "time", "name": OWN})


def test_results_compare_each_round_with_what_was_right_before() -> None:
    contest = Contest(
        "T0", "one", {}, lambda: np.zeros(1), "ms", 1e3, needs=lambda: Needs(5e5, 1e6, 1e6) * 2.0
    )
    found = result_of(contest, "peer", 1, Times(0.25, 3.0, [(1.0, 2.0), (2.0, 6.0), (0.5, 2.0)]), LIMITS)
    assert (found.median, found.shortest, found.ratio, found.ratio_of_shortest) == (2e3, 2e3, 3.0, 4.0)
    assert (found.error, found.first) == (0.25, 3.0)
    operations = 2.0 * (1e6 + EXPONENTIAL * 1e6)
    assert found.limit == pytest.approx(2.0 + 2.0)  # milliseconds of both kinds of operations
    assert (found.intensity, found.rate) == (operations / 2e6, operations / 2.0)


def test_some_rows_are_compared() -> None:
    contest = Contest("T0", "one", {}, lambda: np.array([[1.0]]), "ms", 1e3, rows=np.array([2]))
    assert contest.error(np.array([[9.0], [9.0], [1.5]])) == 0.5


def test_operations_of_the_sum_over_pairs() -> None:
    n, d = 10, 3
    assert needs(n, d) == Needs(50 * d + 100 * d, 50, 2 * 8 * n * d)


def test_definition_of_the_velocity() -> None:
    x = sphere(5, 3)
    whole = definition(x, 2.0, np.arange(5))
    weight = np.exp(2.0 * (x @ x[3]))
    mean = weight @ x / weight.sum()
    np.testing.assert_allclose(definition(x, 2.0, np.array([3])), [mean - mean @ x[3] * x[3]], rtol=1e-14)
    assert np.abs(np.einsum("ij,ij->i", whole, x)).max() < 1e-15  # tangent to the sphere


def test_limits_of_two_threads() -> None:
    limits = measure_limits(2)
    assert limits.speed > 1e8
    assert 0.0 < limits.exponential < 1e-6
    assert limits.products > 1e7
    assert limits.bandwidth > 1e7


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InputError, match="'T9' is unknown"):
        run_bench(["T9"])
    with pytest.raises(InputError, match="size = 'huge'"):
        run_bench(size="huge")
    with pytest.raises(InputError, match="rounds = 0"):
        run_bench(rounds=0)
    for threads in ((), (0,), (1, 1)):
        with pytest.raises(InputError, match="threads ="):
            run_bench(threads=threads)
