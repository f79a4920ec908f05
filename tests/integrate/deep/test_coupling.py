"""The coupling of a network with its limit: marginals, optimality, rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from symflow import CommonNoise, DeepTransformer, Softmax
from symflow.errors import InputError
from symflow.integrate.deep.coupling import couple, factors, rotation, solved


def cloud(n: int, d: int) -> Any:
    x = np.random.default_rng(4).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_factors_of_singular_matrices_are_factors() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 6, 4))
    rows[1, 3] = rows[1, 0]  # two tokens that have merged
    covariance = rows @ rows.swapaxes(-1, -2)
    found = factors(covariance)
    np.testing.assert_allclose(found @ found.swapaxes(-1, -2), covariance, atol=1e-12)
    assert np.array_equal(found, np.tril(found))
    across = np.random.default_rng(1).normal(size=(3, 2, 4)) @ rows.swapaxes(-1, -2)
    np.testing.assert_allclose(solved(found, across) @ found.swapaxes(-1, -2), across, atol=1e-11)


@pytest.mark.parametrize("rank", [5, 2])
def test_the_rotation_reaches_the_distance_of_bures(rank: int) -> None:
    rng = np.random.default_rng(rank)
    one, other = rng.normal(size=(5, 5)), rng.normal(size=(5, rank))
    k, km = one @ one.T, other @ other.T
    a, b = factors(k), factors(km)
    turn = rotation(b, a)
    np.testing.assert_allclose(turn @ turn.T, np.eye(5), atol=1e-13)
    root = scipy.linalg.sqrtm(k)
    bures = np.trace(k) + np.trace(km) - 2 * np.trace(scipy.linalg.sqrtm(root @ km @ root).real)
    np.testing.assert_allclose(
        np.linalg.norm(a - b @ turn) ** 2, bures, rtol=1e-6
    )  # roots of singular matrices


def test_marginals_are_those_of_the_network_and_of_its_limit() -> None:
    noise, x0 = CommonNoise("tanh", 0.2, 0.2, dim=3), cloud(5, 3)
    network = DeepTransformer(Softmax(space="sphere", beta=2), noise, 12, 3, 1.0)
    found = couple(network, x0, 1, paths=400)
    alone = network.run(x0, 2, paths=400).x[:, -1]

    def statistic(x: Any) -> tuple[float, float]:
        cosines = (np.sum(x.sum(axis=1) ** 2, axis=-1) - 5) / 20
        return float(cosines.mean()), float(cosines.var(ddof=1) / cosines.size)

    (a, va), (b, vb), (c, vc) = (statistic(x) for x in (found.x, alone, found.limit))
    assert abs(a - b) < 3.5 * np.sqrt(va + vb)
    assert abs(a - c) < 3.5 * np.sqrt(va + vc)  # their difference has less variance than that
    np.testing.assert_allclose(np.linalg.norm(found.limit, axis=-1), 1.0, atol=1e-12)


def test_errors_fall_with_width_and_with_depth() -> None:
    noise, model, x0 = CommonNoise("relu", 0.1, 0.1, dim=3), Softmax(space="sphere"), cloud(3, 3)
    narrow, wide = (
        couple(DeepTransformer(model, noise, 8, m, 1.0), x0, 1, paths=64, substeps=None) for m in (8, 128)
    )
    slope = np.log(narrow.mean / wide.mean) / np.log(16)
    assert abs(slope - 1.0) < 0.25  # standard errors of about 10 % each
    shallow, deep = (
        couple(
            DeepTransformer(model, noise, layers, 1, 1.0),
            x0,
            1,
            paths=64,
            substeps=64 // layers,
            infinite=True,
        )
        for layers in (2, 16)
    )
    assert np.log(shallow.mean / deep.mean) / np.log(8) > 0.6
    same = couple(DeepTransformer(model, noise, 4, 1, 1.0), x0, 1, paths=4, substeps=None, infinite=True)
    assert same.mean < 1e-20  # it is the same system


def test_bad_requests() -> None:
    network = DeepTransformer(Softmax(space="sphere"), CommonNoise("relu", dim=3), 2, 2, 1.0)
    with pytest.raises(InputError, match="paths = 1"):
        couple(network, cloud(3, 3), 1, paths=1)
    with pytest.raises(InputError, match="substeps = 0"):
        couple(network, cloud(3, 3), 1, substeps=0)
    with pytest.raises(InputError, match="dim = 3"):
        couple(network, cloud(3, 4), 1)
