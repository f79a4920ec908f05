"""Weights that are affine in both tokens: bound to the moments of the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from symflow.codegen.expansions import costs
from symflow.codegen.expansions.setting import Setting

if TYPE_CHECKING:
    from symflow.derive.expansions.bilinear import Bilinear


def from_moments(setting: Setting, scores: Sequence[Bilinear]) -> costs.FastSum:
    """Return the velocity from the moments of the tokens.

    Parameters
    ----------
    setting : Setting
    scores : sequence of Bilinear
        The weight of each term.
    """
    from symflow_ext.fast_sums import Moments

    flow, n, d = setting.flow, setting.n, setting.d
    rows = []
    for term, score in zip(flow.terms, scores, strict=True):
        for values in setting.members(term):
            matrix, offset = setting.value(term, values)
            sides = (setting.array(side, values).ravel() for side in (score.matrix, score.key, score.query))
            constant = [setting.number(score.constant, values)]
            rows.append(np.concatenate([*sides, constant, matrix.ravel(), offset]))
    terms = np.array(rows).reshape(len(rows), 2 * d * d + 3 * d + 1)
    call = Moments(n, d, np.vstack(setting.background()), terms, setting.theta, flow.space == "sphere")
    cost = costs.moment(n, d, len(rows), setting.theta is not None)
    return costs.FastSum(call, "moments", 0, 0.0, cost, costs.direct(n, d, len(rows)))
