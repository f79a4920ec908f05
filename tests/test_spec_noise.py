"""Networks and noise in spec files."""

from __future__ import annotations

from typing import Any

import pytest

from symflow.errors import InputError
from symflow.spec import parse_spec

SPHERE = {"attention": "softmax", "space": "sphere"}
TOKENS = {"tokens": "uniform", "n": 5, "d": 3, "seed": 1}
NOISE = {"activation": "relu", "sigma_u": 0.1, "seed": 7}
NETWORK = {"layers": 4, "width": 8, "horizon": 2.0}
BASE: dict[str, Any] = {"model": SPHERE, "initial": TOKENS, "noise": NOISE, "network": NETWORK}


def test_a_network_is_read() -> None:
    spec = parse_spec(BASE)
    assert spec.network is not None and spec.noise is not None
    assert (spec.network.layers, spec.network.width, spec.network.horizon) == (4, 8, 2.0)
    network = spec.deep_transformer()
    assert (network.layers, network.noise.dim, float(network.noise.sigma_u)) == (4, 3, 0.1)
    assert network.run(spec.initial, spec.noise.seed, backend="numpy").t[-1] == 2.0


def test_noise_is_read() -> None:
    noise = {
        "activation": "leaky_relu",
        "slope": 0.25,
        "dt": 0.01,
        "paths": 3,
        "draw": "features",
        "features": 9,
    }
    spec = parse_spec({**BASE, "noise": noise, "network": {}, "time": {"t_span": [0, 1]}})
    assert spec.network is None and spec.noise is not None
    assert (spec.noise.dt, spec.noise.paths, spec.noise.seed) == (0.01, 3, None)
    assert spec.noise.drawing == {"draw": "features", "features": 9}
    common = spec.common_noise()
    assert common is not None and common.activation.phi == "Max(z, (1/4)*z)"


REFUSED = [
    ({"network": {"layers": 4, "width": 8}}, "[network] horizon is missing"),
    ({"network": {**NETWORK, "layers": 0}}, "[network] layers = 0"),
    ({"network": {**NETWORK, "width": 2.5}}, "[network] width = 2.5"),
    ({"network": {**NETWORK, "horizon": 0}}, "[network] horizon"),
    ({"network": {**NETWORK, "depth": 3}}, "[network] depth is unknown"),
    ({"noise": {}}, "[network] needs the section [noise]"),
    ({"noise": {**NOISE, "activation": "rleu"}}, "Did you mean 'relu'?"),
    ({"noise": {**NOISE, "activation": 3}}, "[noise] activation = 3"),
    ({"noise": {**NOISE, "sigma_w": -1}}, "[noise] sigma_w = -1"),
    ({"noise": {**NOISE, "slope": 0.1}}, "slope is no parameter"),
    ({"noise": {"sigma_u": 0.1}}, "[noise] sigma_u belongs to an activation"),
    ({"noise": {**NOISE, "seed": -1}}, "[noise] seed = -1"),
    ({"noise": {**NOISE, "paths": 0}}, "[noise] paths = 0"),
    ({"noise": {**NOISE, "dt": 0}}, "[noise] dt"),
    ({"noise": {**NOISE, "features": 0}}, "[noise] features = 0"),
    ({"noise": {**NOISE, "draw": 1}}, "[noise] draw = 1"),
    ({"noise": {**NOISE, "sigma": 1}}, "[noise] sigma is unknown"),
    ({"noise": {**NOISE, "dt": 0.1}, "solver": {"dt": 0.1}}, "dt stands in [noise] and in [solver]"),
    ({"time": {"t_span": [0, 1]}}, "[time] t_span must be [0, 2]"),
    ({"noise": {"seed": 1}, "network": {}}, "[noise] activation is missing"),
]


@pytest.mark.parametrize(("sections", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_bad_sections_are_refused_by_name(sections: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_spec({**BASE, **sections})
    assert words in str(caught.value)


def test_common_noise_is_for_the_sphere() -> None:
    plane = {"model": {"attention": "softmax"}, "parameters": {"V": [[1.0]], "A": [[1.0]]}}
    with pytest.raises(InputError, match="space = "):
        parse_spec({**plane, "initial": {"mean": [0.0], "cov": [[1.0]]}, "noise": NOISE})
    own = {**plane, "model": {"attention": "softmax", "diffusion": 0.1}, "noise": {"seed": 1, "dt": 0.1}}
    assert parse_spec({**own, "initial": {"tokens": "gaussian", "n": 3, "d": 1}}).noise is not None
