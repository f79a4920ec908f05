"""The public names: few, light to import, typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import symflow

ROOT = Path(__file__).parent.parent
_HEAVY = ("sympy", "numpy", "scipy", "mpmath", "matplotlib", "Cython", "setuptools")


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )


@pytest.mark.parametrize("name", sorted(set(symflow.__all__)))
def test_every_public_name_resolves(name: str) -> None:
    value = getattr(symflow, name)
    assert name == "__version__" or value.__doc__


def test_there_are_at_most_forty_names_and_dir_shows_them() -> None:
    assert len(symflow.__all__) <= 40
    assert set(symflow.__all__) <= set(dir(symflow))
    assert set(symflow._HOME) | {"__version__"} == set(symflow.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Sofmax'"):
        symflow.Sofmax  # noqa: B018


@pytest.mark.parametrize("arguments", [["-c", "import symflow"], ["-m", "symflow", "--help"]])
def test_import_and_help_stay_light(arguments: list[str], tmp_path: Path) -> None:
    done = _run("-X", "importtime", *arguments, cwd=tmp_path)
    assert done.returncode == 0
    imported = {
        line.rsplit("|", 1)[1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line
    }
    assert "symflow" in imported
    assert not imported & set(_HEAVY)


def test_import_writes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(home), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "import symflow"], env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 0
    assert list(home.rglob("*")) == []


_USER_SCRIPT = """\
import numpy as np

import symflow

model = symflow.Softmax(temperature="sqrt(2)")
derivation = symflow.gaussian_closure(model)
passed: bool = derivation.check()
text: str = derivation.to_latex(fragment=True)
verdict = symflow.check("gaussian-preservation", model)
status: str = verdict.status
start = symflow.Gaussian(mean=np.zeros(2), cov=np.eye(2))
run = symflow.solve(model, start, {"V": np.eye(2), "A": -np.eye(2)}, (0.0, 1.0))
last = run.cov[-1]
reveal_type(verdict)
reveal_type(run.t)
reveal_type(run.status)
"""


def test_strict_typing_of_a_user_script(tmp_path: Path) -> None:
    """U118: ``mypy --strict`` passes on a user's script, and what comes back is typed, not Any."""
    (tmp_path / "user.py").write_text(_USER_SCRIPT)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            "--no-error-summary",
            "user.py",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
        check=False,
    )
    revealed = [line for line in done.stdout.splitlines() if "Revealed type" in line]
    others = [line for line in done.stdout.splitlines() if line not in revealed]
    assert others == []
    types = [line.split('"')[1] for line in revealed]
    assert types[0] == "symflow.certify.verdict.Verdict"
    assert types[1].startswith("numpy.ndarray")
    assert "float" in types[1]
    assert types[2].endswith("str")
    assert (ROOT / "symflow" / "py.typed").is_file()
