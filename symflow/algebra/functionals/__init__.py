"""Functionals of a law: averages as expressions, their variations, their values on points and Gaussians."""
