"""Solvers, one adapter a file on one template. A new one is its file and a line in `registry`, or a call of
`register_solver` from outside."""

from __future__ import annotations

from kanon_milp.solvers.adapter import Availability, Capability, Setting, SolverAdapter
from kanon_milp.solvers.call import OnProgress, Progress, RawResult, SolverCall, SolverOptions, SolverResult, StopReason
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.registry import BUILT_IN, DEFAULT, get, names, register_solver

__all__ = [
    "BUILT_IN",
    "DEFAULT",
    "Availability",
    "Capability",
    "LinearModel",
    "OnProgress",
    "Progress",
    "RawResult",
    "Setting",
    "SolverAdapter",
    "SolverCall",
    "SolverOptions",
    "SolverResult",
    "StopReason",
    "get",
    "names",
    "register_solver",
]
