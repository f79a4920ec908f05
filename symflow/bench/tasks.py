"""What a task compares, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from symflow.bench import circle, gaussian, noise, trajectory, velocity
from symflow.bench.contest import Contest

TASKS: dict[str, Callable[[str], Iterator[Contest]]] = {
    "T1": velocity.contests,
    "T2": trajectory.contests,
    "T3": gaussian.contests,
    "T4": noise.contests,
    "T7": circle.contests,
}
SIZES = ("small", "full")


def find_contest(task: str, size: str, case: str) -> Contest:
    """Return one case of a task."""
    return next(contest for contest in TASKS[task](size) if contest.case == case)
