"""The method `milp` where the cost is one of whole groups: the set-partitioning model of all possible groups."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyomo.core as pyo
from pyomo.common.gc_manager import PauseGC

from kanon_milp.bounds.group_costs.exact_partitions import Groups, least_cost
from kanon_milp.bounds.parameters import GroupProofParameters
from kanon_milp.errors import InputError
from kanon_milp.formulations.compact_groups import build_compact
from kanon_milp.formulations.restricted import Answer, solve_restricted
from kanon_milp.formulations.whole_groups import GroupColumns, build_whole_groups
from kanon_milp.methods.group_heuristics import GroupTablesParams, first_groups
from kanon_milp.methods.group_session import GroupSession
from kanon_milp.methods.result import Result
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.arguments import one_of
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import StopReason
from kanon_milp.solvers.checked import solve_checked
from kanon_milp.solvers.model import LinearModel
from kanon_milp.solvers.proof import INTEGRAL_GAP, Grid
from kanon_milp.solvers.pyomo_arrays import to_arrays
from kanon_milp.system.arrays import Flags, Floats, Ints
from kanon_milp.system.limit import Over

FORMULATIONS = {"strong": build_whole_groups, "groups": build_whole_groups, "compact": build_compact}
RANGE = 10**6  # of costs as the solver sees them: all rows as one group, where costs are no small integers in any unit
EXACT = 10**7  # the same, up to which they are taken as integers, so that one unit less is another table


def group_model(problem: Problem, formulation: str) -> pyo.ConcreteModel:
    """The model of a problem whose cost is one of whole groups. Raises InputError for an unknown formulation."""
    one_of(formulation, tuple(FORMULATIONS), f"formulation of {problem.recoding.kind}")
    instance = GroupInstance.of(problem)
    if instance.obstacle is not None:
        raise InputError(f"there is no model to build: {instance.obstacle}")
    with PauseGC():
        return FORMULATIONS[formulation](instance)


def solve_group_model(session: GroupSession) -> Result:
    """State and solve the model. Costs are exact. So is the solver's bound where they are small integers in some unit;
    elsewhere it holds up to its tolerance."""
    instance, limit, tracker = session.instance, session.limit, session.tracker
    total = instance.cost.total() or Fraction(1)
    first_groups(session, session.parameters.of(GroupTablesParams).start)  # HiGHS may find none for long
    try:
        with session.clock.step("build"):
            columns = limit.call(GroupColumns.of, instance)
            unit = Fraction(1, math.lcm(*{cost.denominator for cost in columns.costs}))
            exact = total <= EXACT * unit
            unit = unit if exact else total / RANGE
            in_units = replace(columns, costs=tuple(cost / unit for cost in columns.costs))
            linear = to_arrays(limit.call(build_whole_groups, instance, in_units)).linear
    except Over:
        return session.finish(message="the limit was reached before the model was stated")
    start = None
    if tracker.best is not None:
        start = _table(instance, columns, tracker.best.group).astype(np.float64)
    options = replace(session.options, time_limit=limit.seconds)
    grid = Grid(int(exact), linear.largest_cost)
    if exact:
        options = replace(options, absolute_gap=INTEGRAL_GAP)
    with session.clock.step("solve"):
        answer = solve_checked(session.adapter, linear, options, grid, start=start, interrupt=session.interrupt)
    if answer.x is not None:
        group = np.empty(len(instance.of_row), dtype=np.int64)
        for g in np.flatnonzero(answer.x > 0.5).tolist():
            group[list(columns.groups[g])] = g
        tracker.better(instance.table(group))
    if answer.stop_reason is StopReason.INFEASIBLE:
        return session.end_infeasible(answer.backed_by)
    with session.clock.step("bound"):
        proven = not exact and _prove(session, columns)
    if not proven and (safe := grid.safe(answer.bound)) is not None:
        tracker.higher(safe * unit, answer.backed_by)
    size = (linear.variables, linear.constraints)
    return session.finish(answer.stop_reason.value, answer.message, size=size, rough=None if exact or proven else unit)


def _prove(session: GroupSession, columns: GroupColumns) -> bool:
    """Whether it is proven exactly that no table costs less than the best one."""
    instance, tracker, n = session.instance, session.tracker, len(session.instance.of_row)
    if session.limit.over or tracker.best is None:
        return False
    largest = max(map(len, columns.groups))
    rows = np.array([[*each, *[-1] * (largest - len(each))] for each in columns.groups], np.int32)
    groups = Groups.at_relaxation(rows, n, columns.costs, n // instance.least)
    if groups is None:
        return False

    def solve(model: LinearModel, start: Floats) -> Answer:
        return solve_restricted(model, session.adapter, session.options, session.limit, start=start)

    def better(chosen: Ints) -> None:
        group = np.empty(n, np.int64)
        for g in chosen.tolist():
            group[list(columns.groups[g])] = g
        tracker.better(instance.table(group))

    params = session.parameters.of(GroupProofParameters)
    table = np.flatnonzero(_table(instance, columns, tracker.best.group))
    better(table)  # where the best table has larger groups, these cost less; what is forbidden costs the best
    cost, backed_by = least_cost(groups, tracker.best.cost, table, params, session.limit, solve, better)
    tracker.higher(cost, backed_by)
    return tracker.best.cost <= tracker.bound


def _table(instance: GroupInstance, columns: GroupColumns, group: Ints) -> Flags:
    """Which columns a table is made of, in which a group that is none is in parts. bool (groups,)."""
    parts = instance.parts(group, max(map(len, columns.groups)))
    held = {tuple(sorted(rows[rows >= 0].tolist())) for rows in parts}
    return np.array([rows in held for rows in columns.groups])
