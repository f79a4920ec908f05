"""Energies as functionals: first variations, gradients, values at points and Gaussian laws."""
