r"""Energies of tokens and of Gaussian laws, and their gradients, also where they exceed the range of doubles.

An energy of tokens is that of their law: every ordered pair counts, also that of a token with itself. It
takes tokens of shape (n, d), or any number of leading axes before these two, such as time; no array of n × n
numbers is formed for many tokens. ``energy.on_gaussian(mean, cov)`` is the closed form at a Gaussian law,
``energy.first_variation(x, at)`` has δF/δμ and its gradient; ``energy.statement()`` and ``energy.exact()``
are the definition at symbolic size and the parameters as exact numbers.
"""

from symflow.energies.along import energy_along, energy_of_laws
from symflow.energies.dissipation import Dissipation
from symflow.energies.energy import Energy
from symflow.energies.entropy import Entropy
from symflow.energies.exponential import Exponential
from symflow.energies.interaction import Interaction
from symflow.energies.log_partition import LogPartition
from symflow.energies.pairwise import Pairwise
from symflow.energies.self_transport import SelfTransport

__all__ = [
    "Dissipation",
    "Energy",
    "Entropy",
    "Exponential",
    "Interaction",
    "LogPartition",
    "Pairwise",
    "SelfTransport",
    "energy_along",
    "energy_of_laws",
]
