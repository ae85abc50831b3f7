"""What leads the hybrid method under requirements other than sizes: the required bound, and what its multipliers guide.

Bound and search take turns, since better multipliers give better constructions and better tables give better targets;
each turn's time is divided by what the last ones have gained. A requirement that tells bounds nothing, such as one of a
user's own, has the multipliers of sizes, and is searched by its `holds` and `declare` alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kanon_milp.bounds import BoundLimit
from kanon_milp.bounds.dual import DENOMINATOR, ExactDual, exact_subproblems, round_multipliers
from kanon_milp.bounds.required import RequiredPoint, exact_phi, required_bound
from kanon_milp.bounds.required_reduced_costs import RequiredReducedCosts
from kanon_milp.errors import InputError
from kanon_milp.heuristics.effort import Effort
from kanon_milp.heuristics.group_check import GroupCheck
from kanon_milp.heuristics.grouping import tighten_groups
from kanon_milp.heuristics.requirements.annealing import anneal
from kanon_milp.heuristics.requirements.construction import construct
from kanon_milp.heuristics.requirements.neighbourhoods import Landscape
from kanon_milp.heuristics.requirements.partition import SmallGroupTables
from kanon_milp.heuristics.requirements.rebuilding import Sizes, rebuild
from kanon_milp.heuristics.requirements.rounding import rounded
from kanon_milp.heuristics.state import cell_cost
from kanon_milp.heuristics.worker_pool import Pool
from kanon_milp.methods.core_trials import CoreTrials
from kanon_milp.methods.guide import MODEL_PAIRS, Guide, multipliers_of_sizes
from kanon_milp.methods.raised_by_cuts import RaisedByCuts
from kanon_milp.methods.session import Session
from kanon_milp.methods.tracker import Tracker
from kanon_milp.presolve.assignment import Assignment
from kanon_milp.presolve.resources import PAIR_SECONDS
from kanon_milp.system.limit import Limit

Ints = NDArray[np.int64]
T = TypeVar("T")

# seconds of a turn of bound and search together; the first one is short, as many pairs as there are: tables constructed
# with early multipliers may be as good as those with the best ones
TURN_SHARE, SHORTEST, LONGEST, PAIR_TURN = 0.2, 3.0, 90.0, 1e-5
SIZES_SHARE = 0.25  # of the first turn, for multipliers of sizes alone to begin with
# times as long as the one before is each turn: good averages are annealed for long; rank-1 cuts do not wait for that
LONGER, LONGER_WITH_CUTS = 3.0, 1.5
LAST, LAST_SHARE = 1.6, 0.4  # turns, or less, that are left are one, with this share for the bound at most
LEAST_SHARE = 0.2  # of a turn, for each of bound and search
CONSTRUCTION_SHARE = 0.3  # of a search, at most
QUICK_SHARE = 0.15  # of a search; tables are constructed anew in each turn if the last one took no more than that
PROMISING = 1.3  # times the loss of the best table, for a constructed one to be annealed in its place
FEW_VALUES = 3  # joint values
ANNEALING_SHARES = ((FEW_VALUES, 0.3), (math.inf, 0.85))  # of a search, where there are so many joint values at most
# part of the loss that annealing gains in a turn, below which it takes no more than this share of the next search
WORTHWHILE, SLOWER_SHARE = 0.002, 0.5
EASY_PAIRS = 2_000  # a core problem of this size goes to the solver at once
# one of this size after so much of the time, where there are cuts after this, a larger one when all else fails
CORE_PAIRS, ROUNDS_SHARE, ROUNDS_SHARE_WITH_CUTS = 50_000, 0.5, 0.85
DECLARED_SHARE = 0.1  # of what is left, for declaring it
PATIENCE = 4  # searches that find nothing while the bound does not rise, before a larger one is all that is left
PROOF_MARGIN = 1.5  # times what the last proof has taken are left for the next one
NARROW_SHARE = 0.7  # of the time for neighbourhoods, for models of all rows by multipliers with cuts
LATEST = 5.0  # seconds that a turn is late, at most, but for what has to be compiled
STALLED, STALLED_AFTER = 2e-5, 100  # relative rise of the bound in so many iterations that is not worth it
# the same where rank-1 cuts can go on from there, which gains more; where work is charged, and exact in their groups
SLOW, SLOW_AFTER, SLOW_CHARGED = 5e-4, 20, 1e-2
RISEN = Fraction(1, 200)  # relative rise of the bound after which tables are constructed anew even if that takes long
COUNTED_ITERATIONS, COUNTED_TURNS = 200, 1  # of the bound in a turn, after the first one, where work is counted
# relative gap up to which candidates and pairs of these reduced costs, in cells, are looked at
WIDTHS = ((0.05, 1.5, 3.0), (0.25, 3.0, 6.0), (math.inf, 12.0, 12.0))


class RequiredGuide(Guide):
    """Requirements about sensitive attributes, or of a user's own; each is about every group alone."""

    search_part = "valued_search"

    def __init__(self, session: Session, tracker: Tracker, pool: Pool, limit: Limit) -> None:
        super().__init__(session, tracker, pool, limit)
        instance = session.instance
        self._check = GroupCheck(instance)
        self._sizes = Sizes()
        self._point = RequiredPoint(np.zeros(instance.types.count), np.zeros(0), 0.0, 0)
        self._multipliers = np.zeros(instance.types.count, np.int64)
        self._charges: Ints | None = None
        self._phi = np.zeros(instance.candidates.count, np.int64)
        self._value = Fraction(-(10**18))  # what these multipliers prove, in units
        # the same, when a table was constructed last, and how long that took
        self._constructed_at: Fraction | None = None
        self._construction_seconds = 0.0
        # a constructed table that was annealed last, as a multiple of what became of it
        self._promise = PROMISING
        self._fixing: RequiredReducedCosts | None = None
        self._proof_seconds, self._late = 0.0, 0.0  # of the last proof, and by how much a turn was late
        self._turns, self._seconds, self._bound_share = 0, 0.0, 0.5
        # whether the bound does not rise any more, and how many searches have found nothing since
        self._stalled, self._fruitless = not session.problem.attributes, 0
        self._cuts = RaisedByCuts(session, tracker)
        self._trials, self._searched = CoreTrials(session.clock.began), -1  # the turn that was searched last
        self._rises, self._falls = 0.0, 0.0  # a second, in the last turns
        self._annealed, self._rebuilt, self._annealed_by = 0.0, 0.0, 0.0  # the same; as a part of the loss
        self._tables = SmallGroupTables(instance)
        values = len(instance.sensitive_codes(session.problem.attributes)[1])
        # whether annealing begins at the averages of the bound, not at the best table: with few values the groups that
        # have too many rows of one hardly ever get rid of them
        self._from_averages = values > FEW_VALUES
        self._first_share = next(share for most, share in ANNEALING_SHARES if values <= most)

    def keep(self, table: Assignment | None) -> None:
        """If each of its groups satisfies all requirements; where these allow it, each group as cheap as its rows."""
        best = self.tracker.best
        if table is None:
            return
        if self.session.problem.merge_closed:
            table = tighten_groups(self.session.instance, table)
        if (best is None or table.cost < best.cost) and not len(self._check.refused(table)):
            self.tracker.better(table)

    def bound(self) -> None:
        """Multipliers of sizes, then those of the required bound; and what users have registered."""
        session, tracker, limit = self.session, self.tracker, self.limit
        instance, counted = session.instance, session.iterations is not None
        usual = max(PAIR_TURN * instance.candidates.pairs, SHORTEST)
        self._seconds = min(max(TURN_SHARE * limit.left, SHORTEST), usual, LONGEST)
        share = limit if limit.seconds is None else limit.part(SIZES_SHARE * self._seconds)
        iterations = 10 * COUNTED_ITERATIONS if counted else None
        self.dual = multipliers_of_sizes(
            session, tracker, BoundLimit(share.ends, limit.interrupt, self._target, iterations)
        )
        exact = ExactDual(round_multipliers(self.dual.multipliers), DENOMINATOR)
        found = exact_subproblems(instance, exact)
        self._take(RequiredPoint(self.dual.multipliers, np.zeros(0), 0.0, 0), exact.multipliers, None, found.phi)
        self._rise()

    @property
    def _target(self) -> float | None:
        return None if self.tracker.best is None else float(self.tracker.best.cost)

    def _take(self, point: RequiredPoint, multipliers: Ints, charges: Ints | None, phi: Ints) -> None:
        """Go on with these multipliers if they prove more than those before."""
        counts = self.session.instance.types.counts
        total = sum(n * each for n, each in zip(counts.tolist(), multipliers.tolist(), strict=True))
        total += sum(phi[phi < 0].tolist())
        if total > self._value * DENOMINATOR:
            self._point, self._multipliers, self._charges, self._phi = point, multipliers, charges, phi
            self._fixing, self.required = None, point.multipliers
            self._value = Fraction(total, DENOMINATOR)
            self.tracker.higher(math.ceil(self._value), ("own bound",))

    def _rise(self) -> None:
        """A turn of the required bound, and its proof."""
        session, limit = self.session, self.limit
        if self._stalled or self.settled or limit.over or not (self.wait("required") and self.wait("proven")):
            return
        began, before, counted = time.perf_counter(), self._value, session.iterations is not None
        # the proof of what is found takes its time as well
        least = PROOF_MARGIN * self._proof_seconds
        seconds = max(min(self._bound_share * self._seconds, limit.left - self._late) - least, 0.0)
        point = required_bound(
            session.instance,
            self._point.multipliers,
            self._target,
            limit.seconds if counted else seconds,
            COUNTED_ITERATIONS if counted else None,
            self.tracker.show,
            limit.interrupt,
            point=None if self._point.ascent is None else self._point,
            threads=session.options.threads,
        )
        tried = point.evaluations - (0 if self._point.ascent is None else self._point.evaluations)
        least_rise, after = (SLOW, SLOW_AFTER) if self._cuts.possible else (STALLED, STALLED_AFTER)
        if self._cuts.possible and len(point.charges):
            least_rise = SLOW_CHARGED
        self._stalled = tried >= after and point.value - float(before) < least_rise * abs(point.value)
        proof = time.perf_counter()
        self._late = min(max(proof - began - seconds, 0.0), LATEST)
        if not counted and limit.left < self._proof_seconds:
            return
        try:
            multipliers, charges = round_multipliers(point.multipliers), round_multipliers(point.charges)
            phi = exact_phi(session.instance, multipliers, charges, DENOMINATOR)
        except InputError:  # exact numbers would need more than 64 bits
            self._stalled = True
            return
        self._proof_seconds = time.perf_counter() - proof
        self._take(point, multipliers, charges, phi)
        self._rises = _averaged(self._rises, float(self._value - before), began)

    def raise_bound(self) -> None:
        """The next turn, divided by what the last one has gained."""
        self._turns += 1
        gained = self._rises + self._falls
        share = self._rises / gained if gained > 0 else 0.5
        self._bound_share = min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)
        longer = LONGER_WITH_CUTS if self._cuts.possible else LONGER
        self._seconds = min(longer * self._seconds, LONGEST)
        if self.limit.left < LAST * self._seconds:
            self._seconds = self.limit.left
            self._bound_share = min(self._bound_share, LAST_SHARE)
        if self._stalled and self._cuts.possible:
            if not self.wait("valued_cuts"):
                return
            began, before = time.perf_counter(), self.tracker.bound
            part, self._fixing = self.limit.part(self._bound_share * self._seconds), None
            self._cuts.rise(self._point.multipliers, self._point.charges, part)
            rise = float(self.tracker.bound - before)
            self._rises = 0.0 if rise == 0 and self._cuts.converged else _averaged(self._rises, rise, began)
        self._rise()

    def worth_raising(self) -> bool:
        """As long as there is time, but for the core problem where that fits."""
        limit, best = self.limit, self.tracker.best
        if self.settled or limit.over:
            return False
        if self.session.iterations is not None:
            return self._turns < COUNTED_TURNS
        pairs = self.session.instance.candidates.pairs if best is None else self.left(best.cost + 1)
        if pairs <= EASY_PAIRS:
            return False
        # a model that cannot be declared in good time is none
        if pairs > MODEL_PAIRS or pairs * PAIR_SECONDS > DECLARED_SHARE * limit.left:
            return True
        if self._fruitless >= (PATIENCE if pairs > CORE_PAIRS else 1):
            return False
        # where work is charged, the relaxation of a model is weak (t = 0.3, 2,804 pairs: not solved in three minutes)
        if best is not None and not self._point.charges.any() and self._trials.look(pairs, limit):
            return False
        share = ROUNDS_SHARE_WITH_CUTS if self._cuts.point is not None else ROUNDS_SHARE
        return pairs > CORE_PAIRS or limit.left >= (1 - share) * (limit.ends - self.session.clock.began)

    def rounds(self) -> Iterator[Limit]:
        """One for each trial of the core problem, and the last one."""
        return self._trials.rounds(self.limit)

    @property
    def core_limit(self) -> Limit:
        """Short where it is tried."""
        return self._trials.limit(self.limit)

    @property
    def trying(self) -> bool:
        """In all rounds but the last one."""
        return self._trials.due

    def search(self) -> None:
        """Construct where the multipliers are much better, anneal, and search neighbourhoods."""
        if self.settled or self.limit.over or self._searched == self._turns:
            return
        self._searched = self._turns
        session, began = self.session, time.perf_counter()
        before = None if self.tracker.best is None else self.tracker.best.cost
        seconds = (1 - self._bound_share) * self._seconds
        effort = self.effort if session.iterations is not None else self.effort.part(seconds)
        seed = session.options.seed + 1000 * self._turns
        self._improve(effort, seed)
        best = self.tracker.best
        if best is None:
            self._fruitless += self._stalled
            return
        fallen = math.inf if before is None else before - best.cost
        self._falls = _averaged(self._falls, fallen, began)
        self._fruitless = self._fruitless + 1 if fallen == 0 and self._stalled and not self._cuts.possible else 0

    def _improve(self, effort: Effort, seed: int) -> None:
        """A table constructed anew, or else the best one, is annealed; then neighbourhoods of the best one."""
        instance, start = self.session.instance, self.tracker.best
        # the first turn is too short for the averages to become a table; later ones have no use for a construction then
        averaged = self._from_averages and self._turns > 0
        first = rounded(instance, self._leading) if averaged else None
        new = self._constructed(effort, seed) if start is None or first is None else None
        # annealing may make the best table of one that is not, since scarce values are where they are needed
        if new is not None and (start is None or new.cost < self._promise * start.cost):
            start = new
        if start is None or effort.ended(start.cost):
            return
        known, session = self.tracker.best, self.session
        self._tables.improve(known or start, self._point, session.adapter, session.options, effort, seed, self._accept)
        if self.tracker.best is not None and self.tracker.best is not known:
            start = self.tracker.best
        if self._cuts.converged and not effort.counted:
            self._cuts.dive(effort, seed, self.pool, self.keep)
            start = self.tracker.best or start
        if effort.ended(start.cost):
            return
        share, before = self._annealing_share, start.cost if self.tracker.best is None else self.tracker.best.cost
        if first is not None and self.tracker.best is not None:
            start = self.tracker.best
        annealed, self._annealed = self._gain(
            lambda: anneal(
                instance, self._leading, start, self._part(effort, share), self.pool, seed, self._accept, first
            )
        )
        self.keep(annealed)
        self._annealed_by = (before - annealed.cost) / max(before, 1)
        # what gains little is not gone on with
        if self._turns:
            self._from_averages = self._from_averages == (self._annealed_by >= WORTHWHILE)
        if start is new:
            self._promise = start.cost / max(annealed.cost, 1)
        if self.tracker.best is not None and not effort.ended(self.tracker.best.cost):
            _, self._rebuilt = self._gain(lambda: self._rebuild(effort, seed))

    def _constructed(self, effort: Effort, seed: int) -> Assignment | None:
        """A table constructed with the multipliers at hand; None where these are hardly better than those of the last
        one, or groups would be refused."""
        last, began = self._constructed_at, time.perf_counter()
        if last is not None and self.tracker.best is not None:
            quick = effort.counted or self._construction_seconds <= QUICK_SHARE * effort.left
            if self._value <= last + (0 if quick else RISEN * abs(last)):
                return None
        self._constructed_at = self._value
        new = construct(self.session.instance, self._leading, self._part(effort, CONSTRUCTION_SHARE), seed)
        self._construction_seconds = time.perf_counter() - began
        self.keep(new)
        return None if new is None or len(self._check.refused(new)) else new

    @property
    def _leading(self) -> RequiredPoint:
        """The point that tables are searched by."""
        return self._cuts.point or self._point

    @property
    def _annealing_share(self) -> float:
        """What part of a search annealing takes: by what it has gained beside neighbourhoods."""
        gained = self._annealed + self._rebuilt
        share = self._annealed / gained if gained > 0 else self._first_share
        most = SLOWER_SHARE if self._turns and self._annealed_by < WORTHWHILE else 1 - LEAST_SHARE / 2
        return min(max(share, LEAST_SHARE / 2), most)

    def _gain(self, search: Callable[[], T]) -> tuple[T, float]:
        """What a search returns, and by how much it has improved the best table in a second."""
        began, before = time.perf_counter(), self.tracker.best
        found, after = search(), self.tracker.best
        fallen = 0 if before is None or after is None else before.cost - after.cost
        return found, fallen / max(time.perf_counter() - began, 1e-3)

    def _accept(self, table: Assignment) -> None:
        """As `keep`, but quick."""
        best = self.tracker.best
        if (best is None or table.cost < best.cost) and not len(self._check.refused(table)):
            self.tracker.better(table)

    def _part(self, effort: Effort, share: float) -> Effort:
        """A share of the time that is left, where time is what counts."""
        return effort if effort.counted else effort.part(share * effort.left)

    def _rebuild(self, effort: Effort, seed: int) -> None:
        """Neighbourhoods of the best table."""
        if self._cuts.begun and not effort.counted:
            self._cuts.narrow(effort.part(NARROW_SHARE * effort.left), seed, self.pool, self.keep)
        session, best = self.session, self.tracker.best
        assert best is not None
        if effort.ended(best.cost):
            return
        landscape = self._near()
        table, _ = rebuild(
            landscape, best, session.adapter, session.options, self.pool, effort, seed, self.tracker.better, self._sizes
        )
        self.keep(table)

    def _near(self) -> Landscape:
        """The pairs that neighbourhoods look at."""
        instance, best = self.session.instance, self.tracker.best
        candidates, of_pair = instance.candidates, instance.candidates.candidate_of_pair()
        gap = 1.0 if best is None else 1 - float(self._value) / max(best.cost, 1)
        open_limit, pair_limit = next((a, b) for most, a, b in WIDTHS if gap <= most)
        cell = cell_cost(instance)
        if self._cuts.begun:
            allowed = self._cuts.near(open_limit * cell, pair_limit * cell)
        else:
            unit = cell * DENOMINATOR
            allowed = self._phi[of_pair] <= open_limit * unit
            reduced = candidates.cost[of_pair] * DENOMINATOR - self._multipliers[candidates.members]
            allowed &= reduced <= pair_limit * unit
        if best is not None:
            allowed &= self.fixing(best.cost + 1).possible(instance)[1]
        return Landscape(instance, allowed, self._check)

    def fixing(self, incumbent: int) -> RequiredReducedCosts:
        """With the multipliers that prove most."""
        if self._fixing is None or self._fixing.incumbent != incumbent:
            found = self._multipliers, self._phi, DENOMINATOR, incumbent, self._charges, self.limit
            self._fixing = self._cuts.fixing(incumbent, self._value, self.limit) or RequiredReducedCosts(*found)
        return self._fixing

    def left(self, incumbent: int) -> int:
        """Pairs that fixing leaves."""
        return int(self.fixing(incumbent).possible(self.session.instance)[1].sum())


def _averaged(last: float, gained: float, began: float) -> float:
    """What is gained in a second, with half of the weight what it was before: one turn without luck says little."""
    now = gained / max(time.perf_counter() - began, 1e-3)
    return now if math.isinf(last) else (last + now) / 2
