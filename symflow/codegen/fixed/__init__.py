"""Programs printed at a fixed small size: straight-line code, one member of an ensemble per lane.

========== =======================================================================================
module     what it does
========== =======================================================================================
entries    numbers and names, and the arithmetic that drops zeros and ones
unroll     a :class:`~symflow.codegen.program.Program` with sizes → assignments of single entries
printer    assignments and tableau → a Cython module around ``symflow_lanes_dop853.h``
kernel     the module, found in the cache or built
========== =======================================================================================
"""
