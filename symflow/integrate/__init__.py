"""Integrate mean-field equations: a model, a law and numbers enter, a trajectory leaves."""
