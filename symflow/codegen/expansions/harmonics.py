r"""Exponential weights on the circle and on S²: bound to the harmonics of the runtime.

A token whose mass Z is below a floor is summed directly, so that truncation and rounding, which are divided
by Z, stay small for every configuration. On the circle at most about :math:`10\sqrt\kappa\,n` times the floor
tokens can be so lonely: arcs of length :math:`\kappa^{-1/2}` cover it, and each holds few of them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symflow.codegen.expansions import costs
from symflow.codegen.expansions.setting import Setting, Values
from symflow.codegen.values import FloatArray
from symflow.errors import NoExpansion
from symflow.flow import PairTerm

if TYPE_CHECKING:
    from symflow.derive.expansions.bilinear import Bilinear

#: A token whose mass is below this is summed directly.
FLOOR = 2.0**-10
#: How far BᵀB/κ² may be from I for B to count as a rotation that was rounded.
_ROUNDED = 2.0**-48
_LARGEST = math.log(np.finfo(float).max)


def from_harmonics(setting: Setting, scores: Sequence[Bilinear], tolerance: float) -> costs.FastSum:
    """Return the velocity from the harmonics of the law of the tokens.

    Raises
    ------
    NoExpansion
        If tokens live on a larger sphere, or the score is no multiple of ⟨Ux, y⟩ with a rotation U.
    """
    from symflow_ext.fast_sums import Harmonics

    flow, n, d = setting.flow, setting.n, setting.d
    if d not in (2, 3):
        raise NoExpansion(f"{flow.name}: d = {d}, harmonics are summed on the circle and on S² only")
    described = [
        _term(setting, term, score, values, tolerance)
        for term, score in zip(flow.terms, scores, strict=True)
        for values in setting.members(term)
    ]
    terms = [term for term, _ in described]
    modes = max(len(term["slope"]) for term in terms) - 1
    recurrence = _recurrence(modes) if d == 3 else None
    call = Harmonics(n, d, *setting.background(), terms, recurrence)
    cost, direct = costs.harmonic(n, d, modes, len(terms)), costs.direct(n, d, len(terms))
    return costs.FastSum(call, "harmonics", modes, max(error for _, error in described), cost, direct)


def _term(
    setting: Setting, term: PairTerm, score: Bilinear, values: Values, tolerance: float
) -> tuple[dict[str, Any], float]:
    """Return what the runtime wants to know of a term, and the bound of its error."""
    from symflow.derive.expansions.enclosures import expansion

    kappa, turn, departure = _rotation(setting, score, values)
    found = expansion(setting.d, kappa, tolerance * FLOOR / 3)
    if found is None:
        raise NoExpansion(f"κ = {kappa:g} and tolerance = {tolerance:g} need too many modes")
    matrix, offset = setting.value(term, values)
    across = turn is None and np.array_equal(matrix, matrix[0, 0] * np.eye(setting.d))
    normalised = term.normalise == "softmax"
    described = {
        "kappa": kappa,
        "first": found.first,
        "slope": np.array(found.slope),
        "along": np.array(found.along),
        "turn": turn,
        "matrix": np.ascontiguousarray(matrix),
        "offset": np.ascontiguousarray(offset),
        "radial": not across,  # otherwise what is along x is projected away
        "normalised": normalised,
        "scale": 1.0 if normalised else _scale(setting, score, values, kappa),
        "floor": FLOOR,
    }
    return described, 3 * float(found.tail) / FLOOR + math.expm1(2 * departure)


def _rotation(setting: Setting, score: Bilinear, values: Values) -> tuple[float, FloatArray | None, float]:
    """Return κ, U (None: the identity) and how far κ⟨Ux, y⟩ may be from the score, up to terms of x alone.

    It is decided in exact fractions of the parameters as they are.
    """
    if _is_present(setting, score.key, values):
        raise NoExpansion("the score contains a term of the key alone")
    for _, matrix in score.key_squares:
        _level(setting, matrix, values)
    square, off = _gram(setting, score.matrix, values)
    kappa = math.sqrt(square)
    if kappa == 0.0:
        return 0.0, None, 0.0
    if off > _ROUNDED * square:
        raise NoExpansion("the score is no multiple of ⟨Ux, y⟩ with a rotation U: AᵀA is no multiple of I")
    turn = np.ascontiguousarray(setting.array(score.matrix, values) / kappa)
    departure = off / kappa + kappa * 2.0**-52
    return kappa, None if np.array_equal(turn, np.eye(setting.d)) else turn, departure


def _is_present(setting: Setting, vector: Any, values: Values) -> bool:
    return not vector.is_ZeroMatrix and any(any(row) for row in setting.exact(vector, values))


def _gram(setting: Setting, matrix: Any, values: Values) -> tuple[float, float]:
    """Return the level c with GᵀG ≈ cI and the Frobenius norm of GᵀG − cI, from exact fractions."""
    rows, axes = setting.exact(matrix, values), range(setting.d)
    gram = [[sum((row[i] * row[j] for row in rows), Fraction(0)) for j in axes] for i in axes]
    level = sum((gram[i][i] for i in axes), Fraction(0)) / setting.d
    off = math.hypot(*(float(gram[i][j] - (level if i == j else 0)) for i in axes for j in axes))
    return float(level), off


def _level(setting: Setting, matrix: Any, values: Values) -> float:
    """Return |Gx|² of unit vectors, which must not depend on x."""
    level, off = _gram(setting, matrix, values)
    if off > _ROUNDED * level:
        raise NoExpansion("the score contains a square that is not constant on the sphere")
    return level


def _scale(setting: Setting, score: Bilinear, values: Values, kappa: float) -> float:
    """Return what weights that are not normalised are, divided by e^{κ(⟨u,y⟩−1)}."""
    if _is_present(setting, score.query, values):
        raise NoExpansion("weights are not normalised and the score contains a term of the query alone")
    level = setting.number(score.constant, values) + kappa
    for slope, matrix in (*score.query_squares, *score.key_squares):
        level += setting.number(slope, values) * _level(setting, matrix, values)
    if level > _LARGEST:
        raise NoExpansion(f"weights as large as exp({level:g}) overflow")
    return math.exp(level)


@functools.lru_cache(maxsize=8)
def _recurrence(modes: int) -> tuple[FloatArray, ...]:
    from symflow.derive.expansions.legendre import harmonics

    return tuple(np.array([float(entry) for row in rows for entry in row]) for rows in harmonics(modes))
