"""Evaluation at rational points: the second route to equality, sharing no code with the normal form.

It is exact, but for roots of matrices, which ``agree_numerically`` computes to many digits.
"""

from symflow.algebra.sampling.agreement import Sampled, agree_at_rational_points, agree_numerically, draw
from symflow.algebra.sampling.evaluation import evaluate
from symflow.algebra.sampling.rational_matrices import SingularPoint
from symflow.algebra.sampling.roots import context, principal_root

__all__ = [
    "Sampled",
    "SingularPoint",
    "agree_at_rational_points",
    "agree_numerically",
    "context",
    "draw",
    "evaluate",
    "principal_root",
]
