"""Integrate a Gaussian law along the mean-field equations of a model, or its interacting tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symflow.errors import IntegrationError
from symflow.integrate.gaussian import Gaussian
from symflow.integrate.gaussian_run import run_gaussian
from symflow.integrate.options import Callback, read_options
from symflow.integrate.stochastic.options import (
    has_noise,
    read_steps,
    refuse_noise_of,
    refuse_of_flows,
    refuse_of_noise,
)
from symflow.integrate.stochastic.run import run_path
from symflow.integrate.tokens.run import refuse_options_of_tokens, run_tokens
from symflow.integrate.tokens.state import read_tokens
from symflow.integrate.trajectory import Trajectory

_RAISED = ("blow-up", "step-too-small", "non-finite")


def solve(
    model: Any,
    initial: Any,
    params: Mapping[str, Any],
    t_span: Any,
    *,
    t_eval: Any = None,
    method: str | None = None,
    rtol: float = 1e-9,
    atol: Any = 1e-12,
    events: Any = None,
    dense_output: bool = False,
    dt: float | None = None,
    backend: str = "auto",
    callback: Callback | None = None,
    max_wall_time: float | None = None,
    raise_on_failure: bool = False,
    max_step: float | None = None,
    first_step: float | None = None,
    frame: str = "fixed",
    summation: str = "auto",
    noise: Any = None,
    rng: Any = None,
    path: int = 0,
    draw: str | None = None,
    features: int | None = None,
    degree: int | None = None,
    substeps: int | None = None,
) -> Trajectory:
    r"""Integrate mean and covariance of a Gaussian law, or n tokens, with or without noise.

    .. math:: \dot\alpha = \Gamma(\alpha), \qquad \dot F = LF, \qquad \Sigma = FF^\top
              \qquad\text{or}\qquad \dot x_i = P_{x_i}\Gamma_{\hat\mu}(x_i), \quad
              \hat\mu = \tfrac1n\sum_j\delta_{x_j}

    The covariance of a law flows as a factor, so that symmetry, semidefiniteness and rank hold at every
    time; where V is the identity it may be turned, :math:`F \mapsto FQ`, so that it stays triangular. With
    idiosyncratic noise, which fills the rank, the covariance flows itself, :math:`\dot\Sigma = L\Sigma +
    \Sigma L^\top + 2\varepsilon I`. Tokens on the sphere are retracted onto it after every step.

    Parameters
    ----------
    model : AttentionModel
        E.g. ``Softmax()``.
    initial : Gaussian, or array_like (n, d)
        The law at the first time, whose covariance may be singular; or tokens, on the unit sphere where the
        model lives there.
    params : mapping
        Parameters by name, e.g. ``{"A": …, "V": …}``; heads have a leading axis, and on the sphere those of
        Q, K, V that are missing are the identity. Each may depend on time: a SymPy expression or matrix in
        ``t``, a function of t, or ``(times, samples)``, joined by a cubic spline.
    t_span : (float, float)
        First and last time; a last time before the first one runs backwards.
    t_eval : array_like, (T,), optional
        Times to record, strictly monotone along the run; every accepted step by default.
    method : str, optional
        ``"dop853"`` (default), ``"dp5"``, ``"taylor"`` (adaptive; the last for parameters constant in
        time), ``"rk4"`` (takes ``dt``), ``"radau"``, ``"bdf"`` (SciPy, stiff). With noise
        ``"euler-maruyama"`` (default) or ``"heun"``, whose two stages share one realisation of the noise.
    rtol, atol : float; float or (d,)
        Tolerances on the mean and on the rows of the factor, or on tokens; ``atol`` may differ by coordinate.
    events : callable or sequence of callables, optional
        ``event(t, mean, cov) -> float``, of tokens ``event(t, x)``. Every zero after the first time is
        recorded; ``event.terminal`` (True, or how many zeros) ends the run, ``event.direction`` (±1) keeps
        only zeros of values that rise or fall along the run.
    dense_output : bool, default False
        Keep the continuous solution, ``Trajectory.sol(t)``.
    dt : float, optional
        Step of a fixed-step method.
    backend : str, default "auto"
        ``"compiled"``, ``"numpy"``, or compiled where possible.
    callback : callable, optional
        ``callback(t, mean, cov)`` or ``callback(t, x)`` after every step; a true value ends the run.
    max_wall_time : float, optional
        Seconds after which the run ends with what it has.
    raise_on_failure : bool, default False
        Raise where the status is ``"blow-up"``, ``"step-too-small"`` or ``"non-finite"``.
    max_step, first_step : float, optional
        Bound on, and first value of, the step size of adaptive methods.
    frame : str, default "fixed"
        ``"rescaled"``: integrate and return z = e^{−tV}x of tokens on ℝᵈ with softmax weights, which stays
        bounded where x grows.
    summation : str, default "auto"
        How the velocity of tokens is summed: ``"direct"`` over all pairs, ``"fast"`` by an expansion whose
        error is proved to be small, or whichever is faster.
    noise : CommonNoise, float, or array_like (d,) or (d, r), optional
        Noise that all tokens share, on the sphere; or the factor B of noises of their own: σI, a diagonal, or
        a matrix. ``diffusion`` of the model adds √(2ε)I to B.
    rng : int, Generator, SeedSequence, optional
        The seed of the noise. One seed gives the same path whatever else runs; NumPy's global state is left
        alone.
    path : int, default 0
        Which path of the seed: the one that has this number in :func:`symflow.ensemble`.
    draw : str, optional
        ``"covariance"`` (default for ``"euler-maruyama"``) draws the field at the tokens, ``"features"``
        realises it as a layer of ``features`` hidden units (default 256), ``"harmonics"`` on the circle and
        S² by spherical harmonics up to ``degree`` (default 16).
    substeps : int, default 1
        A step sums the draws of so many finer ones: a run with dt and 2 follows the same Brownian motions as
        one with dt/2 and 1.

    Returns
    -------
    Trajectory
        Of a Gaussian law with ``mean`` and ``cov``, of tokens with ``x``; with ``status`` and ``message``.
        Times where the run could not go are absent, never NaN.

    Raises
    ------
    InputError
        If an argument cannot be used, before any work.
    NormaliserDiverges
        If the attention weights cannot be normalised at the initial law.
    IntegrationError
        With ``raise_on_failure=True``.

    References
    ----------
    CACP25, GLPR23; Hairer, Nørsett, Wanner, *Solving Ordinary Differential Equations I*, II.5–II.6.

    Examples
    --------
    >>> from symflow import Gaussian, Softmax, solve
    >>> law, params = Gaussian([0.0], [[1.0]]), {"A": [[1.0]], "V": [[1.0]]}
    >>> run = solve(Softmax(), law, params, (0, 1), backend="numpy")
    >>> run.status, round(run.t_star, 6)
    ('blow-up', 0.5)
    """
    tokens = None if isinstance(initial, Gaussian) else read_tokens(model, initial)
    drawing: dict[str, Any] = {"draw": draw, "features": features, "degree": degree, "substeps": substeps}
    if tokens is None:
        refuse_noise_of(noise)
    if tokens is not None and has_noise(model, noise):
        refuse_of_flows(
            events=events, dense_output=dense_output, max_step=max_step, first_step=first_step,
            frame=frame != "fixed", summation=summation != "auto",
        )  # fmt: skip
        steps = read_steps(
            tokens.dim, t_span, dt=dt, method=method, t_eval=t_eval, callback=callback,
            max_wall_time=max_wall_time, **drawing,
        )  # fmt: skip
        return _checked(run_path(model, tokens, params, noise, steps, rng, path, backend), raise_on_failure)
    refuse_of_noise(**drawing)
    options = read_options(
        (initial if tokens is None else tokens).dim,
        t_span,
        t_eval=t_eval,
        method="dop853" if method is None else method,
        rtol=rtol,
        atol=atol,
        dt=dt,
        max_step=max_step,
        first_step=first_step,
        events=events,
        dense_output=dense_output,
        callback=callback,
        max_wall_time=max_wall_time,
        seen="t, mean, cov" if tokens is None else "t, x",
    )
    if tokens is None:
        refuse_options_of_tokens(frame, summation)
        trajectory: Trajectory = run_gaussian(model, initial, params, options, backend)
    else:
        trajectory = run_tokens(model, tokens, params, options, backend, frame=frame, summation=summation)
    return _checked(trajectory, raise_on_failure)


def _checked(trajectory: Trajectory, raise_on_failure: bool) -> Trajectory:
    if raise_on_failure and trajectory.status in _RAISED:
        raise IntegrationError(trajectory.message, trajectory)
    return trajectory
