"""One run of interacting tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symflow.checking import Array
from symflow.codegen.kernel import Kernel
from symflow.errors import InputError
from symflow.integrate.backends import compiled_for
from symflow.integrate.implicit import ImplicitDriver
from symflow.integrate.loop import follow
from symflow.integrate.methods import Driver, TableauDriver
from symflow.integrate.options import IMPLICIT, Options
from symflow.integrate.problem import Problem, read_problem
from symflow.integrate.scheduled import bound_call, right_hand_side
from symflow.integrate.tokens.frame import in_rescaled_frame
from symflow.integrate.tokens.state import TokenLayout, Tokens
from symflow.integrate.tokens.trajectory import TokenTrajectory

FRAMES = ("fixed", "rescaled")
SUMMATIONS = ("auto", "direct", "fast")

_SHARE, _FINEST = 1e-3, 1e-15  # of the relative tolerance, what truncation may add to an average
_FEW = 128  # tokens, whose pairs take less time than asking whether an expansion pays


def refuse_options_of_tokens(frame: str, summation: str) -> None:
    """Refuse what has a meaning for tokens only."""
    if frame != "fixed" or summation != "auto":
        raise InputError("frame and summation are options of tokens; leave them out for a Gaussian law")


def run_tokens(
    model: Any,
    tokens: Tokens,
    params: Mapping[str, Any],
    options: Options,
    backend: str,
    *,
    frame: str = "fixed",
    summation: str = "auto",
) -> TokenTrajectory:
    """Integrate tokens; see :func:`symflow.solve`.

    Raises
    ------
    InputError
        If an argument cannot be used, before any work.
    """
    _refuse_choices(frame, summation, options)
    problem = read_problem(model, tokens, params, (options.t0, options.t1))
    refuse_unavailable(problem, options)
    if frame == "rescaled":
        problem, tokens = in_rescaled_frame(problem, tokens, options.t0)
    layout = TokenLayout(tokens.count, tokens.dim, tokens.on_sphere)
    driver, how = _driver(problem, tokens, layout, options, backend, summation)

    def describe(status: str, t: float, state: Array) -> str:
        return _message(problem, options, driver, status, t, frame)

    outcome = follow(driver, layout, options, describe)
    (x,) = layout.seen(outcome.states)
    return TokenTrajectory(
        x=x,
        x_events=tuple(outcome.finder.seen(index)[0] for index in range(len(options.events))),
        space=problem.model.space,
        frame=frame,
        summation=how,
        **outcome.common(driver, options, layout, problem.statement.name),
    )


def refuse_unavailable(problem: Problem, options: Options) -> None:
    """Refuse what runs of tokens do not have: the Taylor method; and noise, which has runs of its own."""
    if options.method == "taylor":
        raise InputError("method 'taylor' is not available for tokens; use 'dop853'")
    if problem.is_noisy:
        raise InputError("diffusion differs by member, which paths with noise do not; give it to the model")


def _refuse_choices(frame: str, summation: str, options: Options) -> None:
    if frame not in FRAMES:
        raise InputError(f"frame {frame!r} is unknown; choose one of {', '.join(FRAMES)}")
    if summation not in SUMMATIONS:
        raise InputError(f"summation {summation!r} is unknown; choose one of {', '.join(SUMMATIONS)}")
    if summation == "fast" and options.method in IMPLICIT:
        raise InputError(f"summation = 'fast' is not available for method {options.method!r}; use 'dop853'")
    if summation == "fast" and frame == "rescaled":
        raise InputError(
            "summation = 'fast' is not available in the rescaled frame, where scores change; use 'auto'"
        )


def token_dims(problem: Problem, tokens: Tokens) -> tuple[int, ...]:
    """Return the sizes of a token kernel: those of the model, then n."""
    masked = problem.statement.positions is not None
    return problem.dims if masked else (*problem.dims, tokens.count)


def _driver(
    problem: Problem, tokens: Tokens, layout: TokenLayout, options: Options, backend: str, summation: str
) -> tuple[Driver, str]:
    """Compile the right-hand side, bind it to the numbers, and say how it sums over pairs."""
    if summation == "fast":
        _refuse_schedule(problem)
    explicit = options.method not in IMPLICIT
    kernel = compiled_for(problem.model, backend, problem.parametrisation, explicit, "tokens")
    rhs, how = _rhs(kernel, problem, tokens, options, summation)
    return token_driver(rhs, tokens.x.reshape(-1), layout, options), how


def token_driver(rhs: Any, y0: Array, layout: TokenLayout, options: Options) -> Driver:
    """Return what advances tokens, given what :func:`all_pairs` or an expansion returned."""
    atol = layout.tolerances(options.atol)
    if options.method in IMPLICIT:
        return ImplicitDriver(rhs, None, y0, atol, options, 0)
    watch, sphere = (y0.size, layout.d) if layout.on_sphere else (0, 0)
    return TableauDriver(rhs, y0, atol, options, watch, sphere=sphere)


def all_pairs(kernel: Kernel, problem: Problem, tokens: Tokens, options: Options) -> Any:
    """Return the right-hand side that sums over all pairs, in the form that the method calls."""
    bind = right_hand_side if options.method in IMPLICIT else bound_call
    return bind(kernel, problem, "tokens", token_dims(problem, tokens))


def _rhs(
    kernel: Kernel, problem: Problem, tokens: Tokens, options: Options, summation: str
) -> tuple[Any, str]:
    """Return the right-hand side: an expansion where it is faster, or asked for, and else all pairs."""
    if options.method not in IMPLICIT and _may_expand(kernel, problem, tokens, summation):
        from symflow.codegen.expansions import fast_sum

        tolerance = max(_SHARE * options.rtol, _FINEST)
        dims, values = token_dims(problem, tokens), problem.kernel_values
        found = fast_sum(problem.model, dims, values, tolerance, summation)
        if found is not None:
            return found.call, found.method
    return all_pairs(kernel, problem, tokens, options), "direct"


def _refuse_schedule(problem: Problem) -> None:
    for name in problem.schedule:
        raise InputError(f"summation = 'fast' takes parameters that are constant in time, {name!r} is not")


def _may_expand(kernel: Kernel, problem: Problem, tokens: Tokens, summation: str) -> bool:
    """Whether to ask for an expansion: it is compiled, and its coefficients are those of one time."""
    if summation == "auto":
        return tokens.count >= _FEW and kernel.backend == "compiled" and not problem.schedule
    return summation == "fast"


def _message(problem: Problem, options: Options, driver: Driver, status: str, t: float, frame: str) -> str:
    """Say how a run ended, and what to do about it."""
    name, where = problem.model.name, f"t = {t:.10g}"
    if status == "finished":
        return f"reached {where}"
    if status == "blow-up":
        return f"{name} blows up in finite time: max |x| → ∞ at t* = {driver.singularity:.10g}"
    if status == "non-finite":
        if problem.model.space == "sphere":
            return f"the velocity of {name} is not finite at {where}; make its score or parameters smaller"
        if t == options.t0:
            return f"the velocity of {name} is not finite at the first time {where}; rescale the tokens"
        what, remedy = ("tokens", "frame='rescaled' may keep them bounded")
        if frame == "rescaled":
            what, remedy = ("scores", "end the run earlier")
        past = f"the {what} leave the range of floating-point numbers near {where}"
        return f"{past}, not at a singularity; {remedy}"
    if driver.reason == "not-converged":
        return (
            f"the scaling of the weights of {name} does not converge near {where}; "
            "raise temperature, or end the run earlier"
        )
    if options.dt is not None:
        return f"a step of dt = {options.dt:g} failed at {where}; reduce dt"
    return f"the step size fell below the spacing of floating-point numbers at {where}; try a larger rtol"
