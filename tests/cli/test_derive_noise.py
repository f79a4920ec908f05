"""``derive`` of common noise: two tokens, and one random layer."""

from typing import Any

import pytest


def test_two_tokens_and_a_layer(symflow_command: Any, tmp_path: Any) -> None:
    found = symflow_command("derive", "noise:linear", "--json").json
    assert found["lyapunov"] == "-(d - 1)*(sigma_U**2 + sigma_W**2)/2 - 1/d"
    assert found["kappa_slope_one"] == "1/d"
    assert found["checked"]
    written = symflow_command("derive", "noise", "--format", "latex", "--out", tmp_path)
    assert written.code == 0
    assert r"\begin{document}" in (tmp_path / "noise-common.tex").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["noise:rellu"], "Did you mean 'relu'"),
        (["noise:relu", "--tokens"], "belong to models of attention"),
        (["noise", "--format", "sympy"], "mean and covariance"),
    ],
)
def test_bad_input_is_one_line(symflow_command: Any, options: list[str], words: str) -> None:
    done = symflow_command("derive", *options)
    assert done.code == 2
    assert words in " ".join(done.stderr.split())
