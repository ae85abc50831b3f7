"""The pipeline: from a problem to a proven, verified result. Each step is one function; data flows one way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from kanon_milp import solvers
from kanon_milp.algorithms.row_assignment import Assignment, assign_rows
from kanon_milp.compilation import Compiled, compile_model
from kanon_milp.errors import InputError, SolverError
from kanon_milp.expansion import expand
from kanon_milp.formulations import Formulation, get_formulation
from kanon_milp.infeasibility import explain_infeasible, find_stranded
from kanon_milp.instance import Instance, compress_table, recode, with_candidates
from kanon_milp.problem import Problem
from kanon_milp.proof import contradicts, meets, safe_bound
from kanon_milp.reductions import Step, reduce
from kanon_milp.result import Proof, Result, Size, SolverRun
from kanon_milp.solvers import Progress, SolverAdapter, SolverOptions, SolverResult, StopReason
from kanon_milp.verify import Report, verify

STEPS = ("read", "compress", "candidates", "reduce", "build", "handover", "solve", "assign", "verify")

OnStage = Callable[[str], None]
OnProgress = Callable[[Progress], None]


@dataclass
class Clock:
    """Wall-clock seconds of each step, and the stage that is on."""

    on_stage: OnStage | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STEPS, 0.0))
    began: float = field(default_factory=time.perf_counter)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step."""
        if self.on_stage is not None:
            self.on_stage(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start

    def total(self) -> dict[str, float]:
        """All seconds with their total."""
        return {**self.seconds, "total": time.perf_counter() - self.began + self.seconds["read"]}


@dataclass(frozen=True, eq=False)
class Prepared:
    """An instance before and after the reductions that the formulation works on."""

    problem: Problem
    formulation: Formulation
    before: Instance
    instance: Instance
    steps: list[Step]


def solve(
    problem: Problem,
    solver: str | SolverAdapter = "highs",
    *,
    formulation: str = "strong",
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    log_file: Any | None = None,
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
    adapter = _adapter(solver)
    clock = Clock(on_stage)
    clock.seconds["read"] = problem.table.read_seconds
    prepared = _prepare(problem, get_formulation(formulation), clock)
    stranded = find_stranded(prepared.steps[-1].instance)
    if stranded is not None:
        nothing = Size(
            prepared.instance.types.count,
            prepared.instance.candidates.count,
            prepared.instance.candidates.pairs,
            0,
            0,
        )
        return _without_table(
            prepared, adapter, options, clock, nothing, "infeasible", "infeasible", str(stranded)
        )
    with clock.step("build"):
        model = prepared.formulation.build(prepared.instance)
    # with a whole-number objective, incumbent and bound meet once they are less than one unit apart
    options = replace(options, absolute_gap=0.999)
    return _run(prepared, model, adapter, options, clock, on_progress, interrupt, own=True)


def build_model(problem: Problem, formulation: str = "strong") -> pyo.ConcreteModel:
    """Declare a problem's model: a Pyomo ConcreteModel to read, extend and export (component names: see the README)."""
    prepared = _prepare(problem, get_formulation(formulation), Clock())
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
    log_file: Any | None = None,
    solver_options: dict[str, object] | None = None,
    on_progress: OnProgress | None = None,
    on_stage: OnStage | None = None,
    interrupt: threading.Event | None = None,
) -> Result:
    """Solve a model of `build_model` that the user extended: rows added or the objective changed.

    The user's rows may break the network behind `assign`, so it is taken as integer here. The model must keep the components
    `assign` and `open` over the candidates of `build_model(problem, formulation)`; other parameters as in `solve`.
    """
    options = _options(time_limit, threads, seed, gap, log_file, solver_options)
    clock = Clock(on_stage)
    clock.seconds["read"] = problem.table.read_seconds
    prepared = _prepare(problem, get_formulation(formulation), clock)
    candidates = prepared.instance.candidates
    for name, size in (("assign", candidates.pairs), ("open", candidates.count)):
        component = model.component(name)
        if component is None or len(component) != size:
            raise InputError(
                f'the model has no component "{name}" of {size} members: it was not built for this problem'
            )
    return _run(prepared, model, _adapter(solver), options, clock, on_progress, interrupt, own=False)


def _options(
    time_limit: float | None,
    threads: int,
    seed: int,
    gap: float,
    log_file: Any,
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
    return SolverOptions(time_limit, threads, seed, gap, 0.0, log_file, dict(extra or {}))


def _adapter(solver: str | SolverAdapter) -> SolverAdapter:
    adapter = solvers.get(solver) if isinstance(solver, str) else solver
    availability = adapter.availability()
    if not availability:
        raise InputError(
            f'the solver "{adapter.name}" cannot be used: {availability.value}; see `kanon-milp doctor`'
        )
    return adapter


def _prepare(problem: Problem, formulation: Formulation, clock: Clock) -> Prepared:
    with clock.step("compress"):
        types = compress_table(problem)
    with clock.step("candidates"):
        levels = recode(problem, types)
        before = with_candidates(problem, types, levels)
    with clock.step("reduce"):
        steps = reduce(before)
    reduced = steps[-1].instance
    # a model over row types that no candidate covers cannot be stated: it is declared over all candidates
    whole = not formulation.reduced or find_stranded(reduced) is not None
    return Prepared(problem, formulation, before, before if whole else reduced, steps)


def _run(
    prepared: Prepared,
    model: pyo.ConcreteModel,
    adapter: SolverAdapter,
    options: SolverOptions,
    clock: Clock,
    on_progress: OnProgress | None,
    interrupt: threading.Event | None,
    *,
    own: bool,
) -> Result:
    instance = prepared.instance
    with clock.step("handover"):
        compiled = compile_model(model)
        pairs = compiled.columns_of(list(model.assign.values()))
        linear = compiled.linear
        if not own:
            integer = linear.integer.copy()
            integer[pairs[pairs >= 0]] = True
            linear = replace(linear, integer=integer)
            compiled = replace(compiled, linear=linear)
    size = Size(
        instance.types.count,
        instance.candidates.count,
        instance.candidates.pairs,
        linear.variables,
        linear.constraints,
    )
    loss = model.loss.active and (own or bool(np.all(linear.c == np.round(linear.c))))
    unit = instance.levels.unit if loss else Fraction(1)
    # `loss` and `groups` of our own models are whole numbers; of a user's only if all of its variables and coefficients are
    used = linear.c != 0
    integral = own or bool(linear.integer[used].all() and (linear.c == np.round(linear.c)).all())

    def units(value: float | None) -> float | None:
        return None if value is None else compiled.sign * value * float(unit)

    def forward(progress: Progress) -> None:
        if on_progress is not None:
            on_progress(Progress(progress.seconds, units(progress.incumbent), units(progress.bound)))

    if options.time_limit is not None:
        left = options.time_limit - (clock.total()["total"] - clock.seconds["read"])
        if left <= 0:
            return _without_table(
                prepared, adapter, options, clock, size, "time_limit", "none", "the model was not yet built"
            )
        limited = replace(options, time_limit=left)
    else:
        limited = options
    with clock.step("solve"):
        answer = adapter.solve(linear, limited, on_progress=forward, interrupt=interrupt)
    trajectory = tuple((p.seconds, units(p.incumbent), units(p.bound)) for p in answer.trajectory)
    bound = safe_bound(answer.bound, integral=integral)
    exact_bound = None if bound is None else compiled.sign * _exact(bound, integral=integral) * unit
    if answer.x is None:
        reason, proof, message = _claim_without_point(answer, exact_bound, prepared)
        return _without_table(
            prepared,
            adapter,
            options,
            clock,
            size,
            reason,
            proof,
            message,
            exact_bound,
            trajectory,
            answer.version,
        )
    with clock.step("assign"):
        assignment = _assignment(instance, model, compiled, answer, own=own)
        release = expand(instance, assignment)
        table = prepared.problem.table.released(release.columns)
    with clock.step("verify"):
        report = verify(prepared.problem, table, partition=release.group.tolist())
    if not own:
        compiled.load(answer.x)
    objective = _objective(prepared.problem, model, compiled, answer, report, unit, own=own)
    reason, proof, exact_bound, message = _judge(
        answer, report, objective, exact_bound, bound, compiled.sign, unit
    )
    return Result(
        problem=prepared.problem,
        stop_reason=reason,
        proof=proof,
        exact_objective=objective,
        exact_bound=exact_bound,
        table=table if report.ok else None,
        groups=release.group if report.ok else None,
        report=report,
        solver=SolverRun(adapter.name, answer.version, prepared.formulation.name, options),
        before=_size_before(prepared),
        after=size,
        row_types=(instance.types.count, instance.types.star_count),
        seconds=clock.total(),
        trajectory=trajectory,
        message=message,
        reductions=_reduction_sizes(prepared),
    )


def _assignment(
    instance: Instance, model: pyo.ConcreteModel, compiled: Compiled, answer: SolverResult, *, own: bool
) -> Assignment:
    """Integral rows of each pair: by row assignment for our own models, as the solver says for a user's model."""
    assert answer.x is not None
    columns = compiled.columns_of(list(model.assign.values()))
    x = np.where(columns >= 0, answer.x[columns], 0.0)
    if not own:
        return Assignment.from_pairs(instance, np.round(x).astype(np.int64))
    candidate = instance.candidates.candidate_of_pair()
    rows = np.bincount(candidate, weights=x, minlength=instance.candidates.count)
    assignment = assign_rows(instance, rows > 0.5)
    claimed = float(instance.candidates.cost[candidate] @ x)
    if assignment.cost > claimed + 1e-6 * max(1.0, claimed):
        raise SolverError(
            f"the row assignment costs {assignment.cost}, more than the solver's point ({claimed})"
        )
    return assignment


def _judge(
    answer: SolverResult,
    report: Report,
    objective: Fraction | None,
    exact_bound: Fraction | None,
    bound: float | None,
    sign: int,
    unit: Fraction,
) -> tuple[str, Proof, Fraction | None, str]:
    """Stop reason, proof, bound and message: optimal only where incumbent and bound meet and the verifier agrees."""
    reason = answer.stop_reason.value
    if objective is None or not report.ok:
        return "error", "none", exact_bound, "the verifier refuses the table"
    reached = sign * float(objective / unit)
    if contradicts(reached, bound):
        message = "the verified table is better than the bound that the solver claims; the bound is discarded"
        return "error", "none", None, message
    if meets(reached, bound):
        return "optimal", "optimal", objective, answer.message
    reason = "gap_limit" if reason == "optimal" else reason
    return reason, "none" if exact_bound is None else "bound", exact_bound, answer.message


def _objective(
    problem: Problem,
    model: pyo.ConcreteModel,
    compiled: Compiled,
    answer: SolverResult,
    report: Report,
    unit: Fraction,
    *,
    own: bool,
) -> Fraction | None:
    """The objective of the released table: recomputed by the verifier, or the model's own where the user changed it."""
    assert answer.x is not None
    if report.cost is None:
        return None
    if own:
        return report.cost if problem.objective == "loss" else Fraction(report.groups)
    value = compiled.sign * compiled.linear.value(
        np.where(compiled.linear.integer, np.round(answer.x), answer.x)
    )
    if model.loss.active and abs(value * float(unit) - float(report.cost)) <= 1e-6 * max(
        1.0, float(report.cost)
    ):
        return report.cost
    return _exact(value, integral=False) * unit


def _exact(value: float, *, integral: bool) -> Fraction:
    return Fraction(round(value)) if integral else Fraction(value).limit_denominator(10**9)


def _claim_without_point(
    answer: SolverResult, bound: Fraction | None, prepared: Prepared
) -> tuple[str, Proof, str]:
    if answer.stop_reason is StopReason.INFEASIBLE:
        return "infeasible", "infeasible", explain_infeasible(prepared.instance, prepared.before)
    if answer.stop_reason in (StopReason.TIME_LIMIT, StopReason.INTERRUPTED):
        return answer.stop_reason.value, "none" if bound is None else "bound", answer.message
    return (
        "error",
        "none",
        answer.message or f"the solver ended as {answer.stop_reason.value} without a table",
    )


def _without_table(
    prepared: Prepared,
    adapter: SolverAdapter,
    options: SolverOptions,
    clock: Clock,
    size: Size,
    reason: str,
    proof: Proof,
    message: str,
    bound: Fraction | None = None,
    trajectory: tuple[tuple[float, float | None, float | None], ...] = (),
    version: str | None = None,
) -> Result:
    types = prepared.instance.types
    return Result(
        problem=prepared.problem,
        stop_reason=reason,
        proof=proof,
        exact_objective=None,
        exact_bound=None if proof == "infeasible" else bound,
        table=None,
        groups=None,
        report=None,
        solver=SolverRun(adapter.name, version or adapter.version(), prepared.formulation.name, options),
        before=_size_before(prepared),
        after=size,
        row_types=(types.count, types.star_count),
        seconds=clock.total(),
        trajectory=trajectory,
        message=message,
        reductions=_reduction_sizes(prepared),
    )


def _size_before(prepared: Prepared) -> Size:
    """The strong formulation's size over all candidates: one variable and link a pair, one a candidate, one row a type."""
    types, candidates = prepared.before.types.count, prepared.before.candidates
    return Size(
        row_types=types,
        candidates=candidates.count,
        pairs=candidates.pairs,
        variables=candidates.pairs + candidates.count,
        constraints=types + candidates.pairs + candidates.count,
    )


def _reduction_sizes(prepared: Prepared) -> tuple[dict[str, object], ...]:
    return tuple(
        {
            "name": step.name,
            "candidates": step.instance.candidates.count,
            "pairs": step.instance.candidates.pairs,
        }
        for step in prepared.steps
    )
