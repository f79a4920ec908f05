"""Sinkhorn's square root: the coupling is optimal to rounding, whatever rank and scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symflow.codegen import calls
from symflow.codegen.load import Form
from symflow.codegen.lower import lower
from symflow.codegen.program import Root, Sylvester, flattened


@pytest.fixture(scope="module")
def built(make: Any) -> dict[str, tuple[Form, Form]]:
    """Both parametrisations, compiled and in NumPy."""
    return make.forms(make.flows["sinkhorn"](), make.flows["sinkhorn-QK"]())  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("flow", "entry", "size"),
    [
        ("sinkhorn", "moments", "d"),
        ("sinkhorn", "factor", "r"),
        ("sinkhorn-QK", "moments", "k"),
        ("sinkhorn-QK", "factor", "r"),
        ("sinkhorn-QK", "tangent", "k"),
    ],
)
def test_the_root_is_one_of_the_smallest_size(make: Any, flow: str, entry: str, size: str) -> None:
    ops = list(flattened(lower(make.flows[flow]())[entry].ops))
    roots = [op for op in ops if isinstance(op, Root)]
    assert [op.out.rows for op in roots] == [size]
    assert any(isinstance(op, Sylvester) for op in ops) == (entry == "tangent")


def residual(cov: Any, a: Any, c: Any) -> float:
    """How far C is from solving Σ⁻¹C(Σ − CᵀΣ⁻¹C)⁻¹ = Aᵀ, cleared of inverses, relative to its terms.

    Multiplied by Σ from the left and by Σ − CᵀΣ⁻¹C from the right: C = ΣAᵀ(Σ − CᵀΣ⁻¹C).
    """
    correction = c.T @ np.linalg.pinv(cov, rcond=1e-13, hermitian=True) @ c
    left, right = cov @ a.T @ cov, cov @ a.T @ correction
    return float(np.abs(c - left + right).max() / (np.abs(left).max() + np.abs(right).max()))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_the_coupling_is_optimal(built: dict[str, tuple[Form, Form]], which: int, d: int) -> None:
    rng = np.random.default_rng(d)
    for trial in range(30):
        f, a = rng.normal(size=(d, d)), rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-4, 4)
        if trial % 3 == 1 and d > 1:
            a[:, 0] = 0.0  # singular
        cov = f @ f.T
        values = {"A": a, "V": np.eye(d), "temperature": np.array(1.0)}
        y = np.concatenate([np.zeros(d), f.ravel()])
        dy = calls.evaluate(calls.bind(built["sinkhorn"][which], "factor", (d, d), values), 0.0, y)
        c = f @ dy[d:].reshape(d, d).T  # LF with L = CᵀΣ⁻¹, so Cᵀ = (LF)Fᵀ
        bound = 1e-12 * np.linalg.cond(cov)
        assert residual(cov, a, c) <= bound
        assert residual(cov, a, _from_moments(built["sinkhorn"][which], cov, values)) <= bound


def _from_moments(form: Form, cov: Any, values: dict[str, Any]) -> Any:
    """Read C off the moments form: V = e₀eⱼᵀ puts column j of C into row 0 of Σ' = VCᵀ + CVᵀ."""
    d = len(cov)
    columns = []
    for j in range(d):
        v = np.zeros((d, d))
        v[0, j] = 1.0
        call = calls.bind(form, "moments", (d,), {**values, "V": v})
        dy = calls.evaluate(call, 0.0, np.concatenate([np.zeros(d), cov.ravel()]))
        column = dy[d : 2 * d]
        column[0] /= 2
        columns.append(column)
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1.0, 1e5, 1e60])
def test_any_scale_and_any_rank(built: dict[str, tuple[Form, Form]], which: int, scale: float) -> None:
    """δ = (√(1+4s²) − 1)/(2s) → s for small and → 1 for large s: LF = A-independent in the limit."""
    d, r = 6, 2
    rng = np.random.default_rng(0)
    f, a = rng.normal(size=(d, r)), scale * rng.normal(size=(d, d))
    values = {"A": a, "V": np.eye(d), "temperature": np.array(1.0)}
    y = np.concatenate([np.zeros(d), f.ravel()])
    dy = calls.evaluate(calls.bind(built["sinkhorn"][which], "factor", (d, r), values), 0.0, y)
    u, s, vt = np.linalg.svd(f.T @ a @ f)
    with np.errstate(over="ignore"):
        delta = 2 * s / (1 + np.hypot(1, 2 * s))
    expected = f @ (u * delta) @ vt
    np.testing.assert_allclose(dy[d:].reshape(d, r), expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    assert not dy[:d].any()


@pytest.mark.parametrize("which", [0, 1])
def test_low_rank_and_full_form_agree(built: dict[str, tuple[Form, Form]], which: int) -> None:
    d, k = 6, 2
    rng = np.random.default_rng(1)
    q, kk, v = rng.normal(size=(k, d)), rng.normal(size=(k, d)), rng.normal(size=(d, d))
    f = rng.normal(size=(d, d))
    y = np.concatenate([rng.normal(size=d), (f @ f.T).ravel()])
    low = calls.bind(built["sinkhorn-QK"][which], "moments", (d, k), {"Q": q, "K": kk, "V": v})
    values = {"A": kk.T @ q, "V": v, "temperature": np.array(1.0)}
    full = calls.bind(built["sinkhorn"][which], "moments", (d,), values)
    a, b = calls.evaluate(low, 0.0, y), calls.evaluate(full, 0.0, y)
    # Two roots, of sizes 2 and 6: their conditions differ by that of ΣAᵀΣA.
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(b).max())
