r"""How far two solutions can move apart: constants of every model on a ball, derived from its statement.

==========  ===================================================================================
`ranges`    bounds of functions of two tokens, by propagation along expressions
`heads`     bounds of a head, by how its weights are normalised
`growth`    the radius of the support
`numbers`   the formulas in ball arithmetic, rounded upwards
`steps`     the argument, with a check of every bound (`checks`)
`argument`  :func:`stability`, :class:`Stability`
==========  ===================================================================================
"""

from symflow.derive.stability.argument import BallConstants, Stability, stability

__all__ = ["BallConstants", "Stability", "stability"]
