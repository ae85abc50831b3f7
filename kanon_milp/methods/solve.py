"""The pipeline: from a problem to a proven, verified result. Each step is one function; data flows one way."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyomo.environ as pyo

from kanon_milp import solvers
from kanon_milp.bounds import BoundLimit, BoundTask, best_registered, registered_bounds
from kanon_milp.bounds.providers import LAGRANGIAN, REQUIREMENTS
from kanon_milp.errors import InputError, SolverError
from kanon_milp.formulations import FORMULATIONS, Formulation, get_formulation
from kanon_milp.methods.direct import TOO_LATE, solve_direct
from kanon_milp.methods.outcome import UNKNOWN, Bound, Verdict
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import METHODS, MethodName, Session, limit_of
from kanon_milp.presolve.conflict import find_conflict
from kanon_milp.presolve.infeasibility import explain_infeasible, side_constraints
from kanon_milp.presolve.preparation import Prepared, prepare_for
from kanon_milp.presolve.relaxation import LARGE, network_relaxation
from kanon_milp.presolve.resources import too_large, too_long
from kanon_milp.problem.arguments import file_path, instance_of, one_of, real_number, text, whole_number, wrong
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.problem.table import is_text
from kanon_milp.solvers import OnProgress, SolverAdapter, SolverOptions
from kanon_milp.solvers.proof import WHOLE_GAP
from kanon_milp.system.clock import Clock, OnStage
from kanon_milp.system.files import check_target, refuse_overwriting, write_file
from kanon_milp.system.limit import NO_LIMIT, Limit, Over
from kanon_milp.system.processes import begin_threads
from kanon_milp.system.signals import ctrl_c_sets

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

SEARCH_PAIRS = 20_000  # (row type, candidate) pairs from which on "auto" searches, unless a row type has so few:
FEW_OPTIONS, FEW_PAIRS = (
    15,
    300_000,
)  # candidates a row type, and pairs, up to which one model is quicker (Adult, masks)
RELAXATION_SHARE = 0.25  # of the time limit, for a bound from an easier problem
BOUND_SHARE, BOUND_SECONDS = 0.1, 30.0  # of the time limit, for a bound from multipliers
REQUIRED_SHARE = 3.0  # times these seconds, for a bound under requirements and its proof
LONGEST = 1e9  # seconds; a longer limit is none
LARGEST_COUNT = 2**31 - 1  # of nodes, ... and the seed, as solvers hold them
MOST_THREADS = 1024  # more are a slip of the pen
EXPLAIN_SECONDS = 20.0  # at most, to find out what is in conflict in an infeasible problem
EXTENDED_INFEASIBLE = (
    "proven: the model as it was given, with everything that was added to it, has no solution; whether the problem has "
    "one without the additions is not known from this: solve(problem) finds out"
)


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
    time_limit: seconds of wall clock for everything after reading; infinity is no limit. log_file: of the
    solver. threads: of the solver, and processes that search; at most 1024, and no more than this machine has
    processors are used.
    gap: relative gap at which to stop; 0 asks for a proof of optimality. node_limit: of the solver. iteration_limit:
    neighbourhoods of the search; with these two instead of a time limit the result is the same each time.
    solver_options: go to the solver as they are. dask: address of a Dask scheduler whose workers search.
    on_progress, on_stage: called with the solver's progress and with the name of each step.
    Raises InputError for bad input or a solver that is missing, SolverError for one that fails. Infeasible is a result.
    """
    expect_problem(problem, "solve")
    options = _options(time_limit, threads, seed, gap, log_file, solver_options, node_limit)
    if options.log_file is not None:
        _check_log(problem, options.log_file)
    _check_callbacks(on_progress, on_stage, interrupt)
    one_of(method, METHODS, "method")
    if iteration_limit is not None:
        iteration_limit = _counted(iteration_limit, "the iteration limit")
    if dask is not None:
        text(dask, "dask, the address of a scheduler")
    if method == "milp" and not (iteration_limit is None and dask is None):
        what = "an iteration limit is" if dask is None else "a Dask cluster is"
        raise InputError(f"{what} for the search, and the method milp does none; use search, auto or a node limit")
    adapter, chosen = _adapter(solver), get_formulation(formulation)
    clock = Clock(on_stage)
    with ctrl_c_sets(interrupt) as stop:
        prepared = _prepared(problem, chosen, clock, merge=True, limit=limit_of(clock, options, stop))
        searches = _searches(method, prepared, chosen)
        _begin_log(options)
        if not searches:
            return _solve(Session(prepared, chosen, adapter, options, clock, "milp", stop), on_progress)
        from kanon_milp.methods.hybrid import solve_hybrid  # compiled code that small problems do not wait for

        session = Session(prepared, chosen, adapter, options, clock, "search", stop)
        return solve_hybrid(session, iterations=iteration_limit, dask=dask, on_progress=on_progress)


