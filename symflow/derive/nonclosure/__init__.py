"""Proofs that a mechanism does not keep Gaussians Gaussian.

==============  ================================================================================
`reduction`     a statement at size one: kernels and values as functions of two numbers
`moments`       exact integrals of polynomials times exponentials of quadratics
`balls`         rigorous enclosures where there is no closed form
`divergence`    normalisers that are infinite for every Gaussian
`witness`       the evidence, and its check by another route
`search`        :func:`refute_closure`
`argument`      the argument as steps that are checked and printed
==============  ================================================================================
"""

from symflow.derive.nonclosure.argument import Refutation, refutation
from symflow.derive.nonclosure.divergence import diverging_normaliser
from symflow.derive.nonclosure.search import refute_closure
from symflow.derive.nonclosure.witness import Law, Witness

__all__ = ["Law", "Refutation", "Witness", "diverging_normaliser", "refutation", "refute_closure"]
