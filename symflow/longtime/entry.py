"""One call: read exactly, ask the criteria in order, say what is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symflow.algebra.exact.rational import inertia, is_zero
from symflow.longtime.affine import affine
from symflow.longtime.assemble import undecided
from symflow.longtime.commuting import commuting
from symflow.longtime.fractional import fractional
from symflow.longtime.growth import bounded_gradient
from symflow.longtime.layer import layer
from symflow.longtime.line import line
from symflow.longtime.linear import uncentred
from symflow.longtime.lyapunov import lyapunov
from symflow.longtime.modes import modes
from symflow.longtime.noise import noise
from symflow.longtime.plane import plane
from symflow.longtime.radial import radial
from symflow.longtime.reading import ExactProblem, read_exactly
from symflow.longtime.reflection import reflection
from symflow.longtime.result import LongTime
from symflow.longtime.validated import validated

#: From the most to the least informative.
_CRITERIA: tuple[Callable[[ExactProblem], LongTime | None], ...] = (
    commuting,
    radial,
    line,
    layer,
    plane,
    reflection,
    modes,
    fractional,
    affine,
    noise,
    lyapunov,
    bounded_gradient,
    validated,
)


def long_time(model: Any, initial: Any, params: Any) -> LongTime:
    r"""Return what is proved about a Gaussian law at long times.

    .. math:: \lim_{t\to\infty}\Sigma(t), \qquad \operatorname{rank}, \qquad
              t^* = \sup\{t : \Sigma \text{ exists on } [0,t]\}

    Parameters
    ----------
    model : AttentionModel
        A model that keeps Gaussians Gaussian.
    initial : Gaussian
        The law at time 0; its numbers are read as the exact rationals they are.
    params : mapping of str to array_like
        Constant parameters, as for :func:`symflow.solve`.

    Returns
    -------
    LongTime
        ``closed_form``, ``limit``, ``limit_rank``, ``blow_up_time``, ``criterion``; what is not proved is
        None, and ``reason`` says why.

    Raises
    ------
    InputError
        As :func:`symflow.solve`.
    NotGaussianPreserving, ClosureUndecided
        If the model has no closed equations.

    References
    ----------
    CACP25.

    Examples
    --------
    >>> from symflow import Gaussian, Softmax
    >>> result = long_time(Softmax(), Gaussian([0, 0], [[2, 0], [0, 1]]), {"V": [[1, 0], [0, 1]],
    ...                    "A": [[0.25, 0], [0, -1]]})
    >>> str(result.blow_up_time), result.limit_rank
    ('1', 1)
    """
    exact = read_exactly(model, initial, params)
    if exact.irrational:
        names = ", ".join(exact.irrational)
        return undecided(
            exact, f"{names} is irrational, and only rational numbers are decided exactly; round it"
        )
    return uncentred(exact, _decide) or _decide(exact)


def _decide(exact: ExactProblem) -> LongTime:
    for criterion in _CRITERIA:
        if (result := criterion(exact)) is not None:
            return result
    return undecided(exact, _open_question(exact))


def _open_question(exact: ExactProblem) -> str:
    """Return what kept every criterion from applying."""
    if any(inertia(head.C).positive for head in exact.heads):
        return (
            "no exact solution is recognised, and the quadratic part C of the score has a positive "
            "eigenvalue, so that the covariance may leave the domain on which the normaliser is finite"
        )
    if any(not is_zero(head.C) for head in exact.heads):
        return (
            "no exact solution is recognised, and the quadratic part C of the score is singular, "
            "so that growth is not bounded by an exponential"
        )
    return "no criterion applies to these parameters"
