"""Principal square roots of matrices in arithmetic of many digits."""

from __future__ import annotations

from typing import Any

import mpmath

from symflow.algebra.sampling.rational_matrices import SingularPoint

_GUARD = 15  # digits beyond those of the context
_STEPS = 200


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
            root = _newton(matrix, ctx)
            eigenvalues = ctx.eig(root, left=False, right=False) if root.rows > 1 else [root[0, 0]]
        except (ZeroDivisionError, ctx.NoConvergence) as error:
            raise SingularPoint("a matrix under a root has no principal square root here") from error
        bound = ctx.mpf(10) ** (_GUARD - ctx.dps) * max(ctx.mnorm(matrix, 1), 1)
        imaginary = max(abs(ctx.im(entry)) for entry in root)
        residual = ctx.mnorm(root * root - matrix, 1)
        if max(imaginary, residual) > bound or min(ctx.re(value) for value in eigenvalues) <= bound:
            raise SingularPoint("a matrix under a root has no principal square root here")
        return root.apply(ctx.re)


def _newton(matrix: Any, ctx: Any) -> Any:
    r"""Iterate :math:`Y \leftarrow \tfrac12(\mu Y + (\mu Z)^{-1})` and the same with Y and Z exchanged.

    From Y = P and Z = I they tend to :math:`P^{1/2}` and its inverse; the scale μ makes the norms balance.
    Errors of rounding grow with the condition, hence the digits in reserve.
    """
    digits = ctx.dps
    with ctx.workdps(3 * digits):
        root, other = matrix.copy(), ctx.eye(matrix.rows)
        changed = ctx.inf
        for _ in range(_STEPS):
            inverses = ctx.inverse(root), ctx.inverse(other)
            scale = ctx.mpf(1)
            if changed > ctx.mpf("0.01"):
                sizes = [ctx.mnorm(m, "f") for m in (*inverses, root, other)]
                scale = ctx.root(sizes[0] * sizes[1] / (sizes[2] * sizes[3]), 4)
            following = (scale * root + inverses[1] / scale) / 2
            other = (scale * other + inverses[0] / scale) / 2
            changed = ctx.mnorm(following - root, "f") / ctx.mnorm(following, "f")
            root = following
            if changed < ctx.mpf(10) ** (-digits):  # the next step would double the digits
                return root
    raise ctx.NoConvergence(f"no principal square root within {_STEPS} steps")
