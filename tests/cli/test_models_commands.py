"""``list``, ``derive``, ``cite``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_list_names_models_and_integrators(symflow_command: Any) -> None:
    found = symflow_command("list", "--json").json
    assert {"softmax", "l2"} <= {row["name"] for row in found["models"]}
    assert {"dop853", "rk4"} <= {row["name"] for row in found["integrators"]}
    assert {"Entropy", "LogPartition", "SelfTransport", "Pairwise"} <= {e["name"] for e in found["energies"]}
    shown = symflow_command("list").stdout
    assert "softmax" in shown
    assert "dop853" in shown


@pytest.mark.parametrize("model", ["softmax", "l2"])
def test_derive_as_json(symflow_command: Any, model: str) -> None:

    found = symflow_command("derive", model, "--json").json
    assert found["model"] == model
    assert found["checked"] is True
    assert all(step["check"]["passed"] for step in found["steps"])
    assert {step["kind"] for step in found["steps"]} >= {"definition", "lemma", "result"}
    assert "alpha" in found["mean_rhs"]
    assert r"\alpha" in found["mean_rhs_latex"]


def test_derive_of_an_energy_is_its_first_variation(symflow_command: Any, tmp_path: Path) -> None:
    found = symflow_command("derive", "interaction", "--json").json
    assert found["checked"] is True and found["model"] == "interaction"
    assert found["variation"].startswith("Average(exp(beta*Trace(")
    assert r"\int" in found["variation_latex"] and found["no_closed_form"] is None
    spec = tmp_path / "own.toml"
    spec.write_text('[energy]\ndensity = "dot(x, y)**2"\npotential = "norm2(x)"\n')
    page = symflow_command("derive", str(spec), "--fragment").stdout
    assert r"\frac{\delta F}{\delta\mu}(x)" in page and r"\documentclass" not in page
    shown = symflow_command("derive", str(spec)).stdout
    assert "F(N(alpha, Sigma))" in shown
    refused = symflow_command("derive", "interaction", "--tokens")
    assert refused.code == 2


def test_derive_default_is_for_reading(symflow_command: Any) -> None:
    shown = symflow_command("derive", "softmax")
    assert shown.code == 0
    assert "alpha' = V*(I + Sigma*A)*alpha" in shown.stdout


def test_derive_latex_document_and_fragment(symflow_command: Any) -> None:
    document = symflow_command("derive", "softmax", "--format", "latex").stdout
    fragment = symflow_command("derive", "softmax", "--fragment").stdout
    assert r"\documentclass" in document
    assert r"\documentclass" not in fragment
    assert r"\Sigma" in fragment


def test_derive_html_is_a_page(symflow_command: Any) -> None:
    page = symflow_command("derive", "l2", "--format", "html").stdout
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "<math" in page


def test_derive_sympy_rebuilds_the_equations(symflow_command: Any) -> None:
    from symflow.algebra.words import identical
    from symflow.derive.closure import gaussian_closure
    from symflow.models.attention.softmax import Softmax

    source = symflow_command("derive", "softmax", "--format", "sympy").stdout
    names: dict[str, Any] = {}
    exec(source, names)  # what a user does with it
    derivation = gaussian_closure(Softmax())
    assert identical(names["mean_rhs"], derivation.mean_rhs)
    assert identical(names["cov_rhs"], derivation.cov_rhs)


@pytest.mark.parametrize(
    ("form", "suffix"), [("latex", "tex"), ("html", "html"), ("sympy", "py"), ("json", "json")]
)
def test_derive_writes_into_a_new_folder(
    symflow_command: Any, tmp_path: Path, form: str, suffix: str
) -> None:
    folder = tmp_path / "a β" / "b"
    done = symflow_command("derive", "softmax", "--format", form, "--out", folder)
    assert done.stdout == ""
    path = folder / f"softmax.{suffix}"
    assert str(path) in done.stderr
    if form == "json":
        assert json.loads(path.read_text(encoding="utf-8"))["model"] == "softmax"
    found = symflow_command("derive", "softmax", "--format", form, "--out", folder, "--json").json
    assert found["path"] == str(path)


def test_derive_of_a_spec_file_uses_its_parameters(
    symflow_command: Any, tmp_path: Path, examples: Path
) -> None:
    found = symflow_command("derive", examples / "own-score.toml", "--json").json
    assert set(found["parameters"]) >= {"Q", "K", "C", "c", "V"}
    spec = tmp_path / "qk.toml"
    spec.write_text(
        '[model]\nattention = "softmax"\n[parameters]\nV = [[1]]\nQ = [[1]]\nK = [[1]]\nbq = [1]\n'
    )
    assert {"Q", "K", "V", "bq"} <= set(symflow_command("derive", spec, "--json").json["parameters"])


def test_list_says_what_is_closed(symflow_command: Any) -> None:
    found = {row["name"]: row for row in symflow_command("list", "--json").json["models"]}
    closed = {name for name, row in found.items() if row["gaussians"] == "closed"}
    assert closed == {"l2", "linear", "sinkhorn", "softmax"}
    assert {name for name, row in found.items() if row["composed"]["masked"] == "closed"} == {"linear"}
    assert {row["composed"]["masked"] for row in found.values()} == {"closed", "not closed", "undecided"}


@pytest.mark.parametrize("name", ["linear", "sinkhorn", "multihead-softmax", "masked-linear"])
@pytest.mark.parametrize("form", ["latex", "html", "sympy", "json"])
def test_every_closed_variant_in_every_format(symflow_command: Any, name: str, form: str) -> None:
    done = symflow_command("derive", name, "--format", form)
    assert done.code == 0
    assert {"latex": r"\documentclass", "html": "<math", "sympy": "cov_rhs = ", "json": '"closed": true'}[
        form
    ] in done.stdout


def test_sympy_text_of_heads_and_positions_rebuilds_the_equations(symflow_command: Any) -> None:
    from symflow.algebra.words import identical
    from symflow.derive.closure import gaussian_closure
    from symflow.models.registry import model_named

    for name in ("multihead-softmax", "masked-linear"):
        names: dict[str, Any] = {}
        exec(symflow_command("derive", name, "--format", "sympy").stdout, names)  # what a user does with it
        derivation = gaussian_closure(model_named(name))
        assert identical(names["cov_rhs"], derivation.cov_rhs)
        assert ("summand_of_M2" in names) == (name == "masked-linear")


@pytest.mark.parametrize("name", ["sigmoid", "unnormalised", "masked-softmax"])
def test_what_does_not_close_is_a_document_with_a_witness_and_exit_code_2(
    symflow_command: Any, tmp_path: Path, name: str
) -> None:
    machine = symflow_command("derive", name, "--json")
    assert machine.code == 2
    assert machine.json["closed"] is False
    assert machine.json["error"] == "NotGaussianPreserving"
    assert machine.json["checked"] is True
    assert machine.json["witness"]["exact"] is True
    assert machine.json["witness"]["value"] in machine.json["message"]
    assert len(machine.stderr.strip().splitlines()) == 1
    for form, part in (("latex", r"\neq 0"), ("html", "No Gaussian closure")):
        assert part in symflow_command("derive", name, "--format", form).stdout
    written = symflow_command("derive", name, "--format", "html", "--out", tmp_path)
    assert written.code == 2
    assert "<math" in (tmp_path / f"{name}.html").read_text(encoding="utf-8")
    shown = symflow_command("derive", name)
    assert "Gaussians are not preserved" in shown.stdout
    assert symflow_command("derive", name, "--format", "sympy").stdout.strip() == ""


def test_an_open_question_has_exit_code_1(symflow_command: Any) -> None:
    done = symflow_command("derive", "masked-sinkhorn", "--json")
    assert done.code == 1
    assert done.json["error"] == "ClosureUndecided"


def test_derive_of_every_example(symflow_command: Any, examples: Path) -> None:
    left_out = {"minilm-head"}  # a trained transformer, tested by simulate
    left_out |= {
        path.stem for path in sorted(examples.glob("softmax-*.toml"))[1:]
    }  # one model, other numbers
    for path in sorted(examples.glob("*.toml")):
        if path.stem in left_out:
            continue
        found = symflow_command("derive", path, "--json")
        assert found.code == 0, path
        assert found.json.get("tokens") or found.json["closed"] is True


def test_derive_refuses_a_score_that_is_not_quadratic(symflow_command: Any, tmp_path: Path) -> None:
    spec = tmp_path / "quartic.toml"
    spec.write_text('[model]\nscore = "dot(x, y) - dot(y, y)*dot(y, y)"\n')
    done = symflow_command("derive", spec)
    assert done.code == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "does not keep Gaussians" in done.stderr


def test_cite(symflow_command: Any) -> None:
    assert "@misc{CACP25" in symflow_command("cite").stdout
    found = symflow_command("cite", "softmax", "--json").json
    assert "CACP25" in found["references"]
    assert "GLPR23" not in found["references"]
    assert r"\bibitem" in symflow_command("cite", "CACP25", "--format", "latex").stdout
