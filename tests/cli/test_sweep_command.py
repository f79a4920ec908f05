"""``sweep`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xarray

_SPEC = """\
[model]
attention = "softmax"
[parameters]
V = [[1.0]]
A = [[1.0]]
[initial]
mean = [0.0]
cov = [[1.0]]
[time]
t_span = [0, 0.4]
[sweep]
"model.beta" = {linspace = [0.5, 2.0, 4]}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "blow up.toml").write_text(_SPEC)
    return tmp_path / "blow up.toml"


def test_json_says_what_was_done(symflow_command: Any, path: Path, tmp_path: Path) -> None:
    done = symflow_command("sweep", path, "--out", tmp_path / "store", "--threads", 2, "--json")
    assert done.code == 0
    assert done.stderr == ""
    assert done.json["axes"] == {"beta": 4}
    assert done.json["status"] == {"blow-up": 2, "finished": 2}  # t* = 1/(2β): 1, 0.5, 0.333, 0.25
    assert done.json["variables"] == ["final_cov", "final_mean", "message", "status", "t_star"]
    found = xarray.open_zarr(done.json["path"]).load()
    assert found.t_star.sel(beta=2.0).item() == pytest.approx(0.25, rel=1e-6)


def test_people_see_progress_and_a_table(symflow_command: Any, path: Path, tmp_path: Path) -> None:
    done = symflow_command("sweep", path, "--out", tmp_path / "store")
    assert done.code == 0
    assert "4/4" in done.stderr
    assert "blow-up" in done.stdout
    assert "beta (4)" in done.stdout
    again = symflow_command("sweep", path, "--out", tmp_path / "store")
    assert again.code == 0
    assert "4/4" in again.stderr


def test_bad_requests(symflow_command: Any, path: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert symflow_command("sweep", path).code == 2
    assert symflow_command("sweep", path, "--out", store, "--dask", "tcp://x", "--threads", 2).code == 2
    path.write_text(_SPEC.replace("[0.5, 2.0, 4]", "[-1, 2.0, 4]"))
    done = symflow_command("sweep", path, "--out", store, "--json")
    assert done.code == 2
    assert '"model.beta"[0] = -1.0' in done.json["message"]
    path.write_text(_SPEC.split("[sweep]")[0])
    assert "[sweep] is missing" in symflow_command("sweep", path, "--out", store).stderr
    assert not store.exists()


def test_failed_cells_are_counted(symflow_command: Any, path: Path, tmp_path: Path) -> None:
    tilted = _SPEC.replace('attention = "softmax"', 'score = "dot(y, A*x) + dot(y, C*y)"')
    tilted = tilted.replace("A = [[1.0]]", "A = [[-1.0]]\nC = [[0.25]]")
    path.write_text(tilted.split("[sweep]")[0] + '[sweep]\n"initial.cov.0.0" = [1, 9]\n')
    done = symflow_command("sweep", path, "--out", tmp_path / "store", "--json")
    assert done.code == 1
    assert done.json["failed"] == 1
    assert "NormaliserDiverges" in done.json["first_failure"]


def test_workers_of_a_scheduler(symflow_command: Any, path: Path, tmp_path: Path) -> None:
    from distributed import LocalCluster

    quiet = {"dashboard_address": None, "worker_dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", **quiet) as cluster:
        address = cluster.scheduler_address
        done = symflow_command("sweep", path, "--out", tmp_path / "store", "--dask", address, "--json")
    assert done.code == 0
    assert done.json["status"] == {"blow-up": 2, "finished": 2}