def _searches(method: str, prepared: Prepared, formulation: Formulation) -> bool:
    """Whether the search is asked for, or suits the problem. Raises InputError where it cannot be done."""
    if prepared.obstacle is not None or prepared.shortage is not None:
        return False
    problem = prepared.problem
    own = formulation.name == "strong"
    reason = unsearchable(problem) or ("" if own else "another formulation was chosen")
    if method == "search" and reason:
        raise InputError(f"the method search is for the least loss under k-anonymity: {reason}; use milp or auto")
    pairs, types = prepared.instance.candidates.pairs, prepared.instance.types.count
    large = pairs >= SEARCH_PAIRS and not (pairs <= FEW_PAIRS and pairs <= FEW_OPTIONS * types)
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


def _solve(session: Session, on_progress: OnProgress | None = None, *, explain: bool = True) -> Result:
    """Declare and solve one model, with what is known of its bound before."""
    prepared, asked = session.prepared, session.options
    formulation, instance = session.formulation, prepared.instance
    tuned = formulation.tune(instance).get(session.adapter.name, {})
    # with a whole-number objective, incumbent and bound meet once they are less than one unit apart
    session = replace(session, options=replace(asked, absolute_gap=WHOLE_GAP, extra={**tuned, **asked.extra}))
    if prepared.obstacle is not None:
        return _refuse(session, prepared.obstacle)
    if prepared.shortage is not None:
        return session.end_without(prepared.shortage.reason, prepared.shortage.message)
    known, dual = _known_bound(session, asked)
    if message := too_large(instance):
        return session.end_without("error", message, bound=known, dual=dual)
    if message := too_long(instance, session.limit.seconds):
        return session.end_without("time_limit", message, bound=known, dual=dual)
    try:
        with session.clock.step("build"):
            model = session.limit.call(formulation.build, instance)
    except Over:
        return session.end_without(session.limit.reason, TOO_LATE, bound=known, dual=dual)
    why = None if not explain else lambda: _explain(session)
    return solve_direct(session, model, on_progress, own=True, explain=why, known=known, dual=dual)


def _refuse(session: Session, obstacle: str) -> Result:
    """There is no solution, as the requirements say of themselves; unless a table that was verified refutes them."""
    found = session.one_group()
    if found is None:
        return session.end(Verdict("infeasible", "infeasible", Bound(None, ("own bound",)), obstacle))
    said = "what the requirements say of themselves leaves no solution, which this table refutes"
    return session.end(Verdict("error", "none", UNKNOWN, said), found)


