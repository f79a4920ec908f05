"""Kernels of the shipped models: generated from their derivations, compiled by ``setup.py``."""
