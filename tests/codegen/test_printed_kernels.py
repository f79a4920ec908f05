"""The two printers: same numbers, readable text, and text that depends on nothing but the model."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import MatrixSymbol, Rational, Symbol

from symflow import L2, Attention, Softmax
from symflow.codegen import calls
from symflow.codegen.forms import text
from symflow.codegen.kernel import source
from symflow.codegen.load import Form
from symflow.flow import Flow

#: Both run the same operations in the same order; only the order inside a product differs.
AGREE = 1e-13


def evaluate_all(form: Form, at: Any, d: int, k: int, r: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return the value of every entry at a point."""
    rng = np.random.default_rng(3)
    mean, cov = at.values["alpha"].ravel(), at.values["Sigma"].ravel()
    states = {
        "moments": np.concatenate([mean, cov]),
        "factor": np.concatenate([mean, at.factor.ravel()]),
        "domain": np.concatenate([mean, at.factor.ravel()]),
        "tangent": np.concatenate([mean, cov, rng.normal(size=d + d * d)]),
    }
    found = {}
    for entry in form.interface.entries:
        sizes = {"d": d, "k": k, "r": r, "m": k + 1, "H": 3}
        dims = [sizes[name] for name in entry.dimensions]
        values = {p.name: np.asarray(at.values[p.name]) for p in form.interface.parameters}
        call = calls.bind(form, entry.name, dims, values)
        found[entry.name] = calls.evaluate(call, 0.0, states[entry.name])
    return found


def require_equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    for name in a:
        np.testing.assert_allclose(
            a[name], b[name], rtol=0, atol=AGREE * max(1.0, float(np.abs(b[name]).max()))
        )


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 1), (5, 3, 2), (70, 20, 7)])
def test_compiled_equals_numpy(
    built: dict[str, tuple[Form, Form]], flow: Flow, make: Any, sizes: Any
) -> None:
    d, k, r = sizes
    at = make.point(flow, 1, d, k, r)
    compiled, printed = built[flow.name]
    require_equal(evaluate_all(compiled, at, d, k, r), evaluate_all(printed, at, d, k, r))


@pytest.fixture(scope="module")
def built(make: Any) -> dict[str, tuple[Form, Form]]:
    """Every hand-made flow, compiled once."""
    return make.forms(*(kind() for kind in make.flows.values()))  # type: ignore[no-any-return]


def test_outside_the_domain_both_refuse(built: dict[str, tuple[Form, Form]], make: Any) -> None:
    at = make.point(make.flows["tilted"]())
    at.values["C"] = np.eye(5)
    values = {name: at.values[name] for name in ("A", "V", "C", "c")}
    y, dy = np.concatenate([np.ones(5), 2 * np.eye(5)[:, :2].ravel()]), np.zeros(15)
    for form in built["tilted"]:
        assert calls.bind(form, "factor", (5, 2), values)(0.0, y, dy) == 2


def test_singular_solve_both_report(built: dict[str, tuple[Form, Form]], make: Any) -> None:
    at = make.point(make.flows["tilted"]())
    at.values["C"] = np.eye(5)
    values = {name: at.values[name] for name in ("A", "V", "C", "c")}
    y, dy = np.concatenate([np.ones(5), np.eye(5).ravel()]), np.zeros(30)
    for form in built["tilted"]:
        assert calls.bind(form, "moments", (5,), values)(0.0, y, dy) == 1


def test_hostile_names_compile(make: Any) -> None:
    """C027, C030: names that are keywords, Greek, equal after sanitising, or those of our own variables."""
    names = [
        r"\alpha",
        "β",
        "Σ_0",
        "x'",
        "x y",
        "lambda",
        "double",
        "y",
        "dy",
        "la",
        "w0",
        "b0",
        "c0",
        "i",
        "k0_moments",
    ]
    symbols = [MatrixSymbol(name, make.d, make.d) for name in names]
    total = symbols[0]
    for symbol in symbols[1:]:
        total = total + symbol
    scalar = Symbol("nogil", real=True)
    flow = make.covariance_flow(
        r"odd \name", total * make.alpha, scalar * total * make.sigma, (*symbols, scalar)
    )
    compiled, printed = make.forms(flow)[flow.name]
    at = make.point(flow)
    found = evaluate_all(compiled, at, 5, 3, 2)
    require_equal(found, evaluate_all(printed, at, 5, 3, 2))
    matrix = sum(at.values[name] for name in names)
    np.testing.assert_allclose(found["moments"][:5], (matrix @ at.values["alpha"]).ravel(), rtol=1e-13)


def test_rationals_are_not_divided_as_integers(make: Any) -> None:
    """C034."""
    half = Rational(1, 2) * make.alpha
    flow = Flow("half", (make.alpha,), (half + Rational(1, 3) * make.alpha,), (), (make.d,))
    compiled, _ = make.forms(flow)["half"]
    call = calls.bind(compiled, "moments", (3,), {})
    np.testing.assert_allclose(
        calls.evaluate(call, 0.0, np.array([1.0, 2.0, 3.0])), np.array([1, 2, 3]) * 5 / 6
    )


def test_source_depends_on_no_number() -> None:
    """C039: one kernel serves every beta and temperature, and every size, which is chosen at call time."""
    assert source(Softmax(beta=7, temperature=0.25)) == source(Softmax())
    assert len(source(Attention("1000*dot(Q*x, K*y)"))) - len(source(Attention("2*dot(Q*x, K*y)"))) < 50


def test_docstring_names_model_arguments_shapes_and_key() -> None:
    document = source(L2())
    for part in (
        "l2: s(x, y)",
        "l2-QK",
        "alpha (d, 1)",
        "F (d, r)",
        "Q (k, d)",
        "params = Q",
        "symflow 0.",
        "key: ",
    ):
        assert part in document, part
    assert "memoryview" not in document
    assert "numpy" not in document


def test_numpy_text_is_a_module_with_docstrings() -> None:
    tree = ast.parse(source(L2(), target="numpy", entry="moments"))
    functions = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    assert [f.name for f in functions] == ["moments", "factor", "tangent"]
    assert all("Parameters" in (ast.get_docstring(f) or "") for f in functions)


@pytest.mark.parametrize("target", ["cython", "numpy"])
def test_text_is_the_same_in_every_process(target: str) -> None:
    """C041: no order of a set or salted hash leaks into text or key."""
    code = (
        "from symflow import L2; from symflow.codegen.forms import text; import sys; "
        "from symflow.codegen.keys import declared; m = L2(); "
        "n = frozenset(['Q', 'K', 'V', 'bq', 'bk', 'bv', 'bo']); "
        f"sys.stdout.buffer.write((text(m, n, {target!r}) + declared(m)).encode())"
    )
    outputs = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        outputs.add(
            subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, check=True
            ).stdout
        )
    assert len(outputs) == 1
    assert (
        outputs.pop()
        .decode()
        .startswith(text(L2(), frozenset(["Q", "K", "V", "bq", "bk", "bv", "bo"]), target))
    )
