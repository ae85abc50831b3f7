"""The pipeline: from a problem to a proven, verified result. Each step is one function; data flows one way."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo

from kanon_milp import solvers
from kanon_milp.algorithms.greedy import greedy
from kanon_milp.algorithms.row_assignment import Assignment, Cells, assign_rows
from kanon_milp.compilation import Compiled, compile_model
from kanon_milp.conflict import find_conflict
from kanon_milp.errors import InputError, SolverError
from kanon_milp.expansion import expand
from kanon_milp.formulations import Formulation, get_formulation
from kanon_milp.infeasibility import explain_infeasible, side_constraints
from kanon_milp.instance import Instance
from kanon_milp.judgement import judge, objective_of, scale_of
from kanon_milp.preparation import Clock, OnStage, Prepared, prepare_for
from kanon_milp.problem import Problem
from kanon_milp.proof import WHOLE_GAP, safe_bound
from kanon_milp.relaxation import network_relaxation
from kanon_milp.result import Proof, Result, Size, SolverRun
from kanon_milp.solvers import Capability, Progress, SolverAdapter, SolverOptions, SolverResult, StopReason
from kanon_milp.verify import Report, verify

RELAXATION_SHARE = 0.25  # of the time limit, for a bound from an easier problem
EXPLAIN_SECONDS = 20.0  # at most, to find out what is in conflict in an infeasible problem

OnProgress = Callable[[Progress], None]
Trajectory = tuple[tuple[float, float | None, float | None], ...]


def solve(
    problem: Problem,
    solver: str | SolverAdapter = "highs",
    *,
    formulation: str = "strong",
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    log_file: str | Path | None = None,
    solver_options: dict[str, object] | None = None,
    on_progress: OnProgress | None = None,
    on_stage: OnStage | None = None,
    interrupt: threading.Event | None = None,
) -> Result:
    """Solve a problem and verify what comes out.

    solver: "highs", "cbc", "pulp:NAME", or an adapter. time_limit: seconds of wall clock for everything after reading.
    gap: relative gap at which to stop; 0 asks for a proof of optimality. solver_options: go to the solver as they are.
    on_progress, on_stage: called with the solver's progress and with the name of each step.
    Raises InputError for bad input or a solver that is missing, SolverError for one that fails. Infeasible is a result.
    """
    options = _options(time_limit, threads, seed, gap, log_file, solver_options)
    return _solve(
        problem,
        _adapter(solver),
        get_formulation(formulation),
        options,
        Clock(on_stage),
        on_progress=on_progress,
        interrupt=interrupt,
    )


def _solve(
    problem: Problem,
    adapter: SolverAdapter,
    formulation: Formulation,
    options: SolverOptions,
    clock: Clock,
    *,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
    explain: bool = True,
) -> Result:
    """Prepare, declare and solve."""
    prepared = prepare_for(problem, formulation, clock)
    asked = options
    tuned = formulation.tune(prepared.instance).get(adapter.name, {})
    # with a whole-number objective, incumbent and bound meet once they are less than one unit apart
    options = replace(options, absolute_gap=WHOLE_GAP, extra={**tuned, **options.extra})
    run = Run(prepared, adapter, options, clock)
    if prepared.obstacle is not None:
        return run.end("infeasible", "infeasible", message=prepared.obstacle)
    known = None
    relaxed = network_relaxation(prepared.instance) if formulation.reduced else None
    if relaxed is not None:
        with clock.step("solve"):
            share = None if asked.time_limit is None else RELAXATION_SHARE * asked.time_limit
            quick = replace(asked, time_limit=share, log_file=None)
            easier = _solve(relaxed, adapter, formulation, quick, Clock(), interrupt=interrupt, explain=False)
            known = easier.exact_bound
    with clock.step("build"):
        model = prepared.formulation.build(prepared.instance)
    return _finish(run, model, on_progress, interrupt, own=True, explain=explain, known=known)


def build_model(problem: Problem, formulation: str = "strong") -> pyo.ConcreteModel:
    """Declare a problem's model: a Pyomo ConcreteModel to read, extend and export (component names: see the README)."""
    prepared = prepare_for(problem, get_formulation(formulation), Clock())
    return prepared.formulation.build(prepared.instance)


def solve_model(
    problem: Problem,
    model: pyo.ConcreteModel,
    solver: str | SolverAdapter = "highs",
    *,
    formulation: str = "strong",
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    log_file: str | Path | None = None,
    solver_options: dict[str, object] | None = None,
    on_progress: OnProgress | None = None,
    on_stage: OnStage | None = None,
    interrupt: threading.Event | None = None,
) -> Result:
    """Solve a model of `build_model` that the user extended: rows added or the objective changed.

    The user's rows may break the network behind `assign`, so it is taken as integer here. The model must keep the
    components
    `assign` and `open` over the candidates of `build_model(problem, formulation)`; other parameters as in `solve`.
    """
    options = _options(time_limit, threads, seed, gap, log_file, solver_options)
    clock = Clock(on_stage)
    prepared = prepare_for(problem, get_formulation(formulation), clock)
    candidates = prepared.instance.candidates
    for name, size in (("assign", candidates.pairs), ("open", candidates.count)):
        component = model.component(name)
        if component is None or len(component) != size:
            raise InputError(
                f'the model has no component "{name}" of {size} members: it was not built for this problem'
            )
    run = Run(prepared, _adapter(solver), options, clock)
    return _finish(run, model, on_progress, interrupt, own=False)


