"""``build``, ``cache``, ``config``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("SYMFLOW_CACHE_DIR", str(folder))
    return folder


def test_cache_info_creates_nothing(symflow_command: Any, own_cache: Path) -> None:
    found = symflow_command("cache", "info", "--json").json
    assert found["path"] == str(own_cache)
    assert found["entries"] == 0
    assert not own_cache.exists()
    assert str(own_cache) in symflow_command("cache", "info").stdout.replace("\n", "")


def test_build_fills_the_cache_and_clear_empties_it(
    symflow_command: Any, own_cache: Path, examples: Path
) -> None:
    built = symflow_command("build", examples / "own-score.toml", "--json").json
    assert len(built["kernels"]) == 1
    info = symflow_command("cache", "info", "--json").json
    assert info["entries"] == 1
    assert info["bytes"] > 0
    cleared = symflow_command("cache", "clear", "--json").json
    assert cleared["entries"] == 1
    assert symflow_command("cache", "info", "--json").json["entries"] == 0


def test_config_says_what_is_installed(symflow_command: Any, own_cache: Path) -> None:
    found = symflow_command("config", "--json").json
    assert found["versions"]["symflow"]
    assert found["versions"]["sympy"]
    assert found["cache"] == str(own_cache)
    assert "sympy" in symflow_command("config").stdout
