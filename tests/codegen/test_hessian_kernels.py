"""Compiled Hessians against NumPy, exact numbers and differences; bits, batches, refusals."""

import pickle
import sys
import types

import numpy as np
import pytest

from symflow.codegen import shipped
from symflow.codegen.build import Builder
from symflow.codegen.hessians import compile_hessian, forms
from symflow.codegen.hessians.forms import energy_structure
from symflow.curvature.configurations import icosahedron, ngon
from symflow.curvature.hessian import hessian
from symflow.energies import Dissipation, Exponential, Interaction, Pairwise
from symflow.errors import BackendWarning, BuildError, InputError

#: Sums of up to a hundred products of doubles, relative to their largest entry.
ROUNDING = 1e-13


def _user(seed, d):
    rng = np.random.default_rng(seed)
    return Pairwise(
        "exp(-norm2(Q*x - K*y))*(1 + dot(x, A*x)) + dot(x + b, y)**3/(2 + norm2(b))*dot(y, A*y)",
        "dot(b, x)**4 + exp(-norm2(x + b))",
        Q=rng.normal(size=(2, d)),
        K=rng.normal(size=(2, d)),
        A=rng.normal(size=(d, d)),
        b=rng.normal(size=d),
    )


def _energies(d):
    return {"interaction": Interaction(1.3), "user": _user(d, d)}


def _clouds(space, batch, n, d, seed=0):
    x = np.random.default_rng(seed).normal(size=(batch, n, d))
    return x / np.linalg.norm(x, axis=-1, keepdims=True) if space == "sphere" else x / 2


def _close(found, wanted):
    assert np.abs(found - wanted).max() <= ROUNDING * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("name", "space"), [("interaction", "sphere"), ("user", "sphere"), ("user", "euclidean")]
)
def test_compiled_is_numpy(name, space):
    for d in (2, 3, 5):
        energy = _energies(d)[name]
        kernel = compile_hessian(energy, space, "compiled")
        arrays = compile_hessian(energy, space, "numpy")
        x, v = _clouds(space, 3, 4, d), np.random.default_rng(1).normal(size=(3, 4, d))
        matrix = kernel.matrix(x)
        _close(kernel.value(x), arrays.value(x))
        _close(kernel.gradient(x), arrays.gradient(x))
        _close(matrix, arrays.matrix(x))
        _close(kernel.product(x, v), arrays.product(x, v))
        _close(kernel.product(x, v).reshape(3, -1), np.einsum("bij,bj->bi", matrix, v.reshape(3, -1)))
        assert (matrix == matrix.swapaxes(1, 2)).all()
        if space == "sphere":
            for found, wanted in zip(kernel.newton(x), arrays.newton(x), strict=True):
                _close(found, wanted)


@pytest.mark.parametrize("name", ["interaction", "user"])
def test_frames_hold_what_coordinates_do(name):
    energy = _energies(3)[name]
    kernel = compile_hessian(energy, "sphere", "compiled")
    x = _clouds("sphere", 2, 5, 3)
    x[0, 0], x[0, 1] = [1, 0, 0], [-1, 0, 0]
    system = kernel.newton(x)
    matrix, gradient = kernel.matrix(x), kernel.gradient(x)
    for b in range(2):
        frame = np.zeros((5, 3, 5, 2))
        frame[np.arange(5), :, np.arange(5), :] = system.frames[b]
        frame = frame.reshape(15, 10)
        np.testing.assert_allclose(frame.T @ frame, np.eye(10), atol=1e-15)
        np.testing.assert_allclose(np.einsum("ide,id->ie", system.frames[b], x[b]), 0.0, atol=1e-15)
        _close(frame.T @ matrix[b] @ frame, system.matrix[b])
        _close(frame.T @ gradient[b].ravel(), system.slopes[b])


@pytest.mark.parametrize("space", ["sphere", "euclidean"])
def test_derivatives_are_those_of_the_value(space):
    kernel = compile_hessian(_user(2, 3), space, "compiled")
    x = _clouds(space, 1, 4, 3)[0]
    v = np.random.default_rng(5).normal(size=x.shape)
    if space == "sphere":
        v -= np.einsum("id,id->i", v, x)[:, None] * x
    speed = np.linalg.norm(v, axis=1, keepdims=True)

    def value(t):
        if space == "euclidean":
            return kernel.value(x + t * v)
        return kernel.value(np.cos(speed * t) * x + np.sin(speed * t) / speed * v)

    h = 2.0**-10  # fourth-order differences: h⁴ and rounding over h² are both below 1e-9
    first = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    second = (16 * (value(h) + value(-h)) - (value(2 * h) + value(-2 * h)) - 30 * value(0.0)) / (12 * h * h)
    assert first == pytest.approx((kernel.gradient(x) * v).sum(), rel=1e-8)
    assert second == pytest.approx(v.ravel() @ kernel.matrix(x) @ v.ravel(), rel=1e-7)


@pytest.mark.parametrize(
    "energy", [Dissipation(0.7), Exponential([[1, 2]], [[-1, 1]])], ids=["zonal", "bilinear"]
)
def test_numpy_is_exact_up_to_rounding(energy):
    exact = np.array(hessian(energy, ngon(3)).matrix.tolist(), float)
    points = np.array([[float(entry) for entry in row] for row in ngon(3)])
    _close(compile_hessian(energy, "sphere", "numpy").matrix(points), exact)


@pytest.mark.parametrize("at", [ngon(5), icosahedron()], ids=["5-gon", "icosahedron"])
def test_compiled_is_exact_up_to_rounding(at):
    energy = Interaction(1)
    exact = np.array(hessian(energy, at).matrix.tolist(), float)
    points = np.array([[float(entry) for entry in row] for row in at])
    _close(compile_hessian(energy, "sphere", "compiled").matrix(points), exact)


