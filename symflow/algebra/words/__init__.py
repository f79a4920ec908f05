"""Normal form of matrix words at symbolic size, and the equality that it proves.

A *word* is a product of letters: symbols, transposed or inverted, and inverses of polynomials in words. A
:class:`NormalForm` is a polynomial in words whose coefficients may hold scalar factors such as ``uᵀ…v`` and
``tr(…)``.
"""

from symflow.algebra.words.conversion import identical, normal_form
from symflow.algebra.words.normal import NormalForm

__all__ = ["NormalForm", "identical", "normal_form"]
