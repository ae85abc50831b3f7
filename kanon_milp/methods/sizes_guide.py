"""What leads the hybrid method where nothing but sizes of groups is required: the Lagrangian bound, rank-1 cuts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_milp.bounds import BoundLimit, BoundTask, ProvenBound, round_dual
from kanon_milp.bounds.built_in import COLUMN_GENERATION, RELAX_AND_CUT
from kanon_milp.bounds.reduced_costs import ReducedCosts
from kanon_milp.heuristics.grouping import tighten_groups
from kanon_milp.heuristics.search import Search
from kanon_milp.heuristics.worker_pool import Effort, Pool
from kanon_milp.methods.cuts_beside import CutsBeside
from kanon_milp.methods.guide import FEW_OPTIONS, MODEL_PAIRS, Guide, multipliers_of_sizes
from kanon_milp.methods.raised_by_cuts import small_groups
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.resources import PAIR_SECONDS, SOLVE_SECONDS
from kanon_milp.solvers import StopReason
from kanon_milp.system.arrays import Flags
from kanon_milp.system.limit import Limit

if TYPE_CHECKING:
    from kanon_milp.bounds import DualPoint

BOUND_SHARE, BOUND_SECONDS = 0.25, 60.0  # for the multipliers, at most
COUNTED_EVALUATIONS = 3000  # of the Lagrangian, where work is counted instead of time
SEARCH_SHARE = 0.2  # of the time left before the core problem, at most, for each of two searches
MASTER_TYPES = 3_000  # row types up to which a master problem goes on with rank-1 cuts
# row types up to which it has rank-1 cuts before anything is searched, and at once by a master problem
FIRST_TYPES = 1_200
FIRST_SHARE = 0.2  # of the time left, for that, at most
FIRST_SEARCH_SHARE, FIRST_SEARCHES = 0.05, 3  # the same for a few annealings before, of a second each
LONGER = 2.0  # times what all of that has taken may the search after it take, at most
BRIEFLY = 0.5  # the same where branch and bound follows, which finds tables itself
MODEL_SECONDS = 4e-6  # times the square of its pairs is what a core problem takes (first 300 and 500 rows of Adult)
BRANCH_SECONDS = 4.0  # of such a model, beyond which branch and bound with rank-1 cuts takes its place
# units between table and bound, at most: it takes three times as long for each further unit; and where the core problem
# would not be solved either
BRANCH_GAP, FAR_GAP = 6, 10
SLOW = 1.0  # times what cuts have taken so far is too long for the next unit where branching goes on
RELAX_SHARE = 0.5  # of the time for rank-1 cuts, before that, at most
CUT_SHARE = 0.35  # of the time after the bound, for rank-1 cuts on tables that are searched to the end
CUT_ITERATIONS = 6_000  # iterations of the bound that take as long as the shortest rounds that are worth it
EASY_PAIRS = 1_000  # a core problem of this size goes to the solver at once
# so does one of FEW_OPTIONS candidates a row type, if it is likely to be solved in the time left; one of so many is
# condensed at least, where the whole of it would take no more than so many times the time left; measured on masks of
# Adult
CONDENSED_OPTIONS, CONDENSED_TIMES = 25, 2.0
RAISE_SHARE = 0.35  # of the time after the search, for rank-1 cuts at most
COUNTED_ROUNDS = 10  # of rank-1 cuts, where work is counted instead of time
SHORT_ROUNDS = 4  # rounds of steps without a master problem for each of these
# what takes its share of the time takes it of a part of the time first, if that is not too short, so that a problem
# that needs little does not wait until shares of a long limit are over
ROUND_SHARE, SHORTEST_ROUND = 1 / 3, 60.0
AGAIN = 1_000_000  # between the seeds of two searches
PATIENCE = 2  # turns of such a search that find nothing


class SizesGuide(Guide):
    """Only the sizes of groups are required: annealing and neighbourhoods on compiled boards, rank-1 cuts.

    iteration_seconds: what one iteration of the bound has taken. raised: whether there were rank-1 cuts, and
    more would be of little use. first: whether nothing has been searched yet. plain: the multipliers without them,
    which an unrestricted search of a small table goes by.
    """

    dual: DualPoint
    plain: DualPoint

    def __init__(self, session: Session, tracker: Tracker, pool: Pool, limit: Limit) -> None:
        super().__init__(session, tracker, pool, limit)
        self.iteration_seconds, self.raised, self.first = 0.0, False, True
        self.raising_since, self._turns = 0.0, 0
        self.whole = limit  # of all rounds
        self._constructed_by: DualPoint | None = None  # the multipliers that a table has been constructed by

    def keep(self, table: Assignment | None) -> None:
        """Each group released as cheaply as its rows allow."""
        self.tracker.better(None if table is None else tighten_groups(self.session.instance, table))

    def bound(self) -> None:
        """The Lagrangian bound, and what users have registered."""
        began, limit, tracker = time.perf_counter(), self.limit, self.tracker
        share = limit if limit.seconds is None else limit.part(min(BOUND_SHARE * limit.left, BOUND_SECONDS))
        first_limit = BoundLimit(
            ends=share.ends,
            interrupt=limit.interrupt,
            target=None if tracker.best is None else float(tracker.best.cost),
            iterations=COUNTED_EVALUATIONS if self.session.iterations else None,
        )
        self.dual = self.plain = multipliers_of_sizes(self.session, tracker, first_limit)
        self.iteration_seconds = (time.perf_counter() - began) / max(self.dual.evaluations, 1)

    def begin(self) -> None:
        """By the averages of the relaxation, in a second or two even on large tables."""
        if not self.limit.over and not self.settled:
            self._search(self.effort, self.session.options.seed).construct()

    def presuming(self, loss: int) -> ReducedCosts:
        """With the multipliers of sizes and cuts."""
        return ReducedCosts(round_dual(self.dual), loss + 1, self.tracker.best)

    def promising(self, pairs: int, limit: Limit) -> bool:
        """Where there are few candidates a row type, the bound is close, and cuts of the solver do the rest."""
        few = self._few(pairs, FEW_OPTIONS, limit.left)
        if self.dual.rank_one_cuts.count:  # what is left after these is hard
            few = few and MODEL_SECONDS * pairs**2 <= limit.left
        return pairs <= EASY_PAIRS or few

    def _few(self, pairs: int, options: int, seconds: float) -> bool:
        """Whether there are so many candidates a row type at most, and one model of them all takes no longer."""
        most = min(MODEL_PAIRS, options * self.session.instance.types.count)
        return pairs <= most and pairs * (PAIR_SECONDS + SOLVE_SECONDS) <= seconds

    @property
    def condenses(self) -> bool:
        """Where there are few candidates a row type; with more of them less is left by fixing."""
        pairs, seconds = self.session.instance.candidates.pairs, CONDENSED_TIMES * self.limit.left
        return self._few(pairs, CONDENSED_OPTIONS, seconds)

    def cuts(self, seconds: float) -> bool:
        """Whether so many seconds are enough for rank-1 cuts on a table that does not fit."""
        return self.session.iterations is not None or seconds >= CUT_ITERATIONS * self.iteration_seconds

    @property
    def raises_first(self) -> bool:
        """Whether rank-1 cuts are quick, and likely to leave a core problem that is soon solved."""
        return self._small and self.worth_raising()

    @property
    def _small(self) -> bool:
        """Whether a master problem alone is the quickest way to rank-1 cuts."""
        instance = self.session.instance
        few = instance.types.count <= min(FIRST_TYPES, MASTER_TYPES)
        return few and self.fits and small_groups(instance)

    def search_briefly(self) -> None:
        """A few annealings."""
        effort = self.effort.part(FIRST_SEARCH_SHARE * self.limit.left)
        for turn in range(FIRST_SEARCHES):
            best = self.tracker.best
            if best is not None and not effort.ended(best.cost):
                self._search(effort, self.session.options.seed + 2 * AGAIN + turn).anneal()

    def rounds(self) -> Iterator[Limit]:
        """Where the core problem fits, shorter ones before the last one, which has all that is left."""
        parts = [self.whole.left]
        if self.fits and not self._small and self.session.iterations is None:
            while ROUND_SHARE * parts[-1] >= SHORTEST_ROUND:
                parts.append(ROUND_SHARE * parts[-1])
        for number, seconds in enumerate(reversed(parts)):
            self.limit, self.raised = self.whole.part(seconds), self.raised and not number
            yield self.limit

    @property
    def core_limit(self) -> Limit:
        """A model that has begun may take as long as all that was before it."""
        passed = time.perf_counter() - self.session.clock.began
        return self.whole.part(max(self.limit.left, passed))

    def search(self) -> None:
        """Search until the time is over, but for what the steps after it need; once more in later rounds."""
        first, self.first = self.first, False
        if self.fits and not first and self.tracker.best is not None:
            self.search_again()
        elif self.fits:
            seconds = SEARCH_SHARE * self.limit.left
            if self.dual.rank_one_cuts.count:
                # what can be proven is half done, however late it may end
                longer = BRIEFLY if self.branches else LONGER
                seconds = min(seconds, longer * (time.perf_counter() - self.session.clock.began))
            self._search_on(replace(self.effort.part(seconds), patience=PATIENCE))
            if self._far and not self.settled:  # a better table is what the time is for
                self._search_on(self.effort.part(SEARCH_SHARE * self.limit.left), AGAIN)
        elif self._cuts_beside and self.wait("cuts"):
            instance, options = self.session.instance, self.session.options
            threads = options.threads if self.session.dask is None else self.pool.workers + 1
            with (
                self.pool.part(threads - 1) as give_back,
                CutsBeside(instance, self.tracker, self.dual, options.gap, self.limit, give_back) as beside,
            ):
                self._search_on(replace(self.effort, interrupt=beside.limit.interrupt))
            self.dual, self.raised = beside.dual, True
        else:
            cuts = small_groups(self.session.instance) and self.cuts(CUT_SHARE * self.limit.left)
            self._search_on(self.effort.part((1 - CUT_SHARE) * self.limit.left) if cuts else self.effort)

    def _search_on(self, effort: Effort, further: int = 0) -> None:
        search = self._search(effort, self.session.options.seed + further)
        search.run(self.session.adapter, self.session.options)

    @property
    def _cuts_beside(self) -> bool:
        """Whether a thread of this process has time for rank-1 cuts, while others search."""
        beside = self.pool.workers and self.session.iterations is None and small_groups(self.session.instance)
        return bool(beside) and self.cuts(self.limit.left)

    def _search(self, effort: Effort, seed: int, possible: Flags | None = None) -> Search:
        """On from the best table; possible: what a better one could use, where that is known."""
        instance, tracker = self.session.instance, self.tracker
        dual = self.plain if possible is None and self.fits else self.dual
        constructed, self._constructed_by = self._constructed_by is dual, dual
        return Search(
            instance,
            dual,
            tracker.best,
            self.pool,
            effort,
            seed,
            tracker.better,
            possible,
            constructed=constructed,
        )

    def search_again(self) -> None:
        """Once more: where the core problem fits, with nothing but what a better table could use."""
        instance, best = self.session.instance, self.tracker.best
        assert best is not None
        if self.why() is not StopReason.TIME_LIMIT or self.limit.over:
            return
        effort, possible = self.effort, None
        if self.fits:
            effort = replace(effort.part(SEARCH_SHARE * effort.left), patience=PATIENCE)
            _, possible = self.fixing(best.cost + 1).possible(instance)
        self._turns += 1
        search = self._search(effort, self.session.options.seed + AGAIN * self._turns, possible)
        search.run(self.session.adapter, self.session.options)

    def worth_raising(self) -> bool:
        """Whether rank-1 cuts are worth their time: the core problem that multipliers without them leave is not
        easy."""
        best = self.tracker.best
        if best is None or self.raised or self.settled or self.branches or not small_groups(self.session.instance):
            return False
        # the search may have taken a little more than its part
        if self.limit.over or not (self.fits or self.cuts(2 * self.limit.left)):
            return False
        return self.left(best.cost + 1) > EASY_PAIRS

    def fixing(self, incumbent: int) -> ReducedCosts:
        """With the multipliers of sizes and cuts."""
        return ReducedCosts(round_dual(self.dual), incumbent)

    def left(self, incumbent: int) -> int:
        """Pairs that fixing leaves."""
        return int(self.fixing(incumbent).possible(self.session.instance)[1].sum())

    def raise_bound(self) -> None:
        """Rounds of rank-1 cuts: without a master problem, by one where there are few row types, or by both."""
        instance, best = self.session.instance, self.tracker.best
        assert best is not None
        first, types = self.first, instance.types.count
        share, self.raising_since = self.limit, time.process_time()
        if self.fits:
            share = share.part((FIRST_SHARE if first else RAISE_SHARE) * share.left)
        limit = BoundLimit(
            target=math.ceil(best.cost * (1 - self.session.options.gap)),
            ends=share.ends,
            rounds=None if self.session.iterations is None else COUNTED_ROUNDS,
            interrupt=share.interrupt,
        )
        task = BoundTask(limit, self.dual, best, self.session.options.threads, self.tracker.show)
        if not self._small:
            part = limit if types > MASTER_TYPES else replace(limit, ends=share.part(RELAX_SHARE * share.left).ends)
            if limit.rounds is not None:
                part = replace(part, rounds=SHORT_ROUNDS * limit.rounds)
            self._take(RELAX_AND_CUT.compute(instance, replace(task, limit=part)))
        if types <= MASTER_TYPES and not limit.reached(self.tracker.bound, 0.0):
            self._take(COLUMN_GENERATION.compute(instance, replace(task, dual=self.dual, enough=self._enough)))
        # those that the end of their part of the time has cut short go on later
        self.raised = not (first and limit.over)

    def _enough(self, dual: DualPoint, seconds: float) -> bool:
        """Whether the core problem, or branch and bound, is likely to take less time than the next unit of the bound by
        cuts.

        dual: the point so far. seconds: until that unit.
        """
        best = self.tracker.best
        if best is None or self.session.iterations is not None:
            return False
        near = best.cost - math.ceil(dual.value) <= BRANCH_GAP
        if near and self._small and seconds > SLOW * (time.process_time() - self.raising_since):
            return True  # branching raises it faster
        loss = min(math.floor(dual.value) + 1, best.cost - 1)
        pairs = int(ReducedCosts(round_dual(dual), loss + 1).possible(self.session.instance)[1].sum())
        return MODEL_SECONDS * pairs**2 < seconds

    @property
    def branches(self) -> bool:
        """Whether branch and bound with rank-1 cuts is likely to be quicker than the core problem."""
        return self._units_left <= BRANCH_GAP and self._core_seconds > BRANCH_SECONDS

    @property
    def _far(self) -> bool:
        """Whether nothing is likely to be proven in the time that is left, though there are rank-1 cuts."""
        return BRANCH_GAP < self._units_left < math.inf and self._core_seconds > self.limit.left

    @property
    def _units_left(self) -> float:
        """Between table and bound of a small table with rank-1 cuts; infinite elsewhere."""
        best = self.tracker.best
        if best is None or not self._small or not self.dual.rank_one_cuts.count or self.session.iterations is not None:
            return math.inf
        return best.cost - self.tracker.bound

    @property
    def _core_seconds(self) -> float:
        """What the core problem is likely to take."""
        best = self.tracker.best
        return math.inf if best is None else MODEL_SECONDS * self.left(best.cost + 1) ** 2

    def prove(self) -> bool:
        """Branch and bound, where that is likely to be quicker, or nothing else will raise the bound by as much."""
        if not (self.branches or (self._units_left <= FAR_GAP and self._far)):
            return False
        from kanon_milp.methods.sizes_branching import SizesBranching

        with self.session.clock.step("bound"):
            return SizesBranching(self.session, self, self.tracker, self.dual).solve(self.limit)

    def _take(self, raised: ProvenBound) -> None:
        """Go on with these multipliers: they prove no less than those before."""
        if raised.dual is not None:
            self.dual = raised.dual
        self.tracker.higher(raised.units, raised.justified_by)
