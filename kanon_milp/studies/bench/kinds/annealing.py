"""The kind "anneal": tables under requirements, without neighbourhoods and solvers.

construct: construction alone, from the multipliers of the bound under requirements. anneal: then annealing, until the
time limit. The bound is computed before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kanon_milp import solvers
from kanon_milp.bounds import lagrangian
from kanon_milp.bounds.lagrangian_bound import proven_required, required_bound
from kanon_milp.errors import SolverError
from kanon_milp.formulations import get_formulation
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.requirements.annealing import anneal
from kanon_milp.heuristics.requirements.construction import construct
from kanon_milp.heuristics.requirements.guide import Guide
from kanon_milp.heuristics.worker_pool import open_pool
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverOptions
from kanon_milp.studies.bench.measured import Measured, Teller, facts
from kanon_milp.studies.bench.sources import problem_of
from kanon_milp.studies.bench.statistics import MEASURED
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit


def run(task: Mapping[str, Any], tell: Teller) -> Measured:
    """Bound, then the clock starts: construction and annealing; the table is verified. Raises SolverError where there
    is no table."""
    problem = problem_of(task["source"])
    prepared = presolve(problem, Clock(), merge=True)
    instance, before = prepared.instance, float(task["parameters"]["bound_seconds"])
    unit = instance.levels.unit
    point = required_bound(instance, lagrangian(instance, seconds=before / 6).multipliers, seconds=before)
    proven = proven_required(instance, point) * unit
    tell.ready()
    ends = time.perf_counter() + task["time_limit"]

    def better(found: Assignment) -> None:
        tell.point(float(found.cost * unit), float(proven))

    found = construct(instance, point, Limit(ends), task["seed"])
    if found is None:
        raise SolverError("construction has found no table")
    better(found)
    if task["method"] == "anneal":
        with open_pool(1, None) as pool:
            found = anneal(Guide.of(instance, point), found, Effort(ends), pool, task["seed"], better)
        better(found)
    tell.done()
    session = Session(prepared, get_formulation("strong"), solvers.get("highs"), SolverOptions(), Clock())
    table = session.release(found)
    return Measured(
        MEASURED,
        proof="bound",
        objective=table.objective,
        bound=proven,
        verified=table.report.ok,
        defects=tuple(f"verifier: {each}" for each in table.report.violations),
        problem=facts(problem, prepared.row_types),
        sizes={"candidates": instance.candidates.count, "pairs": instance.candidates.pairs},
    )
