"""Solving a problem by one model: hand it over, take the point, assign rows, verify, judge."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from kanon_milp.errors import InputError, SolverError
from kanon_milp.heuristics.row_assignment import Cells, assign_rows
from kanon_milp.methods.outcome import UNKNOWN, Bound, Verdict, judge, objective_of, scale_of
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Found, Session
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.infeasibility import explain_infeasible, side_constraints
from kanon_milp.presolve.instance import Instance
from kanon_milp.solvers import Capability, OnProgress, Progress, SolverResult, StopReason
from kanon_milp.solvers.common import check_numbers
from kanon_milp.solvers.pyomo_arrays import PyomoArrays, to_arrays
from kanon_milp.solvers.second_look import solve_checked
from kanon_milp.system.limit import Over

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

Floats = NDArray[np.float64]

TOO_LATE = "it ended before the solver could start"


def solve_direct(
    session: Session,
    model: pyo.ConcreteModel,
    on_progress: OnProgress | None,
    *,
    own: bool,
    explain: Callable[[], str] | None = None,
    known: Bound = UNKNOWN,
    dual: DualPoint | None = None,
) -> Result:
    """Hand a problem's whole model over, solve it, assign rows, verify and judge.

    own: the model is as the package declares it. explain: says what is in conflict where there is no solution. known: a
    bound on the loss that is already proven. dual: multipliers that prove a part of it.
    """
    instance, clock = session.prepared.instance, session.clock
    try:
        with clock.step("handover"):
            compiled = session.limit.call(to_arrays, model)
            compiled = integral_assignment(instance, compiled, model) if own else integer_assignment(compiled, model)
    except Over:
        return session.end_without(session.limit.reason, TOO_LATE, own=own, bound=known, dual=dual)
    check_numbers(compiled.linear)
    compiled, scale = scale_of(instance, model, compiled, session.adapter, own=own)
    linear = compiled.linear
    size = (linear.variables, linear.constraints)

    start = first_table(session, model, compiled) if own else None
    if session.limit.over:
        return session.end_without(session.limit.reason, TOO_LATE, own=own, bound=known, size=size, dual=dual)
    options = replace(session.options, time_limit=session.limit.seconds)

    def forward(point: Progress) -> None:
        if on_progress is not None:
            on_progress(Progress(point.seconds, scale.to_problem(point.incumbent), scale.to_problem(point.bound)))

    with clock.step("solve"):
        answer = solve_checked(
            session.adapter, linear, options, scale.grid, start=start, on_progress=forward, interrupt=session.interrupt
        )
    bound = Bound(scale.proven(answer.bound), answer.backed_by)
    if known.value is not None:
        bound = known.and_also(bound)
    trajectory = tuple((p.seconds, scale.to_problem(p.incumbent), scale.to_problem(p.bound)) for p in answer.trajectory)
    table = None
    if answer.x is not None:
        with clock.step("assign"):
            assignment = assignment_of(instance, model, compiled, answer.x, own=own)
        released = session.release(assignment)
        table = Found(
            released, objective_of(session.prepared.problem, model, compiled, answer, released.report, scale, own=own)
        )
    rival = bound.value if table is None else table.objective
    # without a point the first table is taken, whatever stopped the solver; with one, where it is better
    ours = session.constructed(better_than=None if table is None else rival) if own else None
    if ours is not None:
        table = ours
    elif answer.x is not None and not own:
        compiled.load(answer.x)
    if table is None:
        verdict = _without_point(answer, bound, known, session)
        if verdict.proof == "infeasible" and explain is not None:
            # parts of the problem may have too many groups to be listed: then this message stays
            with suppress(InputError):
                verdict = replace(verdict, message=explain())
        return session.end(verdict, size=size, trajectory=trajectory, version=answer.version, dual=dual)
    stopped, message = answer.stop_reason, answer.message
    if stopped is StopReason.INFEASIBLE:
        stopped, message = StopReason.ERROR, f"{session.adapter.name} says infeasible, which this table refutes"
    verdict = judge(stopped, message, table.released.report, table.objective, bound, scale)
    return session.end(verdict, table, size=size, trajectory=trajectory, version=answer.version, dual=dual)


def first_table(session: Session, model: pyo.ConcreteModel, compiled: PyomoArrays) -> dict[int, float] | None:
    """A first table for models whose `assign` is integer, where solvers find none for long; None for others."""
    problem, instance = session.prepared.problem, session.prepared.instance
    if problem.network or problem.objective != "loss" or side_constraints(problem):
        return None
    if Capability.PARTIAL_START not in session.adapter.capabilities or session.first is None:
        return None
    return start_of(instance, model, compiled, session.first)


def start_of(
    instance: Instance, model: pyo.ConcreteModel, compiled: PyomoArrays, assignment: Assignment
) -> dict[int, float]:
    """An assignment as values of `assign` and `open`, by column."""
    rows = assignment.rows_of_pairs(instance)
    used = np.bincount(instance.candidates.candidate_of_pair(), weights=rows, minlength=instance.candidates.count) > 0
    values = np.concatenate([rows, used]).astype(float).tolist()
    columns = compiled.columns_of([*model.assign.values(), *model.open.values()]).tolist()
    return {column: value for column, value in zip(columns, values, strict=True) if column >= 0}


def integral_assignment(instance: Instance, compiled: PyomoArrays, model: pyo.ConcreteModel) -> PyomoArrays:
    """Say of our own model that whole numbers are enough, where only `assign` is continuous and the rest is a network.

    With the binaries fixed, a minimum-cost flow is left, one of which is whole; if any flow is within the cost bound,
    that one is.
    """
    if not instance.problem.network:
        return compiled
    continuous = np.flatnonzero(~compiled.linear.integer)
    integral = bool(np.isin(continuous, compiled.columns_of(list(model.assign.values()))).all())
    return replace(compiled, linear=replace(compiled.linear, integral=integral))


def integer_assignment(compiled: PyomoArrays, model: pyo.ConcreteModel) -> PyomoArrays:
    """Take `assign` as integer: a user's rows may have broken the network behind it."""
    columns = compiled.columns_of(list(model.assign.values()))
    integer = compiled.linear.integer.copy()
    integer[columns[columns >= 0]] = True
    return replace(compiled, linear=replace(compiled.linear, integer=integer))


