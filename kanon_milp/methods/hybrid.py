"""The hybrid method (`search`): a Lagrangian bound, a heuristic search, and a restricted MILP, the core problem.

For the minimum loss on tables whose complete model is too large, or would take too long. The multipliers of the bound
guide the search; bound and incumbent together fix candidates and pairs; a small core problem goes to the solver. Which
bound and which search that is depends on what is required (`methods.guide`): `methods.sizes_guide` for sizes of groups
alone, `methods.required_guide` for all else.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from kanon_milp.bounds.built_in import cheapest_loss
from kanon_milp.heuristics.worker_pool import Pool, open_pool
from kanon_milp.methods.core_problem import CoreProblem
from kanon_milp.methods.guide import Guide
from kanon_milp.methods.outcome import TOO_HIGH, Bound, Outcome, Scale
from kanon_milp.methods.raised_by_cuts import LARGEST
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.methods.warm_up import missing
from kanon_milp.presolve.infeasibility import explain_infeasible
from kanon_milp.problem.privacy.base import is_size_only
from kanon_milp.solvers import StopReason
from kanon_milp.system.background import Background
from kanon_milp.system.limit import Limit

DEFAULT_SECONDS = 600.0  # where neither a time limit nor an iteration limit is given


def solve_hybrid(session: Session, known: Tracker | None = None) -> Result:
    """Bound, search, fix and solve the core problem, until bound and incumbent meet or the time is over.

    known: what another method has found and proven before.
    `session.iterations`: neighbourhoods of the search; with it no clock plays a part but a time limit that is given as
    well. `session.dask`: a Dask scheduler whose workers search; else processes of this machine, one a thread.
    """
    instance, clock, options = session.instance, session.clock, session.options
    limit = limit_of_search(session)
    tracker = known or Tracker(instance.levels.unit, clock.began, session.on_progress)
    with Background(missing(_parts(session))) as background, open_pool(options.threads, session.dask) as pool:
        guide = _guide(session, tracker, pool, limit)
        guide.background = background
        core, stopped = CoreProblem(session, guide, tracker, limit), None
        first = session.first
        if guide.wait("bound"):
            with clock.step("search"):
                guide.keep(first)
            stopped = _phases(session, guide, core)
        else:
            tracker.higher(cheapest_loss(instance), ("own bound",))
        # what a model ended by says nothing where the rest has ended otherwise
        failed = stopped in (StopReason.INFEASIBLE, StopReason.ERROR)
        reason = stopped if stopped and (failed or not guide.settled) else guide.why()
        lost = pool.losses()
        trajectory = tuple(tracker.trajectory)
        outcome = Outcome(size=core.size, dual=guide.dual, required=guide.required, trajectory=trajectory)
    message = "; ".join(each for each in (core.message, lost, TOO_HIGH if tracker.refuted else "") if each)
    found = session.constructed() if tracker.best is None else session.release(tracker.best)
    if reason is StopReason.INFEASIBLE:
        if found is None:
            why = explain_infeasible(session.problem, session.prepared.before.levels)
            return session.end(replace(outcome, dual=None).infeasible(core.backed_by, why))
        reason, message = StopReason.ERROR, f"{session.adapter.name} says infeasible, which this table refutes"
    unit = instance.levels.unit
    outcome = replace(outcome, bound=Bound(tracker.proven * unit, tracker.proven_by)).with_registered(
        tracker.registered * unit
    )
    if found is None:
        return session.end(outcome.stopped(reason.value, message or "the search has found no table"))
    return session.end(outcome.stopped(reason.value, message).with_table(found, Scale.of_problem(instance)))


def _phases(session: Session, guide: Guide, core: CoreProblem) -> StopReason | None:
    """Bound, search and core problem, until nothing is left to do or the time is over; why the last model of the core
    problem stopped, None where there was none."""
    clock, limit, stopped = session.clock, guide.limit, None
    with clock.step("bound"):
        guide.bound()
    if not guide.wait(guide.search_part):
        return None
    with clock.step("search"):
        guide.begin()
    if not guide.settled and session.iterations is None:
        stopped = core.begin()
        if stopped is None and guide.raises_first:
            with clock.step("search"):
                guide.search_briefly()
            with clock.step("bound"):
                if guide.wait("cuts"):
                    guide.raise_bound()
            stopped = None if guide.settled or guide.branches else core.begin()
    if stopped is None and not guide.settled:
        for number, _ in enumerate(guide.rounds()):
            core.message = "" if number else core.message  # not of a round before
            with clock.step("search"):
                guide.search()
            while guide.worth_raising():
                with clock.step("bound"):
                    if guide.wait("cuts"):
                        guide.raise_bound()
                with clock.step("search"):
                    guide.search_again()
            if guide.why() is StopReason.OPTIMAL or limit.asked or guide.prove():
                break
            core.limit = guide.core_limit
            stopped = core.solve()
            if guide.trying and stopped in (StopReason.ERROR, StopReason.NODE_LIMIT):
                stopped = None  # there is more to do
            if guide.settled or stopped not in (None, StopReason.TIME_LIMIT):
                break
    return stopped


def _parts(session: Session) -> tuple[str, ...]:
    """What other processes may have to compile for this, in the order in which it is needed."""
    if _sizes_only(session):
        return "bound", "search", "cuts"
    from kanon_milp.methods.required_guide import counts_many_values  # compiled code

    few = session.instance.types.count <= LARGEST and session.iterations is None
    cuts, sizes = ["valued_cuts"] if few else [], ["search"] if counts_many_values(session) else []
    return ("bound", *sizes, "required", "valued_search", "proven", *cuts)


def _sizes_only(session: Session) -> bool:
    return all(is_size_only(requirement) for requirement in session.problem.requirements)


def _guide(session: Session, tracker: Tracker, pool: Pool, limit: Limit) -> Guide:
    """What leads the search: the sizes of groups where nothing else is required, else all requirements."""
    if _sizes_only(session):
        from kanon_milp.methods.sizes_guide import SizesGuide  # compiled code, here and below

        return SizesGuide(session, tracker, pool, limit)
    from kanon_milp.methods.required_guide import RequiredGuide

    return RequiredGuide(session, tracker, pool, limit)


def limit_of_search(session: Session) -> Limit:
    """That of the session; `DEFAULT_SECONDS` where it has neither a time nor an iteration limit."""
    limit = replace(session.limit, interrupt=session.interrupt or threading.Event())
    if session.options.time_limit is not None or session.iterations:
        return limit
    return replace(limit, ends=session.clock.began + DEFAULT_SECONDS)