def _known_bound(session: Session, asked: SolverOptions) -> tuple[Bound, DualPoint | None]:
    """A bound on the loss before the solver begins: what users have registered says, and where the model is large, the
    relaxation to a network, and multipliers.

    With sensitive attributes the multipliers returned, and a certificate of them, may prove less: they know sizes only.
    """
    problem, instance, clock = session.prepared.problem, session.prepared.instance, session.clock
    if problem.objective != "loss" or session.limit.over:
        return UNKNOWN, None
    unit, limit = instance.levels.unit, session.limit
    seconds = BOUND_SECONDS if asked.time_limit is None else min(BOUND_SECONDS, BOUND_SHARE * asked.time_limit)
    known = UNKNOWN
    if registered_bounds(instance):
        with clock.step("bound"):
            own = best_registered(instance, BoundTask(_bound_limit(limit, seconds), threads=asked.threads))
        known = Bound(own.units * unit, own.justified_by) if own.units > 0 else UNKNOWN
    if session.formulation.name != "strong" or instance.candidates.pairs < LARGE or limit.over:
        return known, None
    with clock.step("bound"):
        found = LAGRANGIAN.compute(instance, BoundTask(_bound_limit(limit, seconds), threads=asked.threads))
        known = known.and_also(Bound(found.units * unit, found.justified_by))
        if REQUIREMENTS.accepts(instance):
            with suppress(Over):  # the proof of what it has found takes as long as it takes
                task = BoundTask(_bound_limit(limit, seconds), found.dual)
                better = limit.part(REQUIRED_SHARE * seconds).call(REQUIREMENTS.compute, instance, task)
                if better.units > found.units:
                    known = known.and_also(Bound(better.units * unit, better.justified_by))
    relaxed = network_relaxation(instance)
    if relaxed is None or session.limit.over:
        return known, found.dual
    with clock.step("solve"):
        share = None if asked.time_limit is None else min(RELAXATION_SHARE * asked.time_limit, session.limit.left)
        easier = _solve_another(session, relaxed, replace(asked, time_limit=share, log_file=None))
    return known.and_also(Bound(easier.exact_bound, easier.backed_by)), found.dual


def _bound_limit(limit: Limit, seconds: float) -> BoundLimit:
    """So many seconds from now, whatever is left for the session: a bound is worth them."""
    return BoundLimit(ends=time.perf_counter() + seconds, interrupt=limit.interrupt)


def _solve_another(session: Session, problem: Problem, options: SolverOptions) -> Result:
    """Solve a problem that tells something about that of the run, on the same solver."""
    clock = Clock()
    limit = limit_of(clock, options, session.interrupt)
    prepared = _prepared(problem, session.formulation, clock, merge=True, limit=limit)
    return _solve(
        Session(prepared, session.formulation, session.adapter, options, clock, "milp", session.interrupt),
        explain=False,
    )


def build_model(problem: Problem, formulation: str = "strong") -> pyo.ConcreteModel:
    """Declare a problem's model: a Pyomo ConcreteModel to read, extend and export (component names: see the README)."""
    expect_problem(problem, "build_model")
    chosen = get_formulation(formulation)
    return chosen.build(_prepared_all(problem, chosen, Clock()).instance)


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
    expect_problem(problem, "solve_model")
    instance_of(model, pyo.ConcreteModel, "model", "a Pyomo model of build_model(problem)")
    options = _options(time_limit, threads, seed, gap, log_file, solver_options)
    _check_callbacks(on_progress, on_stage, interrupt)
    if options.log_file is not None:
        _check_log(problem, options.log_file)
    clock = Clock(on_stage)
    chosen = get_formulation(formulation)
    prepared = _prepared_all(problem, chosen, clock)
    candidates = prepared.instance.candidates
    for name, size in (("assign", candidates.pairs), ("open", candidates.count)):
        component = model.component(name)
        if component is None or len(component) != size:
            others = " or ".join(f'formulation="{other}"' for other in FORMULATIONS if other != formulation)
            raise InputError(
                f'the model was not built for this problem by the formulation "{formulation}": it has no component '
                f'"{name}" of {size} members; give solve_model what build_model was given, perhaps {others}'
            )
    _begin_log(options)
    # what was added may be to blame, so neither mask nor requirements are
    why = prepared.obstacle or EXTENDED_INFEASIBLE
    with ctrl_c_sets(interrupt) as stop:
        session = Session(prepared, chosen, _adapter(solver), options, clock, "milp", stop)
        return solve_direct(session, model, on_progress, own=False, explain=lambda: why)


def _prepared(
    problem: Problem, formulation: Formulation, clock: Clock, *, merge: bool = False, limit: Limit = NO_LIMIT
) -> Prepared:
    return prepare_for(problem, clock, reduced=formulation.reduced, merge=merge, limit=limit)


