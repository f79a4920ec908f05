"""Hand-made flows, an evaluator of SymPy matrix expressions, and a cache of its own for this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import Identity, Inverse, MatAdd, MatMul, MatrixSymbol, Symbol, Transpose, ZeroMatrix

from symflow.flow import CovarianceStructure, Flow

D, K_SIZE = (Symbol(name, integer=True, positive=True) for name in "dk")
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


FLOWS = {"softmax": softmax_flow, "l2": l2_flow, "tilted": tilted_flow}


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
    assert isinstance(expression, MatMul), expression
    factor, matrices = expression.as_coeff_matrices()
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
    sizes = {"d": d, "k": k}
    factor = rng.normal(size=(d, r)) / np.sqrt(r)
    values: dict[str, Any] = {**sizes, "alpha": rng.normal(size=(d, 1)), "Sigma": factor @ factor.T}
    for symbol in flow.parameters:
        if isinstance(symbol, MatrixSymbol):
            shape = [_size(n, sizes) for n in symbol.shape]
            values[symbol.name] = rng.normal(size=shape) / np.sqrt(max(shape))
        else:
            values[symbol.name] = float(rng.uniform(0.5, 2.0))
    if "C" in values:
        values["C"] *= 0.1 / d
    return Point(values, factor)


@pytest.fixture(autouse=True, scope="session")
def kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the session a cache of its own, so that nothing of the user's is read or written."""
    folder = tmp_path_factory.mktemp("kernels")
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
        alpha, sigma, d, k, one, beta, temperature = ALPHA, SIGMA, D, K_SIZE, ONE, BETA, TEMPERATURE

    return Make
