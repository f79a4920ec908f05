"""The factor that is turned while it flows, and functions of fixed size, against the general factor."""

from __future__ import annotations

import numpy as np
import pytest

from symflow import Softmax, compile
from symflow.codegen.fixed.single import LARGEST, singles
from symflow.codegen.lower import programs_of
from symflow.codegen.shipped import index
from symflow.derive.outcome import CLOSED, closure_status
from symflow.errors import NotGaussianPreserving
from symflow.models.registry import attention_models

SIZES = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 2), (17, 17), (70, 9)]


def _problem(interface, d, r, identity):
    rng = np.random.default_rng(d)
    sizes = {"d": d, "k": d, "r": r}
    params = {}
    for slot in interface.parameters:
        shape = [n if isinstance(n, int) else sizes[n] for n in slot.axes]
        params[slot.name] = 0.4 * rng.normal(size=shape) / np.sqrt(d) if shape else 0.4 + 0.3 * rng.random()
    if identity is not None:
        params[identity] = np.eye(d)
    factor = np.tril(rng.normal(size=(d, r))) / np.sqrt(d)
    return params, rng.normal(size=d), factor


def _slopes(call, mean, factor):
    y = np.concatenate([mean, factor.ravel()])
    dy = np.full(y.size, np.nan)
    assert call(0.0, y, dy) == 0
    return dy[: mean.size], dy[mean.size :].reshape(factor.shape)


def _cases():
    for kind in attention_models().values():
        model = kind()
        for names in model.parametrisations():
            yield pytest.param(model, names, id=f"{model.name}-{'-'.join(sorted(names))}")


def _refused(model, names):
    """Whether the model has no flow of Gaussians; then no program may come out."""
    if closure_status(model, names) == CLOSED:
        return False
    with pytest.raises(NotGaussianPreserving):
        programs_of(model, names)
    return True


@pytest.fixture(params=["compiled", "numpy"])
def backend(request):
    return request.param


@pytest.mark.parametrize(("model", "names"), list(_cases()))
def test_moves_the_covariance_as_the_factor_does(model, names, backend):
    if _refused(model, names):
        return
    kernel = compile(model, backend, names)
    interface = kernel.interface(names)
    if not interface.has("turned"):
        assert interface.has("factor")
        return
    for d, r in SIZES:
        params, mean, factor = _problem(interface, d, r, interface.entry("turned").identity)
        dims = {"d": d, "r": r}
        expected, slope = _slopes(kernel.bind("factor", dims, params), mean, factor)
        found, turned = _slopes(kernel.bind("turned", dims, params), mean, factor)
        assert np.array_equal(turned, np.tril(turned))
        wanted, moved = slope @ factor.T, turned @ factor.T
        scale = 1e-13 * (1.0 + np.abs(wanted).max())  # a few products of well-scaled matrices
        assert np.abs(found - expected).max() <= 1e-13 * (1.0 + np.abs(expected).max())
        assert np.abs((moved + moved.T) - (wanted + wanted.T)).max() <= scale


def test_softmax_and_sinkhorn_are_turned_and_a_matrix_that_is_not_in_front_is_not():
    for name, there in (("softmax", True), ("sinkhorn", True), ("l2", False)):
        model = attention_models()[name]()
        programs = programs_of(model, model.parametrisations()[0])
        assert ("turned" in programs) is there
    assert programs_of(Softmax(), frozenset({"A", "V"}))["turned"].identity == "V"


@pytest.mark.parametrize(("model", "names"), list(_cases()))
def test_fixed_sizes_are_the_same_function(model, names):
    """The compiled call takes the function of fixed size where there is one; NumPy has none."""
    if _refused(model, names):
        return
    programs = programs_of(model, names)
    printed = {name for name, program in programs.items() if singles(program)}
    compiled, general = compile(model, "compiled", names), compile(model, "numpy", names)
    interface = compiled.interface(names)
    for name in printed:
        for n in range(1, LARGEST + 1):
            params, mean, factor = _problem(interface, n, n, interface.entry(name).identity)
            dims = {"d": n, "r": n}
            for found, expected in zip(
                _slopes(compiled.bind(name, dims, params), mean, factor),
                _slopes(general.bind(name, dims, params), mean, factor),
                strict=True,
            ):
                assert np.abs(found - expected).max() <= 1e-13 * (1.0 + np.abs(expected).max())


def test_fixed_sizes_are_printed_for_every_size():
    programs = programs_of(Softmax(), frozenset({"A", "V"}))
    for name in ("factor", "turned"):
        wanted = [f"{name}@{n},{n}" for n in range(1, LARGEST + 1)]
        assert [single.entry for single in singles(programs[name])] == wanted
    assert singles(programs["moments"]) == []


def test_the_index_knows_what_has_to_be_the_identity():
    forms = index()["forms"].get("gaussian", {}).values()
    found = {e["identity"] for form in forms for e in form["interface"]["entries"] if e["name"] == "turned"}
    assert found <= {"V"}
