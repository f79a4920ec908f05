r"""Energies of clouds of tokens, and their gradients, also where they exceed the range of doubles.

Every energy is a mean over ordered pairs, the pair of a token with itself included. It takes tokens of shape
(n, d), or any number of leading axes before these two, such as time; no array of n × n numbers is formed for
many tokens.
"""

from symflow.energies.along import energy_along
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
]
