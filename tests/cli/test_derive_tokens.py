"""``derive`` of systems of tokens and of constants on balls; ``list`` names spaces, kernels and energies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SPHERE = """
[model]
attention = "softmax"
space = "sphere"
[initial]
tokens = "uniform"
n = 4
d = 3
[time]
t_span = [0, 1]
"""


def test_list_names_kernels_of_tokens_and_energies(symflow_command: Any) -> None:
    found = symflow_command("list", "--json").json
    assert {"Interaction", "Exponential"} <= {row["name"] for row in found["energies"]}
    assert all(set(row["tokens"]) == {"euclidean", "sphere"} for row in found["models"])
    shown = symflow_command("list").stdout
    assert "tokens on the sphere" in shown
    assert "Dissipation" in shown


def test_tokens_are_derived_on_request(symflow_command: Any, tmp_path: Path) -> None:
    found = symflow_command("derive", "l2", "--tokens", "--json").json
    assert found["checked"]
    (term,) = found["terms"]
    assert term["score"] == "-u_1"
    assert term["pairings"]["u_1"] == {"left": "Q*x", "right": "K*y", "kind": "squared distance"}
    assert term["symmetric_if"] == ["K = Q"]
    shown = symflow_command("derive", "l2", "--tokens").stdout
    assert "The system of n tokens on ℝᵈ" in shown
    assert "u_1 = |Q*x − K*y|²" in shown
    written = symflow_command("derive", "l2", "--tokens", "--format", "latex", "--out", tmp_path)
    assert written.code == 0
    assert r"\dot{x}_i" in (tmp_path / "l2-tokens.tex").read_text(encoding="utf-8")


def test_tokens_are_derived_where_no_law_is_meant(symflow_command: Any, tmp_path: Path) -> None:
    spec = tmp_path / "sa.toml"
    spec.write_text(SPHERE, encoding="utf-8")
    found = symflow_command("derive", spec, "--json").json
    assert found["tokens"] is True
    assert found["space"] == "sphere"
    assert found["parameters"] == {}  # Q, K and V are the identity
    assert "closed" not in found
    assert "GLPR23" in symflow_command("cite", spec).stdout


def test_constants_are_derived_on_request(symflow_command: Any) -> None:
    found = symflow_command("derive", "softmax", "--stability", "--json").json
    assert found["checked"]
    assert found["constants"]["query"] == "R**2*SpectralNorm(A)*SpectralNorm(V)"
    assert "Constants on the ball" in symflow_command("derive", "softmax", "--stability").stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("softmax", "--tokens", "--stability"), "give one of them"),
        (("softmax", "--tokens", "--format", "sympy"), "mean and covariance"),
        (("masked-sinkhorn", "--tokens"), "doubly stochastic triangular"),
    ],
)
def test_what_there_is_not_is_refused(symflow_command: Any, options: tuple[str, ...], said: str) -> None:
    done = symflow_command("derive", *options)
    assert done.code == 2
    assert said in done.stderr