def _prepared_all(problem: Problem, formulation: Formulation, clock: Clock) -> Prepared:
    """An instance for a user's own model, which must have all candidates. Raises InputError if they do not fit."""
    prepared = _prepared(problem, formulation, clock)
    if prepared.shortage is not None:
        raise InputError(prepared.shortage.message)
    return prepared


def _options(
    time_limit: float | None,
    threads: int,
    seed: int,
    gap: float,
    log_file: str | Path | None,
    extra: dict[str, object] | None,
    node_limit: int | None = None,
) -> SolverOptions:
    begin_threads()
    seconds = None if time_limit is None else real_number(time_limit, "time_limit", "a number of seconds")
    if seconds is not None and not seconds > 0:
        raise InputError("the time limit must be a positive number of seconds")
    if seconds is not None and seconds > LONGEST:
        seconds = None  # also an infinite one
    gap = real_number(gap, "gap", "a number such as 0.01")
    if not 0 <= gap < 1:
        raise InputError("the gap must be at least 0 and below 1 (0.01 is one per cent)")
    return SolverOptions(
        seconds,
        _threads(threads),
        _counted(seed, "seed", least=0),
        gap,
        0.0,
        None if log_file is None else file_path(log_file, "log_file"),
        _by_name({} if extra is None else extra),
        None if node_limit is None else _counted(node_limit, "the node limit", least=0),
    )


def _threads(asked: object) -> int:
    """As many as are asked for, but no more than this machine has processors: others would only take memory."""
    return min(_counted(asked, "threads", most=MOST_THREADS), os.cpu_count() or 1)


def _counted(value: object, what: str, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """An integer that solvers can hold, too."""
    number = whole_number(value, what, least)
    if number > most:
        raise InputError(f"{what} must be at most {most}")
    return number


def _by_name(extra: object) -> dict[str, object]:
    given: Mapping[object, object] = instance_of(extra, Mapping, "solver_options", "a mapping from names to values")
    return {text(name, "a name in solver_options"): value for name, value in given.items()}


def _check_callbacks(
    on_progress: OnProgress | None, on_stage: OnStage | None, interrupt: threading.Event | None
) -> None:
    for what, given in (("on_progress", on_progress), ("on_stage", on_stage)):
        if given is not None and not callable(given):
            raise wrong(what, "a function", given)
    if interrupt is not None:
        instance_of(interrupt, threading.Event, "interrupt", "a threading.Event")


def _check_log(problem: Problem, path: Path) -> None:
    if not is_text(str(path)):
        raise InputError(f"{path}: solvers write logs only to files whose names are UTF-8; choose another name")
    refuse_overwriting([("log_file", path)], problem.sources)
    check_target(path)


def _begin_log(options: SolverOptions) -> None:
    """The log grows while the solver runs. That of an earlier run gives way, also where no solver will be needed."""
    if options.log_file is not None:
        write_file(options.log_file, lambda _: None)


def _adapter(solver: str | SolverAdapter) -> SolverAdapter:
    if not isinstance(solver, str | SolverAdapter):
        raise wrong("solver", 'a name, such as "highs", or an adapter', solver)
    adapter = solvers.get(solver) if isinstance(solver, str) else solver
    availability = adapter.availability()
    if not availability:
        raise InputError(f'the solver "{adapter.name}" cannot be used: {availability.value}; see `kanon-milp doctor`')
    return adapter


def _explain(session: Session) -> str:
    """Which of the things asked for are in conflict, or just that there is no solution."""
    problem, limit = session.prepared.problem, session.limit.part(EXPLAIN_SECONDS)

    def is_infeasible(smaller: Problem) -> bool | None:
        if limit.over:
            return None
        # any table will do: a gap that the first one meets
        options = replace(session.options, time_limit=limit.left, gap=0.999, log_file=None)
        try:
            trial = _solve_another(session, smaller, options)
        except SolverError:  # what is proven already does not depend on this
            return None
        return True if trial.proof == "infeasible" else False if trial.verified else None

    conflict = find_conflict(problem, is_infeasible)
    return explain_infeasible(problem, session.prepared.before.levels.count) if conflict is None else str(conflict)