def test_bits_do_not_depend_on_the_batch():
    for energy in (Interaction(2.0), _user(7, 3)):
        kernel = compile_hessian(energy, "sphere", "compiled")
        x, v = _clouds("sphere", 7, 6, 3), np.random.default_rng(2).normal(size=(7, 6, 3))
        for name, given in (("value", ()), ("gradient", ()), ("matrix", ()), ("product", (v,))):
            whole = getattr(kernel, name)(x, *given)
            for b in (0, 3, 6):
                assert np.array_equal(getattr(kernel, name)(x[b], *(part[b] for part in given)), whole[b])
        systems, single = kernel.newton(x), kernel.newton(x[4])
        assert all(np.array_equal(a[4], b[0]) for a, b in zip(systems, single, strict=True))


def test_the_pair_of_a_token_with_itself_costs_no_digits():
    # e^50 would leave errors of 1e5 in entries of the size e^{50 cos 72°} = 5e6
    points = np.array([[float(entry) for entry in row] for row in ngon(5)])
    exact = np.array(hessian(Interaction(50), ngon(5)).matrix.tolist(), float)
    found = compile_hessian(Interaction(50), "sphere", "compiled").matrix(points)
    assert np.abs(found - exact).max() <= 1e-12 * np.abs(exact).max()
    assert energy_structure(Interaction(50).statement(), "sphere").diagonal.first == ()


def test_one_build_serves_all_parameters_and_sizes(monkeypatch):
    built, build = [], Builder.build

    def counted(*given, **named):
        built.append(given)
        return build(*given, **named)

    monkeypatch.setattr(Builder, "build", counted)
    for c, x in ((1.0, [[1.0, 0.0], [0.6, 0.8]]), (5.0, [[1.0, 0.0, 0.0]] * 3)):
        kernel = compile_hessian(Pairwise("cos(c*dot(x, y))", c=c), "sphere", "compiled")
        assert kernel.value(x) == pytest.approx(np.cos(c * (np.array(x) @ np.array(x).T)).mean() / 2)
    assert len(built) == 1
    assert "pair_jet" in kernel.source and "cos(" in kernel.source


def test_shipped_kernels_need_no_compiler(monkeypatch, tmp_path):
    built = compile_hessian(Interaction(1.0), "sphere", "compiled")
    statement = Interaction(1.0).statement()
    module = types.ModuleType("symflow_ext.kernels.hessian_of_a_wheel")
    module.capsules = {"hessian": built._form.evaluate}
    monkeypatch.setitem(sys.modules, module.__name__, module)
    index = {**shipped.index(), "hessians": {forms.shipped_key(statement, "sphere"): "hessian_of_a_wheel"}}
    monkeypatch.setattr(shipped, "index", lambda: index)
    monkeypatch.setattr(forms, "_compiled", forms._compiled.__wrapped__)
    monkeypatch.setenv("SYMFLOW_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setenv("CC", "/nonexistent/cc")
    x = [[0.6, 0.8], [1.0, 0.0]]
    assert compile_hessian(Interaction(3.0), "sphere", "compiled").value(x) == compile_hessian(
        Interaction(3.0), "sphere", "numpy"
    ).value(x)
    with pytest.raises(BuildError):
        compile_hessian(Pairwise("dot(x, y)**5"), "sphere", "compiled")
    with pytest.warns(BackendWarning, match="slower NumPy backend"):
        assert compile_hessian(Pairwise("dot(x, y)**5"), "sphere").backend == "numpy"


def test_every_energy_of_pairs_is_shipped():
    written = shipped._Written()
    shipped._write_hessians(written)
    assert {"hessian_interaction", "hessian_dissipation", "hessian_exponential"} <= set(written.modules)
    assert set(written.hessians.values()) == set(written.modules)


@pytest.mark.parametrize("backend", ["compiled", "numpy"])
def test_kernels_pickle_and_take_any_array(backend):
    kernel = pickle.loads(pickle.dumps(compile_hessian(_user(3, 3), "sphere", backend)))
    assert kernel.backend == backend
    x = _clouds("sphere", 2, 4, 3)
    whole = kernel.matrix(x)
    assert np.array_equal(kernel.matrix(np.asfortranarray(x)), whole)
    assert np.array_equal(kernel.matrix(x.tolist()), whole)
    assert np.array_equal(kernel.matrix(x[::-1])[0], whole[1])
    assert kernel.newton(x[:0]).matrix.shape == (0, 8, 8)
    line = compile_hessian(Interaction(1.0), "sphere", backend).newton([[1.0], [-1.0]])
    assert line.matrix.shape == (1, 0, 0) and line.value[0] == pytest.approx(np.cosh(1.0) / 2)


def test_what_cannot_be_done_is_refused():
    with pytest.raises(InputError, match="cloud 1 "):
        compile_hessian(Interaction(1.0), "euclidean", "compiled").matrix([[[1.0]], [[1e200]]])
    with pytest.raises(InputError, match="itself"):
        compile_hessian(Pairwise("log(norm2(x - y))"), "sphere")
    with pytest.raises(InputError, match="space"):
        compile_hessian(Interaction(1.0), "torus")
    with pytest.raises(InputError, match="backend"):
        compile_hessian(Interaction(1.0), "sphere", "fortran")
    with pytest.raises(InputError, match="newton is for the sphere"):
        compile_hessian(Interaction(1.0), "euclidean", "numpy").newton([[1.0, 0.0]])
    with pytest.raises(InputError, match="shape"):
        compile_hessian(Interaction(1.0), "sphere", "numpy").value([1.0, 0.0])
