"""What ``setup.py`` compiles of the hand-written runtime, and how."""

from __future__ import annotations

#: Extension module -> its source, in the order in which they ``cimport`` each other.
EXTENSIONS = {
    "symflow_ext.buffers": "symflow_ext/buffers.pyx",
    "symflow_ext.roots": "symflow_ext/roots.pyx",
    "symflow_ext.linalg": "symflow_ext/linalg.pyx",
    "symflow_ext.call": "symflow_ext/call.pyx",
    "symflow_ext.schedule": "symflow_ext/schedule.pyx",
    "symflow_ext.tables": "symflow_ext/tables.pyx",
    "symflow_ext.stepper": "symflow_ext/stepper.pyx",
    "symflow_ext.taylor": "symflow_ext/taylor.pyx",
    "symflow_ext.taylor_stepper": "symflow_ext/taylor_stepper.pyx",
    "symflow_ext.lanes": "symflow_ext/lanes.pyx",
    "symflow_ext.paths": "symflow_ext/paths.pyx",
    "symflow_ext.network": "symflow_ext/network.pyx",
    "symflow_ext.fast_sums": "symflow_ext/fast_sums.pyx",
    "symflow_ext.limits": "symflow_ext/limits.pyx",
}

#: Where the C headers lie, from the root of the repository.
INCLUDE_DIRS = ["symflow_ext/include"]

#: Never ``-ffast-math``: it lets NaN through, and loading such a library flushes denormals.
#: Integers wrap: exponents are made of their bits.
COMPILE_ARGS = ["-O3", "-fno-math-errno", "-fwrapv", "-ffp-contract=off", "-Wno-unused-function", "-pthread"]

#: Directives of every source, so that none has to repeat them.
COMPILER_DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
}
