"""From a flow to a compiled kernel, or to the same program printed for NumPy."""
