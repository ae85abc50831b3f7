"""Solvers, one adapter a file on one template. A new one is its file and a line in `registry`, or a call of
`register_solver` from outside."""

from __future__ import annotations

from kanon_milp.solvers.adapter import Availability, Capability, SolverAdapter
from kanon_milp.solvers.call import OnProgress, Progress, RawResult, SolverCall, SolverOptions, SolverResult, StopReason
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.registry import get, names, register_solver

__all__ = [
    "Availability",
    "Capability",
    "LinearModel",
    "OnProgress",
    "Progress",
    "RawResult",
    "SolverAdapter",
    "SolverCall",
    "SolverOptions",
    "SolverResult",
    "StopReason",
    "get",
    "names",
    "register_solver",
]
