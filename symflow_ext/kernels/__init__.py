"""Kernels of the shipped models, generated from their derivations and compiled by ``setup.py``; none is hand-typed."""
