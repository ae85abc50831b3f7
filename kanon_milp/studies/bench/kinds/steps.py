"""Kinds that measure steps on an instance: its bound, and the search under requirements."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from kanon_milp import solvers
from kanon_milp.bounds import lagrangian, proven_bound, round_dual
from kanon_milp.bounds.lagrangian_bound import required_bound
from kanon_milp.errors import SolverError
from kanon_milp.formulations import get_formulation
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.valued_annealing import anneal
from kanon_milp.heuristics.valued_construction import PricedCandidates, construct
from kanon_milp.methods.session import Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.instance import Instance
from kanon_milp.presolve.preparation import presolve
from kanon_milp.solvers import SolverOptions, StopReason
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.studies.bench.kinds import Measured, Teller, facts
from kanon_milp.studies.bench.sources import problem_of
from kanon_milp.studies.bench.statistics import MEASURED
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import Limit
from kanon_milp.system.worker_pool import open_pool

FIRST_SHARE = 1 / 6  # of the seconds of a bound under requirements, for multipliers that know sizes alone


def _sizes(instance: Instance) -> dict[str, int | None]:
    return {"candidates": instance.candidates.count, "pairs": instance.candidates.pairs}


def bounding(task: Mapping[str, Any], tell: Teller) -> Measured:
    """The kind "bound": a lower bound on the loss, within the time limit, proven in exact arithmetic, but for that of
    the relaxation. Presolve is done before the clock starts.

    sizes: multipliers that know sizes of groups alone. required: with requirements about sensitive attributes inside
    the subproblems, from the multipliers of the first, which get a sixth of the time. relaxation: the optimum of the
    linear relaxation of the strong formulation, by HiGHS.
    """
    problem = problem_of(task["source"])
    prepared = presolve(problem, Clock(), merge=True)
    instance, seconds, said = prepared.instance, task["time_limit"], ""
    tell.ready()
    proven: Fraction | int | None
    if task["method"] == "relaxation":
        proven = _relaxation(instance, seconds)
    elif task["method"] == "sizes":
        proven = proven_bound(instance, round_dual(lagrangian(instance, seconds=seconds)))
    else:
        start = lagrangian(instance, seconds=FIRST_SHARE * seconds).multipliers
        point = required_bound(instance, start, seconds=(1 - FIRST_SHARE) * seconds)
        proven = proven_bound(instance, round_dual(point))
        said = f"{point.evaluations} iterations"
    bound = None if proven is None else proven * instance.levels.unit
    tell.point(None, None if bound is None else float(bound))
    tell.done()
    return Measured(
        MEASURED,
        proof="none" if bound is None else "bound",
        bound=bound,
        message=said,
        problem=facts(problem, prepared.row_types),
        sizes=_sizes(instance),
    )


def _relaxation(instance: Instance, seconds: float) -> Fraction | None:
    """The optimal value of the linear relaxation, None where it takes longer."""
    linear = to_arrays(get_formulation("strong").build(instance)).linear
    relaxed = replace(linear, integer=np.zeros_like(linear.integer))
    answer = solvers.get().solve(relaxed, SolverOptions(time_limit=seconds))
    if answer.stop_reason is not StopReason.OPTIMAL or answer.objective is None:
        return None
    return Fraction(answer.objective) - Fraction(1, 10**6) * max(1, round(abs(answer.objective)))


def annealing(task: Mapping[str, Any], tell: Teller) -> Measured:
    """The kind "anneal": tables under requirements, without neighbourhoods and solvers; the bound is computed before
    the clock starts. Raises SolverError where there is no table.

    construct: construction alone, from the multipliers of the bound. anneal: then annealing, until the time limit.
    """
    problem = problem_of(task["source"])
    prepared = presolve(problem, Clock(), merge=True)
    instance, before = prepared.instance, float(task["parameters"]["bound_seconds"])
    unit = instance.levels.unit
    point = required_bound(instance, lagrangian(instance, seconds=FIRST_SHARE * before).multipliers, seconds=before)
    proven = proven_bound(instance, round_dual(point)) * unit
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
            found = anneal(PricedCandidates.of(instance, point), found, Effort(ends), pool, task["seed"], better)
        better(found)
    tell.done()
    session = Session(solvers.get(), SolverOptions(), Clock(), prepared=prepared, formulation=get_formulation("strong"))
    table = session.release(found)
    return Measured(
        MEASURED,
        proof="bound",
        objective=table.objective,
        bound=proven,
        verified=table.report.ok,
        defects=tuple(f"verifier: {each}" for each in table.report.violations),
        problem=facts(problem, prepared.row_types),
        sizes=_sizes(instance),
    )
