"""The kind "started": a solver on the whole strong model, handed the best table of a short search as a start.

The search is on nobody's clock: it ends before that of the run starts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest import mock

from kanon_milp import solvers
from kanon_milp.bounds import lagrangian, proven_bound, round_dual
from kanon_milp.errors import SolverError
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.restricted import RestrictedModel
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.greedy import greedy
from kanon_milp.heuristics.search import Search
from kanon_milp.heuristics.worker_pool import open_pool
from kanon_milp.methods import direct, sizes_guide
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.resources import too_large, too_long
from kanon_milp.solvers import Capability, Progress, SolverOptions
from kanon_milp.solvers.model import complete_point
from kanon_milp.solvers.proof import INTEGRAL_GAP
from kanon_milp.studies.bench.kinds.solving import Recording, measured_of
from kanon_milp.studies.bench.measured import Measured, Teller
from kanon_milp.studies.bench.sources import problem_of
from kanon_milp.system.clock import Clock


def short_search(instance: Instance, seconds: float, seed: int) -> Assignment | None:
    """The table that the start of `method="search"` finds in so many seconds; sooner where it is proven optimal."""
    ends = time.perf_counter() + seconds
    first = greedy(instance)
    target = None if first is None else float(first.cost)
    dual = lagrangian(instance, target=target, seconds=sizes_guide.BOUND_SHARE * seconds)
    effort = Effort(ends, enough=proven_bound(instance, round_dual(dual)), patience=sizes_guide.PATIENCE)
    with open_pool(1, None) as pool:
        return Search(instance, dual, first, pool, effort, seed).run(solvers.get("highs"), SolverOptions(seed=seed))


def run(task: Mapping[str, Any], tell: Teller) -> Measured:
    """Search, then the clock starts: presolve, build, hand over, solve, verify. Raises SolverError without a start."""
    problem = problem_of(task["source"])
    adapter = Recording(solvers.get(task["solver"]), task["permutation"])
    start = short_search(
        presolve(problem, Clock(), merge=True).instance, float(task["parameters"]["start_seconds"]), task["seed"]
    )
    if start is None:
        raise SolverError("the search has found no start")
    tell.ready()
    clock, chosen = Clock(), get_formulation("strong")
    prepared = presolve(problem, clock, merge=True)
    threads = task["threads"] if Capability.THREADS in adapter.capabilities else 1
    tuned = chosen.tune(prepared.instance).get(adapter.name, {})
    options = SolverOptions(
        task["time_limit"], threads, task["seed"], absolute_gap=INTEGRAL_GAP, extra={**tuned, **task["options"]}
    )

    def show(point: Progress) -> None:
        tell.point(point.incumbent, point.bound)

    session = Session(prepared, chosen, adapter, options, clock, on_progress=show)
    if obstacle := too_large(prepared.instance) or too_long(prepared.instance, options.time_limit):
        raise SolverError(obstacle)
    with clock.step("build"):
        model = chosen.build(prepared.instance)

    def begin(_: Session, model: RestrictedModel) -> dict[int, float]:
        values = model.start(start)
        if complete_point(model.linear, values) is None:
            raise SolverError("the start is not a solution of the model")
        return values

    with mock.patch.object(direct, "first_table", begin):
        result = direct.solve_direct(session, model, own=True)
    tell.point(result.objective, result.bound)
    tell.done()
    found = measured_of(result, adapter)
    cost = start.cost * prepared.instance.levels.unit
    return replace(found, message=f"start {cost}{'; ' if found.message else ''}{found.message}")