def assignment_of(
    instance: Instance, model: pyo.ConcreteModel, compiled: PyomoArrays, point: Floats, *, own: bool
) -> Assignment:
    """Integral rows of each pair: by row assignment where our own model leaves a network, else as the solver says."""
    columns = compiled.columns_of(list(model.assign.values()))
    x = np.where(columns >= 0, point[columns], 0.0)
    candidate = instance.candidates.candidate_of_pair()
    if not own or not instance.problem.network:
        return Assignment.from_pairs(instance, np.round(x).astype(np.int64))
    rows = np.bincount(candidate, weights=x, minlength=instance.candidates.count)
    exclusive = any(requirement.absence_matters for requirement in instance.problem.requirements)
    assignment = assign_rows(instance, rows > 0.5, Cells.from_point(instance, x, exclusive=exclusive))
    claimed = float(instance.candidates.cost[candidate] @ x)
    if assignment.cost > claimed + 1e-6 * max(1.0, claimed):
        raise SolverError(f"the row assignment costs {assignment.cost}, more than the solver's point ({claimed})")
    return assignment


def _without_point(answer: SolverResult, bound: Bound, known: Bound, session: Session) -> Verdict:
    """What is left of an answer without a point."""
    if answer.stop_reason is StopReason.INFEASIBLE:
        message = explain_infeasible(session.prepared.problem, session.prepared.before.levels.count)
        return Verdict("infeasible", "infeasible", Bound(None, answer.backed_by), message)
    if answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.NODE_LIMIT, StopReason.INTERRUPTED):
        return Verdict(answer.stop_reason.value, "none" if bound.value is None else "bound", bound, answer.message)
    message = answer.message or f"the solver ended as {answer.stop_reason.value} without a table"
    return Verdict("error", "none", known, message)
