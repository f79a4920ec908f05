"""Gradient-flow structures: when a velocity is the gradient of an energy, for which metric."""

from __future__ import annotations

from symflow.derive.gradient_flow.entry import gradient_flow, gradient_flows
from symflow.derive.gradient_flow.structure import GradientFlow, NoGradientFlow

__all__ = ["GradientFlow", "NoGradientFlow", "gradient_flow", "gradient_flows"]
