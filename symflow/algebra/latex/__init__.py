r"""LaTeX of matrix expressions the way a paper writes them.

``V*(I + Sigma*A)*alpha`` becomes ``V(I+\Sigma A)\alpha``: transposes are ``^{\top}``, traces of ``uᵀv`` are
inner products, sums start with the identity or the mean, a term comes before its transpose, numbers stay
exact.
"""

from symflow.algebra.latex.equations import aligned, latex, latex_equation, latex_rows
from symflow.algebra.latex.lines import DEFAULT_WIDTH, width
from symflow.algebra.latex.names import latex_name

__all__ = ["DEFAULT_WIDTH", "aligned", "latex", "latex_equation", "latex_name", "latex_rows", "width"]
