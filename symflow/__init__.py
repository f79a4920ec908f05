"""From an attention kernel in one line of mathematics to derived, certified and compiled mean-field dynamics.

Public names load on first use, so that ``import symflow`` stays light:

>>> import symflow
>>> derivation = symflow.gaussian_closure(symflow.Softmax())
>>> derivation.check()
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symflow import claims as claims
    from symflow import distances as distances
    from symflow import energies as energies
    from symflow import errors as errors
    from symflow.certify.recheck import replay as replay
    from symflow.certify.verdict import Verdict as Verdict
    from symflow.claims import check as check
    from symflow.codegen.cache import clear_cache as clear_cache
    from symflow.codegen.kernel import Kernel as Kernel
    from symflow.codegen.kernel import compile as compile
    from symflow.codegen.kernel import source as source
    from symflow.config import show_config as show_config
    from symflow.curvature.hessian import hessian as hessian
    from symflow.curvature.second_variation import second_variation as second_variation
    from symflow.derive.closure import gaussian_closure as gaussian_closure
    from symflow.derive.derivation import Derivation as Derivation
    from symflow.derive.particles import token_flow as token_flow
    from symflow.integrate.deep.network import DeepTransformer as DeepTransformer
    from symflow.integrate.ensemble.result import Ensemble as Ensemble
    from symflow.integrate.ensemble.run import ensemble as ensemble
    from symflow.integrate.gaussian import Gaussian as Gaussian
    from symflow.integrate.solve import solve as solve
    from symflow.integrate.trajectory import Trajectory as Trajectory
    from symflow.integrate.transformer.network import gaussian_flow_through as gaussian_flow_through
    from symflow.integrate.transformer.weights import load_attention as load_attention
    from symflow.longtime.entry import long_time as long_time
    from symflow.models.attention.l2 import L2 as L2
    from symflow.models.attention.linear import Linear as Linear
    from symflow.models.attention.sigmoid import Sigmoid as Sigmoid
    from symflow.models.attention.sinkhorn import Sinkhorn as Sinkhorn
    from symflow.models.attention.softmax import Softmax as Softmax
    from symflow.models.attention.unnormalised import Unnormalised as Unnormalised
    from symflow.models.attention.user import Attention as Attention
    from symflow.models.combinators.masked import Masked as Masked
    from symflow.models.combinators.multihead import MultiHead as MultiHead
    from symflow.noise.common import CommonNoise as CommonNoise
    from symflow.references import cite as cite
    from symflow.spec import load_spec as load_spec
    from symflow.sweeps import sweep as sweep

__version__ = "0.1.0"

#: Where each public name lives; a name that equals the last part of its module is that module.
_HOME = {
    "Attention": "symflow.models.attention.user",
    "CommonNoise": "symflow.noise.common",
    "DeepTransformer": "symflow.integrate.deep.network",
    "Derivation": "symflow.derive.derivation",
    "Ensemble": "symflow.integrate.ensemble.result",
    "Gaussian": "symflow.integrate.gaussian",
    "Kernel": "symflow.codegen.kernel",
    "L2": "symflow.models.attention.l2",
    "Linear": "symflow.models.attention.linear",
    "Masked": "symflow.models.combinators.masked",
    "MultiHead": "symflow.models.combinators.multihead",
    "Sigmoid": "symflow.models.attention.sigmoid",
    "Sinkhorn": "symflow.models.attention.sinkhorn",
    "Unnormalised": "symflow.models.attention.unnormalised",
    "Softmax": "symflow.models.attention.softmax",
    "Trajectory": "symflow.integrate.trajectory",
    "Verdict": "symflow.certify.verdict",
    "check": "symflow.claims",
    "cite": "symflow.references",
    "claims": "symflow",
    "clear_cache": "symflow.codegen.cache",
    "compile": "symflow.codegen.kernel",
    "ensemble": "symflow.integrate.ensemble.run",
    "distances": "symflow",
    "energies": "symflow",
    "errors": "symflow",
    "gaussian_closure": "symflow.derive.closure",
    "gaussian_flow_through": "symflow.integrate.transformer.network",
    "hessian": "symflow.curvature.hessian",
    "load_attention": "symflow.integrate.transformer.weights",
    "load_spec": "symflow.spec",
    "long_time": "symflow.longtime.entry",
    "replay": "symflow.certify.recheck",
    "second_variation": "symflow.curvature.second_variation",
    "show_config": "symflow.config",
    "solve": "symflow.integrate.solve",
    "source": "symflow.codegen.kernel",
    "sweep": "symflow.sweeps.run",
    "token_flow": "symflow.derive.particles",
}

__all__ = [
    "L2",
    "Attention",
    "CommonNoise",
    "DeepTransformer",
    "Derivation",
    "Ensemble",
    "Gaussian",
    "Kernel",
    "Linear",
    "Masked",
    "MultiHead",
    "Sigmoid",
    "Sinkhorn",
    "Softmax",
    "Trajectory",
    "Unnormalised",
    "Verdict",
    "__version__",
    "check",
    "cite",
    "claims",
    "clear_cache",
    "compile",
    "distances",
    "energies",
    "ensemble",
    "errors",
    "gaussian_closure",
    "gaussian_flow_through",
    "hessian",
    "load_attention",
    "load_spec",
    "long_time",
    "replay",
    "second_variation",
    "show_config",
    "solve",
    "source",
    "sweep",
    "token_flow",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'symflow' has no attribute {name!r}; see symflow.__all__")
    home = _HOME[name]
    if home == "symflow":  # a public module
        return importlib.import_module(f"{home}.{name}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
