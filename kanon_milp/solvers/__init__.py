"""Solvers, one adapter a file on one template. A new one is its file and a line in `registry`, or a call of
`register_solver` from outside."""

from __future__ import annotations

from kanon_milp.solvers.adapter import SolverAdapter, SolverCall
from kanon_milp.solvers.base import (
    Availability,
    Capability,
    LinearModel,
    OnProgress,
    Progress,
    RawResult,
    SolverOptions,
    SolverResult,
    StopReason,
)
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
