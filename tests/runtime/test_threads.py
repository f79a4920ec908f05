"""Threads of large products: equal bits for any number, also after a fork and from several callers."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from symflow_ext import runtime


@pytest.fixture
def threads():
    before = runtime.threads()
    yield runtime.set_threads
    runtime.set_threads(before)


def _product(seed, shape=(200, 130, 170), **options):
    m, k, n = shape
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    c = rng.normal(size=(m, n))
    a, b = (a.T.copy() if options.get("trans_a") else a), (b.T.copy() if options.get("trans_b") else b)
    runtime.gemm(a, b, c, alpha=1.5, beta=-0.5, **options)
    return c


@pytest.mark.parametrize(
    "options", [{}, {"trans_a": True}, {"trans_b": True}, {"trans_a": True, "trans_b": True}]
)
def test_equal_bits_for_any_number(threads, options):
    found = []
    for count in (1, 2, 3, 8):
        threads(count)
        found.append(_product(0, **options))
    assert all(np.array_equal(other, found[0]) for other in found[1:])


def test_several_callers_at_once(threads):
    threads(1)
    alone = [_product(seed) for seed in range(12)]
    threads(3)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(_product, range(12)))
    assert all(np.array_equal(x, y) for x, y in zip(alone, together, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_child_has_threads_of_its_own(threads):
    threads(2)
    expected = _product(1)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(_product(1), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_number_below_one_is_refused(threads):
    with pytest.raises(ValueError, match="at least 1"):
        threads(0)
