"""The method `portfolio`: the hybrid method and direct MILP side by side, where nobody knows which one will be quicker.

One model goes to the solver in a process of its own, on one thread, while the hybrid method has the others. The one
that proves an optimum ends the other; at the end of the time the result is the better table and the higher bound.
"""

from __future__ import annotations

import concurrent.futures as cf
import threading
import time
from dataclasses import dataclass, replace
from fractions import Fraction

from kanon_milp.formulations import get_formulation
from kanon_milp.heuristics.worker_pool import ProcessPool
from kanon_milp.methods.direct import settled
from kanon_milp.methods.outcome import Bound, Outcome, Scale
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session, limit_of
from kanon_milp.methods.started import solve_started
from kanon_milp.presolve.partition import assignment_of_groups
from kanon_milp.presolve.preparation import presolve
from kanon_milp.problem.problem import Problem
from kanon_milp.solvers import SolverAdapter, SolverOptions
from kanon_milp.solvers.proof import REGISTERED
from kanon_milp.system.arrays import Ints
from kanon_milp.system.clock import Clock
from kanon_milp.system.limit import AlsoSet, Limit

EARLIER = 0.5  # seconds before the end of the session at which the other process is to end
PATIENCE = 2.0  # seconds for its last table and bound to arrive, once the time is over
POLL = 0.1  # seconds between two looks at it
FIRST = "direct MILP, which ran beside the hybrid method, ended first"
ENDED = ("optimal", "gap_limit", "infeasible")  # stop reasons after which nothing is left to do


@dataclass(frozen=True, eq=False)
class Answer:
    """What direct MILP has found. groups: int64 (n,), group of each row, None where there is no table."""

    stop_reason: str
    groups: Ints | None
    bound: Fraction | None
    backed_by: tuple[str, ...]
    message: str


def solve_portfolio(session: Session) -> Result:
    """Both methods, until one of them ends with a proof or the time is over; the hybrid method alone on one thread."""
    from kanon_milp.methods.hybrid import solve_hybrid  # compiled code

    asked = session.options
    if asked.threads < 2:
        return solve_hybrid(session)
    stop = AlsoSet(session.interrupt or threading.Event())

    def end(answer: cf.Future[Answer]) -> None:
        if not answer.cancelled() and answer.exception() is None and answer.result().stop_reason in ENDED:
            stop.set()

    with ProcessPool(1) as pool:
        left = session.limit.seconds
        ends = None if left is None else time.time() + left - EARLIER
        options = replace(asked, threads=1, log_file=None)
        direct = pool.submit(_direct, session.problem, session.adapter, session.formulation.name, options, ends)
        direct.add_done_callback(end)
        here = replace(session, interrupt=stop, options=replace(asked, threads=asked.threads - 1))
        found = solve_hybrid(here)
        until = Limit(session.limit.ends + PATIENCE, stop)
        while found.stop_reason not in ENDED and not (direct.done() or until.over):
            cf.wait([direct], POLL)
        lost = direct.done() and pool.lost(direct)
        losses = pool.losses() if lost else ""
    found = replace(found, solver=replace(found.solver, options=asked, threads=asked.threads))
    if lost:
        return replace(found, message="; ".join(each for each in (found.message, losses) if each))
    if found.stop_reason in ENDED or not direct.done():
        return found
    if (error := direct.exception()) is not None:
        return replace(found, message=_failed(found.message, str(error)))
    answer = direct.result()
    if answer.stop_reason == "error":
        found = replace(found, message=_failed(found.message, answer.message))
    return _both(session, found, answer)


def _failed(message: str, why: str) -> str:
    said = f"direct MILP, which ran beside the hybrid method, failed: {why}"
    return f"{message}; {said}" if message else said


def _direct(
    problem: Problem, adapter: SolverAdapter, formulation: str, options: SolverOptions, ends: float | None
) -> Answer:
    """Direct MILP in a process of its own. ends: seconds of `time.time()`, None for no limit."""
    clock, stated = Clock(), get_formulation(formulation)
    options = replace(options, time_limit=None if ends is None else max(ends - time.time(), 0.1))
    prepared = presolve(problem, clock, reduced=stated.reduced, merge=True, limit=limit_of(clock, options, None))
    session = Session(prepared, stated, adapter, options, clock)
    result = settled(session) or solve_started(session)
    return Answer(result.stop_reason, result.groups, result.exact_bound, result.backed_by, result.message)


def _both(session: Session, found: Result, answer: Answer) -> Result:
    """The better table and the higher bound of the two."""
    bound, other = Bound(found.exact_bound, found.backed_by), Bound(answer.bound, answer.backed_by)
    outcome = Outcome(
        trajectory=found.trajectory,
        size=(found.after.variables, found.after.constraints),
        dual=found.dual,
        required=found.required,
    )
    for each in (bound, other):
        # behind a registered bound there is nothing but a user's word, so it is kept apart
        if each.backed_by[:1] == (REGISTERED,):
            outcome = replace(outcome, registered=outcome.registered.and_also(each))
        elif each.value is not None:
            outcome = replace(outcome, bound=outcome.bound.and_also(each))
    tables = [
        assignment_of_groups(session.prepared, groups) for groups in (found.groups, answer.groups) if groups is not None
    ]
    best = min((table for table in tables if table is not None), key=lambda table: table.cost, default=None)
    if best is None:
        if found.table is not None:  # of candidates that reductions have dropped, such as that of all rows
            return found
        if answer.stop_reason == "infeasible":
            return session.end(outcome.infeasible(answer.backed_by, answer.message))
        return session.end(outcome.stopped(found.stop_reason, found.message))
    if answer.stop_reason == "infeasible":
        said = f"{session.adapter.name} says infeasible, which this table refutes"
        return session.end(replace(outcome.failed(said), found=session.release(best)))
    first = answer.stop_reason in ENDED
    outcome = outcome.stopped(answer.stop_reason, FIRST) if first else outcome.stopped(found.stop_reason, found.message)
    return session.end(outcome.with_table(session.release(best), Scale.of_problem(session.instance)))
