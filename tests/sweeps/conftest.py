"""A small sweep whose every cell has a closed form, and ways to look into a store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

A = [[-1.0, 0.5], [0.0, -1.0]]


@pytest.fixture
def spec() -> Callable[..., dict[str, Any]]:
    """``spec(**sections)`` is the content of a sweep file with whole sections replaced."""

    def make(**sections: Any) -> dict[str, Any]:
        data: dict[str, Any] = {
            "model": {"attention": "softmax"},
            "parameters": {"V": [[1.0, 0.0], [0.0, 1.0]], "A": A},
            "initial": {"mean": [0.0, 1.0], "cov": [[2.0, 0.5], [0.5, 1.0]]},
            "time": {"t_span": [0, 1], "points": 3},
            "sweep": {
                "model.beta": {"linspace": [0.5, 2.0, 4]},
                "parameters.A.0.1": [0.5, -1, 2.0],
                "statistics": ["cov", "final"],
            },
        }
        return {name: content for name, content in (data | sections).items() if content}

    return make


@pytest.fixture
def content() -> Callable[[Path], dict[str, bytes]]:
    """``content(store)`` is every file of a store."""

    def read(path: Path) -> dict[str, bytes]:
        return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}

    return read
