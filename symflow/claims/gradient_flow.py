"""From a derived gradient-flow structure to what its certificate is written from."""

from __future__ import annotations

from collections.abc import Iterable

from symflow.certify.search.gradient_flow import PairFlow
from symflow.derive.gradient_flow import GradientFlow, gradient_flow
from symflow.errors import Undecided
from symflow.models.attention.model import AttentionModel
from symflow.models.energies.model import EnergyModel


def derived_flow(
    model: AttentionModel, energy: EnergyModel, given: Iterable[str] | None = None, normaliser: str = "Z"
) -> PairFlow:
    """Return the structure of a model and an energy, with M as it was derived and direction 1.

    Raises
    ------
    Undecided
        If there is none.
    """
    found = gradient_flow(model, energy, given)
    if not isinstance(found, GradientFlow):
        raise Undecided(f"no structure was derived: {found.witness}")
    head, averages = found.statement.head, found.averages
    return PairFlow(
        pair=averages.pair,
        slope=averages.slope,
        weight=head.kernel,
        value=head.prefactor * head.value,
        normaliser=normaliser if found.weight is not None else "",
        metric=found.metric,
        direction=1,
        x=averages.x,
        y=averages.y,
        sphere=averages.space == "sphere",
    )
