"""The compiled runtime behind one door; importing it fails where the extensions were not built."""

from __future__ import annotations

from symflow_ext.call import STATUS, Call, PyCall
from symflow_ext.contract import abi_hash, capsule_name
from symflow_ext.linalg import (
    cholesky,
    covariances,
    gemm,
    lu,
    lu_solve,
    set_threads,
    sqrtm,
    sylvester,
    threads,
    turn,
)
from symflow_ext.schedule import OPCODES, Exponential, Function, Scheduled, Spline, Tape
from symflow_ext.stepper import REASONS, Stepper
from symflow_ext.tableau import TABLEAUX, Tableau
from symflow_ext.tables import interpolate
from symflow_ext.taylor import Series
from symflow_ext.taylor_stepper import TaylorStepper

__all__ = [
    "OPCODES",
    "REASONS",
    "STATUS",
    "TABLEAUX",
    "Call",
    "Exponential",
    "Function",
    "PyCall",
    "Scheduled",
    "Series",
    "Spline",
    "Stepper",
    "Tableau",
    "Tape",
    "TaylorStepper",
    "abi_hash",
    "capsule_name",
    "cholesky",
    "covariances",
    "gemm",
    "interpolate",
    "lu",
    "lu_solve",
    "set_threads",
    "sqrtm",
    "sylvester",
    "threads",
    "turn",
]
