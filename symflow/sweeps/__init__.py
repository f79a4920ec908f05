"""Sweeps: one run for every combination of values that a spec states, in a store that can be gone on with.

`cells`       the spec of every cell, checked before any work
`plan`        what is kept, and the blocks that are run and stored together
`statistics`  what can be kept of a run
`work`        a block of cells in, what is kept of them out
`store`       the zarr store
`run`         hands blocks to an executor and keeps what comes back
"""

from symflow.sweeps.run import sweep

__all__ = ["sweep"]
