"""Exact evaluation at rational points: the second route to equality, sharing no code with the normal form."""

from symflow.algebra.sampling.agreement import Sampled, agree_at_rational_points, draw
from symflow.algebra.sampling.evaluation import evaluate
from symflow.algebra.sampling.rational_matrices import SingularPoint

__all__ = ["Sampled", "SingularPoint", "agree_at_rational_points", "draw", "evaluate"]
