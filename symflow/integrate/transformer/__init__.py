"""Trained transformers: their weights, their tokens, and Gaussian laws pushed through them."""
