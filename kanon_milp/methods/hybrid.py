"""Closing in on the optimum from both sides: a Lagrangian bound, a search for tables, and a model of what is left.

For k-anonymity at minimum loss on tables whose whole model is too large, or would take too long. The multipliers of the
bound guide the search; bound and table together fix candidates and pairs; where little is left, it goes to the solver.
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
from kanon_milp.methods.outcome import Bound, Scale, Verdict, judge
from kanon_milp.methods.result import Result
from kanon_milp.methods.session import Found, Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.infeasibility import explain_infeasible
from kanon_milp.solvers import OnProgress, StopReason
from kanon_milp.solvers.proof import Grid

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

DEFAULT_SECONDS = 600.0  # where neither a time limit nor an iteration limit is given
BOUND_SHARE, BOUND_SECONDS = 0.25, 60.0  # for the multipliers, at most
COUNTED_EVALUATIONS = 3000  # of the Lagrangian, where work is counted instead of time
SEARCH_SHARE = 0.2  # of the time before it does, at most, for each of two searches
MASTER_TYPES = 3_000  # row types up to which a master problem goes on with rank-1 cuts
RELAX_SHARE = 0.5  # of the time for rank-1 cuts, before that, at most
CUT_SHARE = 0.2  # of the time after the bound, for rank-1 cuts on tables that are searched to the end
CUT_ROWS = 15  # in a group: rows about a few row types say little about larger ones (all of Adult: nothing for k = 25)
CUT_ITERATIONS = 6_000  # iterations of the bound that take as long as the shortest rounds that are worth it
EASY_PAIRS = 1_000  # what is left after fixing goes to the solver at once up to this size
RAISE_SHARE = 0.35  # of the time after the search, for rank-1 cuts at most
COUNTED_ROUNDS = 10  # of rank-1 cuts, where work is counted instead of time
AGAIN = 1_000_000  # between the seeds of the two searches
PATIENCE = 2  # turns of such a search that find nothing


def solve_hybrid(
    session: Session,
    *,
    iterations: int | None = None,
    dask: str | None = None,
    on_progress: OnProgress | None = None,
) -> Result:
    """Bound, search, fix and solve what is left, until the gap is closed or the time is over.

    iterations: neighbourhoods of the search; with it no clock plays a part but a time limit that is given as well.
    dask: a Dask scheduler whose workers search; else processes of this machine, as many as there are threads.
    """
    instance, clock, options = session.prepared.instance, session.clock, session.options
    limit = options.time_limit if options.time_limit is not None else math.inf if iterations else DEFAULT_SECONDS
    ends, stop = clock.began + limit, session.interrupt or threading.Event()
    tracker = Tracker(instance.levels.unit, clock.began, on_progress)
    with open_pool(options.threads, dask) as pool:
        first = session.first
        with clock.step("search"):
            tracker.better(None if first is None else tighten_groups(instance, first))
        with clock.step("bound"):
            began = time.perf_counter()
            left = max(0.0, ends - began)
            first_limit = BoundLimit(
                ends=math.inf if math.isinf(left) else began + min(BOUND_SHARE * left, BOUND_SECONDS),
                interrupt=stop,
                target=None if tracker.best is None else float(tracker.best.cost),
                iterations=COUNTED_EVALUATIONS if iterations else None,
            )
            task = BoundTask(first_limit, table=tracker.best, threads=options.threads, on_progress=tracker.show)
            proven = LAGRANGIAN.compute(instance, task)
            assert proven.dual is not None
            dual = proven.dual
            iteration_seconds = (time.perf_counter() - began) / max(dual.evaluations, 1)
            tracker.higher(proven.units, proven.justified_by)
            own = best_registered(instance, replace(task, dual=dual))
            tracker.higher(own.units, own.justified_by)
        hybrid = _Hybrid(session, dual, tracker, pool, stop, ends, iterations, iteration_seconds)
        with clock.step("search"):
            hybrid.search()
        if hybrid.worth_raising():
            with clock.step("bound"):
                hybrid.raise_bound()
            with clock.step("search"):
                hybrid.search_again()
        size, reason, message = (0, 0), hybrid.why(), ""
        rest = CoreProblem(session, hybrid.dual, tracker, stop, ends)
        if reason is not StopReason.OPTIMAL and not stop.is_set():
            size, stopped, message = rest.solve()
            reason = stopped or hybrid.why()
        dual, lost = hybrid.dual, pool.losses()
    message = "; ".join(each for each in (message, lost) if each)
    scale = Scale(1, instance.levels.unit, Grid())
    bound = Bound(tracker.bound * instance.levels.unit, tracker.backed_by)
    trajectory = tuple(tracker.trajectory)
    found = None
    if tracker.best is not None:
        released = session.release(tracker.best)
        found = Found(released, released.report.cost)
    if reason is StopReason.INFEASIBLE:
        found = found or session.constructed()
        if found is None:
            why = explain_infeasible(session.prepared.problem, session.prepared.before.levels.count)
            verdict = Verdict("infeasible", "infeasible", Bound(None, rest.backed_by), why)
            return session.end(verdict, size=size, trajectory=trajectory)
        reason, message = StopReason.ERROR, f"{session.adapter.name} says infeasible, which this table refutes"
    if found is None:
        verdict = Verdict(reason.value, "bound", bound, message or "the search has found no table")
    else:
        verdict = judge(reason, message, found.released.report, found.objective, bound, scale)
    return session.end(verdict, found, size=size, trajectory=trajectory, dual=dual)


@dataclass(eq=False)
class _Hybrid:
    """The phases after the bound, and why the last one ended. iteration_seconds: what one of the bound has taken."""

    session: Session
    dual: DualPoint
    tracker: Tracker
    pool: Pool
    stop: threading.Event
    ends: float
    iterations: int | None
    iteration_seconds: float

    @property
    def enough(self) -> int:
        """The largest loss at which it may stop: the bound, or what lies within the gap that was asked for."""
        return max(self.tracker.bound, math.floor(self.tracker.bound / (1 - self.session.options.gap)))

    def why(self) -> StopReason:
        """Why it would end now."""
        if self.tracker.best is not None and self.tracker.best.cost <= self.enough:
            return StopReason.OPTIMAL if self.tracker.best.cost <= self.tracker.bound else StopReason.GAP_LIMIT
        if self.stop.is_set():
            return StopReason.INTERRUPTED
        # without an iteration limit nothing else ends a search for good
        timed = self.iterations is None or time.perf_counter() >= self.ends
        return StopReason.TIME_LIMIT if timed else StopReason.ITERATION_LIMIT

    @property
    def fits(self) -> bool:
        """Whether what is left is likely to fit into one model."""
        return self.session.prepared.instance.candidates.pairs <= MODEL_PAIRS

    def cuts(self, seconds: float) -> bool:
        """Whether a table that does not fit has groups small enough for rank-1 cuts, and so many seconds are enough."""
        if float(np.median(self.session.prepared.instance.least)) > CUT_ROWS:
            return False
        return self.iterations is not None or seconds >= CUT_ITERATIONS * self.iteration_seconds

    def search(self) -> None:
        """Search until the time is over, but for what the steps after it need."""
        effort = Effort(self.ends, self.stop, self.iterations, self.enough)
        if self.fits:
            effort = replace(effort.part(SEARCH_SHARE * effort.left), patience=PATIENCE)
        elif self.cuts(CUT_SHARE * effort.left):
            effort = effort.part((1 - CUT_SHARE) * effort.left)
        seed, instance = self.session.options.seed, self.session.prepared.instance
        search = Search(instance, self.dual, self.tracker.best, self.pool, effort, seed, self.tracker.better)
        search.run(self.session.adapter, self.session.options)

    def search_again(self) -> None:
        """Once more: where what is left fits, with nothing but what a better table could use."""
        instance, best = self.session.prepared.instance, self.tracker.best
        assert best is not None
        if self.why() is not StopReason.TIME_LIMIT or time.perf_counter() >= self.ends:
            return
        effort, possible = Effort(self.ends, self.stop, self.iterations, self.enough), None
        if self.fits:
            effort = replace(effort.part(SEARCH_SHARE * effort.left), patience=PATIENCE)
            _, possible = ReducedCosts(round_dual(self.dual), best.cost + 1).possible(instance)
        seed = self.session.options.seed + AGAIN
        search = Search(instance, self.dual, best, self.pool, effort, seed, self.tracker.better, possible)
        search.run(self.session.adapter, self.session.options)

    def worth_raising(self) -> bool:
        """Whether rank-1 cuts are worth their time: what plain multipliers leave is more than a moment's work for the
        solver."""
        instance, best = self.session.prepared.instance, self.tracker.best
        if best is None or self.why() in (StopReason.OPTIMAL, StopReason.GAP_LIMIT, StopReason.INTERRUPTED):
            return False
        left = self.ends - time.perf_counter()
        if left <= 0 or not (self.fits or self.cuts(2 * left)):  # the search may have taken a little more than its part
            return False
        _, pairs = ReducedCosts(round_dual(self.dual), best.cost + 1).possible(instance)
        return int(pairs.sum()) > EASY_PAIRS

    def raise_bound(self) -> None:
        """Rounds of rank-1 cuts: by the volume algorithm, then by a master problem where there are few row types."""
        instance, best, now = self.session.prepared.instance, self.tracker.best, time.perf_counter()
        assert best is not None
        left = (RAISE_SHARE if self.fits else 1.0) * (self.ends - now)
        small = instance.types.count <= MASTER_TYPES
        limit = BoundLimit(
            target=math.ceil(best.cost * (1 - self.session.options.gap)),
            ends=now + left,
            rounds=None if self.iterations is None else COUNTED_ROUNDS,
            interrupt=self.stop,
        )
        first = replace(limit, ends=now + RELAX_SHARE * left) if small else limit
        threads, show = self.session.options.threads, self.tracker.show
        self._take(RELAX_AND_CUT.compute(instance, BoundTask(first, self.dual, best, threads, show)))
        if small and not limit.reached(self.tracker.bound, 0.0):
            self._take(COLUMN_GENERATION.compute(instance, BoundTask(limit, self.dual, best, threads, show)))

    def _take(self, raised: ProvenBound) -> None:
        """Go on with these multipliers: they prove no less than those before."""
        if raised.dual is not None:
            self.dual = raised.dual
        self.tracker.higher(raised.units, raised.justified_by)
