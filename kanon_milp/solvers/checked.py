"""A second look at what a solver claims, for every solver in one place.

Solvers return wrong answers marked optimal or infeasible, most of them on small models, which presolve takes apart. So
a small model is solved again: by HiGHS, which is always at hand and the fastest there, and without its presolve where
HiGHS was the first. "Infeasible" is asked again for a while whatever the size. Where two solvers contradict each other,
a third one is asked: what two of them say and no point refutes stands, and where no two agree, nobody is believed; what
is left is the best point.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kanon_milp.errors import KanonError, SolverError
from kanon_milp.solvers.adapter import Capability, SolverAdapter
from kanon_milp.solvers.call import OnProgress, SolverOptions, SolverResult, StopReason
from kanon_milp.solvers.lazy import Lazy
from kanon_milp.solvers.model import LinearModel, complaint
from kanon_milp.solvers.proof import Grid, slack
from kanon_milp.solvers.registry import SOLVERS, confirming, get
from kanon_milp.system.arrays import Floats

SMALL = 5000  # variables up to which a model is solved a second time ...
MOMENT = 1.0  # ... where the first time took no longer, seconds
SHORTEST = 0.5  # seconds for the second time, at most; more only where the first took more
CONFIRMATION = 30.0  # seconds to confirm "infeasible"
Look = tuple[SolverResult, Grid]  # an answer, and what its bound is worth in floating point


def solve_checked(
    adapter: SolverAdapter,
    model: LinearModel,
    options: SolverOptions,
    grid: Grid,
    *,
    start: Mapping[int, float] | Floats | None = None,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
    lazy: Lazy | None = None,
) -> SolverResult:
    """Solve a model and have the claim confirmed where that is affordable.

    grid: where the values of the objective lie. `backed_by` of the result says who stands behind its bound, or behind
    "infeasible". A claim that was refuted is not in it: it has no bound then, and its stop reason is an error. lazy:
    constraints that the solver asks for; the others look at the model with those that it was told.
    """
    began = time.perf_counter()
    stated = adapter.restated(model)
    asked = {} if lazy is None else {"lazy": lazy}
    first = adapter.solve(stated, options, start=start, on_progress=on_progress, interrupt=interrupt, **asked)
    first, model = _usable(first, model), model if lazy is None else lazy.stated(model)
    limit = _limit(first, model, options, time.perf_counter() - began)
    if limit is None or (interrupt is not None and interrupt.is_set()):
        return first
    looks = [(first, grid)]
    for other, extra in _others(adapter, options, model):
        left = limit if options.time_limit is None else min(limit, options.time_limit - time.perf_counter() + began)
        if left <= 0:
            break
        again = replace(options, time_limit=left, log_file=None, node_limit=None, extra=extra)
        try:
            stated = other.restated(model)
            look = _usable(other.solve(stated, again, start=first.x, interrupt=interrupt), model)
        except KanonError:
            continue  # it does not take the model, or is of no use
        if lazy is not None and look.x is not None and lazy.violated(look.x):
            look = replace(look, x=None, objective=None)
        looks.append((look, replace(grid, size=precision_size(other, model))))
        if len(looks) == 2 and not _contradict(looks):
            return _agreed(first, look, grid, looks[1][1])
        if len(looks) == 3:
            break
    return first if len(looks) == 1 else _decided(looks)


def precision_size(adapter: SolverAdapter, model: LinearModel) -> float:
    """The largest number in the objective where a solver computes in floating point; 0 where it does not."""
    return 0.0 if Capability.EXACT in adapter.capabilities else model.largest_cost


def _usable(result: SolverResult, model: LinearModel) -> SolverResult:
    """The result without a point that is none; of a solver that returns such a thing, nothing is believed."""
    wrong = "" if result.x is None else complaint(model, result.x)
    if wrong:
        message = f"{result.solver} returned an unusable point: {wrong}"
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


def _others(
    adapter: SolverAdapter, options: SolverOptions, model: LinearModel
) -> Iterator[tuple[SolverAdapter, dict[str, object]]]:
    """Who looks again, in turn, and in which setting."""
    same = (adapter.engine and SOLVERS.find(adapter.engine)) or adapter
    for extra in same.alternatives:
        if any(options.extra.get(name) != value for name, value in extra.items()):
            yield same, dict(extra)
            break
    for other in confirming():
        if other.engine != (adapter.engine or adapter.name) and other.availability() and other.takes(model):
            yield other, {}


def _best(looks: Sequence[Look]) -> SolverResult | None:
    return min((look for look, _ in looks if look.x is not None), key=lambda look: look.objective or 0.0, default=None)


def _refuted(look: SolverResult, grid: Grid, best: SolverResult | None) -> bool:
    """Whether a point is better than what this answer says is possible."""
    if best is None or best.objective is None:
        return False
    return look.stop_reason is StopReason.INFEASIBLE or grid.contradicts(best.objective, grid.safe(look.bound))


def _contradict(looks: Sequence[Look]) -> bool:
    best = _best(looks)
    return any(_refuted(look, grid, best) for look, grid in looks)


def _agreed(first: SolverResult, second: SolverResult, grid: Grid, other_grid: Grid) -> SolverResult:
    """The first answer, with the better point of two that do not contradict each other."""
    better = first
    if second.x is not None and first.x is not None and _less(second.objective, first.objective):
        better = replace(first, x=second.x, objective=second.objective)
    if first.stop_reason is StopReason.INFEASIBLE:
        agreed = second.stop_reason is StopReason.INFEASIBLE
    else:
        claim, other = grid.safe(first.bound), other_grid.safe(second.bound)
        agreed = claim is not None and other is not None and other >= claim
    return replace(better, backed_by=("solver", "second look")) if agreed else better


def _decided(looks: Sequence[Look]) -> SolverResult:
    """What is left where the first two contradict each other: what two others say, if no point refutes it."""
    first, best = looks[0][0], _best(looks)
    said = " and ".join(f"{look.solver} ({look.stop_reason.value})" for look, _ in looks[:2])
    x, objective = (None, None) if best is None else (best.x, best.objective)
    standing = [(look, grid.safe(look.bound)) for look, grid in looks[1:] if not _refuted(look, grid, best)]
    bounds = [(look, bound) for look, bound in standing if bound is not None]
    if len(bounds) == 2 and best is not None and _refuted(*looks[0], best):
        bound = min(bounds, key=lambda each: each[1])[0].bound
        message = f"{said} contradict each other; {looks[2][0].solver} agrees with the second, which a table confirms"
        reason = min((look.stop_reason for look, _ in bounds), key=lambda each: each is StopReason.OPTIMAL)
        return replace(
            first,
            stop_reason=reason,
            x=x,
            objective=objective,
            bound=bound,
            message=message,
            backed_by=("second look",),
        )
    message = f"{said} contradict each other: the better table is kept, and neither claim is used"
    return replace(
        first, stop_reason=StopReason.ERROR, x=x, objective=objective, bound=None, message=message, backed_by=()
    )


def _less(a: float | None, b: float | None) -> bool:
    """Less by more than a solver's tolerances: a look that time allows or not must not choose among equals."""
    return a is not None and b is not None and a < b - slack(b)


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


def with_integers_rounded(model: LinearModel, x: Floats, seconds: float | None) -> Floats | None:
    """The best point of the model whose integer variables are those of x, rounded.

    Solvers return integers that are some 10⁻⁶ off, and continuous variables that fit those: beside the rounded ones,
    such a point is none of the model, and its objective may be better than any. So the linear program that is left is
    solved. seconds: for that; None for no limit. None where it has no solution, or was not solved.
    """
    integers = np.round(x)
    if model.integer.all():
        return integers
    fixed = replace(
        model,
        lower=np.where(model.integer, integers, model.lower),
        upper=np.where(model.integer, integers, model.upper),
        integer=np.zeros(model.variables, dtype=bool),
    )
    try:
        found = get().solve(fixed, SolverOptions(time_limit=seconds))
    except KanonError:
        return None
    if found.stop_reason is not StopReason.OPTIMAL or found.x is None:
        return None
    return np.where(model.integer, integers, found.x)
