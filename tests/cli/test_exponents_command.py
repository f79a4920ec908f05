"""The table of exponents on the command line."""

from __future__ import annotations

import json

from click.testing import CliRunner

from symflow.cli import main

_SMALL = ["exponents", "--activation", "tanh", "--dim", "64", "--sigma", "0"]


def test_the_table_as_json_text_and_latex():
    runner = CliRunner()
    record = json.loads(runner.invoke(main, [*_SMALL, "--json"]).stdout)
    (row,) = record["rows"]
    assert (row["lyapunov"], row["dissipation"], row["odd"]) == ("-0.015019524", "0.030598711", True)
    assert "-0.015019524" in runner.invoke(main, _SMALL).stdout
    assert r"\begin{tabular}" in runner.invoke(main, [*_SMALL, "--latex"]).stdout


def test_bad_input_is_one_line_and_exit_code_two():
    result = CliRunner().invoke(main, ["exponents", "--activation", "exp(z**2)", "--dim", "5"])
    assert result.exit_code == 2
