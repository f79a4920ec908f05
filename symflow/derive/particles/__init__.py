"""The system of n tokens that a model means: pairings of their scores, symmetry, projection, frame."""

from symflow.derive.particles.derivation import TokenDerivation, token_flow

__all__ = ["TokenDerivation", "token_flow"]
