"""Benchmarks: every contestant computes the same, in turn; peers that fail are told and left out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from symflow.bench import TASKS, run_bench
from symflow.bench.contest import OWN, Contest, measure
from symflow.bench.velocity import operations
from symflow.errors import InputError

#: Of a right-hand side rounding, of a run a hundred times its tolerance.
ALLOWED = {"T1": 1e-14, "T2": 1e-6, "T3": 1e-7, "T7": 1e-12}


@pytest.mark.parametrize("task", sorted(TASKS))
def test_contestants_agree(task: str) -> None:
    report = run_bench([task], size="small", rounds=1)
    assert not report.failed
    cases = {result.case for result in report.results}
    for case in cases:
        found = {result.name: result for result in report.results if result.case == case}
        assert found[OWN].ratio == 1.0
        assert len(found) >= 2
        for result in found.values():
            assert result.error < ALLOWED[task]
            assert 0.0 < result.shortest <= result.median
            assert result.ratio == pytest.approx(result.median / found[OWN].median)
    assert report.limits.speed > 1e8
    assert report.machine["versions"]


def test_rounds_are_interleaved() -> None:
    order: list[str] = []

    def entry(name: str, value: float) -> object:
        def run() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
            order.append(name)
            return np.array([value])

        return lambda: run

    contest = Contest("T0", "two", {OWN: entry("a", 1.0), "b": entry("b", 1.5)}, np.array([1.0]), "ms", 1e3)  # type: ignore[dict-item]
    measured = measure(contest, 3, 1.0)
    changes = sum(one != other for one, other in itertools.pairwise(order))
    assert changes >= 2 * 3  # three rounds of a, b
    assert [result.error for result in measured.results] == [0.0, 0.5]
    assert measured.results[0].limit is None


def test_a_peer_that_fails_is_left_out_with_its_reason() -> None:
    def broken() -> object:
        raise RuntimeError("no compiler\nhere")

    contest = Contest(
        "T0", "one", {OWN: lambda: lambda: np.zeros(1), "peer": broken}, np.zeros(1), "ms", 1e3, 10.0, 5.0
    )  # type: ignore[arg-type]
    measured = measure(contest, 1, 1e9)
    assert measured.failed == {"peer": "RuntimeError: no compiler here"}
    (own,) = measured.results
    assert own.limit == pytest.approx(1e-5)
    assert own.intensity == 2.0


def test_operations_of_the_sum_over_pairs() -> None:
    assert operations(10, 3) == 100 * (3 + 15 + 8)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InputError, match="'T9' is unknown"):
        run_bench(["T9"])
    with pytest.raises(InputError, match="size = 'huge'"):
        run_bench(size="huge")
    with pytest.raises(InputError, match="rounds = 0"):
        run_bench(rounds=0)
