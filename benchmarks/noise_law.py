"""The law of networks and of their limit: mean cosine of two tokens at t = 1, with standard errors.

32 tokens in dimension 8, softmax attention with β = 4, ReLU with and without biases: a network, draws by
covariance and draws by random features. Printed are the means, their standard errors, and the largest
difference in standard errors of a difference.

    python benchmarks/noise_law.py [--paths N] [--layers N] [--width N] [--biases B B ...] [--threads N]
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from symflow import CommonNoise, DeepTransformer, Softmax, ensemble
from symflow.claims.abgsr26.network import mean_cosines

TOKENS, DIM, BETA, TIME = 32, 8, 4.0, 1.0


def draws(bias: float, given: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """Return what runs each of the three, by name."""
    noise, model = CommonNoise("relu", bias, bias, dim=DIM), Softmax(space="sphere", beta=BETA)
    x0 = np.random.default_rng(5).normal(size=(TOKENS, DIM))
    x0 /= np.linalg.norm(x0, axis=1, keepdims=True)
    network = DeepTransformer(model, noise, given.layers, given.width, TIME)

    def equation(draw: str, seed: int) -> Any:
        return ensemble(
            model, x0, {}, (0.0, TIME), noise=noise, dt=TIME / given.layers, rng=seed, paths=given.paths,
            draw=draw, threads=given.threads,
        )  # fmt: skip

    return {
        "network": lambda: network.run(x0, given.seed, paths=given.paths, threads=given.threads),
        "covariance": lambda: equation("covariance", given.seed + 1),
        "features": lambda: equation("features", given.seed + 2),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("paths", 400), ("layers", 500), ("width", 1024), ("threads", 1), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--biases", type=float, nargs="+", default=[0.0, 0.1])
    given = parser.parse_args()
    for bias in given.biases:
        found = {}
        for name, run in draws(bias, given).items():
            start = time.perf_counter()
            cosines = mean_cosines(run().x[:, -1])
            found[name] = float(cosines.mean()), float(cosines.std(ddof=1)) / math.sqrt(cosines.size)
            seconds = time.perf_counter() - start
            print(f"bias {bias:g}  {name:10}  {found[name][0]:.4f} ± {found[name][1]:.4f}  {seconds:.1f} s")
        worst = max(
            abs(a - b) / math.hypot(va, vb) for (a, va), (b, vb) in itertools.combinations(found.values(), 2)
        )
        print(f"bias {bias:g}  largest difference: {worst:.2f} standard errors")


if __name__ == "__main__":
    main()
