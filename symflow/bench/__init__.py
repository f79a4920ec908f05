"""Benchmarks that come with the package: its time beside that of installed peers and the machine's limit.

`contest`         cases, contestants, results
`velocity`        T1: the velocity of n tokens on the sphere
`trajectory`      T2: a run of 64 tokens on S²
`gaussian`        T3: a run of a Gaussian law; `gaussian_peers` has the peers, for any interpreter
`circle`          T7: the velocity of many tokens on the circle and S², without a sum over pairs
`tasks`           all of them by name
`limits`          what the machine can do: operations, exponentials, products, bytes per second
`machine`         what the numbers depend on
`worker`          a process in which some contestants are made and timed
`processes`       all of these, one per family of packages and number of threads
`run`             :func:`run_bench`
"""

from symflow.bench.run import run_bench
from symflow.bench.tasks import TASKS

__all__ = ["TASKS", "run_bench"]
