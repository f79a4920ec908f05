"""The exponential function of the runtime: its constants, its proved error, and its ends."""

import ctypes
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from symflow.codegen import exponential
from symflow_ext.contract import HEADER

_KIND = r"""
#define SYMFLOW_ISA %d
#include "symflow_isa.h"
SYMFLOW_TARGET void evaluate_%d(ptrdiff_t n, int kind, const double *x, double *y)
{
    for (ptrdiff_t i = 0; i < n; i += SYMFLOW_LANES) {
        symflow_real t = symflow_load(x + i);
        if (kind == 0) SYMFLOW_OWN(symflow_powers)(1, &t, 1, 1);
        if (kind == 1) SYMFLOW_OWN(symflow_powers)(1, &t, 0, 1);
        if (kind == 2) SYMFLOW_OWN(symflow_powers)(1, &t, 0, 0);
        if (kind == 3) t = symflow_sigmoid(t);
        symflow_store(y + i, t);
    }
}
#include "symflow_isa_end.h"
"""
_SUPPORTED = r"""
int supported(int bits)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (bits == 512) return __builtin_cpu_supports("avx512f") != 0;
    if (bits == 256) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return 1;
#else
    return bits == 128;
#endif
}
#if defined(__aarch64__)
int fused_128 = 1;
#else
int fused_128 = 0;
#endif
"""
_X86 = "#if defined(__x86_64__)\n" + "".join(_KIND % (bits, bits) for bits in (512, 256)) + "#endif\n"
NATURAL, WIDE, NARROW, SIGMOID = range(4)


@pytest.fixture(scope="module")
def evaluate(built):
    """Return a function (kind, x) -> {instruction set: values}."""
    library = built(_X86 + _KIND % (128, 128) + _SUPPORTED, "-O2", "-ffp-contract=off")

    def run(kind, x):
        x = np.concatenate([x, np.zeros(-len(x) % 8)])
        found = {}
        for bits in (512, 256, 128):
            if library.supported(bits):
                found[bits] = np.empty_like(x)
                pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, found[bits])]
                getattr(library, f"evaluate_{bits}")(ctypes.c_ssize_t(len(x)), kind, *pointers)
        return found

    run.fused = bool(ctypes.c_int.in_dll(library, "fused_128").value)
    return run


def _bound(bits, base, fused):
    kind = "table" if bits == 512 else "plain" if bits == 256 or fused else "unfused"
    return exponential.relative_error(exponential.SCHEMES[f"{kind}_{base}"])


def _worst(x, found, exact):
    with mpmath.workdps(40):
        values = [exact(mpmath.mpf(float(v))) for v in x]
        normal = [k for k, v in enumerate(values) if mpmath.mpf(2) ** -1019 <= v < mpmath.mpf(2) ** 1023]
        return float(max(abs(mpmath.mpf(float(found[k])) / values[k] - 1) for k in normal))


def _points(reach, step):
    """Points everywhere, and next to where the reduction changes from one piece to the next."""
    rng = np.random.default_rng(0)
    halves = (np.arange(-160, 160) * 7 + 0.5) * step
    near = [np.nextafter(halves, side) for side in (-np.inf, np.inf)]
    spread = [rng.uniform(-reach, reach, 800), rng.normal(size=160), rng.normal(size=160) * 1e-9]
    return np.clip(np.concatenate([*spread, halves, *near]), -reach, reach)


def test_constants_are_those_that_are_proved():
    assert (HEADER.parent / "symflow_exp_constants.h").read_text() == exponential.header()


@pytest.mark.parametrize(
    ("kind", "base", "reach"), [(NATURAL, "e", 709.0), (WIDE, "2", 1022.0), (NARROW, "2", 1000.0)]
)
def test_error_is_within_the_proved_bound(evaluate, kind, base, reach):
    step = (np.log(2.0) if base == "e" else 1.0) / 16
    x = _points(reach, step)
    exact = mpmath.exp if base == "e" else lambda v: mpmath.power(2, v)
    for bits, found in evaluate(kind, x).items():
        assert _worst(x, found, exact) <= _bound(bits, base, evaluate.fused)


def test_bounds_are_below_two_units_in_the_last_place_with_a_table():
    assert exponential.relative_error(exponential.SCHEMES["table_e"]) < 2 * exponential.UNIT
    assert exponential.relative_error(exponential.SCHEMES["table_2"]) < 2 * exponential.UNIT
    assert max(map(exponential.relative_error, exponential.SCHEMES.values())) < 3.2 * exponential.UNIT


@pytest.mark.parametrize("change", [{"degree": 4}, {"pieces": 8}, {"fused": False}])
def test_the_proof_notices_a_worse_scheme(change):
    scheme = exponential.SCHEMES["table_e"]
    assert exponential.relative_error(replace(scheme, **change)) > exponential.relative_error(scheme)


def test_ends_and_what_is_no_number(evaluate):
    x = np.array([709.78, 709.79, 1e300, np.inf, -745.1, -745.2, -1e300, -np.inf, np.nan, 0.0, -0.0, 5e-324])
    with np.errstate(over="ignore", under="ignore"):
        expected = np.exp(x)
    for found in evaluate(NATURAL, x).values():
        assert np.allclose(found[: len(x)], expected, rtol=1e-15, atol=0.0, equal_nan=True)
    for found in evaluate(
        WIDE, np.array([1e300, np.inf, 1024.0, -1e300, -np.inf, -1100.0, np.nan, 0.0])
    ).values():
        assert np.array_equal(found[:8], [np.inf, np.inf, np.inf, 0.0, 0.0, 0.0, np.nan, 1.0], equal_nan=True)


def test_denormal_results_lose_bits_only(evaluate):
    x = np.linspace(-745.0, -708.5, 64)
    for found in evaluate(NATURAL, x).values():
        assert np.max(np.abs(found - np.exp(x))) <= 2 * 5e-324  # one of ours, one of the library


def test_sigmoid_does_not_overflow(evaluate):
    x = np.array([-1e4, -745.0, -40.0, -1.0, 0.0, 1.0, 40.0, 1e4])
    with mpmath.workdps(40):
        expected = np.array([float(1 / (1 + mpmath.exp(-mpmath.mpf(v)))) for v in x])
    for found in evaluate(SIGMOID, x).values():
        assert np.allclose(found, expected, rtol=1e-15, atol=5e-324)
