"""The pipeline: from a problem to a proven, verified result. Each step is one function; data flows one way."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyomo.environ as pyo

from kanon_milp import solvers
from kanon_milp.conflict import find_conflict
from kanon_milp.errors import InputError, nearest
from kanon_milp.formulations import FORMULATIONS, get_formulation
from kanon_milp.infeasibility import explain_infeasible, side_constraints
from kanon_milp.judgement import UNKNOWN, Bound, Verdict
from kanon_milp.memory import too_large
from kanon_milp.monolithic import solve_whole
from kanon_milp.preparation import Clock, OnStage, Prepared, prepare_for
from kanon_milp.problem import Problem
from kanon_milp.proof import WHOLE_GAP
from kanon_milp.relaxation import LARGE, network_relaxation
from kanon_milp.result import Result
from kanon_milp.run import METHODS, Found, MethodName, Run
from kanon_milp.solvers import OnProgress, SolverAdapter, SolverOptions

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

SEARCH_PAIRS = 20_000  # (row type, candidate) pairs from which on "auto" searches
RELAXATION_SHARE = 0.25  # of the time limit, for a bound from an easier problem
BOUND_SHARE, BOUND_SECONDS = 0.1, 30.0  # of the time limit, for a bound from multipliers
EXPLAIN_SECONDS = 20.0  # at most, to find out what is in conflict in an infeasible problem


def solve(
    problem: Problem,
    solver: str | SolverAdapter = "highs",
    *,
    formulation: str = "strong",
    method: MethodName = "auto",
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    node_limit: int | None = None,
    iteration_limit: int | None = None,
    log_file: str | Path | None = None,
    solver_options: dict[str, object] | None = None,
    dask: str | None = None,
    on_progress: OnProgress | None = None,
    on_stage: OnStage | None = None,
    interrupt: threading.Event | None = None,
) -> Result:
    """Solve a problem and verify what comes out.

    solver: "highs", "cbc", "scip", "cpsat", "pulp:NAME", or an adapter. method: "milp" hands one model to the solver;
    "search" closes in on the optimum with a Lagrangian bound, a search and a model of what these leave (k-anonymity at
    minimum loss, without side constraints; 10 minutes where there is no limit); "auto" searches where it can and the
    table is large.
    time_limit: seconds of wall clock for everything after reading. threads: of the solver, and processes that search.
    gap: relative gap at which to stop; 0 asks for a proof of optimality. node_limit: of the solver. iteration_limit:
    neighbourhoods of the search; with these two instead of a time limit the result is the same each time.
    solver_options: go to the solver as they are. dask: address of a Dask scheduler whose workers search.
    on_progress, on_stage: called with the solver's progress and with the name of each step.
    Raises InputError for bad input or a solver that is missing, SolverError for one that fails. Infeasible is a result.
    """
    options = _options(time_limit, threads, seed, gap, log_file, solver_options, node_limit)
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}{nearest(method, list(METHODS))}")
    if iteration_limit is not None and iteration_limit < 1:
        raise InputError("the iteration limit must be at least 1")
    if method == "milp" and not (iteration_limit is None and dask is None):
        what = "an iteration limit is" if dask is None else "a Dask cluster is"
        raise InputError(f"{what} for the search, and the method milp does none; use search, auto or a node limit")
    adapter, chosen = _adapter(solver), get_formulation(formulation)
    clock = Clock(on_stage)
    prepared = prepare_for(problem, chosen, clock, merge=True)
    if _searches(method, prepared):
        from kanon_milp.closing import close_in  # compiled code that small problems do not wait for

        run = Run(prepared, adapter, options, clock, "search")
        return close_in(run, iterations=iteration_limit, dask=dask, on_progress=on_progress, interrupt=interrupt)
    return _solve(prepared, adapter, options, clock, on_progress=on_progress, interrupt=interrupt)


def _searches(method: str, prepared: Prepared) -> bool:
    """Whether the search is asked for, or suits the problem. Raises InputError where it cannot be done."""
    if prepared.obstacle is not None:
        return False
    problem = prepared.problem
    own = prepared.formulation.name == "strong"
    reason = unsearchable(problem) or ("" if own else "another formulation was chosen")
    if method == "search" and reason:
        raise InputError(f"the method search is for the least loss under k-anonymity: {reason}; use milp or auto")
    large = prepared.instance.candidates.pairs >= SEARCH_PAIRS
    return method == "search" or (method == "auto" and large and not reason)


def unsearchable(problem: Problem) -> str:
    """Why the search is not about this problem; empty if it is."""
    if problem.objective != "loss":
        return f"the objective is {problem.objective}"
    if side_constraints(problem):
        return "there are side constraints"
    if problem.attributes or not (problem.network and problem.merge_closed):
        return "there are other requirements"
    return ""


def _solve(
    prepared: Prepared,
    adapter: SolverAdapter,
    options: SolverOptions,
    clock: Clock,
    *,
    on_progress: OnProgress | None = None,
    interrupt: threading.Event | None = None,
    explain: bool = True,
) -> Result:
    """Declare and solve one model, with what is known of its bound before."""
    asked = options
    formulation = prepared.formulation
    tuned = formulation.tune(prepared.instance).get(adapter.name, {})
    # with a whole-number objective, incumbent and bound meet once they are less than one unit apart
    options = replace(options, absolute_gap=WHOLE_GAP, extra={**tuned, **options.extra})
    run = Run(prepared, adapter, options, clock)
    if prepared.obstacle is not None:
        return run.end(Verdict("infeasible", "infeasible", Bound(None, ("own bound",)), prepared.obstacle))
    known, dual = _known_bound(run, asked, interrupt)
    left = None if asked.time_limit is None else asked.time_limit - clock.since_reading()
    obstacle = too_large(prepared.instance, left)
    if obstacle:
        return _without_model(run, obstacle, known, dual)
    with clock.step("build"):
        model = formulation.build(prepared.instance)
    why = None if not explain else lambda: _explain(run, interrupt)
    return solve_whole(run, model, on_progress, interrupt, own=True, explain=why, known=known, dual=dual)


def _without_model(run: Run, obstacle: str, known: Bound, dual: DualPoint | None) -> Result:
    """The greedy table and the bound that is known, for a model that is too large to be declared."""
    problem = run.prepared.problem
    plain = problem.objective == "loss" and not side_constraints(problem)
    with run.clock.step("search"):
        assignment = run.greedy if plain else None
    found = None
    if assignment is not None:
        released = run.release(assignment)
        found = Found(released, released.report.cost)
    return run.end(Verdict("error", "none" if known.value is None else "bound", known, obstacle), found, dual=dual)


def _known_bound(run: Run, asked: SolverOptions, interrupt: threading.Event | None) -> tuple[Bound, DualPoint | None]:
    """A bound on the loss from the relaxation to a network, and from multipliers, where the model is large.

    With sensitive attributes the multipliers returned, and a certificate of them, may prove less: they know sizes only.
    """
    problem, instance, clock = run.prepared.problem, run.prepared.instance, run.clock
    if run.prepared.formulation.name != "strong" or problem.objective != "loss" or instance.candidates.pairs < LARGE:
        return UNKNOWN, None
    from kanon_milp.bounds import lagrangian, proven_bound, round_dual  # compiled, as above
    from kanon_milp.bounds.required import improved

    unit = instance.levels.unit
    with clock.step("bound"):
        seconds = BOUND_SECONDS if asked.time_limit is None else min(BOUND_SECONDS, BOUND_SHARE * asked.time_limit)
        dual = lagrangian(instance, seconds=seconds, interrupt=interrupt, threads=asked.threads)
        bound = proven_bound(instance, round_dual(dual))
        better = improved(instance, bound, dual.multipliers, seconds, interrupt)
        known = Bound(better * unit, ("own bound" if better > bound else "certificate",))
    relaxed = network_relaxation(instance)
    if relaxed is None:
        return known, dual
    with clock.step("solve"):
        share = None if asked.time_limit is None else RELAXATION_SHARE * asked.time_limit
        quick = replace(asked, time_limit=share, log_file=None)
        inner = Clock()
        prepared = prepare_for(relaxed, run.prepared.formulation, inner, merge=True)
        easier = _solve(prepared, run.adapter, quick, inner, interrupt=interrupt, explain=False)
    return known.and_also(Bound(easier.exact_bound, easier.backed_by)), dual


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
    components `assign` and `open` over the candidates of `build_model(problem, formulation)`; formulation: the one that
    it was built with; other parameters as in `solve`.
    """
    options = _options(time_limit, threads, seed, gap, log_file, solver_options)
    clock = Clock(on_stage)
    prepared = prepare_for(problem, get_formulation(formulation), clock)
    candidates = prepared.instance.candidates
    for name, size in (("assign", candidates.pairs), ("open", candidates.count)):
        component = model.component(name)
        if component is None or len(component) != size:
            others = " or ".join(f'formulation="{other}"' for other in FORMULATIONS if other != formulation)
            raise InputError(
                f'the model was not built for this problem by the formulation "{formulation}": it has no component '
                f'"{name}" of {size} members; give solve_model what build_model was given, perhaps {others}'
            )
    run = Run(prepared, _adapter(solver), options, clock)
    return solve_whole(run, model, on_progress, interrupt, own=False)


def _options(
    time_limit: float | None,
    threads: int,
    seed: int,
    gap: float,
    log_file: str | Path | None,
    extra: dict[str, object] | None,
    node_limit: int | None = None,
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
        time_limit, threads, seed, gap, 0.0, None if log_file is None else Path(log_file), dict(extra or {}), node_limit
    )


def _adapter(solver: str | SolverAdapter) -> SolverAdapter:
    adapter = solvers.get(solver) if isinstance(solver, str) else solver
    availability = adapter.availability()
    if not availability:
        raise InputError(f'the solver "{adapter.name}" cannot be used: {availability.value}; see `kanon-milp doctor`')
    return adapter


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
        clock = Clock()
        prepared = prepare_for(smaller, formulation, clock, merge=True)
        trial = _solve(prepared, run.adapter, options, clock, interrupt=interrupt, explain=False)
        return True if trial.proof == "infeasible" else False if trial.verified else None

    conflict = find_conflict(problem, is_infeasible)
    return explain_infeasible(problem, run.prepared.before.levels.count) if conflict is None else str(conflict)
