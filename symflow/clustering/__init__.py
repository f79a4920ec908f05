"""Tools for tokens that cluster: what the theory of clustering predicts, and what a run shows.

Functions take arrays of tokens (n, d), or (T, n, d) along a run; names load on first use.

=================  ==========================================================================================
`pairs`            cosines of tokens, the fraction of pairs that are close
`components`       clusters over time, when they merge, the event of their number
`staircase`        plateaus of counts and energies, waiting times
`cone`             whether tokens lie in an open hemisphere, with a certificate; Wendel's probability
`zonal`            attention that sees cosines only, read off the derived flow of tokens
`equiangular`      the equation of the common cosine of equiangular tokens
`instability`      the spectrum of the uniform law
`monitoring`       the growth of an energy along a run
=================  ==========================================================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symflow.clustering.components import Clusters as Clusters
    from symflow.clustering.components import cluster_count_event as cluster_count_event
    from symflow.clustering.components import clusters as clusters
    from symflow.clustering.components import merge_heights as merge_heights
    from symflow.clustering.cone import Hemisphere as Hemisphere
    from symflow.clustering.cone import hemisphere as hemisphere
    from symflow.clustering.cone import wendel_probability as wendel_probability
    from symflow.clustering.equiangular import EquiangularFlow as EquiangularFlow
    from symflow.clustering.equiangular import equiangular_flow as equiangular_flow
    from symflow.clustering.instability import UniformInstability as UniformInstability
    from symflow.clustering.instability import uniform_instability as uniform_instability
    from symflow.clustering.monitoring import EnergyGrowth as EnergyGrowth
    from symflow.clustering.monitoring import energy_growth as energy_growth
    from symflow.clustering.pairs import cosines as cosines
    from symflow.clustering.pairs import fraction_above as fraction_above
    from symflow.clustering.staircase import Plateau as Plateau
    from symflow.clustering.staircase import count_plateaus as count_plateaus
    from symflow.clustering.staircase import plateaus as plateaus
    from symflow.clustering.staircase import waiting_times as waiting_times

_HOME = {
    "Clusters": "components",
    "EnergyGrowth": "monitoring",
    "EquiangularFlow": "equiangular",
    "Hemisphere": "cone",
    "Plateau": "staircase",
    "UniformInstability": "instability",
    "cluster_count_event": "components",
    "clusters": "components",
    "cosines": "pairs",
    "count_plateaus": "staircase",
    "energy_growth": "monitoring",
    "equiangular_flow": "equiangular",
    "fraction_above": "pairs",
    "hemisphere": "cone",
    "merge_heights": "components",
    "plateaus": "staircase",
    "uniform_instability": "instability",
    "waiting_times": "staircase",
    "wendel_probability": "cone",
}

__all__ = [
    "Clusters",
    "EnergyGrowth",
    "EquiangularFlow",
    "Hemisphere",
    "Plateau",
    "UniformInstability",
    "cluster_count_event",
    "clusters",
    "cosines",
    "count_plateaus",
    "energy_growth",
    "equiangular_flow",
    "fraction_above",
    "hemisphere",
    "merge_heights",
    "plateaus",
    "uniform_instability",
    "waiting_times",
    "wendel_probability",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'symflow.clustering' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
