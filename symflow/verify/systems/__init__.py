"""Systems of n tokens against independent witnesses.

==============  ==============================================================================
`system`        what is verified: a model, its derivation for tokens, its two kernels
`clouds`        points: tokens and parameters, random and at the edges
`definition`    the velocity with 50 digits, from the definition of the model
`dissipation`   energies along runs, where a structure is derived
`witnesses`     one function per witness, and which of them apply
==============  ==============================================================================
"""

from symflow.verify.systems.system import System
from symflow.verify.systems.witnesses import applicable

__all__ = ["System", "applicable"]
