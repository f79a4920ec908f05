"""Whether a velocity of tokens is summed without its pairs."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symflow.codegen.expansions.costs import FastSum, never_pays
from symflow.errors import InputError, NoExpansion, NoTokenFlow

if TYPE_CHECKING:
    from symflow.derive.expansions.bilinear import Bilinear
    from symflow.flow import TokenFlow

SUMMATIONS = ("auto", "direct", "fast")
#: Default bound of the error that truncation makes in an average.
TOLERANCE = 1e-13
#: Values that a model carries itself, unless it has a parameter of that name.
_OWN = frozenset({"beta", "temperature", "diffusion", "theta"})


def fast_sum(
    model: Any,
    dims: Sequence[int],
    params: Mapping[str, Any],
    tolerance: float = TOLERANCE,
    summation: str = "auto",
) -> FastSum | None:
    """Return the velocity of tokens without a sum over pairs, where there is one and it pays.

    Parameters
    ----------
    model : AttentionModel
    dims : sequence of int
        The sizes of the model's token flow: d first, n last.
    params : mapping of str to array
        Values of the parameters; ``beta``, ``temperature`` and ``theta`` default to the model's.
    tolerance : float, default 1e-13
        Bound of the error of an average, relative to its total weight.
    summation : str, default "auto"
        ``"direct"`` returns None; ``"fast"`` does not ask whether it pays, and raises where there is none.

    Returns
    -------
    FastSum or None
        None: sum over pairs.

    Raises
    ------
    InputError
        If ``summation``, ``tolerance`` or ``dims`` cannot be used, or ``"fast"`` asks for what there is not.

    Examples
    --------
    >>> from symflow.models.attention.softmax import Softmax
    >>> fast_sum(Softmax(space="sphere", beta=9), (5, 5000), {}) is None
    True
    """
    if summation not in SUMMATIONS:
        raise InputError(f"summation = {summation!r} must be one of {', '.join(map(repr, SUMMATIONS))}")
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 < tolerance < 1:
        raise InputError(f"tolerance = {tolerance!r} must be a number in (0, 1)")
    if summation == "direct" or (summation == "auto" and never_pays(dims[-1], dims[0])):
        return None
    try:
        found = _fast(model, tuple(int(size) for size in dims), params, tolerance)
    except (NoExpansion, NoTokenFlow) as error:
        if summation == "fast":
            raise InputError(f"summation = 'fast': {error}; use summation='auto' or 'direct'") from error
        return None
    pays = found.nanoseconds < found.direct_nanoseconds
    return found if pays or summation == "fast" else None


def _fast(model: Any, dims: tuple[int, ...], params: Mapping[str, Any], tolerance: float) -> FastSum:
    from symflow.codegen.expansions.harmonics import from_harmonics
    from symflow.codegen.expansions.moments import from_moments
    from symflow.codegen.expansions.setting import Setting

    _require_runtime()
    declared = frozenset().union(*model.parametrisations())
    known = _expanded(model.with_symbolic_scale(), frozenset(params) - (_OWN - declared))
    setting = Setting.of(model, known.flow, dims, params)
    if known.affine:
        return from_moments(setting, known.scores)
    return from_harmonics(setting, known.scores, tolerance)


def _require_runtime() -> None:
    try:
        importlib.import_module("symflow_ext.fast_sums")
    except ImportError as error:
        raise NoExpansion("the compiled runtime is not installed") from error


@dataclass(frozen=True, eq=False)
class _Expanded:
    """A token flow with the coefficients of its scores, and whether its weights are affine in the tokens."""

    flow: TokenFlow
    scores: tuple[Bilinear, ...]
    affine: bool


@functools.lru_cache(maxsize=32)
def _expanded(model: Any, given: frozenset[str]) -> _Expanded:
    from symflow.derive.expansions.bilinear import affine_scores, exponential_scores
    from symflow.derive.particles import token_flow

    flow = token_flow(model, given).flow
    try:
        return _Expanded(flow, affine_scores(flow), True)
    except NoExpansion:
        return _Expanded(flow, exponential_scores(flow), False)
