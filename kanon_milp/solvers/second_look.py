"""A second look at what a solver claims, for every solver in one place.

Solvers return wrong answers marked optimal or infeasible, most of them on small models, which presolve takes apart. So
a small model is solved again: by HiGHS, which is always at hand and the fastest there, and without its presolve where
HiGHS was the first. "Infeasible" is asked again for a while whatever the size. Where two solvers contradict each other,
neither is believed; what is left is the better point.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace

from kanon_milp.errors import KanonError
from kanon_milp.proof import Grid
from kanon_milp.solvers import get
from kanon_milp.solvers.base import (
    Capability,
    Floats,
    LinearModel,
    OnProgress,
    SolverAdapter,
    SolverOptions,
    SolverResult,
    StopReason,
)
from kanon_milp.solvers.canaries import takes
from kanon_milp.solvers.common import complaint

SMALL = 5000  # variables up to which a model is solved a second time ...
MOMENT = 1.0  # ... where the first time took no longer, seconds
SHORTEST = 0.5  # seconds for the second time, at most; more only where the first took more
CONFIRMATION = 30.0  # seconds to confirm "infeasible"
_AT_HAND = ("highs", "scip", "cbc", "cpsat")  # the fastest first
_HIGHS = ("highs", "pulp:HiGHS", "pulp:HiGHS_CMD")


def solve_checked(
    adapter: SolverAdapter,
    model: LinearModel,
    options: SolverOptions,
    grid: Grid,
    *,
    start: Mapping[int, float] | Floats | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
) -> SolverResult:
    """Solve a model and have the claim confirmed where that is affordable.

    grid: where the values of the objective lie. `backed_by` of the result says who stands behind its bound, or behind
    "infeasible". A claim that was refuted is not in it: it has no bound then, and its stop reason is an error.
    """
    began = time.perf_counter()
    first = _usable(adapter.solve(model, options, start=start, on_progress=on_progress, interrupt=interrupt), model)
    limit = _limit(first, model, options, time.perf_counter() - began)
    if limit is None or (interrupt is not None and interrupt.is_set()):
        return first
    found = _other(adapter, options, model)
    if found is None:
        return first
    other, extra = found
    again = replace(options, time_limit=limit, log_file=None, node_limit=None, extra=extra)
    try:
        second = _usable(other.solve(model, again, start=first.x, interrupt=interrupt), model)
    except KanonError:
        return first  # it does not take the model, or is of no use
    return _settled(first, second, grid, replace(grid, size=precision_size(other, model)))


def precision_size(adapter: SolverAdapter, model: LinearModel) -> float:
    """The largest number in the objective where a solver computes in floating point; 0 where it does not."""
    return 0.0 if Capability.EXACT in adapter.capabilities else model.largest_cost


def _usable(result: SolverResult, model: LinearModel) -> SolverResult:
    """The result without a point that is none; of a solver that returns such a thing, nothing is believed."""
    wrong = "" if result.x is None else complaint(model, result.x)
    if wrong:
        message = f"{result.solver} has returned something useless: {wrong}"
        return replace(result, stop_reason=StopReason.ERROR, x=None, objective=None, bound=None, message=message)
    return replace(result, objective=None if result.x is None else model.value(result.x))


def _limit(first: SolverResult, model: LinearModel, options: SolverOptions, seconds: float) -> float | None:
    """Seconds for the second look; None if there is nothing to look at or no time to."""
    claims = first.bound is not None and first.stop_reason is not StopReason.INTERRUPTED
    if first.stop_reason is StopReason.INFEASIBLE:
        limit = CONFIRMATION
    elif claims and seconds <= MOMENT and model.variables <= SMALL:
        limit = max(SHORTEST, seconds)
    else:
        return None
    if options.time_limit is not None:
        limit = min(limit, options.time_limit - seconds)
    return limit if limit > 0 else None


def _other(
    adapter: SolverAdapter, options: SolverOptions, model: LinearModel
) -> tuple[SolverAdapter, dict[str, object]] | None:
    """Who looks a second time, and in which setting."""
    if adapter.name in _HIGHS:
        presolve = "on" if options.extra.get("presolve") == "off" else "off"
        return get("highs"), {"presolve": presolve}
    for name in _AT_HAND:
        other = get(name)
        if name != adapter.name and other.availability() and takes(other, model):
            return other, {}
    return None


def _settled(first: SolverResult, second: SolverResult, grid: Grid, other_grid: Grid) -> SolverResult:
    """What is left of the first claim after the second."""
    better = first
    if second.x is not None and (first.x is None or _less(second.objective, first.objective)):
        better = replace(first, x=second.x, objective=second.objective)
    claim, other = grid.safe(first.bound), other_grid.safe(second.bound)
    impossible = (StopReason.INFEASIBLE in (first.stop_reason, second.stop_reason)) and better.x is not None
    too_high = better.objective is not None and any(grid.contradicts(better.objective, b) for b in (claim, other))
    if impossible or too_high:
        message = (
            f"{first.solver} ({first.stop_reason.value}) and a second look by {second.solver} "
            f"({second.stop_reason.value}) contradict each other: the better table is kept, and neither is believed"
        )
        return replace(better, stop_reason=StopReason.ERROR, bound=None, message=message, backed_by=())
    if first.x is None:
        better = first  # it stopped before it had any
    if first.stop_reason is StopReason.INFEASIBLE:
        agreed = second.stop_reason is StopReason.INFEASIBLE
    else:
        agreed = claim is not None and other is not None and other >= claim
    return replace(better, backed_by=("solver", "second look")) if agreed else better


def _less(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and a < b