@dataclass(frozen=True, eq=False)
class Run:
    """One call of `solve`, and how it ends."""

    prepared: Prepared
    adapter: SolverAdapter
    options: SolverOptions
    clock: Clock

    def end(
        self,
        reason: str,
        proof: Proof,
        *,
        objective: Fraction | None = None,
        bound: Fraction | None = None,
        table: Any = None,
        groups: Any = None,
        report: Report | None = None,
        size: tuple[int, int] = (0, 0),
        trajectory: Trajectory = (),
        version: str | None = None,
        message: str = "",
    ) -> Result:
        """The result; `size` is the model's number of variables and constraints."""
        instance = self.prepared.instance
        types, candidates = instance.types, instance.candidates
        formulation = self.prepared.formulation.name
        return Result(
            problem=self.prepared.problem,
            stop_reason=reason,
            proof=proof,
            exact_objective=objective,
            exact_bound=bound,
            table=table,
            groups=groups,
            report=report,
            solver=SolverRun(self.adapter.name, version or self.adapter.version(), formulation, self.options),
            before=self.prepared.size_before,
            after=Size(types.count, candidates.count, candidates.pairs, *size),
            row_types=self.prepared.row_types,
            seconds=self.clock.total(),
            trajectory=trajectory,
            message=message,
            reductions=self.prepared.reduction_sizes,
        )


def _options(
    time_limit: float | None,
    threads: int,
    seed: int,
    gap: float,
    log_file: str | Path | None,
    extra: dict[str, object] | None,
) -> SolverOptions:
    if time_limit is not None and not time_limit > 0:
        raise InputError("the time limit must be a positive number of seconds")
    if threads < 1:
        raise InputError("threads must be at least 1")
    if not 0 <= gap < 1:
        raise InputError("the gap must be at least 0 and below 1 (0.01 is one per cent)")
    if seed < 0:
        raise InputError("the seed must not be negative")
    return SolverOptions(
        time_limit, threads, seed, gap, 0.0, None if log_file is None else Path(log_file), dict(extra or {})
    )


def _adapter(solver: str | SolverAdapter) -> SolverAdapter:
    adapter = solvers.get(solver) if isinstance(solver, str) else solver
    availability = adapter.availability()
    if not availability:
        raise InputError(f'the solver "{adapter.name}" cannot be used: {availability.value}; see `kanon-milp doctor`')
    return adapter


def _finish(
    run: Run,
    model: pyo.ConcreteModel,
    on_progress: OnProgress | None,
    interrupt: threading.Event | None,
    *,
    own: bool,
    explain: bool = True,
    known: Fraction | None = None,
) -> Result:
    """Hand the model over, solve it, assign rows, verify and judge.

    own: the model is as the package declares it. explain: look for what is in conflict where there is no solution.
    known: a bound on the loss that is already proven.
    """
    problem, instance, clock = run.prepared.problem, run.prepared.instance, run.clock
    with clock.step("handover"):
        compiled = compile_model(model)
        if not own:
            compiled = _integer_assignment(compiled, model)
    linear = compiled.linear
    size = (linear.variables, linear.constraints)
    scale = scale_of(instance, model, compiled, own=own)

    options = run.options
    if options.time_limit is not None:
        left = options.time_limit - clock.since_reading()
        if left <= 0:
            return run.end("time_limit", "none", size=size, message="the time was over before the solver could start")
        options = replace(options, time_limit=left)

    def forward(point: Progress) -> None:
        if on_progress is not None:
            on_progress(Progress(point.seconds, scale.to_problem(point.incumbent), scale.to_problem(point.bound)))

    with clock.step("solve"):
        start = _start(run, model, compiled) if own else None
        answer = run.adapter.solve(linear, options, start=start, on_progress=forward, interrupt=interrupt)
    bound = safe_bound(answer.bound, integral=scale.integral)
    if known is not None:
        bound = max(scale.to_model(known), -math.inf if bound is None else bound)
    trajectory = tuple((p.seconds, scale.to_problem(p.incumbent), scale.to_problem(p.bound)) for p in answer.trajectory)
    if answer.x is None:
        reason, proof, message = _claim_without_point(answer, bound, run)
        if proof == "infeasible" and own and explain:
            message = _explain(run, interrupt)
        known = None if proof == "infeasible" else scale.exact(bound)
        return run.end(
            reason, proof, bound=known, size=size, trajectory=trajectory, version=answer.version, message=message
        )
    with clock.step("assign"):
        release = expand(instance, _assignment(instance, model, compiled, answer, own=own))
        table = problem.table.released(release.columns)
    with clock.step("verify"):
        report = verify(problem, table, partition=release.group.tolist())
    if not own:
        compiled.load(answer.x)
    objective = objective_of(problem, model, compiled, answer, report, scale, own=own)
    reason, proof, exact_bound, message = judge(answer, report, objective, bound, scale)
    return run.end(
        reason,
        proof,
        objective=objective,
        bound=exact_bound,
        table=table if report.ok else None,
        groups=release.group if report.ok else None,
        report=report,
        size=size,
        trajectory=trajectory,
        version=answer.version,
        message=message,
    )


