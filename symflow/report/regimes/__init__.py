r"""The long-time regimes in the plane: what the theorem says, and what the integrator finds.

Each regime is a choice of parameters and starts with a *prediction* that is computed from the stated theorem
and from the start alone. The report runs the compiled flow and shows the two beside each other. The regimes
of a model are the ``REGIMES`` of the module here that is named after it, a ``REMARK`` there says what they do
not mean. They are stated for β = τ = 1.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from symflow.report.regimes.closed_form import commuting_prediction
from symflow.report.regimes.regime import Prediction, Regime, compare

__all__ = ["Prediction", "Regime", "commuting_prediction", "compare", "regimes", "remark"]


def regimes(name: str) -> tuple[Regime, ...]:
    """Return the regimes of a subject of the report; none for one without a long-time theorem."""
    found: tuple[Regime, ...] = _declared(name, "REGIMES", ())
    return found


def remark(name: str) -> str:
    """Return what must not be read into the regimes of a model, LaTeX text; empty where nothing is said."""
    return str(_declared(name, "REMARK", ""))


def _declared(name: str, what: str, otherwise: Any) -> Any:
    name = name.replace("-", "_")
    if name not in {info.name for info in pkgutil.iter_modules(__path__)}:
        return otherwise
    return getattr(importlib.import_module(f"{__name__}.{name}"), what, otherwise)
