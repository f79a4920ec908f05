"""Hand-made flows, an evaluator of SymPy matrix expressions, and a cache of its own for this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from sympy import (
    Identity,
    Inverse,
    MatAdd,
    MatMul,
    MatPow,
    MatrixSymbol,
    Rational,
    Symbol,
    Trace,
    Transpose,
    ZeroMatrix,
    sympify,
)

from symflow.algebra.families import FamilySum
from symflow.codegen import interface
from symflow.codegen.build import Builder
from symflow.codegen.cython_printer import Kernelset, cython_source
from symflow.codegen.load import Form, load_capsules, module_name
from symflow.codegen.lower import lower
from symflow.codegen.numpy_printer import numpy_source
from symflow.codegen.versions import stamp
from symflow.flow import Chain, CovarianceStructure, Flow
from symflow_ext.contract import abi_hash

D, K_SIZE, M_SIZE, HEADS, POSITIONS = (Symbol(name, integer=True, positive=True) for name in "dkmHn")
ALPHA, SIGMA = MatrixSymbol("alpha", D, 1), MatrixSymbol("Sigma", D, D)
BETA, TEMPERATURE = Symbol("beta", nonnegative=True), Symbol("temperature", positive=True)
ONE = Identity(D)


def covariance_flow(
    name: str, mean: Any, gradient: Any, parameters: tuple[Any, ...], tilt: Any = None
) -> Flow:
    """Return the flow α' = mean, Σ' = LΣ + ΣLᵀ."""
    sizes = [D, K_SIZE] if any(K_SIZE in getattr(p, "shape", ()) for p in parameters) else [D]
    drift = (mean, gradient * SIGMA + SIGMA * gradient.T)
    structure = CovarianceStructure(SIGMA, gradient, tilt)
    return Flow(name, (ALPHA, SIGMA), drift, parameters, tuple(sizes), structure)


def _square(name: str) -> MatrixSymbol:
    return MatrixSymbol(name, D, D)


def softmax_flow() -> Flow:
    """Softmax attention in terms of A."""
    a, v = _square("A"), _square("V")
    s = BETA / TEMPERATURE
    return covariance_flow(
        "softmax-A", v * (ONE + s * SIGMA * a) * ALPHA, s * v * SIGMA * a, (a, v, BETA, TEMPERATURE)
    )


def l2_flow() -> Flow:
    """ℓ2 attention in terms of Q and K."""
    q, k, v = MatrixSymbol("Q", K_SIZE, D), MatrixSymbol("K", K_SIZE, D), _square("V")
    s = 2 * BETA / TEMPERATURE
    gain = Inverse(ONE + s * SIGMA * k.T * k)
    mean = v * gain * (ONE + s * SIGMA * k.T * q) * ALPHA
    return covariance_flow("l2-QK", mean, s * v * gain * SIGMA * k.T * q, (q, k, v, BETA, TEMPERATURE))


def tilted_flow() -> Flow:
    """A score with a term ½yᵀCy of no sign and a linear term."""
    a, v, c, linear = _square("A"), _square("V"), _square("C"), MatrixSymbol("c", D, 1)
    tilt = (c + c.T) / 2
    gain = Inverse(ONE - SIGMA * tilt)
    mean = v * gain * ((ONE + SIGMA * a) * ALPHA + SIGMA * linear)
    return covariance_flow("tilted", mean, v * gain * SIGMA * a, (a, v, c, linear), tilt)


def heads_flow() -> Flow:
    """Softmax attention with several heads of low rank, an output matrix each, and a layer."""
    q, k = (MatrixSymbol(name, K_SIZE, D) for name in "QK")
    v, w, c = MatrixSymbol("V", M_SIZE, D), MatrixSymbol("W", D, M_SIZE), MatrixSymbol("c", D, 1)
    layer, bias, s = _square("L"), MatrixSymbol("bq", K_SIZE, 1), BETA / TEMPERATURE
    family = (q, k, v, w, bias)
    each = w * v * ((ONE + s * SIGMA * k.T * q) * ALPHA + s * SIGMA * k.T * bias)
    gradient = FamilySum(s * w * v * SIGMA * k.T * q, family, HEADS) + layer
    mean = FamilySum(each, family, HEADS) + layer * ALPHA + c
    return _with_heads("heads", mean, gradient, (*family, layer, c, BETA, TEMPERATURE), family)


def l2_heads_flow() -> Flow:
    """ℓ2 attention with several heads: a solve in every turn of the loop."""
    q, k, v = MatrixSymbol("Q", K_SIZE, D), MatrixSymbol("K", K_SIZE, D), _square("V")
    gain = Inverse(ONE + 2 * SIGMA * k.T * k)
    mean = FamilySum(v * gain * (ONE + 2 * SIGMA * k.T * q) * ALPHA, (q, k, v), HEADS)
    gradient = FamilySum(2 * v * gain * SIGMA * k.T * q, (q, k, v), HEADS)
    return _with_heads("l2-heads", mean, gradient, (q, k, v), (q, k, v))


def tilted_heads_flow() -> Flow:
    """Heads whose normaliser may diverge, each with its own condition."""
    a, v, c = (_square(name) for name in "AVC")
    gain = Inverse(ONE - SIGMA * (c + c.T) / 2)
    mean = FamilySum(v * gain * (ONE + SIGMA * a) * ALPHA, (a, v, c), HEADS)
    gradient = FamilySum(v * gain * SIGMA * a, (a, v, c), HEADS)
    flow = _with_heads("tilted-heads", mean, gradient, (a, v, c), (a, v, c))
    assert flow.covariance is not None
    return replace(flow, covariance=replace(flow.covariance, tilt=(c + c.T) / 2))


def _with_heads(name: str, mean: Any, gradient: Any, parameters: Any, family: Any) -> Flow:
    sizes = dict.fromkeys(
        (D, *(n for p in parameters for n in getattr(p, "shape", ()) if n.is_Symbol), HEADS)
    )
    flow = covariance_flow(name, mean, gradient, parameters)
    return replace(flow, dimensions=tuple(sizes), stacked={symbol.name: HEADS for symbol in family})


def sinkhorn_flow() -> Flow:
    """Sinkhorn attention in terms of A."""
    a, v = _square("A"), _square("V")
    scaled = a / TEMPERATURE
    root = MatPow(ONE + 4 * SIGMA * scaled.T * SIGMA * scaled, Rational(1, 2))
    gradient = 2 / TEMPERATURE * v * SIGMA * scaled * Inverse(ONE + root)
    return covariance_flow("sinkhorn", v * ALPHA / TEMPERATURE, gradient, (a, v, TEMPERATURE))


def sinkhorn_low_rank_flow() -> Flow:
    """Sinkhorn attention in terms of Q and K: the root is one of the smaller size."""
    q, k, v = MatrixSymbol("Q", K_SIZE, D), MatrixSymbol("K", K_SIZE, D), _square("V")
    a = k.T * q
    root = MatPow(ONE + 4 * SIGMA * a.T * SIGMA * a, Rational(1, 2))
    return covariance_flow("sinkhorn-QK", v * ALPHA, 2 * v * SIGMA * a * Inverse(ONE + root), (q, k, v))


def noisy_flow() -> Flow:
    """The tilted flow with an idiosyncratic noise."""
    flow, epsilon = tilted_flow(), Symbol("diffusion", nonnegative=True)
    assert flow.covariance is not None
    drift = (flow.drift[0], flow.drift[1] + 2 * epsilon * ONE)
    structure = replace(flow.covariance, diffusion=epsilon)
    parameters = (*flow.parameters, epsilon)
    return replace(flow, name="noisy", drift=drift, covariance=structure, parameters=parameters)


def traced_flow() -> Flow:
    """Coefficients that are traces and bilinear forms, as of a kernel that is quadratic in the score."""
    a, v = _square("A"), _square("V")
    bilinear = Trace(ALPHA.T * a * ALPHA)
    mean = bilinear * v * ALPHA + (2 * Trace(a * SIGMA) - 1) * BETA * ALPHA
    return covariance_flow("traced", mean, Trace(SIGMA * a) * bilinear * v * SIGMA * a + v, (a, v, BETA))


def chain_flow() -> Flow:
    """Causal linear attention: one mean and one covariance per position."""
    a, v, running = _square("A"), _square("V"), _square("M")
    weight, theta = Symbol("weight", positive=True), MatrixSymbol("theta", POSITIONS, 1)
    flow = covariance_flow("chain", v * running * a * ALPHA, v * running * a, (a, v, theta))
    chain = Chain(POSITIONS, ((running, weight * (SIGMA + ALPHA * ALPHA.T)),), weight, theta)
    return replace(flow, dimensions=(D, POSITIONS), chain=chain)


FLOWS = {
    "softmax": softmax_flow,
    "l2": l2_flow,
    "tilted": tilted_flow,
    "heads": heads_flow,
    "l2-heads": l2_heads_flow,
    "tilted-heads": tilted_heads_flow,
    "sinkhorn": sinkhorn_flow,
    "sinkhorn-QK": sinkhorn_low_rank_flow,
    "noisy": noisy_flow,
    "traced": traced_flow,
}


def _size(size: Any, values: dict[str, Any]) -> int:
    return int(size) if size.is_Integer else int(values[size.name])


def numeric(expression: Any, values: dict[str, Any]) -> Any:
    """Evaluate a SymPy matrix expression node by node with NumPy; symbolic sizes are values, too."""
    if isinstance(expression, MatrixSymbol):
        return values[expression.name]
    if isinstance(expression, Identity):
        return np.eye(_size(expression.rows, values))
    if isinstance(expression, ZeroMatrix):
        return np.zeros([_size(n, values) for n in expression.shape])
    if isinstance(expression, MatAdd):
        return sum(numeric(arg, values) for arg in expression.args)
    if isinstance(expression, Inverse):
        return np.linalg.inv(numeric(expression.arg, values))
    if isinstance(expression, Transpose):
        return numeric(expression.arg, values).T
    if isinstance(expression, FamilySum):
        members = [member.name for member in expression.members]
        turns = range(int(values[expression.count.name]))
        return sum(
            numeric(expression.body, {**values, **{name: values[name][h] for name in members}}) for h in turns
        )
    if isinstance(expression, MatPow):
        assert expression.exp == Rational(1, 2)
        return scipy.linalg.sqrtm(numeric(expression.base, values)).real
    assert isinstance(expression, MatMul), expression
    factor, matrices = expression.as_coeff_matrices()
    traces = {trace: float(np.trace(numeric(trace.arg, values))) for trace in factor.atoms(Trace)}
    factor = sympify(factor.xreplace(traces))
    result = float(factor.subs({s: values[s.name] for s in factor.free_symbols}))
    for matrix in matrices:
        result = result @ numeric(matrix, values) if np.ndim(result) else result * numeric(matrix, values)
    return result


@dataclass(frozen=True)
class Point:
    """Values of every symbol of a flow, by name; ``factor`` is F with Sigma = FFᵀ."""

    values: dict[str, Any]
    factor: np.ndarray[Any, Any]

    def arguments(self, names: list[str]) -> list[Any]:
        """Return the values in this order."""
        return [self.values[name] for name in names]


def point(flow: Flow, seed: int = 0, d: int = 5, k: int = 3, r: int = 2) -> Point:
    """Draw one point, well conditioned at any size; C is small: the tilted flow is inside its domain."""
    rng = np.random.default_rng(seed)
    sizes = {"d": d, "k": k, "m": k + 1, "H": 3, "n": 4}
    factor = rng.normal(size=(d, r)) / np.sqrt(r)
    values: dict[str, Any] = {**sizes, "alpha": rng.normal(size=(d, 1)), "Sigma": factor @ factor.T}
    for symbol in flow.parameters:
        if isinstance(symbol, MatrixSymbol):
            lead = [flow.stacked[symbol.name]] if symbol.name in flow.stacked else []
            shape = [_size(n, sizes) for n in (*lead, *symbol.shape)]
            values[symbol.name] = rng.normal(size=shape) / np.sqrt(max(shape))
        else:
            values[symbol.name] = float(rng.uniform(0.5, 2.0))
    if "C" in values:
        values["C"] *= 0.1 / d
    return Point(values, factor)


def forms(*flows: Flow) -> dict[str, tuple[Form, Form]]:
    """Return the compiled and the NumPy form of each flow; all are compiled as one module."""
    programs = {flow.name: lower(flow) for flow in flows}
    described = {name: interface.of_programs(each) for name, each in programs.items()}
    sets = [Kernelset(name, tuple(each.values())) for name, each in programs.items()]
    printed = cython_source(sets, "test", abi_hash(), "test")
    data = {"key": printed.key, "interface": next(iter(described.values())).to_json()}
    with Builder(printed.key) as builder:
        entry = builder.build(printed.text, printed.key, data, stamp())
    capsules = load_capsules(entry.library, module_name(printed.key))
    found = {}
    for name, each in programs.items():
        namespace: dict[str, Any] = {}
        exec(numpy_source(each.values(), name), namespace)
        compiled = Form(described[name], "compiled", lambda: printed.text, capsules[name])
        found[name] = compiled, Form(described[name], "numpy", lambda: "", None, namespace)
    return found


@pytest.fixture(autouse=True, scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the session a cache of its own, so that nothing of the user's is read or written.

    Workers of one session share it, so that each kernel is built once.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernels"
    folder.mkdir(exist_ok=True)
    before = os.environ.get("SYMFLOW_CACHE_DIR")
    os.environ["SYMFLOW_CACHE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["SYMFLOW_CACHE_DIR"]
    else:
        os.environ["SYMFLOW_CACHE_DIR"] = before


@pytest.fixture(params=sorted(FLOWS))
def flow(request: pytest.FixtureRequest) -> Flow:
    """Each of the hand-made flows."""
    return FLOWS[request.param]()


@pytest.fixture(scope="session")
def make() -> Any:
    """What tests need of this file, without importing a conftest."""

    class Make:
        flows = FLOWS
        covariance_flow = staticmethod(covariance_flow)
        numeric = staticmethod(numeric)
        point = staticmethod(point)
        forms = staticmethod(forms)
        chain = staticmethod(chain_flow)
        alpha, sigma, d, k, one, beta, temperature = ALPHA, SIGMA, D, K_SIZE, ONE, BETA, TEMPERATURE

    return Make