def _start(run: Run, model: pyo.ConcreteModel, compiled: Compiled) -> dict[int, float] | None:
    """A first table for models whose `assign` is integer, where solvers find none for long; None for others."""
    problem, instance = run.prepared.problem, run.prepared.instance
    if problem.network or problem.objective != "loss" or side_constraints(problem):
        return None
    if Capability.PARTIAL_START not in run.adapter.capabilities:
        return None
    found = greedy(instance)
    if found is None:
        return None
    rows = found.rows_of_pairs(instance)
    used = np.bincount(instance.candidates.candidate_of_pair(), weights=rows, minlength=instance.candidates.count) > 0
    values = np.concatenate([rows, used]).astype(float).tolist()
    columns = compiled.columns_of([*model.assign.values(), *model.open.values()]).tolist()
    return {column: value for column, value in zip(columns, values, strict=True) if column >= 0}


def _integer_assignment(compiled: Compiled, model: pyo.ConcreteModel) -> Compiled:
    """Take `assign` as integer: a user's rows may have broken the network behind it."""
    columns = compiled.columns_of(list(model.assign.values()))
    integer = compiled.linear.integer.copy()
    integer[columns[columns >= 0]] = True
    return replace(compiled, linear=replace(compiled.linear, integer=integer))


def _assignment(
    instance: Instance, model: pyo.ConcreteModel, compiled: Compiled, answer: SolverResult, *, own: bool
) -> Assignment:
    """Integral rows of each pair: by row assignment where our own model leaves a network, else as the solver says."""
    assert answer.x is not None
    columns = compiled.columns_of(list(model.assign.values()))
    x = np.where(columns >= 0, answer.x[columns], 0.0)
    candidate = instance.candidates.candidate_of_pair()
    if not own or not instance.problem.network:
        return Assignment.from_pairs(instance, np.round(x).astype(np.int64))
    rows = np.bincount(candidate, weights=x, minlength=instance.candidates.count)
    exclusive = any(requirement.exclusive for requirement in instance.problem.requirements)
    assignment = assign_rows(instance, rows > 0.5, Cells.from_point(instance, x, exclusive=exclusive))
    claimed = float(instance.candidates.cost[candidate] @ x)
    if assignment.cost > claimed + 1e-6 * max(1.0, claimed):
        raise SolverError(f"the row assignment costs {assignment.cost}, more than the solver's point ({claimed})")
    return assignment


def _explain(run: Run, interrupt: threading.Event | None) -> str:
    """Which of the things asked for are in conflict, or just that there is no solution."""
    problem = run.prepared.problem
    ends = time.perf_counter() + EXPLAIN_SECONDS
    if run.options.time_limit is not None:
        ends = min(ends, time.perf_counter() + run.options.time_limit - run.clock.since_reading())

    def is_infeasible(smaller: Problem) -> bool | None:
        left = ends - time.perf_counter()
        if left <= 0 or (interrupt is not None and interrupt.is_set()):
            return None
        # any table will do: a gap that the first one meets
        options = replace(run.options, time_limit=left, gap=0.999, log_file=None)
        formulation = run.prepared.formulation
        trial = _solve(smaller, run.adapter, formulation, options, Clock(), interrupt=interrupt, explain=False)
        return True if trial.proof == "infeasible" else False if trial.verified else None

    conflict = find_conflict(problem, is_infeasible)
    return explain_infeasible(problem, run.prepared.before.levels.count) if conflict is None else str(conflict)


def _claim_without_point(answer: SolverResult, bound: float | None, run: Run) -> tuple[str, Proof, str]:
    if answer.stop_reason is StopReason.INFEASIBLE:
        return "infeasible", "infeasible", explain_infeasible(run.prepared.problem, run.prepared.before.levels.count)
    if answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED):
        return answer.stop_reason.value, "none" if bound is None else "bound", answer.message
    return (
        "error",
        "none",
        answer.message or f"the solver ended as {answer.stop_reason.value} without a table",
    )
