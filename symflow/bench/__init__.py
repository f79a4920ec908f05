"""Benchmarks that come with the package: its time beside that of installed peers and the machine's limit.

`contest`         what is timed in turn, and how
`velocity`        T1: the velocity of n tokens on the sphere
`trajectory`      T2: a run of 64 tokens on S²
`gaussian`        T3: a run of a Gaussian law; `gaussian_peers` has the peers, for any interpreter
`circle`          T7: the velocity of many tokens on the circle, without a sum over pairs
`limits`          what the machine can do: operations and bytes per second
`machine`         what the numbers depend on
`run`             :func:`run_bench`
"""

from symflow.bench.run import TASKS, run_bench

__all__ = ["TASKS", "run_bench"]
