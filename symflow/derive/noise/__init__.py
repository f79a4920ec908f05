r"""Common noise from random layers, derived: covariance of the field, pairs of tokens, exponents.

================  ===================================================================
`activations`     activations as sums of terms whose Gaussian averages close up
`averages`        averages over one and two Gaussian variables, without an integral
`antiderivative`  the functions in which averages are antiderivatives
`covariance`      the covariance κ of the field of a random layer, as steps
`ito`, `limits`   Itô's formula for two tokens at symbolic size; limits where they meet
`pair`            the generator of the cosine of two tokens, as steps
`exponents`       both for one layer: λ₁, λ̄ and Λ(p) in d, σ_W and σ_U
================  ===================================================================
"""

from symflow.derive.noise.activations import NoClosedForm as NoClosedForm
from symflow.derive.noise.covariance import FieldCovariance as FieldCovariance
from symflow.derive.noise.covariance import field_covariance as field_covariance
from symflow.derive.noise.exponents import NoiseDerivation as NoiseDerivation
from symflow.derive.noise.exponents import noise_derivation as noise_derivation
from symflow.derive.noise.pair import PairGenerator as PairGenerator
from symflow.derive.noise.pair import pair_generator as pair_generator
