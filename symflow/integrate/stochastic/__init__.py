"""Runs of tokens with noise: common noise of random layers, and noises of their own."""
