r"""Velocities of n tokens without a sum over pairs.

==============  ================================================================================
`bilinear`      scores that are affine in both tokens, up to squares that a sphere makes constant
`series`        e^{κ(c−1)} on the circle and on S²: coefficients, recurrences, a proved tail
`enclosures`    the coefficients and the tail in ball arithmetic; how many modes a tolerance needs
`harmonics`     exponential weights on the circle and on S²: :func:`harmonic_sum`
`moments`       weights that are affine in both tokens, in any space: :func:`moment_sum`
`checks`        the independent routes of the steps
==============  ================================================================================
"""

from symflow.derive.expansions.bilinear import Bilinear, bilinear
from symflow.derive.expansions.harmonics import HarmonicSum, harmonic_sum
from symflow.derive.expansions.moments import MomentSum, moment_sum

__all__ = ["Bilinear", "HarmonicSum", "MomentSum", "bilinear", "harmonic_sum", "moment_sum"]
