"""The hybrid method (`search`): a Lagrangian bound, a heuristic search, and a restricted MILP, the core problem.

For k-anonymity at minimum loss on tables whose complete model is too large, or would take too long. The multipliers of
the bound guide the search; bound and incumbent together fix candidates and pairs; a small core problem goes to the
solver.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kanon_milp.bounds import BoundLimit, BoundTask, ProvenBound, best_registered, round_dual
from kanon_milp.bounds.providers import COLUMN_GENERATION, LAGRANGIAN, RELAX_AND_CUT
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.grouping import tighten_groups
from kanon_milp.heuristics.search import Search
from kanon_milp.heuristics.worker_pool import Pool, open_pool
from kanon_milp.methods.core_problem import MODEL_PAIRS, CoreProblem
from kanon_milp.methods.outcome import TOO_HIGH, Bound, Outcome, Scale
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.methods.warm_up import missing
from kanon_milp.presolve.infeasibility import explain_infeasible
from kanon_milp.solvers import StopReason
from kanon_milp.system.background import Background
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

DEFAULT_SECONDS = 600.0  # where neither a time limit nor an iteration limit is given
BOUND_SHARE, BOUND_SECONDS = 0.25, 60.0  # for the multipliers, at most
COUNTED_EVALUATIONS = 3000  # of the Lagrangian, where work is counted instead of time
SEARCH_SHARE = 0.2  # of the time left before the core problem, at most, for each of two searches
MASTER_TYPES = 3_000  # row types up to which a master problem goes on with rank-1 cuts
RELAX_SHARE = 0.5  # of the time for rank-1 cuts, before that, at most
CUT_SHARE = 0.2  # of the time after the bound, for rank-1 cuts on tables that are searched to the end
CUT_ROWS = 15  # in a group: rows about a few row types say little about larger ones (all of Adult: nothing for k = 25)
CUT_ITERATIONS = 6_000  # iterations of the bound that take as long as the shortest rounds that are worth it
EASY_PAIRS = 1_000  # a core problem of this size goes to the solver at once
RAISE_SHARE = 0.35  # of the time after the search, for rank-1 cuts at most
COUNTED_ROUNDS = 10  # of rank-1 cuts, where work is counted instead of time
AGAIN = 1_000_000  # between the seeds of the two searches
PATIENCE = 2  # turns of such a search that find nothing


def solve_hybrid(session: Session) -> Result:
    """Bound, search, fix and solve the core problem, until bound and incumbent meet or the time is over.

    `session.iterations`: neighbourhoods of the search; with it no clock plays a part but a time limit that is given as
    well. `session.dask`: a Dask scheduler whose workers search; else processes of this machine, one a thread.
    """
    instance, clock, options = session.instance, session.clock, session.options
    limit = _limit(session)
    tracker = Tracker(instance.levels.unit, clock.began, session.on_progress)
    with Background(missing(("search", "cuts"))) as background, open_pool(options.threads, session.dask) as pool:
        first = session.first
        with clock.step("search"):
            tracker.better(None if first is None else tighten_groups(instance, first))
        with clock.step("bound"):
            began = time.perf_counter()
            share = limit if limit.seconds is None else limit.part(min(BOUND_SHARE * limit.left, BOUND_SECONDS))
            first_limit = BoundLimit(
                ends=share.ends,
                interrupt=limit.interrupt,
                target=None if tracker.best is None else float(tracker.best.cost),
                iterations=COUNTED_EVALUATIONS if session.iterations else None,
            )
            task = BoundTask(first_limit, table=tracker.best, threads=options.threads, on_progress=tracker.show)
            proven = LAGRANGIAN.compute(instance, task)
            assert proven.dual is not None
            dual = proven.dual
            iteration_seconds = (time.perf_counter() - began) / max(dual.evaluations, 1)
            tracker.higher(proven.units, proven.justified_by)
            own = best_registered(instance, replace(task, dual=dual))
            tracker.higher(own.units, own.justified_by)
        hybrid = _Hybrid(session, dual, tracker, pool, limit, iteration_seconds)
        with clock.step("search"):
            background.wait("search", limit)
            hybrid.search()
        if hybrid.worth_raising():
            with clock.step("bound"):
                background.wait("cuts", limit)
                hybrid.raise_bound()
            with clock.step("search"):
                hybrid.search_again()
        outcome, reason, message = Outcome(), hybrid.why(), ""
        core = CoreProblem(session, hybrid.dual, tracker, limit)
        if reason is not StopReason.OPTIMAL and not limit.asked:
            size, stopped, message = core.solve()
            outcome, reason = replace(outcome, size=size), stopped or hybrid.why()
        outcome, lost = replace(outcome, dual=hybrid.dual, trajectory=tuple(tracker.trajectory)), pool.losses()
    message = "; ".join(each for each in (message, lost, TOO_HIGH if tracker.refuted else "") if each)
    found = None if tracker.best is None else session.release(tracker.best)
    if reason is StopReason.INFEASIBLE:
        found = found or session.constructed()
        if found is None:
            why = explain_infeasible(session.problem, session.prepared.before.levels.count)
            return session.end(replace(outcome, dual=None).infeasible(core.backed_by, why))
        reason, message = StopReason.ERROR, f"{session.adapter.name} says infeasible, which this table refutes"
    unit = instance.levels.unit
    outcome = replace(outcome, bound=Bound(tracker.proven * unit, tracker.proven_by)).with_registered(
        tracker.registered * unit
    )
    if found is None:
        return session.end(outcome.stopped(reason.value, message or "the search has found no table"))
    return session.end(outcome.stopped(reason.value, message).with_table(found, Scale.of_problem(instance)))


def _limit(session: Session) -> Limit:
    """That of the session; `DEFAULT_SECONDS` where it has neither a time nor an iteration limit."""
    limit = replace(session.limit, interrupt=session.interrupt or threading.Event())
    if session.options.time_limit is not None or session.iterations:
        return limit
    return replace(limit, ends=session.clock.began + DEFAULT_SECONDS)


@dataclass(eq=False)
class _Hybrid:
    """The phases after the bound, and why the last one ended. iteration_seconds: what one of the bound has taken."""

    session: Session
    dual: DualPoint
    tracker: Tracker
    pool: Pool
    limit: Limit
    iteration_seconds: float

    @property
    def enough(self) -> int:
        """The largest loss at which it may stop: the bound, or what lies within the gap that was asked for."""
        return max(self.tracker.bound, math.floor(self.tracker.bound / (1 - self.session.options.gap)))

    def why(self) -> StopReason:
        """Why it would end now."""
        if self.tracker.best is not None and self.tracker.best.cost <= self.enough:
            return StopReason.OPTIMAL if self.tracker.best.cost <= self.tracker.bound else StopReason.GAP_LIMIT
        if self.limit.asked:
            return StopReason.INTERRUPTED
        # without an iteration limit nothing else ends a search for good
        timed = self.session.iterations is None or self.limit.over
        return StopReason.TIME_LIMIT if timed else StopReason.ITERATION_LIMIT

    @property
    def fits(self) -> bool:
        """Whether the core problem is likely to fit into one model."""
        return self.session.instance.candidates.pairs <= MODEL_PAIRS

    def cuts(self, seconds: float) -> bool:
        """Whether a table that does not fit has groups small enough for rank-1 cuts, and so many seconds are enough."""
        if float(np.median(self.session.instance.least)) > CUT_ROWS:
            return False
        return self.session.iterations is not None or seconds >= CUT_ITERATIONS * self.iteration_seconds

    def _effort(self) -> Effort:
        return Effort(self.limit.ends, self.limit.interrupt, self.session.iterations, self.enough)

    def search(self) -> None:
        """Search until the time is over, but for what the steps after it need."""
        effort = self._effort()
        if self.fits:
            effort = replace(effort.part(SEARCH_SHARE * effort.left), patience=PATIENCE)
        elif self.cuts(CUT_SHARE * effort.left):
            effort = effort.part((1 - CUT_SHARE) * effort.left)
        seed, instance = self.session.options.seed, self.session.instance
        search = Search(instance, self.dual, self.tracker.best, self.pool, effort, seed, self.tracker.better)
        search.run(self.session.adapter, self.session.options)

    def search_again(self) -> None:
        """Once more: where the core problem fits, with nothing but what a better table could use."""
        instance, best = self.session.instance, self.tracker.best
        assert best is not None
        if self.why() is not StopReason.TIME_LIMIT or self.limit.over:
            return
        effort, possible = self._effort(), None
        if self.fits:
            effort = replace(effort.part(SEARCH_SHARE * effort.left), patience=PATIENCE)
            _, possible = ReducedCosts(round_dual(self.dual), best.cost + 1).possible(instance)
        seed = self.session.options.seed + AGAIN
        search = Search(instance, self.dual, best, self.pool, effort, seed, self.tracker.better, possible)
        search.run(self.session.adapter, self.session.options)

    def worth_raising(self) -> bool:
        """Whether rank-1 cuts are worth their time: the core problem that multipliers without them leave is not
        easy."""
        instance, best = self.session.instance, self.tracker.best
        if best is None or self.why() in (StopReason.OPTIMAL, StopReason.GAP_LIMIT, StopReason.INTERRUPTED):
            return False
        # the search may have taken a little more than its part
        if self.limit.over or not (self.fits or self.cuts(2 * self.limit.left)):
            return False
        _, pairs = ReducedCosts(round_dual(self.dual), best.cost + 1).possible(instance)
        return int(pairs.sum()) > EASY_PAIRS

    def raise_bound(self) -> None:
        """Rounds of rank-1 cuts: by the volume algorithm, then by a master problem where there are few row types."""
        instance, best = self.session.instance, self.tracker.best
        assert best is not None
        share = self.limit.part(RAISE_SHARE * self.limit.left) if self.fits else self.limit
        small = instance.types.count <= MASTER_TYPES
        limit = BoundLimit(
            target=math.ceil(best.cost * (1 - self.session.options.gap)),
            ends=share.ends,
            rounds=None if self.session.iterations is None else COUNTED_ROUNDS,
            interrupt=share.interrupt,
        )
        first = replace(limit, ends=share.part(RELAX_SHARE * share.left).ends) if small else limit
        threads, show = self.session.options.threads, self.tracker.show
        self._take(RELAX_AND_CUT.compute(instance, BoundTask(first, self.dual, best, threads, show)))
        if small and not limit.reached(self.tracker.bound, 0.0):
            self._take(COLUMN_GENERATION.compute(instance, BoundTask(limit, self.dual, best, threads, show)))

    def _take(self, raised: ProvenBound) -> None:
        """Go on with these multipliers: they prove no less than those before."""
        if raised.dual is not None:
            self.dual = raised.dual
        self.tracker.higher(raised.units, raised.justified_by)
