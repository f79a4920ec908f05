"""Energies as functionals: first variations, gradients, values at points and Gaussian laws."""

from symflow.derive.energies.argument import EnergyDerivation, first_variation, second_variation_kernel
from symflow.derive.energies.gaussian import GaussianEnergy, gaussian_energy

__all__ = [
    "EnergyDerivation",
    "GaussianEnergy",
    "first_variation",
    "gaussian_energy",
    "second_variation_kernel",
]
