"""Compiled runtime of symflow and, after a build, the kernels of the shipped models."""
