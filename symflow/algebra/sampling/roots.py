"""Principal square roots of matrices in arithmetic of many digits."""

from __future__ import annotations

from typing import Any

import mpmath

from symflow.algebra.sampling.rational_matrices import SingularPoint

_GUARD = 15  # digits beyond those of the context


def context(digits: int) -> Any:
    """Return a private mpmath context, so that no global precision is touched."""
    made = mpmath.MPContext()
    made.dps = digits
    return made


def principal_root(matrix: Any, ctx: Any) -> Any:
    r"""Return the real R with :math:`R^2 = P` whose eigenvalues have positive real parts.

    It is unique; existence, the equation :math:`R^2 = P` to the digits of the context, and the signs are
    looked at, not assumed.

    Parameters
    ----------
    matrix : matrix of ``ctx``
        P, real and square, without an eigenvalue on the closed negative axis.
    ctx : mpmath context

    Raises
    ------
    SingularPoint
        When P has no principal root, or none to the digits of the context.

    Examples
    --------
    >>> ctx = context(30)
    >>> root = principal_root(ctx.matrix([[5, 4], [4, 5]]), ctx)
    >>> [ctx.nstr(root[0, j], 12) for j in range(2)]
    ['2.0', '1.0']
    """
    with ctx.workdps(ctx.dps + _GUARD):
        try:
            root = ctx.sqrtm(matrix)
            eigenvalues = ctx.eig(root, left=False, right=False) if root.rows > 1 else [root[0, 0]]
        except (ZeroDivisionError, ctx.NoConvergence) as error:
            raise SingularPoint("a matrix under a root has no principal square root here") from error
        bound = ctx.mpf(10) ** (_GUARD - ctx.dps) * max(ctx.mnorm(matrix, 1), 1)
        imaginary = max(abs(ctx.im(entry)) for entry in root)
        residual = ctx.mnorm(root * root - matrix, 1)
        if max(imaginary, residual) > bound or min(ctx.re(value) for value in eigenvalues) <= bound:
            raise SingularPoint("a matrix under a root has no principal square root here")
        return root.apply(ctx.re)
