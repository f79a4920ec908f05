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
pytest.importorskip("zarr", reason="sweeps are an extra")

FOLDER = Path(__file__).parents[1] / "docs" / "experiments"
FIGURES = {
    "plot_regimes": {"cone", "ellipses", "eigenvalues"},
    "plot_ranks": {"ranks", "spurious"},
    "plot_phase_portrait": {"phase_portrait"},
    "plot_false_criteria": {"false_criteria_eigenvalues", "false_criteria_cone"},
    "plot_variants": {"variants", "variants_eigenvalues", "masked", "noise"},
    "plot_paper": {"paper_scales", "paper_regions"},
    "plot_phase_diagrams": {"phase_diagrams"},
    "plot_metastability": {"metastability", "metastability_counts"},
    "plot_sphere": {"sphere_frames"},
    "plot_repulsion": {"repulsion", "repulsion_cosines"},
    "plot_merge_times": {"merge_times"},
    "plot_mean_field": {"mean_field_trace", "mean_field_rate"},
    "plot_instability": {"instability"},
    "plot_landscapes": {"landscapes", "landscapes_speed"},
    "plot_hessians": {"hessian_spectra"},
    "plot_atlas": {"atlas", "atlas_larger"},
    "plot_random_layers": {"random_layers_cosines", "random_layers_energy"},
    "plot_noise_clusters": {"noise_clusters", "noise_clusters_speed"},
    "plot_pair_law": {"pair_law", "synchronisation"},
    "plot_noise_rates": {"noise_chaos", "noise_decay", "noise_coupling"},
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
    films = {"sphere.gif"} if name == "plot_sphere" else set()
    assert {path.name for path in out.iterdir()} == {f"{figure}.png" for figure in FIGURES[name]} | films


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


# ---- tokens


def test_phase_diagrams_change_along_the_curve_of_orthonormal_tokens(result: Any) -> None:
    """In high dimension all pairs meet around the predicted time; on the circle not all of them do."""
    found = result("plot_phase_diagrams")
    mean, equation = found["mean"], found["equation"]
    beta = float(mean.beta[1])
    predicted = equation.hitting_time(found["LEVEL"], 32, beta=beta)
    high = mean.sel(d=32, beta=beta)
    assert high.sel(time=0.8 * predicted, method="nearest") < 0.1
    assert high.sel(time=1.3 * predicted, method="nearest") > 0.9
    assert mean.sel(d=2).isel(beta=-1, time=-1) < 0.6
    assert set(found["found"].status.values.ravel()) == {"finished"}
    assert max(found["again"].values()) < float(found["error"].max())


def test_two_and_three_clusters_last(result: Any) -> None:
    found = result("plot_metastability")
    levels = {beta: [level for *_, level in steps] for beta, steps in found["plateaus"].items()}
    assert levels == {4.0: [3, 2, 1], 9.0: [4, 3, 2]}
    for path in found["paths"].values():
        growth = np.diff(path.energy)
        assert (growth > -1e-8 * path.energy[-1]).all()  # a hundredth of the tolerance of the run
    late = np.searchsorted(found["output"][1:], 30.0)
    for beta, typical in ((4.0, 2), (9.0, 3)):
        assert np.argmax(np.bincount(found["counts"][beta][:, late])) == typical


def test_a_film_of_tokens_that_stay_on_the_sphere(result: Any) -> None:
    from PIL import Image

    found = result("plot_sphere")
    assert found["drift"] < 1e-12
    assert (np.diff(found["energy"]) > 0).all()
    with Image.open(found["__out__"] / "sphere.gif") as film:
        assert film.n_frames == found["PICTURES"]
    assert found["seen"].count[0] > 100
    assert found["seen"].count[-1] <= 4


def test_repelling_tokens_end_as_polyhedra(result: Any) -> None:
    found = result("plot_repulsion")
    values = {"antipodal pair": [-1], "simplex": [-1 / 3], "octahedron": [-1, 0]}
    values["icosahedron"] = [-1, -(5**-0.5), 5**-0.5]
    for name, (reached, exact) in found["spectra"].items():
        # energies agree to rounding, and cosines to its square root
        np.testing.assert_allclose(reached, exact, atol=1e-7)
        np.testing.assert_allclose(np.unique(exact.round(9)), values[name], atol=1e-9)
        assert found["arrived"][name] > 0.5


def test_clusters_last_exponentially_long(result: Any) -> None:
    found = result("plot_merge_times")
    assert found["deviation"] < 1e-5
    for limit, exponent in found["exponents"].items():
        assert exponent == pytest.approx(limit, abs=0.06)  # the next term of Laplace's method is 1/β² here
    assert found["exponent"] - 2 * found["uncertainty"] > 1.0
    assert found["exponent"] + 2 * found["uncertainty"] < 2.5


def test_moments_converge_like_one_over_the_root_of_n(result: Any) -> None:
    found = result("plot_mean_field")
    assert max(found["spread"]) < 0.25
    for rate, error in found["rates"].values():
        assert error < 0.06
        assert rate == pytest.approx(-0.5, abs=4 * error)


def test_ripples_grow_at_the_derived_rates(result: Any) -> None:
    """What is left is the second order of the ripple, 1e-6 times e³."""
    assert max(result("plot_instability")["deviations"].values()) < 2e-5


# ---- energies


def test_differences_of_energies_are_second_variations(result: Any) -> None:
    """A second difference of F is off by a twelfth of that of the second variation, up to higher orders."""
    found = result("plot_landscapes")
    assert len(found["shares"]) == 8
    for share in found["shares"].values():
        assert share == pytest.approx(1 / 12, rel=0.05)
    assert {verdict.status for verdict in found["verdicts"].values()} == {"proved"}
    for predicted in found["on_tokens"]:
        radius, value = predicted.points
        np.testing.assert_allclose(value, radius**2 - 1, atol=1e-12)
    s, value = found["on_laws"][0].points
    np.testing.assert_allclose(value, 3 * s / (1 - s**2), rtol=1e-12)


def test_closed_spectra_are_those_of_matrices(result: Any) -> None:
    found = result("plot_hessians")
    assert len(found["deviations"]) == 6
    assert max(found["deviations"].values()) < 1e-14
    for name, branches in found["panels"].items():
        assert sum(branch.multiplicity for branch in branches) == 2 * len(found["tokens"][name])  # n(d - 1)


def test_consensus_is_the_only_maximum_of_an_atlas(result: Any) -> None:
    found = result("plot_atlas")
    assert [len(one) for one in found["atlases"]] == [3, 5, 7]
    for one in (*found["atlases"], found["larger"]):
        assert one.complete is True
        assert all(point.certified for point in one)
        assert [point.name for point in one if point.kind == "maximum"] == ["consensus"]
    assert found["verdict"].status == "proved"


def test_repulsion_and_noise_with_a_mean_direction(result: Any) -> None:
    """Attention gathers tokens, repulsion keeps them apart; the field of the sigmoid gathers them alone."""
    last = result("plot_random_layers")["last"]
    for bias in (0.0, 0.1):
        for d in (5, 16):
            assert last["relu", bias, 1, d] > last["relu", bias, 0, d] > last["relu", bias, -1, d]
        assert last["sigmoid", bias, -1, 16] > 0.95
    assert last[None, 0.0, -1, 16] == pytest.approx(-1 / 15, abs=2e-3)  # 16 tokens find the simplex


def test_noise_alone_makes_one_cluster_or_two(result: Any) -> None:
    found = result("plot_noise_clusters")
    assert found["ends"]["tanh"].min() < -0.99
    assert np.abs(found["ends"]["tanh"]).mean() > 0.8
    assert found["ends"]["relu"].mean() > 0.6
    for slope, error, exponent in found["measured"].values():
        assert abs(slope - exponent) < 4 * error + 0.01 * abs(exponent)


def test_laws_of_pairs_agree_with_their_equation(result: Any) -> None:
    """Kolmogorov's distance of 2000 samples exceeds 0.044 with probability 1e-3; the step adds to it."""
    assert max(result("plot_pair_law")["gaps"].values()) < 0.06
    assert result("plot_pair_law")["worst"].max() < 4.5


def test_rates_of_noise_are_within_what_is_proved(result: Any) -> None:
    found = result("plot_noise_rates")
    for d, (rate, error) in found["rates"].items():
        assert rate + 2 * error < found["RATES"][d]
    assert max(found["margins"].values()) < 0
    wide, deep = found["couplings"].values()
    assert wide[0] < -1.0 + 3 * wide[1] + 0.15
    assert deep[0] < -0.5
