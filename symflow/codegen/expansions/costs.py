"""What a call costs with and without the sum over pairs.

Nanoseconds on one core with AVX-512 (AMD EPYC, 2.6 GHz); only their ratios matter. Sums over pairs are taken
at a pace near the hardware's limit, so that an expansion is chosen where it surely pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_PAIR = 0.25, 0.03  #: per ordered pair: and per coordinate
_PAIRS = 1500.0  #: per sum over pairs: what does not depend on n
_CIRCLE = 6.0, 0.45  #: per token and term: and per mode
_SPHERE = 10.0, 0.40  #: per token and term: and per harmonic
_TABLE = 20.0  #: per mode, or harmonic, of a term
_MOMENTS = 6.0, 2.0, 0.1  #: per token: and per coordinate, per entry of S
_CALL = 700.0  #: per call: what does not depend on n
_FEWEST = 8  #: modes of weights that hardly vary


@dataclass(frozen=True, eq=False)
class FastSum:
    """A velocity without a sum over pairs.

    Attributes
    ----------
    call : symflow_ext.call.Bound
        ``call(t, y, dy) -> status``, as the stepper takes it; y is X (n, d) row after row.
    method : str
        ``"harmonics"`` or ``"moments"``.
    modes : int
        The last degree that is kept; 0 for moments, which are exact.
    error : float
        Proved bound of the error that truncation makes in an average, relative to its total weight.
    nanoseconds, direct_nanoseconds : float
        What a call is expected to cost, and the sum over pairs, on the machine of the constants.
    """

    call: Any
    method: str
    modes: int
    error: float
    nanoseconds: float
    direct_nanoseconds: float


def direct(n: int, d: int, terms: int = 1) -> float:
    """Return what the sum over pairs costs."""
    return _PAIRS + terms * float(n) * n * (_PAIR[0] + _PAIR[1] * d)


def harmonic(n: int, d: int, modes: int, terms: int) -> float:
    """Return what harmonics up to a degree cost."""
    base, each = _SPHERE if d == 3 else _CIRCLE
    count = (modes + 1) * (modes + 2) / 2 if d == 3 else modes
    return _CALL + terms * (_TABLE * count + n * (base + each * count))


def moment(n: int, d: int, terms: int, causal: bool) -> float:
    """Return what moments cost; under a mask they are applied token by token."""
    base, vector, matrix = _MOMENTS
    once = base + vector * d + matrix * d * d
    return _CALL + n * once * (2 + terms if causal else 1)


def never_pays(n: int, d: int) -> bool:
    """Whether a direct sum costs less than any expansion could; nothing is derived for that."""
    least = moment(n, d, 1, False)
    if d in (2, 3):
        least = min(least, harmonic(n, d, _FEWEST, 1))
    return direct(n, d) <= least
