"""Models that a search can do without: a solver that fails on one of them does not end the search."""

from __future__ import annotations

import time
from collections.abc import Callable

from kanon_milp.errors import SolverError
from kanon_milp.solvers.adapter import SolverAdapter
from kanon_milp.solvers.base import SolverOptions, SolverResult, StopReason


def tried(adapter: SolverAdapter, options: SolverOptions, solve: Callable[[], SolverResult]) -> SolverResult:
    """What `solve` returns, or where the solver fails an error that says so, with neither point nor bound."""
    began = time.perf_counter()
    try:
        return solve()
    except SolverError as error:
        seconds, message = time.perf_counter() - began, str(error)
        return SolverResult(
            StopReason.ERROR, None, None, None, adapter.name, "", options, seconds, message=message, backed_by=()
        )
