r"""Velocities of tokens without a sum over pairs: whether there is one, whether it pays, and the bound call.

==============  ================================================================================
`choice`        :func:`fast_sum`
`setting`       a token flow with numbers for its symbols
`harmonics`     exponential weights on the circle and on S²: O(nM), O(nM²)
`moments`       weights that are affine in both tokens: O(nd²)
`costs`         what a call costs, and what the sum over pairs would
==============  ================================================================================
"""

from symflow.codegen.expansions.choice import SUMMATIONS, TOLERANCE, fast_sum
from symflow.codegen.expansions.costs import FastSum

__all__ = ["SUMMATIONS", "TOLERANCE", "FastSum", "fast_sum"]
