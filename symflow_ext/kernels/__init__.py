"""Kernels of the shipped models, generated from their derivations and compiled by ``setup.py``; nothing is typed here."""
