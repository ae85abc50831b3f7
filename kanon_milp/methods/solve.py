"""The pipeline: from a problem to a verified result. Arguments are checked, the problem is presolved, a method runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.core as pyo

from kanon_milp.errors import InputError, TooManyLevelVectorsError, own_code, type_in_words
from kanon_milp.formulations import get_formulation
from kanon_milp.formulations.fingerprint import mark
from kanon_milp.formulations.goals import checked_goals
from kanon_milp.methods import registry
from kanon_milp.methods.arguments import (
    adapter_of,
    begin_log,
    check_available,
    check_callbacks,
    checked_options,
    count,
    row_groups,
)
from kanon_milp.methods.description import fingerprints
from kanon_milp.methods.direct import LazyFunctions, settled, solve_direct
from kanon_milp.methods.extension import check_model, not_compared, prepared_for_model
from kanon_milp.methods.group_exchange import size_of_groups, solve_changed_model
from kanon_milp.methods.group_model import group_model
from kanon_milp.methods.group_session import GroupSession
from kanon_milp.methods.lexicographic import solve_stages
from kanon_milp.methods.open_model import Request
from kanon_milp.methods.outcome import UNKNOWN, Bound, Found, Outcome, verified_objective
from kanon_milp.methods.phases import Phase
from kanon_milp.methods.progress import live, telling
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session, limit_of, table_before_candidates
from kanon_milp.methods.side_constraints import (
    has_free_problem,
    has_number_first,
    solve_free_first,
    solve_number_first,
)
from kanon_milp.methods.table_pool import checked_pool, solve_pool
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import RowGroups
from kanon_milp.presolve.infeasibility import side_constraints
from kanon_milp.presolve.instance import mutation_guard
from kanon_milp.presolve.preparation import presolve
from kanon_milp.presolve.resources import ModelSize
from kanon_milp.presolve.whole_groups import GroupInstance
from kanon_milp.problem.arguments import instance_of, text
from kanon_milp.problem.problem import Problem, expect_problem
from kanon_milp.solvers import DEFAULT, Capability, OnProgress, SolverAdapter
from kanon_milp.solvers.adapter import WITH_LAZY
from kanon_milp.system.arrays import Ints
from kanon_milp.system.clock import Clock, OnStage
from kanon_milp.system.limit import ctrl_c_sets
from kanon_milp.system.parameters import Number, Parameters
from kanon_milp.verify import verify

LOGGER = logging.getLogger(__name__)


def solve(
    problem: Problem,
    solver: str | SolverAdapter = DEFAULT,
    *,
    formulation: str = "strong",
    method: str = registry.AUTO,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    node_limit: int | None = None,
    iteration_limit: int | None = None,
    log_file: str | Path | None = None,
    solver_options: dict[str, object] | None = None,
    dask: str | None = None,
    start: Sequence[int] | Ints | RowGroups | None = None,
    progress: bool = False,
    on_progress: OnProgress | None = None,
    on_stage: OnStage | None = None,
    interrupt: threading.Event | None = None,
    parameters: Mapping[str, Number] | None = None,
    then: str | Sequence[str] = (),
    pool: int | None = None,
    pool_loss: int | float | str | Fraction | None = None,
    pool_differ: str = "rows",
) -> Result:
    """Solve a problem and verify the table.

    solver: "highs", "cbc", "scip", "cpsat", "pulp:NAME", or an adapter.
    method: "auto" (default); "milp", one model for the solver; "search", the hybrid method: a Lagrangian bound, a
    heuristic search and a restricted MILP, for minimum loss (with side constraints the problem without them comes
    first; 10 minutes if there is no limit); "greedy", groups from the cheapest pattern on, without a proof; or another
    one, also one of `register_method`. "auto" takes "search" if it supports the problem and the table is large, within
    a time limit also for smaller tables, else "milp".
    time_limit: seconds of wall clock for everything after reading; infinity is no limit. log_file: of the solver.
    threads: of the solver, and processes of the search; at most 1024, and no more than the machine has processors are
    used.
    gap: relative gap at which to stop; 0 asks for a proof of optimality. node_limit: of the solver. iteration_limit:
    neighbourhoods of the search; with these two instead of a time limit the result is the same each time.
    solver_options: go to the solver unchanged. dask: address of a Dask scheduler whose workers search.
    start: int (n,), group of each row in a table to start with, such as `groups` of another result. Each group is
    released at its least loss, or suppressed under the exempt reading if it has fewer than k rows. If this satisfies
    the problem, the result is no worse, and methods that improve tables improve it; the result's message says if it
    does not, and if the table is that of start itself.
    progress: show seconds, step, incumbent, bound and gap in a live line, on a terminal or in a notebook.
    on_progress, on_stage: called with the solver's progress and with the name of each step, one call at a time; with
    threads above 1 the first one not always from the thread that has called `solve`.
    parameters: values of parameters of phases other than their defaults, such as {"cuts.share": 0.3}; the result names
    them.
    then: further objectives among the tables with the best objective, one goal or several in order: "groups" (as many
    as possible), "fewer groups", "discernibility" (least Σ |group|²), "keep COLUMN" (least loss in that column), "loss"
    (after another objective). `stages` of the result says what is proven of each. If the first is not proven, its value
    gets no worse.
    pool: number of different tables at most, the best ones first: `pool` of the result, with what is proven of them.
    pool_loss: how much worse than the best they may be: a number in units of the objective, or a share of the best such
    as "5%"; by default any. pool_differ: how any two of them differ: in "rows" (some row is released differently) or in
    "columns" (they keep other combinations of columns).
    Raises InputError for bad input or a missing solver, SolverError for one that fails. Infeasible is a result.
    """
    arguments = dict(locals())
    expect_problem(problem, "solve")
    goals, wanted = checked_goals(then, problem), checked_pool(pool, pool_loss, pool_differ)
    if goals and wanted:
        raise InputError("pool: it does not go together with further objectives; leave out pool or then")
    if (goals or wanted) and (problem.group_cost is not None or problem.table.keys_match):
        what = "then: further objectives are" if goals else "pool: pools are"
        where = 'missing="wildcard"' if problem.table.keys_match else f"the recoding {problem.recoding.kind}"
        name = "then" if goals else "pool"
        way = (
            ', or take missing="value" (--missing value)' if problem.table.keys_match else ", or take another recoding"
        )
        raise InputError(f"{what} not supported with {where}; leave {name} out{way}")
    if (goals or wanted) and method == "full_domain":  # each later table is one of cells, not of columns
        name, what = ("then", "further objectives do") if goals else ("pool", "a pool does")
        raise InputError(
            f"{name}: method full_domain gives each column one level, which {what} not keep; leave {name} out, or take "
            "another method"
        )
    if goals:
        return _further(arguments, lambda asked: solve_stages(asked, goals))
    if wanted:
        return _further(arguments, lambda asked: solve_pool(asked, wanted))
    options = checked_options(problem, time_limit, threads, seed, gap, log_file, solver_options, node_limit)
    check_callbacks(on_progress, on_stage, interrupt)
    registry.known_name(method)
    if iteration_limit is not None:
        iteration_limit = count(iteration_limit, "the iteration limit")
    if dask is not None:
        text(dask, "dask, the address of a scheduler")
    tuned = Parameters({} if parameters is None else instance_of(parameters, Mapping, "parameters", "a mapping"))
    begin = None if start is None else row_groups(start, problem.table, "start")
    adapter, chosen = adapter_of(solver), get_formulation(formulation)
    if problem.group_cost is not None and chosen.name not in ("strong", "groups"):
        raise InputError(f"the formulation {chosen.name} has levels of cells; {problem.recoding.kind} has groups alone")
    given = registry.given(adapter.name, chosen.name, options.node_limit, iteration_limit, dask, tuned)
    named = registry.find(method, problem, given)
    if named is None or "solver" in named.takes:
        check_available(adapter)
    files = fingerprints(problem)
    with live(progress, adapter.name) as line, ctrl_c_sets(interrupt) as stop:
        on_stage, on_progress = telling(line, on_stage, on_progress)
        clock = Clock(on_stage)
        limit = limit_of(clock, options, stop)
        searches = named is None or named.name == "search"

        def asked(runs: registry.Method, *, freed: bool = False) -> dict[str, Any]:
            return {
                "method": runs.name, "interrupt": stop, "iterations": iteration_limit, "dask": dask,
                "on_progress": on_progress, "files": files, "parameters": tuned,
                "solver_used": "solver" in runs.takes or (freed and runs.free_first),
            }  # fmt: skip

        def begun(problem: Problem, *, listed: bool = True) -> Session:
            quick = None
            try:
                if searches and begin is None:
                    quick = table_before_candidates(problem, clock, limit, tuned)
                prepared = presolve(
                    problem,
                    clock,
                    reduced=chosen.reduced,
                    merge=True,
                    enumerated=listed and (named is None or named.candidates or bool(side_constraints(problem))),
                    small_groups=named is not None and named.small_groups and not side_constraints(problem),
                    priced=searches,
                    limit=limit,
                )
            except TooManyLevelVectorsError as error:
                raise registry.with_way_out(error, problem, priced=searches) from None
            runs = named or registry.choose(prepared, given, options.time_limit, tuned)
            LOGGER.info("%r; method %s, solver %s", prepared, runs.name, adapter.name)
            of_call = asked(runs, freed=bool(side_constraints(problem)))
            return Session(
                adapter, options, clock, prepared=prepared, formulation=chosen, start=begin, quick=quick, **of_call
            )

        begin_log(options)
        if problem.group_cost is not None:
            with clock.step("compress"):
                instance = GroupInstance.of(problem)
            runs = named or registry.choose_for_groups(problem, given, tuned)
            start_of_groups = begin.group if begin else None
            session = GroupSession(adapter, options, clock, instance=instance, start=start_of_groups, **asked(runs))
            assert runs.groups is not None
            result = session.end_infeasible() if instance.obstacle is not None else runs.groups.run(session)
        elif (named is None or named.free_first) and has_free_problem(problem):
            result = solve_free_first(problem, begun, _solved)
        elif (named is None or named.name == "milp") and has_number_first(problem):
            result = solve_number_first(problem, begun, lambda session: _solved(session, named=named))
        else:
            result = _solved(begun(problem), named=named)
        if tuned.unused:
            said = f"no phase that ran uses {' and '.join(tuned.unused)}"
            result = replace(result, message="; ".join(each for each in (result.message, said) if each))
    LOGGER.info("%s", result.summary())
    return result


def _further(given: dict[str, Any], way: Callable[[Request], Result]) -> Result:
    """The result of a problem of which more is asked than one table. given: the arguments of `solve`."""
    problem = given["problem"]
    numbers = ("time_limit", "threads", "seed", "gap", "log_file", "solver_options", "node_limit")
    options = checked_options(problem, *(given[name] for name in numbers))
    check_callbacks(given["on_progress"], given["on_stage"], given["interrupt"])
    values: Any = {} if given["parameters"] is None else given["parameters"]
    tuned = Parameters(instance_of(values, Mapping, "parameters", "a mapping"))
    mine = {name: value for name, value in values.items() if name.startswith(("open_model.", "pool."))}
    one = {"then": (), "pool": None, "pool_loss": None, "pool_differ": "rows"}
    given = {**given, **one, "parameters": {name: value for name, value in values.items() if name not in mine}}
    with ctrl_c_sets(given["interrupt"]) as stop:

        def solved(problem: Problem, **changed: Any) -> Result:
            return solve(**{**given, "problem": problem, "interrupt": stop, **changed})

        result = way(
            Request(problem, solved, adapter_of(given["solver"]), options, stop, tuned, given["iteration_limit"])
        )
    return replace(result, parameters={**result.parameters, **mine})


def _solved(
    session: Session,
    tracker: Tracker | None = None,
    more: Sequence[Phase] = (),
    named: registry.Method | None = None,
) -> Result:
    """The result of a session. tracker, more: for the hybrid method. named: the method that the user has asked for."""
    if session.prepared.shortage is not None and session.prepared.obstacle is None:
        from kanon_milp.methods.some_patterns import solve_some_patterns

        return solve_some_patterns(session)  # not all candidates fit into time or memory
    if (result := settled(session)) is not None:
        return result
    if session.prepared.priced:
        from kanon_milp.methods.priced_rounds import solve_priced

        return solve_priced(session, tracker)
    if tracker is not None and session.method == "search":
        from kanon_milp.methods.hybrid import solve_hybrid

        return solve_hybrid(session, tracker, more)
    return _run(named or registry.METHODS[session.method], session)


def _run(method: registry.Method, session: Session) -> Result:
    """Run a method; what one that is not built in returns is verified once more, whatever it says of itself."""
    run = method.run
    assert run is not None
    if method.name in registry.METHODS.built_in:
        return run(session)
    what = f'the method "{method.name}"'
    with (
        own_code(what, "end with session.finish(assignment)"),
        mutation_guard(session.instance, what),
        mutation_guard(session.prepared.before, what),
    ):
        result = run(session)
    if not isinstance(result, Result):
        raise InputError(
            f"the method {method.name} returned {type_in_words(result)}; a method ends with session.finish(assignment)"
        )
    if result.problem is not session.problem:
        raise InputError(f"the method {method.name} returned the result of another problem")
    if result.exact_bound is not None:
        instance_of(result.exact_bound, Fraction, f"{what}: exact_bound", "a Fraction or None")
    if result.report is not None and not result.report.ok and result.proof == "none":
        return result  # its table is refused already
    backed_by = (f"method {method.name}",)
    if result.proof == "infeasible":
        table = session.constructed()
        said = f"the method {method.name} says infeasible, which this table refutes"
        refuted = None if table is None else Outcome(message=said, found=table)
        return session.end(refuted or Outcome().infeasible(backed_by, result.message))
    bound = UNKNOWN if result.exact_bound is None else Bound(result.exact_bound, backed_by)
    claimed = replace(Outcome(), registered=bound, trajectory=result.trajectory)
    reason = "finished" if result.stop_reason == "optimal" else result.stop_reason
    claimed = claimed.stopped(reason, result.message)
    if result.table is None or result.placed is None:
        return session.end(claimed)
    report = verify(session.problem, result.table, partition=result.placed.group.tolist())
    found = Found(result.table, result.placed, report, verified_objective(session.problem, report))
    if not report.ok or found.objective != result.exact_objective:
        said = f"the method {method.name} makes a claim about its table that the verifier refuses"
        return session.end(Outcome(message=said, found=found))
    return session.end(session.held_against(claimed, found))


def build_model(problem: Problem, formulation: str = "strong") -> pyo.ConcreteModel:
    """Declare a problem's model: a Pyomo ConcreteModel to read, extend and export (see the docs for its components).

    For microaggregation and boxes it is a set-partitioning model over all possible groups ("strong" or "groups"), or
    the compact one of microaggregation ("compact"); both are for few rows.

    It has every candidate that a group can have, so that constraints on the released table and other objectives can be
    added. `solve` states smaller models, without dominated candidates.
    """
    import pyomo.environ  # noqa: F401  # the plug-ins by which users write and solve what they get

    expect_problem(problem, "build_model")
    if problem.group_cost is not None:
        return group_model(problem, formulation)
    chosen = get_formulation(formulation)
    instance = prepared_for_model(problem, chosen, Clock()).instance
    model = chosen.build(instance)
    mark(model, instance, chosen.name)
    return model


def model_size(problem: Problem, formulation: str = "strong") -> ModelSize:
    """The size of the model that `build_model` would declare, before anything is declared.

    formulation: whose candidates are counted; variables and constraints are those of the strong one over them, without
    those of requirements about sensitive values and of side constraints (`ModelSize`). The candidates are enumerated,
    which takes a fraction of the time. Raises InputError if they do not fit into memory.
    """
    expect_problem(problem, "model_size")
    if problem.group_cost is not None:
        return size_of_groups(problem, formulation)
    chosen = get_formulation(formulation)
    return ModelSize.of(prepared_for_model(problem, chosen, Clock(), declared=True).instance)


def solve_model(
    problem: Problem,
    model: pyo.ConcreteModel,
    solver: str | SolverAdapter = DEFAULT,
    *,
    formulation: str = "strong",
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    gap: float = 0.0,
    node_limit: int | None = None,
    log_file: str | Path | None = None,
    solver_options: dict[str, object] | None = None,
    start: Sequence[int] | Ints | None = None,
    lazy: Callable[[pyo.ConcreteModel], Iterable[Any] | None] | None = None,
    cuts: Callable[[pyo.ConcreteModel], Iterable[Any] | None] | None = None,
    progress: bool = False,
    on_progress: OnProgress | None = None,
    on_stage: OnStage | None = None,
    interrupt: threading.Event | None = None,
) -> Result:
    """Solve a model of `build_model` that the user extended, with further constraints or another objective.

    The additions may break the network behind `assign`, so it is solved as integer. The model must keep the components
    `assign` and `open` over the candidates of `build_model(problem, formulation)`. formulation: the one that it was
    built with; other parameters as in `solve`. start: int (n,), group of each row of a table that the solver begins
    with, if it satisfies the model; if not, the result's message says so.

    lazy: a function that states constraints of the model only where a solution violates them. It is given the model
    with a possible solution as values of its variables, in the solver's thread, and returns linear constraints
    (`expression <= number`) that every solution must satisfy; those that this one satisfies are ignored. cuts: the same
    for points of the relaxation, whose values are fractional. Only for solvers with such callbacks (scip); others are
    refused with InputError. The function is asked about the final point as well.
    """
    expect_problem(problem, "solve_model")
    instance_of(model, pyo.ConcreteModel, "model", "a Pyomo model of build_model(problem)")
    options = checked_options(problem, time_limit, threads, seed, gap, log_file, solver_options, node_limit)
    begin = None if start is None else row_groups(start, problem.table, "start")
    functions = LazyFunctions.asked(lazy, cuts)
    check_callbacks(on_progress, on_stage, interrupt)
    files = fingerprints(problem)
    adapter = adapter_of(solver)
    if functions is not None and problem.group_cost is not None:
        raise InputError(f"models of {problem.recoding.kind} take no lazy constraints or cuts; add all to the model")
    if functions is not None and Capability.LAZY not in adapter.capabilities:
        raise InputError(f"{adapter.title or adapter.name} takes no lazy constraints or cuts; {WITH_LAZY}")
    if problem.group_cost is None:
        chosen = get_formulation(formulation)
    with live(progress, adapter.name) as line, ctrl_c_sets(interrupt) as stop:
        on_stage, on_progress = telling(line, on_stage, on_progress)
        clock = Clock(on_stage)
        if problem.group_cost is not None:
            check_available(adapter)
            begin_log(options)
            asked = (adapter, options, clock, "milp", stop, None, None, on_progress, files)
            start_of_groups = begin.group if begin else None
            of_groups = GroupSession(*asked, instance=GroupInstance.of(problem), start=start_of_groups)
            return solve_changed_model(of_groups, model, formulation)
        prepared = prepared_for_model(problem, chosen, clock, declared=True)
        check_model(model, prepared, formulation)
        check_available(adapter)
        begin_log(options)
        options = adapter.suited(options, chosen.trust(prepared.instance))
        session = Session(
            adapter, options, clock, interrupt=stop, on_progress=on_progress, files=files,
            prepared=prepared, formulation=chosen, extension=not_compared(model),
        )  # fmt: skip
        return solve_direct(session, model, own=False, begin=begin, lazy=functions)
