r"""Common noise from random layers, derived: covariance of the field, pairs of tokens, exponents.

===========  ===================================================================
`pair`       the generator of the cosine of two tokens, and its limits
===========  ===================================================================
"""

from symflow.derive.noise.pair import PairGenerator as PairGenerator
from symflow.derive.noise.pair import pair_generator as pair_generator
