"""The scripts of the gallery run at their small size, and what they measure is what theory says."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures are an extra")

FOLDER = Path(__file__).parents[1] / "docs" / "experiments"
FIGURES = {
    "plot_regimes": {"cone", "ellipses", "eigenvalues"},
    "plot_ranks": {"ranks", "spurious"},
    "plot_phase_portrait": {"phase_portrait"},
    "plot_false_criteria": {"false_criteria_eigenvalues", "false_criteria_cone"},
    "plot_variants": {"variants", "variants_eigenvalues", "masked", "noise"},
    "plot_paper": {"paper_scales", "paper_regions"},
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: Any) -> Callable[[str], dict[str, Any]]:
    """``result(name)`` runs a script once and returns its variables; ``__out__`` is where its figures are."""
    done: dict[str, dict[str, Any]] = {}

    def run(name: str) -> dict[str, Any]:
        if name not in done:
            out = tmp_path_factory.mktemp(name)
            with pytest.MonkeyPatch.context() as patch:
                patch.syspath_prepend(str(FOLDER))
                patch.setattr(sys, "argv", [f"{name}.py", "--size", "small", "--out", str(out)])
                done[name] = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__") | {
                    "__out__": out
                }
                sys.modules.pop("measure", None)
        return done[name]

    return run


@pytest.mark.parametrize("name", FIGURES)
def test_a_script_runs_and_keeps_its_figures(result: Any, name: str) -> None:
    out = result(name)["__out__"]
    assert {path.name for path in out.iterdir()} == {f"{figure}.png" for figure in FIGURES[name]}


def test_the_limit_ranks_are_those_of_the_theorem(result: Any) -> None:
    found = result("plot_ranks")
    for d in (3, 4, 5):
        assert set(found["exact"][d]) == {d - d // 2}
        assert found["reported"][d] == found["exact"][d]
        bars = found["histograms"][f"d = {d}"]
        coarse = np.array(bars["clipped Euler, step 0.1"])
        assert (coarse <= d - d // 2).all()
        assert (coarse < np.array(bars["exact limit, eigenvalues > 0.1"])).any()  # not only the threshold


def test_only_clipping_leaves_the_proved_bound(result: Any) -> None:
    found = result("plot_ranks")
    for lines in found["shares"].values():
        assert lines["clipped Euler, V ≠ vI"][1][-1] > 0
        assert not lines["clipped Euler, V = I"][1].any()
        assert not lines["runs in factor form, V ≠ vI"][1].any()
    assert found["verdict"].status == "proved"


def test_fates_agree_with_what_is_proved(result: Any) -> None:
    """The script ends with an error where a law disagrees."""
    found = result("plot_phase_portrait")
    assert found["agreed"] >= 12
    fates = found["found"]
    assert set(fates["negative definite: zero"]) == {"zero"}
    assert set(fates["semidefinite: a line"]) == {"rising line"}
    assert set(fates["skew: the plane"]) == {"plane"}
    assert set(fates["positive definite: blow-up"]) == {"blow-up"}
    assert {"falling line", "blow-up"} == set(fates["both"])
    for name, cov in zip(fates["two lines"], found["grid"], strict=True):
        c = cov[0, 1]
        assert name == ("blow-up" if abs(c) < 1e-12 else "rising line" if c > 0 else "falling line")


def test_the_counterexamples_behave_as_certified(result: Any) -> None:
    found = result("plot_false_criteria")
    runs = found["runs"]
    assert runs["low-rank-limit"].t_star == pytest.approx(0.5, rel=1e-6)
    assert runs["blow-up-criterion"].status == "finished"
    for name, sign in (("low-rank-limit", -1), ("blow-up-criterion", 1)):
        V, A = (found["matrix"](name, key) for key in "VA")
        assert np.sign(np.linalg.eigvalsh(V @ A + A.T @ V.T)[-1]) == sign
        assert found["verdicts"][name].status == "refuted"


def test_who_blows_up_and_who_does_not(result: Any) -> None:
    found = result("plot_variants")
    stars = {title: run.t_star for title, run in found["repelled"].items()}
    assert stars["Linear attention"] < stars["Softmax attention"]
    assert stars["L2 attention"] is None
    assert stars["Sinkhorn attention"] is None


def test_a_sink_helps_the_first_positions(result: Any) -> None:
    masked = result("plot_variants")["masked"]
    first = {sink: lines["t = 10"][1][0] for sink, lines in masked.items()}
    assert first["sink = 0.5"] < 0.5 * first["sink = 0"]


def test_noise_decays_to_the_steady_state_at_its_rate(result: Any) -> None:
    """Around Σ = √ε·I the equation Σ' = −2Σ² + 2εI has the rate 4√ε."""
    for name, (t, distance) in result("plot_variants")["noisy"].items():
        epsilon = float(name.split("=")[1].strip(" $"))
        late = distance < 1e-2 * np.sqrt(epsilon)
        slope = np.polyfit(t[late], np.log(distance[late]), 1)[0]
        assert slope == pytest.approx(-4 * np.sqrt(epsilon), rel=0.01)


def test_what_the_published_scale_changes(result: Any) -> None:
    found = result("plot_paper")
    assert found["ratio"] == pytest.approx(np.sqrt(2), rel=1e-6)
    rates = found["rates"]
    # the remainder of the rate decays like e^{−λt}: below 1e-4 of it at t = 54
    assert rates["the definition"] == pytest.approx(found["growth"], rel=1e-4)
    assert rates["the authors"] == pytest.approx(found["growth"] / np.sqrt(2), rel=1e-4)
    assert rates["temperature √2"] == pytest.approx(found["growth"], rel=1e-4)
    regions = {name: list(portrait.region) for name, portrait in found["portraits"].items()}
    for figure in ("two-lines-softmax", "both-softmax"):
        assert regions[f"{figure}, the authors"] == regions[f"{figure}, the definition"]
    assert "blow-up" in regions["both-softmax, the authors"]
    assert not any("blow-up" in names for title, names in regions.items() if "l2" in title)
